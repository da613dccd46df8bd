#include "daemon/store/large_blocks.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <utility>

#include "daemon/store/meta_codec.h"
#include "daemon/store/readable_block.h"
#include "tailor/v1/profile.pb.h"

namespace tailor::store {
namespace {

// All blocks are of one user, the store: they come in order.
constexpr std::uint32_t kOneForAll = 0;
constexpr std::uint32_t kLengthDelimited = 2;  // of the wire format
constexpr std::size_t kFieldHead = 16;         // tag and length

std::string entry_name(const v1::Plan& plan) {
  return to_utf8(plan.name());
}
std::string entry_name(const v1::CodeObject&) {
  return {};
}

// The bytes of a Block. The dictionary, which may be a million messages, is not copied for that: a field of
// bytes is written as a message is.
template <typename Block, typename Dictionary>
std::string encode(ProcessId process, TimeNs loaded, const Dictionary& dictionary, int field) {
  Block head;
  set_process(*head.mutable_process(), process);
  head.set_loaded(loaded);
  std::string bytes;
  bytes.reserve(head.ByteSizeLong() + dictionary.ByteSizeLong() + kFieldHead);
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream out(&stream);
    head.SerializeToCodedStream(&out);
    out.WriteTag(static_cast<std::uint32_t>(field) << 3 | kLengthDelimited);
    out.WriteVarint32(static_cast<std::uint32_t>(dictionary.GetCachedSize()));
    dictionary.SerializeWithCachedSizes(&out);
  }
  return bytes;
}

BlockType type_of(const v1::Plan&) {
  return BlockType::kPlan;
}
BlockType type_of(const v1::CodeObject&) {
  return BlockType::kCode;
}

std::string payload_of(ProcessId process, TimeNs loaded, const v1::Plan& plan) {
  return encode<v1::PlanBlock>(process, loaded, plan, v1::PlanBlock::kPlanFieldNumber);
}
std::string payload_of(ProcessId process, TimeNs loaded, const v1::CodeObject& code) {
  return encode<v1::CodeBlock>(process, loaded, code, v1::CodeBlock::kCodeFieldNumber);
}

// What is not readable is known here, too: to find out takes time.
template <typename Dictionary>
LargeBlocks::Made make(const EntryKey& key, TimeNs loaded, const Dictionary& dictionary) {
  const std::string raw = payload_of(key.process, loaded, dictionary);
  LargeBlocks::Made out{key, entry_name(dictionary), loaded, pack_block(type_of(dictionary), raw)};
  out.readable = is_readable(out.block.header, raw);
  return out;
}

}  // namespace

class LargeBlocks::State {
 public:
  void begin() {
    const std::lock_guard lock(mutex_);
    ++pending_;
  }

  void made(Made made) {
    const std::lock_guard lock(mutex_);
    --pending_;
    made_.push_back(std::move(made));
    changed_.notify_all();
  }

  std::vector<Made> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(made_, {});
  }

  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return pending_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t pending_ = 0;
  std::vector<Made> made_;
};

LargeBlocks::LargeBlocks() : state_(std::make_shared<State>()), thread_(1) {}

LargeBlocks::~LargeBlocks() = default;

template <typename Dictionary>
void LargeBlocks::give(const EntryKey& key, TimeNs loaded, std::shared_ptr<const Dictionary> dictionary) {
  keys_.insert(key);
  state_->begin();
  thread_.add(kOneForAll, [state = state_, key, loaded, dictionary = std::move(dictionary)] {
    state->made(make(key, loaded, *dictionary));
  });
}

void LargeBlocks::add(ProcessId process, TimeNs loaded, std::shared_ptr<const v1::Plan> plan) {
  const EntryKey key{process, EntryKind::kPlan, plan->id()};
  give(key, loaded, std::move(plan));
}

void LargeBlocks::add(ProcessId process, TimeNs loaded, std::shared_ptr<const v1::CodeObject> code) {
  const EntryKey key{process, EntryKind::kCode, code->id()};
  give(key, loaded, std::move(code));
}

std::vector<LargeBlocks::Made> LargeBlocks::take() {
  if (keys_.empty()) return {};
  std::vector<Made> made = state_->take();
  for (const Made& each : made) keys_.erase(keys_.find(each.key));
  return made;
}

void LargeBlocks::wait() const {
  state_->wait();
}

}  // namespace tailor::store
