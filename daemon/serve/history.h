// Queries and the host over many executions: rows are added up as they come, and none is kept.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "daemon/query/sums/drawn_total.h"
#include "daemon/query/time/wall_time.h"
#include "daemon/serve/request.h"
#include "daemon/serve/views.h"
#include "daemon/store/catalogue.h"

namespace tailor::serve {

// What runs of one query come to.
struct QuerySum {
  std::string name, text, last_execution;
  // Runs that an engine added up in one row count each.
  std::uint64_t executions = 0, samples = 0;
  // That ended: those whose elapsed time is known, and those of which it is not (profile::is_untimed).
  std::uint64_t ended = 0, untimed = 0;
  std::uint64_t drawn_executions = 0;  // of `executions`: those that are sampled
  double cpu_ns = 0, elapsed_sum = 0, elapsed_min = 0, elapsed_max = 0;
  std::uint64_t first_ns = UINT64_MAX, last_ns = 0;
  std::map<store::RecordingNumber, query::DrawnSum> drawn;  // each recording may draw another share

  // Those that have not ended: they are in no elapsed time above. How long the oldest of them has run by now,
  // but of those that add up runs.
  std::uint64_t running = 0;
  double running_longest = 0;

  // `most_text`: the bytes that are kept of each text. `part`: of the execution's cost that counts.
  void add(const store::ExecutionRow& row, std::size_t most_text, double part = 1);
  double elapsed_mean() const { return ended == 0 ? 0 : elapsed_sum / static_cast<double>(ended); }
};

Json sum_json(const std::string& fingerprint, const QuerySum& sum);

// Executions by fingerprint (docs/http-api.md, "fingerprints"). Rows come newest first.
class QuerySums {
 public:
  // Of an execution that began before `since_ns` and ran until later the cost counts that was used since
  // then, as if it used as much at all times.
  explicit QuerySums(std::uint64_t since_ns = 0) : since_ns_(since_ns) {}
  void add(const store::ExecutionRow& row);
  // The first `limit` of those with `containing` in their name or text, in any case of letters.
  Json json(std::size_t limit, FingerprintsRequest::Order order, const std::string& containing = "") const;

  // Queries that have a row each. Older ones count in the total alone, and the answer says so.
  static constexpr std::size_t kMostQueries = 50'000;
  static constexpr std::size_t kMostText = 1024;

 private:
  double part_of(const store::ExecutionRow& row) const;

  std::uint64_t since_ns_;
  std::uint64_t now_ns_ = query::wall_clock_ns();
  std::map<std::string, QuerySum> sums_;
  double total_ = 0;
  bool truncated_ = false;
};

// The live overview: cost by time and fingerprint; by kind it is in kind_costs.h. Rows come newest first.
class HostSums {
 public:
  HostSums(std::uint64_t from_ns, std::uint64_t to_ns) : from_ns_(from_ns), to_ns_(to_ns) {}
  void add(const store::ExecutionRow& row);
  Json json(std::uint32_t buckets) const;

 private:
  struct Query {
    std::string key, name;
    double cpu_ns = 0;  // within the time
  };
  static constexpr std::uint32_t kOther = UINT32_MAX;
  struct Run {
    std::uint32_t query;
    double begin, end, cpu_ns;  // times since from_ns_
  };

  std::uint64_t from_ns_, to_ns_;
  std::map<std::string, std::uint32_t> numbers_;  // by fingerprint
  std::vector<Query> queries_;
  std::vector<Run> runs_;
  std::size_t running_bytes_ = 0;
  Json running_ = Json::array();
};

}  // namespace tailor::serve
