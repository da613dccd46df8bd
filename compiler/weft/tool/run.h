// Runs the queries of a command line.
#pragma once

#include <atomic>
#include <map>
#include <string>
#include <vector>

#include "compiler/weft/exec/execution.h"
#include "compiler/weft/tool/command_line.h"

namespace tailor::weft {

// What was measured over all queries of a command.
struct Timings {
  struct Run {
    std::string query;
    std::int64_t wall_ns, cpu_ns;
    std::uint64_t rows, peak_memory;
  };
  struct OperatorTime {
    std::string query, name, kind;
    ComponentId id;
    double ns;
  };
  std::vector<Run> runs;
  std::vector<std::pair<std::string, PrepareTimes>> prepared;
  std::vector<OperatorTime> operators;  // of instrumented code, summed over the runs
};

// Compiles and executes one query as often as asked for, prints the rows of the first run.
Status RunQuery(const CommandLine& command, const std::string& name, const std::string& sql,
                const Database& database, jit::Jit& jit, const std::atomic<bool>& cancel, Timings& timings);

Status WriteTimings(const std::string& path, const Timings& timings);

}  // namespace tailor::weft
