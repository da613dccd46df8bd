// One run of a compiled workflow: its memory, and its steps on a client's workers.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/weft/exec/worker_pool.h"
#include "compiler/weft/workflow/compiled_workflow.h"
#include "compiler/weft/workflow/workflow_files.h"
#include "proto/base/result.h"

namespace tailor::weft::workflow {

struct RunOptions {
  std::uint64_t memory_limit = std::uint64_t{8} << 30;
  const std::atomic<bool>* cancel = nullptr;                // set from outside to end the run early
  std::vector<std::pair<std::string, std::string>> labels;  // user, database, application, trace_id ...
};

// What one iteration of a loop took.
struct IterationCost {
  std::string loop;
  std::uint64_t number = 0;  // from 1
  std::int64_t wall_ns = 0;
  std::int64_t cpu_ns = 0;  // of all workers
  std::optional<double> watched;
};

// What a context held at the end.
struct ContextValues {
  std::string name;
  Scalar scalar = Scalar::kF64;
  std::vector<std::uint64_t> shape;
  std::vector<std::byte> bytes;  // of its values, in order

  double real(std::size_t index) const;         // a whole number beyond 2^53 is rounded
  std::int64_t whole(std::size_t index) const;  // of i64 and i32; 0 for the others
};

struct RunOutcome {
  std::vector<ContextValues> shown;
  std::vector<IterationCost> iterations;  // the first kMostIterationsKept, inner loops before outer ones
  std::uint64_t iterations_not_kept = 0;
  std::map<std::uint32_t, std::uint64_t> tuples;  // that pipelines read, by numbers of the plan dictionary
  std::int64_t wall_ns = 0;
  std::int64_t cpu_ns = 0;  // of all workers
  std::uint64_t peak_memory = 0;
  std::array<std::uint8_t, 16> id{};  // as the profiler knows it; zeros without an agent
};

inline constexpr std::size_t kMostIterationsKept = 100'000;

// `files` are those of the workflow. A run with one worker gives the same values each time; with several, the
// order of sums differs, and what rounds differs with it. Errors: a file of tuples that cannot be read or
// does not fit, a key or a count of tuples out of its range, the memory limit, "cancelled".
Result<RunOutcome> run_workflow(const CompiledWorkflow& workflow, const WorkflowFiles& files,
                                WorkerPool& pool, const RunOptions& options);

}  // namespace tailor::weft::workflow
