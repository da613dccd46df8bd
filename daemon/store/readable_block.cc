#include "daemon/store/readable_block.h"

#include <google/protobuf/arena.h>

#include <cstdint>
#include <new>

#include "daemon/store/memory_budget.h"
#include "tailor/v1/profile.pb.h"

namespace tailor::store {
namespace {

// A message takes less memory than this many times its bytes: one with other messages in it, one of columns.
constexpr std::uint64_t kMostOfMessages = 256, kMostOfColumns = 64;

template <typename Message>
bool can_parse(std::string_view raw, std::uint64_t budget) {
  BoundedArena arena(budget);
  try {
    auto* message = google::protobuf::Arena::CreateMessage<Message>(arena.get());
    return message->ParseFromArray(raw.data(), static_cast<int>(raw.size()));
  } catch (const std::bad_alloc&) {
    return false;
  }
}

}  // namespace

bool is_readable(const BlockHeader& header, std::string_view raw, std::uint64_t before) {
  // Sums are read before the rest (sums_reader.h).
  if (header.type == BlockType::kSums) before = 0;
  const std::uint64_t budget = memory_budget(before + kBlockHeaderSize + header.stored_size);
  const bool messages =
      header.type == BlockType::kMeta || header.type == BlockType::kPlan || header.type == BlockType::kCode;
  if (raw.size() * (messages ? kMostOfMessages : kMostOfColumns) <= budget) return true;
  switch (header.type) {
    case BlockType::kMeta:
      return can_parse<v1::MetaBlock>(raw, budget);
    case BlockType::kPlan:
      return can_parse<v1::PlanBlock>(raw, budget);
    case BlockType::kCode:
      return can_parse<v1::CodeBlock>(raw, budget);
    case BlockType::kSamples:
      return can_parse<v1::SampleBlock>(raw, budget);
    case BlockType::kActivity:
      return can_parse<v1::ActivityBlock>(raw, budget);
    case BlockType::kSums:
      return can_parse<v1::SumsBlock>(raw, budget);
    case BlockType::kEnd:
    case BlockType::kSummary:  // has a budget of its own (summary_codec.h)
      break;
  }
  return true;
}

}  // namespace tailor::store
