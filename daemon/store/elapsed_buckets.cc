#include "daemon/store/elapsed_buckets.h"

#include <algorithm>
#include <cmath>

namespace tailor::store {
namespace {

constexpr double kRatio = 1.1;

}  // namespace

std::uint32_t ElapsedBuckets::bucket_of(std::uint64_t elapsed_ns) {
  static const double per_step = std::log(kRatio);
  const double ns = static_cast<double>(std::max<std::uint64_t>(elapsed_ns, 1));
  return std::min(static_cast<std::uint32_t>(std::log(ns) / per_step), kMostBuckets - 1);
}

void ElapsedBuckets::add(const ElapsedBuckets& other) {
  for (const auto& [bucket, count] : other.counts_) counts_[bucket] += count;
}

bool ElapsedBuckets::put(std::uint32_t bucket, std::uint64_t count) {
  return bucket < kMostBuckets && count > 0 && counts_.emplace(bucket, count).second;
}

std::uint64_t ElapsedBuckets::count() const {
  std::uint64_t all = 0;
  for (const auto& [bucket, count] : counts_) all += count;
  return all;
}

std::optional<double> ElapsedBuckets::quantile(double part) const {
  const std::uint64_t all = count();
  if (all == 0) return std::nullopt;
  const double wanted = std::max(1.0, std::ceil(part * static_cast<double>(all)));
  std::uint64_t seen = 0;
  for (const auto& [bucket, count] : counts_) {
    seen += count;
    if (static_cast<double>(seen) >= wanted) return std::pow(kRatio, bucket + 0.5);
  }
  return std::pow(kRatio, counts_.rbegin()->first + 0.5);
}

}  // namespace tailor::store
