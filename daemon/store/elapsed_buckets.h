// How long executions took, as counts that can be added: what share of them took longer than what.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "daemon/profile/added_runs.h"

namespace tailor::store {

// Buckets of logarithmic width: a time of bucket n is from 1.1^n ns up to 1.1^(n+1) ns; 0 is in the first
// one. Their middle is wrong by at most 4.9 %.
class ElapsedBuckets {
 public:
  static constexpr std::uint32_t kMostBuckets =
      profile::kMostElapsedBuckets;  // those of all times in 64 bits

  static std::uint32_t bucket_of(std::uint64_t elapsed_ns);

  void add(std::uint64_t elapsed_ns) { ++counts_[bucket_of(elapsed_ns)]; }
  void add(const ElapsedBuckets& other);
  // As they were stored. False where this is no bucket, it is there already, or the count is 0.
  bool put(std::uint32_t bucket, std::uint64_t count);

  std::uint64_t count() const;
  // Of the shortest one such that this part of all, from 0 to 1, took as long or shorter. Nothing where there
  // is none.
  std::optional<double> quantile(double part) const;

  const std::map<std::uint32_t, std::uint64_t>& counts() const { return counts_; }
  bool operator==(const ElapsedBuckets&) const = default;

 private:
  std::map<std::uint32_t, std::uint64_t> counts_;
};

}  // namespace tailor::store
