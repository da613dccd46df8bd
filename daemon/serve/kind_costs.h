// Cost by kind of operator over time, for overviews: of samples, not of executions.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "daemon/query/json/json_parts.h"
#include "daemon/query/load/profile.h"
#include "daemon/serve/access.h"

namespace tailor::serve {

// Keys of costs: "kind:hash_join" and the like of operators, and these.
inline constexpr const char* kComponentKey = "component";
inline constexpr const char* kUnattributedKey = "unattributed";
inline constexpr const char* kOtherKey = "other";  // kinds beyond the limit
// Engines name kinds as they like, so there is a limit.
inline constexpr std::size_t kMostKinds = 64;

// The key of an operator of that kind, short enough for a label.
std::string kind_key(const std::string& kind);
// `key`, or the one of other kinds where `known` is full.
template <typename Known>
std::string bounded_key(const Known& known, std::string key) {
  return known.size() < kMostKinds || known.contains(key) ? key : kOtherKey;
}

// CPU time in [from, to) of what may be seen, by the wall clock. Every sample that measures time on CPU is in
// exactly one series, so that they add up to what a report on the same samples has in total.
class KindCosts {
 public:
  // `access` must outlive it.
  KindCosts(std::uint64_t from_ns, std::uint64_t to_ns, std::uint32_t buckets, const Access& access)
      : from_ns_(from_ns), to_ns_(to_ns), buckets_(buckets), access_(access) {}
  // Of a profile with slices.
  void add(const query::Profile& profile);
  // As "by_kind" of docs/http-api.md: the most expensive kinds, the others together, then what no operator
  // owns.
  query::Json json() const;

 private:
  struct Part {
    std::vector<double>* series;
    double part;
  };
  bool sees(const query::Profile& profile, const query::CellKey& key) const;
  std::vector<double>& series_of(std::string key);

  const std::uint64_t from_ns_, to_ns_;
  const std::uint32_t buckets_;
  const Access& access_;
  std::map<std::string, std::vector<double>> series_;
};

// Spreads a cost evenly over [begin, end) in buckets that are `width` long.
void spread(std::vector<double>& buckets, double cost, double begin, double end, double width);

}  // namespace tailor::serve
