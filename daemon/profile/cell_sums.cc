#include "daemon/profile/cell_sums.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

namespace tailor::profile {
namespace {

constexpr std::size_t kFirstSlots = 16384;

// Word by word, those that differ most often first: a wider comparison would wait for words that were just
// written.
inline bool same(const std::array<std::uint64_t, 8>& a, const std::array<std::uint64_t, 8>& b) {
  return a[4] == b[4] && a[6] == b[6] && a[0] == b[0] && a[1] == b[1] && a[2] == b[2] && a[3] == b[3] &&
         a[5] == b[5] && a[7] == b[7];
}

}  // namespace

// They share a place: a wait has no data address.
inline std::uint32_t region_or_wait(const SampleRecord& s) {
  return s.wait == Wait::kNone ? s.region : s.engine_wait;
}

constexpr std::uint64_t kHeadMask = 0x0000'FFFF'FFFF'FFFF;
static_assert(offsetof(Attribution, how) == 0 && offsetof(Attribution, reason) == 1 &&
              offsetof(Attribution, quality) == 2 && offsetof(Attribution, kernel) == 3 &&
              offsetof(Attribution, pipeline) == 4 && sizeof(bool) == 1);

// One expression a word, so that the words stay in registers. key_of() is the way back.
inline CellSums::Words CellSums::words_of(const SampleRecord& s) {
  const Attribution& a = s.attribution;
  const MemoryLevel served_by = s.data_source == 0 ? MemoryLevel::kUnknown : memory_level(s.data_source);
  auto bits = [](auto value, int from) { return static_cast<std::uint64_t>(value) << from; };
  // How, reason, quality, kernel and pipeline lie side by side: kHeadMask leaves them of the first eight
  // bytes.
  std::uint64_t head;
  std::memcpy(&head, &a, sizeof head);
  return {a.plan,
          a.code,
          a.execution,
          s.process.start,
          bits(a.link, 0) | bits(a.engine_component, 32),
          bits(a.level, 0) | bits(static_cast<std::uint32_t>(s.process.pid), 32),
          (head & kHeadMask) | bits(s.source, 48),
          bits(s.address_from, 0) | bits(s.skid, 8) | bits(served_by, 16) | bits(s.wait, 24) |
              bits(region_or_wait(s), 32)};
}

CellKey CellSums::key_of(const Words& words) {
  auto byte = [&words](int word, int from) { return static_cast<std::uint8_t>(words[word] >> from); };
  CellKey key;
  key.plan = words[0];
  key.code = words[1];
  key.execution = words[2];
  key.process.start = words[3];
  key.link = static_cast<std::uint32_t>(words[4]);
  key.engine_component = static_cast<std::uint32_t>(words[4] >> 32);
  key.process.pid = static_cast<std::int32_t>(words[5] >> 32);
  key.level = static_cast<std::uint32_t>(words[5]);
  key.how = static_cast<How>(byte(6, 0));
  key.reason = static_cast<Reason>(byte(6, 8));
  key.quality = static_cast<Quality>(byte(6, 16));
  key.kernel = byte(6, 24) != 0;
  key.pipeline = static_cast<std::uint16_t>(words[6] >> 32);
  key.source = static_cast<std::uint16_t>(words[6] >> 48);
  key.address_from = static_cast<AddressFrom>(byte(7, 0));
  key.skid = byte(7, 8);
  key.served_by = static_cast<MemoryLevel>(byte(7, 16));
  key.wait = static_cast<Wait>(byte(7, 24));
  (key.wait == Wait::kNone ? key.region : key.engine_wait) = static_cast<std::uint32_t>(words[7] >> 32);
  return key;
}

// A sum of products with random odd numbers, which overlap, and the upper half of it, mixed once more: every
// bit of a key reaches the lower bits of the result.
inline std::uint32_t CellSums::hash_of(const Words& key) {
  constexpr Words kOdd = {0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93,
                          0xA0761D6478BD642F, 0xE7037ED1A0B428DB, 0x8EBC6AF09C88C6E3, 0x589965CC75374CC3};
  const std::uint64_t sum = key[0] * kOdd[0] + key[1] * kOdd[1] + key[2] * kOdd[2] + key[3] * kOdd[3] +
                            key[4] * kOdd[4] + key[5] * kOdd[5] + key[6] * kOdd[6] + key[7] * kOdd[7];
  return static_cast<std::uint32_t>(((sum ^ sum >> 32) * kOdd[0]) >> 32);
}

CellSums::CellSums() : slots_(kFirstSlots) {}

inline CellSums::Entry& CellSums::entry_of(const Keyed& keyed) {
  const auto& [key, hash] = keyed;
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash & mask;
  for (; slots_[at].sum != 0; at = (at + 1) & mask) {
    const Slot& slot = slots_[at];
    if (slot.hash != hash) continue;
    Entry& entry = entry_at(slot.sum - 1);
    if (same(entry.key, key)) return entry;
  }
  return new_entry(key, hash, at);
}

CellSums::Entry& CellSums::new_entry(const Words& key, std::uint32_t hash, std::size_t at) {
  if (sums_ % kChunk == 0) chunks_.push_back(std::make_unique_for_overwrite<Entry[]>(kChunk));
  Entry& entry = entry_at(sums_) = {key, {}, sums_};
  ++sums_;
  slots_[at] = {hash, sums_};
  if (4 * std::size_t{sums_} > slots_.size()) grow();
  return entry;
}

inline void CellSums::fetch_slot(std::uint32_t hash) const {
  __builtin_prefetch(&slots_[hash & (slots_.size() - 1)]);
}

// That of the first slot: nearly always the right one.
inline void CellSums::fetch_sum(std::uint32_t hash) const {
  const std::uint32_t number = slots_[hash & (slots_.size() - 1)].sum;
  if (number == 0) return;
  const Entry& entry = entry_at(number - 1);
  __builtin_prefetch(&entry.key);
  __builtin_prefetch(&entry.sum);
}

void CellSums::add(std::span<const SampleRecord> samples, std::uint32_t* numbers) {
  while (!samples.empty()) {
    if (samples.front().alike != 0) {
      const std::uint32_t number = add_numbered(samples.front());
      if (numbers != nullptr) *numbers++ = number;
      samples = samples.subspan(1);
      continue;
    }
    const auto most = samples.first(std::min(samples.size(), kAtOnce));
    const auto end = std::ranges::find_if(most, [](const auto& sample) { return sample.alike != 0; });
    const auto some = most.first(static_cast<std::size_t>(end - most.begin()));
    add_unnumbered(some, numbers);
    if (numbers != nullptr) numbers += some.size();
    samples = samples.subspan(some.size());
  }
}

inline std::uint32_t CellSums::add_numbered(const SampleRecord& sample) {
  if (alike_.empty()) alike_.resize(kAlike);
  Alike& alike = alike_[(sample.alike ^ sample.alike >> 32) % kAlike];
  if (alike.number != sample.alike) {
    const Words key = words_of(sample);
    alike = {sample.alike, &entry_of({key, hash_of(key)})};
  }
  alike.entry->sum.add(sample);
  return alike.entry->number;
}

void CellSums::add_unnumbered(std::span<const SampleRecord> samples, std::uint32_t* numbers) {
  std::array<Keyed, kAtOnce> keyed;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    keyed[i].key = words_of(samples[i]);
    keyed[i].hash = hash_of(keyed[i].key);
    fetch_slot(keyed[i].hash);
  }
  for (std::size_t i = 0; i < samples.size(); ++i) fetch_sum(keyed[i].hash);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    Entry& entry = entry_of(keyed[i]);
    entry.sum.add(samples[i]);
    if (numbers != nullptr) numbers[i] = entry.number;
  }
}

