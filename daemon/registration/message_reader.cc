#include "daemon/registration/message_reader.h"

#include <algorithm>
#include <string>
#include <utility>

#include "daemon/registration/attachment.h"
#include "daemon/registration/dictionary_use.h"
#include "daemon/registration/message_parser.h"

namespace tailor::registration {
namespace {

// Users whose messages are read at the same time. More of them wait for their turn.
constexpr std::size_t kMostReaders = 4;

// Blocks of this size come from the system and go back to it.
google::protobuf::ArenaOptions in_large_blocks() {
  google::protobuf::ArenaOptions options;
  options.start_block_size = options.max_block_size = std::size_t{4} << 20;
  return options;
}

}  // namespace

LargeMessage::LargeMessage(std::shared_ptr<const void> held)
    : held_(std::move(held)),
      arena_(in_large_blocks()),
      message_(google::protobuf::Arena::CreateMessage<v1::AgentMessage>(&arena_)) {}

struct MessageReader::Work {
  std::weak_ptr<Reading> reading;
  std::shared_ptr<const void> held;
  UniqueFd file;
  std::size_t bytes = 0;
  Prepare prepare;
  std::shared_ptr<os::UserThreads> threads;
  std::uint32_t uid = 0;

  std::shared_ptr<LargeMessage> make() const {
    return {new LargeMessage(held), [threads = threads, uid = uid](LargeMessage* each) {
              threads->add(uid, [each] { delete each; });
            }};
  }

  Result<std::shared_ptr<LargeMessage>> read() const {
    auto payload = read_payload(file.get(), bytes);
    if (!payload) return payload.error();
    auto large = make();
    if (Status parsed = parse(*payload, large->message()); !parsed) return parsed.error();
    if (Status valid = validate(large->message()); !valid) return valid.error();
    large->dictionary_bytes = DictionaryUse::bytes_of(large->message());
    if (prepare) large->prepared = prepare(large->message());
    return large;
  }
};

MessageReader::MessageReader(std::size_t most_bytes, std::shared_ptr<const Wakeup> wakeup)
    : shares_(std::make_shared<UserCounts>(most_bytes)),
      wakeup_(std::move(wakeup)),
      threads_(std::make_shared<os::UserThreads>(kMostReaders)) {}

std::shared_ptr<MessageReader::Reading> MessageReader::begin(std::uint32_t uid, UniqueFd& file,
                                                             std::size_t bytes, Prepare prepare) {
  // One that is too large is refused when it is read.
  UserCounts::Taken taken = shares_->hold(uid, std::min(bytes, shares_->most()));
  if (!taken) return nullptr;
  const std::shared_ptr<const void> held(nullptr, [taken = std::move(taken), wakeup = wakeup_](auto) mutable {
    taken.reset();
    wakeup->wake();
  });
  auto reading = std::make_shared<Reading>();
  auto work =
      std::make_shared<Work>(Work{reading, held, std::move(file), bytes, std::move(prepare), threads_, uid});
  threads_->add(uid, [work = std::move(work), wakeup = wakeup_] {
    const auto wanted = work->reading.lock();
    if (!wanted) return;
    wanted->result_ = work->read();
    wanted->done_.store(true, std::memory_order_release);
    wakeup->wake();
  });
  return reading;
}

}  // namespace tailor::registration
