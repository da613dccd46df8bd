// Keeps of a CPU's records those of some processes, and of their children where they are wanted.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "daemon/capture/decode/ring_chunk.h"

namespace tailor::capture {

// One for all rings of a perf recording: what a FORK record of one CPU says holds for the others.
class PidFilter {
 public:
  PidFilter(const std::vector<pid_t>& pids, bool follow_children)
      : pids_(pids.begin(), pids.end()), follow_children_(follow_children) {}

  // Learns from the FORK records of `bytes` which children belong to the process. To be called for the bytes
  // of all rings before any is filtered.
  void learn(std::span<const std::byte> bytes);

  // Removes the records of other processes from `bytes`, in place. Records that are of no process (losses)
  // and what cannot be understood stay: the decoder counts them. Formats must have PERF_SAMPLE_TID.
  void apply(const RingLayout& layout, std::vector<std::byte>& bytes);

  std::uint64_t removed() const { return removed_; }
  std::uint64_t removed_samples() const { return removed_samples_; }  // of these

 private:
  bool keeps(const EventFormat& format, std::span<const std::byte> record) const;

  std::set<std::int32_t> pids_;
  bool follow_children_;
  std::uint64_t removed_ = 0, removed_samples_ = 0;
};

}  // namespace tailor::capture
