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
  return number != 0 ? number : 1;
}

}  // namespace

RegionKinds::Found RegionKinds::find_or_add(const tailor_region_kind& kind) noexcept {
  if (kind.plan_id == 0) {
    const std::uint64_t digest = digest_of(kind);
    // At most half of the slots are taken, so a free one is found soon.
    for (std::uint32_t i = 0; i < kSlots; ++i) {
      std::uint32_t at = static_cast<std::uint32_t>((digest + i) % kSlots);
      std::uint64_t there = digests_[at].load(std::memory_order_acquire);
      if (there == digest) return {at + 1, false};
      if (there != 0) continue;
      if (remembered_.fetch_add(1, std::memory_order_relaxed) >= kRemembered) {
        remembered_.fetch_sub(1, std::memory_order_relaxed);
        break;
      }
      if (digests_[at].compare_exchange_strong(there, digest, std::memory_order_acq_rel))
        return {at + 1, true};
      remembered_.fetch_sub(1, std::memory_order_relaxed);
      if (there == digest) return {at + 1, false};
    }
  }
  return {next_.fetch_add(1, std::memory_order_relaxed) + 1, true};
}

void RegionKinds::forget() noexcept {
  if (remembered_.exchange(0) == 0) return;
  for (auto& digest : digests_) digest.store(0, std::memory_order_relaxed);
}

}  // namespace tailor::agent
