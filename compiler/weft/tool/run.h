// Runs the queries of a command line.
#pragma once

#include <atomic>
#include <map>
#include <string>
#include <vector>

#include "compiler/weft/exec/execution.h"
#include "compiler/weft/exec/plan_cache.h"
#include "compiler/weft/plan/query_text.h"
#include "compiler/weft/tool/code_names.h"
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
  struct Prepared {
    std::string name;
    PrepareTimes times;
    double first_code_ms;     // from the query's text to generated code running
    double preparing_cpu_ms;  // CPU time from the text to code that can run
  };
  std::vector<Prepared> prepared;
  std::vector<OperatorTime> operators;  // of instrumented code, summed over the runs
};

// What the queries of a process share.
struct QueryContext {
  const Database& database;
  jit::Jit& jit;
  const std::atomic<bool>& cancel;
  CodeNames& names;
  PlanCache plans = PlanCache();
  Timings timings = {};
};

// Compiles a query unless it is kept from before, and executes it as often as asked for, prints the rows of
// the first run; or explains it, if the command or the text says so.
Status run_query(const CommandLine& command, const std::string& name, const QueryText& text,
                 QueryContext& context);

Status write_timings(const std::string& path, const Timings& timings);

}  // namespace tailor::weft
