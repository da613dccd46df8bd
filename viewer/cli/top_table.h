// `tailor top`: the queries of the last seconds as a table.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/query/json/json_parts.h"
#include "viewer/cli/terminal.h"

namespace tailor::cli {

enum class TopOrder { kCpu, kExecutions, kElapsed };

// All runs of one query in the window.
struct TopQuery {
  std::string fingerprint;
  std::string name, text;  // may be hostile
  std::uint64_t executions = 0;
  double cpu_ns = 0, mean_elapsed_ns = 0;  // in the window; of the runs that have ended
  std::uint64_t running = 0;               // of the runs, those that have not
  double running_longest_ns = 0;           // how long the oldest of these has run
  std::uint64_t untimed = 0;               // of those that have ended, which are in no elapsed time
  std::uint64_t drawn = 0;                 // of the runs, those that are sampled: the CPU time is of these
};

// Of an answer to a FingerprintsRequest.
std::vector<TopQuery> top_queries(const query::Json& answer);

// A line for the heading, then one for each query; cut to the width. Without colours: the screen has its own.
std::vector<std::string> top_lines(const std::vector<TopQuery>& queries, double window_ns, TopOrder order,
                                   const Terminal& terminal);

}  // namespace tailor::cli
