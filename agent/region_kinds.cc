#include "agent/region_kinds.h"

#include <cstring>

#include "agent/encode.h"
#include "proto/base/sha256.h"

namespace tailor::agent {

namespace {

std::uint64_t digest_of(const tailor_region_kind& kind) {
  char memory[kMaxNameBytes + kFixedBound];
  FixedWire wire{FixedMemory(memory)};
  encode_region_kind(wire, 0, kind);
  Sha256Digest digest = sha256({wire.bytes().data(), wire.size()});
  std::uint64_t number = 0;
  std::memcpy(&number, digest.data(), sizeof(number));
  return number;
}

}  // namespace

RegionKinds::Found RegionKinds::find_or_add(const tailor_region_kind& kind) noexcept {
  if (kind.plan_id == 0) {
    std::uint64_t digest = digest_of(kind) & ~kTold;
    if (digest == 0) digest = kTold << 1;  // 0 is a free slot
    // At most half of the slots are taken, so a free one is found soon.
    for (std::uint32_t i = 0; i < kSlots; ++i) {
      std::uint32_t at = static_cast<std::uint32_t>(((digest >> 1) + i) % kSlots);
      std::uint64_t there = digests_[at].load(std::memory_order_acquire);
      if ((there & ~kTold) == digest) return {at + 1, (there & kTold) != 0};
      if (there != 0) continue;
      if (remembered_.fetch_add(1, std::memory_order_relaxed) >= kRemembered) {
        remembered_.fetch_sub(1, std::memory_order_relaxed);
        break;
      }
      if (digests_[at].compare_exchange_strong(there, digest, std::memory_order_acq_rel))
        return {at + 1, false};
      remembered_.fetch_sub(1, std::memory_order_relaxed);
      if ((there & ~kTold) == digest) return {at + 1, (there & kTold) != 0};
    }
  }
  // Only the caller knows this number, so nobody else can speak of it.
  return {next_.fetch_add(1, std::memory_order_relaxed) + 1, false};
}

void RegionKinds::note_told(std::uint32_t id) noexcept {
  if (id > kSlots) return;
  std::atomic<std::uint64_t>& slot = digests_[id - 1];
  std::uint64_t there = slot.load(std::memory_order_relaxed);
  // It may be forgotten meanwhile; what another thread notes is the same.
  if (there != 0) slot.compare_exchange_strong(there, there | kTold, std::memory_order_release);
}

void RegionKinds::forget() noexcept {
  if (remembered_.exchange(0) == 0) return;
  for (auto& digest : digests_) digest.store(0, std::memory_order_relaxed);
}

}  // namespace tailor::agent