void CellSums::grow() {
  std::vector<Slot> before = std::exchange(slots_, std::vector<Slot>(2 * slots_.size()));
  const std::size_t mask = slots_.size() - 1;
  for (const Slot& slot : before) {
    if (slot.sum == 0) continue;
    std::size_t at = slot.hash & mask;
    while (slots_[at].sum != 0) at = (at + 1) & mask;
    slots_[at] = slot;
  }
}

void CellSums::add(const SampleRecord& sample, const Sum& sum) {
  const Words key = words_of(sample);
  entry_of({key, hash_of(key)}).sum.add(sum);
}

std::vector<std::pair<CellKey, Sum>> CellSums::take_sums() {
  std::vector<std::pair<CellKey, Sum>> sums;
  sums.reserve(sums_);
  for (std::uint32_t i = 0; i < sums_; ++i) sums.emplace_back(key_of(entry_at(i).key), entry_at(i).sum);
  std::ranges::sort(sums, {}, &std::pair<CellKey, Sum>::first);
  *this = CellSums();
  return sums;
}

Cells CellSums::take() {
  Cells cells;
  cells.reserve(sums_);
  for (std::uint32_t i = 0; i < sums_; ++i)
    cells.emplace_back(key_of(entry_at(i).key), cell_of(entry_at(i).sum));
  std::ranges::sort(cells, {}, &Cells::value_type::first);
  *this = CellSums();
  return cells;
}

}  // namespace tailor::profile
