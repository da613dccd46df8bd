#include "daemon/store/sums_reader.h"

#include <algorithm>
#include <array>
#include <new>
#include <optional>

#include "daemon/store/memory_budget.h"

namespace tailor::store {

SumsReader::SumsReader(Input& input, SumsTaker& taker, ReadReport& report)
    : input_(input), taker_(taker), report_(report) {
  std::array<std::uint8_t, kBlockHeaderSize> bytes{};
  std::uint64_t next = 0;
  BlockHeader header;
  for (std::uint64_t offset = kFileHeaderSize;; offset += kBlockHeaderSize + header.stored_size) {
    const auto got = input_.read_at(offset, bytes);
    // What lies behind damage is read sample by sample.
    if (!got || *got < bytes.size() || !decode_block_header(bytes, header) || header.sequence < next) return;
    next = header.sequence + 1;
    if (header.type == BlockType::kSamples) members_.try_emplace(header.sequence);
    if (header.type != BlockType::kSums) continue;
    const Group group{offset, kBlockHeaderSize + std::uint64_t{header.stored_size}};
    if (const auto sums = read(group.offset, group.bytes)) keep(group, sums->blocks);
  }
}

std::optional<BlockSums> SumsReader::read(std::uint64_t offset, std::uint64_t bytes) {
  ReadReport apart;  // who reads the whole profile comes to this block too
  BlockReader reader(input_, apart);
  reader.seek(offset);
  const auto block = reader.next();
  if (!block || !block->has_value() || (*block)->offset != offset) return std::nullopt;
  BoundedArena arena(memory_budget(bytes));
  try {
    auto* message = google::protobuf::Arena::CreateMessage<v1::SumsBlock>(arena.get());
    if (!message->ParseFromString((*block)->payload)) return std::nullopt;
    auto sums = decode_sums(*message);
    return sums ? std::optional(std::move(*sums)) : std::nullopt;
  } catch (const std::bad_alloc&) {
    return std::nullopt;
  }
}

void SumsReader::keep(const Group& group, const std::vector<SummedBlock>& blocks) {
  const bool good = std::ranges::all_of(blocks, [this](const SummedBlock& block) {
    const auto known = members_.find(block.sequence);
    return known != members_.end() && known->second.group == kNone;
  });
  if (!good || groups_.size() >= kNone) return;
  for (const SummedBlock& block : blocks)
    members_[block.sequence] = {static_cast<std::uint32_t>(groups_.size()), block};
  groups_.push_back(group);
}

BlockReader::Leave SumsReader::leave(const BlockHeader& block) {
  using Leave = BlockReader::Leave;
  if (block.type != BlockType::kSamples) return Leave::kNothing;
  const auto known = members_.find(block.sequence);
  if (known == members_.end() || known->second.group == kNone) return Leave::kNothing;
  const SummedBlock& member = known->second.block;
  Group& group = groups_[known->second.group];
  if (group.state == Group::State::kUnknown) {
    const auto sums = read(group.offset, group.bytes);
    const bool took = sums && taker_.take(*sums);
    group.state = took ? Group::State::kTaken : Group::State::kRefused;
  }
  const bool took = group.state == Group::State::kTaken;
  if (!took && !taker_.leaves_out(member.first, member.last)) return Leave::kNothing;
  report_.samples += member.samples;
  return took ? Leave::kContents : Leave::kAll;
}

}  // namespace tailor::store
