// One run of a compiled query: its memory, and its pipelines on a client's workers.
//
// Morsel-driven (Leis et al., SIGMOD 2014): pipelines run one after the other; within one, workers take
// morsels from a shared counter, so that none waits while another still has work.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compiler/weft/exec/compiled_query.h"
#include "compiler/weft/exec/result_set.h"
#include "compiler/weft/exec/worker_pool.h"
#include "compiler/weft/runtime/memory.h"
#include "proto/base/result.h"

namespace tailor::weft {

struct ExecuteOptions {
  std::uint64_t memory_limit = std::uint64_t{8} << 30;
  const std::atomic<bool>* cancel = nullptr;                // set from outside to end the query early
  std::vector<std::pair<std::string, std::string>> labels;  // user, database, application, trace_id ...
};

struct ExecutionOutcome {
  ResultSet result;
  std::int64_t wall_ns = 0;
  std::int64_t cpu_ns = 0;      // of all workers
  std::int64_t first_code = 0;  // when the first generated code was entered, CLOCK_MONOTONIC
  std::uint64_t peak_memory = 0;
  std::vector<std::uint64_t> operator_cycles;  // by operator id, of instrumented code
  std::vector<std::uint64_t> operator_rows;    // by operator id, of code that counts rows
  std::array<std::uint8_t, 16> id{};           // as the profiler knows it; zeros without an agent
};

// Errors: run-time errors of the query, the memory limit, "cancelled".
Result<ExecutionOutcome> execute(const CompiledQuery& query, WorkerPool& pool, const ExecuteOptions& options);

}  // namespace tailor::weft
