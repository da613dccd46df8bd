#include "daemon/query/load/code_sums.h"

#include <algorithm>

namespace tailor::query {
namespace {

constexpr std::size_t kMostSpots = std::size_t{1} << 20;
constexpr std::size_t kMostSums = std::size_t{1} << 20;

// The address that attribution looked up in the rows of the code; of a caller that of the call itself.
std::uint64_t address_of(const profile::SampleRecord& sample, std::uint64_t base, std::uint64_t size) {
  switch (sample.attribution.how) {
    case profile::How::kCode:
      return sample.ip;
    case profile::How::kKernelCode:
      return sample.user_ip;
    default:
      break;
  }
  for (const profile::StackFrame* frame = sample.stack; frame != nullptr; frame = frame->caller) {
    if (frame->address > base && frame->address - 1 - base < size) return frame->address - 1;
  }
  return 0;
}

}  // namespace

CodeSummer::CodeSummer() {
  spots_.emplace_back();
}

std::uint32_t CodeSummer::spot_of(const profile::SampleRecord& sample, std::uint64_t base,
                                  std::uint64_t size) {
  CodeSpot spot{sample.process, sample.attribution.code, CodeSpot::kSomewhere};
  const std::uint64_t address = address_of(sample, base, size);
  if (address >= base && address - base < std::min<std::uint64_t>(size, CodeSpot::kSomewhere))
    spot.offset = static_cast<std::uint32_t>(address - base);
  return spot_of(spot);
}

std::uint32_t CodeSummer::spot_of(const CodeSpot& spot) {
  const auto known = numbers_.find(spot);
  if (known != numbers_.end()) return known->second;
  const bool full = spots_.size() >= kMostSpots;
  if (full && spot.offset != CodeSpot::kSomewhere)
    return spot_of({spot.process, spot.code, CodeSpot::kSomewhere});
  const auto number = static_cast<std::uint32_t>(spots_.size());
  spots_.push_back(spot);
  numbers_.emplace(spot, number);
  return number;
}

void CodeSummer::add(std::uint32_t spot, const CellKey* key, std::uint64_t sample_weight) {
  if (spot == 0) return;
  if (cells_.size() >= kMostSums && !cells_.contains({spot, key}))
    spot = spot_of({spots_[spot].process, spots_[spot].code, CodeSpot::kSomewhere});
  Cell& cell = cells_[{spot, key}];
  const auto weight = static_cast<double>(sample_weight);
  ++cell.samples;
  cell.weight += weight;
  cell.weight_squares += weight * weight;
}

std::size_t CodeSummer::bytes() const {
  constexpr std::size_t kNode = 64;  // of a map, beside what it holds
  return spots_.size() * (2 * sizeof(CodeSpot) + kNode) +
         cells_.size() * (sizeof(Cell) + sizeof(SpotSum) + kNode);
}

std::size_t CodeSummer::Hash::operator()(const CodeSpot& spot) const {
  std::uint64_t hash = spot.process.start ^ static_cast<std::uint32_t>(spot.process.pid);
  for (const std::uint64_t part : {std::uint64_t{spot.code}, std::uint64_t{spot.offset}}) {
    hash = (hash ^ part) * 0x9E3779B97F4A7C15;
    hash ^= hash >> 32;
  }
  return hash;
}

void CodeSummer::sort(std::vector<SpotSum>& sums) {
  std::ranges::sort(sums, [](const SpotSum& a, const SpotSum& b) {
    return a.spot != b.spot ? a.spot < b.spot : *a.key < *b.key;
  });
}

}  // namespace tailor::query
