#include "daemon/store/group_sums.h"

#include <algorithm>
#include <utility>

namespace tailor::store {

namespace {

constexpr std::size_t kFirstSlots = 1024;

std::uint64_t hash_of(const profile::PlaceKey& key) {
  std::uint64_t hash = key.process.start ^ static_cast<std::uint32_t>(key.process.pid);
  const std::uint64_t small = std::uint64_t{key.source} << 16 | static_cast<std::uint64_t>(key.reason) << 8 |
                              static_cast<std::uint64_t>(key.kernel);
  for (const std::uint64_t part : {key.execution, small, key.address}) {
    hash = (hash ^ part) * 0x9E3779B97F4A7C15;
    hash ^= hash >> 32;
  }
  return hash;
}

}  // namespace

// Where the place is, or may be put.
PlaceSums::Slot& PlaceSums::slot_of(const profile::PlaceKey& place) {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash_of(place) & mask;
  while (slots_[at].used && slots_[at].place != place) at = (at + 1) & mask;
  return slots_[at];
}

profile::Sum& PlaceSums::of(const profile::PlaceKey& place) {
  if (2 * used_ >= slots_.size()) {
    const std::vector<Slot> before =
        std::exchange(slots_, std::vector<Slot>(std::max(kFirstSlots, 2 * slots_.size())));
    for (const Slot& slot : before) {
      if (slot.used) slot_of(slot.place) = slot;
    }
  }
  Slot& slot = slot_of(place);
  if (!slot.used) {
    slot = {place, {}, true};
    ++used_;
  }
  return slot.sum;
}

std::vector<std::pair<profile::PlaceKey, profile::Sum>> PlaceSums::take() {
  std::vector<std::pair<profile::PlaceKey, profile::Sum>> sums;
  for (const Slot& slot : slots_) {
    if (slot.used) sums.emplace_back(slot.place, slot.sum);
  }
  std::ranges::sort(sums, {}, [](const auto& each) { return each.first; });
  *this = PlaceSums();
  return sums;
}

void GroupSums::add(std::span<const profile::SampleRecord> samples, std::uint64_t block,
                    std::uint64_t bytes) {
  if (rest_ > 0) {
    rest_ -= std::min<std::uint64_t>(rest_, samples.size());
    return;
  }
  cells_.add(samples);
  SummedBlock& summed = blocks_.emplace_back(SummedBlock{block, samples.size()});
  for (const profile::SampleRecord& sample : samples) {
    summed.first = std::min(summed.first, sample.time);
    summed.last = std::max(summed.last, sample.time);
    if (sample.attribution.how == profile::How::kUnattributed) places_.of(place_of(sample)).add(sample);
  }
  samples_ += samples.size();
  bytes_ += bytes;
}

bool GroupSums::full() const {
  return samples_ >= options_.most_samples || cells_.size() >= options_.most_keys ||
         places_.size() >= options_.most_keys;
}

std::optional<std::string> GroupSums::end() {
  std::optional<std::string> payload;
  if (samples_ >= options_.least_samples) {
    BlockSums sums;
    sums.blocks = std::move(blocks_);
    sums.cells = cells_.take_sums();
    sums.places = places_.take();
    payload = encode(sums);
  }
  const bool pays = payload && payload->size() * options_.smaller_by <= bytes_;
  if (samples_ > 0 && !pays) rest_ = options_.most_samples;
  forget();
  return pays ? std::move(payload) : std::nullopt;
}

void GroupSums::forget() {
  cells_ = profile::CellSums();
  places_ = PlaceSums();
  blocks_.clear();
  samples_ = bytes_ = 0;
}

}  // namespace tailor::store
