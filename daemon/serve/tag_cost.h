// What tags cost the engine: executions with them against those without, which the daemon asked for at
// random.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "daemon/query/json/json_parts.h"
#include "daemon/store/catalogue.h"

namespace tailor::serve {

// CPU time of executions, as sampled: it has the noise of its samples in it. Runs that an engine added up are
// drawn together, so they are one group, of which the sum is known.
struct CostSample {
  std::uint64_t executions = 0;  // runs that were added up count each
  double sum = 0, squares = 0;   // of the groups' costs
  double group_squares = 0;      // of the groups' numbers of executions
  double products = 0;           // of both

  // A group: what `count` executions cost together.
  void add(double cost, std::uint64_t count = 1);
  // This number of executions, each a group by itself, which cost nothing.
  void add_free(std::uint64_t count);
  double mean() const { return executions == 0 ? 0 : sum / static_cast<double>(executions); }
  // How many groups of equal size would tell as much; of executions that are groups by themselves, how many.
  double groups() const;
  // Of the mean, which is the ratio of two sums over groups (Cochran, "Sampling Techniques", 1977, 9A.1); two
  // groups at least.
  double variance() const;
};

// How many times the CPU time of an execution without tags one with tags takes.
struct TagCost {
  CostSample with, without;
  double ratio = 1, low = 0, high = 0;  // 95 %
  bool is_known = false;                // false: too few executions, or no CPU time at all
};

// Of one query. The interval is that of the ratio of two means: its logarithm, with Welch's degrees of
// freedom. Which groups have tags is drawn one by one, so that it holds although neighbours are alike.
TagCost tag_cost(const CostSample& with, const CostSample& without);

// Rows are added up as they come, by fingerprint. Queries of which there are too few executions on one side
// are shown, but are not in the sum of all.
class TagCosts {
 public:
  // On each side. Below it the interval of a mean would mean little.
  static constexpr double kLeastGroups = 10;
  // Queries that have a row each. Executions of others count nowhere, and the answer says so.
  static constexpr std::size_t kMostQueries = 10'000;

  void add(const store::ExecutionRow& row);
  // The most expensive `limit` queries, and all together: each query counts with as many executions as it
  // has.
  query::Json json(std::size_t limit) const;

 private:
  struct Query {
    std::string name;
    CostSample with, without;

    double executions() const {
      return static_cast<double>(with.executions) + static_cast<double>(without.executions);
    }
  };
  TagCost of_all() const;

  std::map<std::string, Query> queries_;
  std::uint64_t left_out_ = 0;     // executions of queries beyond
  std::uint64_t not_counted_ = 0;  // that run still, are not sampled, or stand for a number that is not known
};

}  // namespace tailor::serve
