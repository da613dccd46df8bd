#include "compiler/weft/tool/run.h"

#include <fmt/format.h>
#include <x86intrin.h>

#include <chrono>
#include <ctime>
#include <fstream>
#include <iostream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "compiler/weft/exec/components.h"
#include "compiler/weft/plan/print.h"
#include "compiler/weft/tool/explain_analyze.h"
#include "compiler/weft/tool/levels.h"
#include "compiler/weft/tool/statement.h"
#include "proto/base/errors.h"

namespace tailor::weft {
namespace {

// Cycles of the time stamp counter per nanosecond, from two readings of both clocks.
class CycleRate {
 public:
  double per_nanosecond() const {
    double ns = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - time_).count();
    return static_cast<double>(__rdtsc() - cycles_) / ns;
  }

 private:
  std::chrono::steady_clock::time_point time_ = std::chrono::steady_clock::now();
  std::uint64_t cycles_ = __rdtsc();
};

ExecuteOptions make_execute_options(const CommandLine& command, const std::atomic<bool>& cancel) {
  return {.memory_limit = command.memory_limit, .cancel = &cancel, .labels = command.labels};
}

double thread_cpu_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

// Executions of one query, by several sessions at once if so asked.
class Runner {
 public:
  // `compiled`: for this run, in `preparing_cpu_ms` of CPU time.
  Runner(const CommandLine& command, const CompiledQuery& query, bool compiled, double preparing_cpu_ms,
         QueryContext& context)
      : command_(command),
        query_(query),
        compiled_(compiled),
        preparing_cpu_ms_(preparing_cpu_ms),
        timings_(context.timings),
        options_(make_execute_options(command, context.cancel)) {}

  Status run() {
    {
      std::vector<std::jthread> sessions;
      for (unsigned i = 1; i < command_.concurrent; ++i) {
        sessions.emplace_back([this, i] {
          tailor_thread_register(fmt::format("weft session {}", i).c_str());
          run_session();
        });
      }
      run_session();
    }
    if (failure_) return *failure_;
    report_operators();
    return Ok{};
  }

 private:
  void run_session() {
    WorkScope scheduling(EngineWork::kSchedule);
    WorkerPool pool(command_.threads, query_.tag_strategy());
    while (started_.fetch_add(1) < command_.repeat) {
      Result<ExecutionOutcome> outcome = execute(query_, pool, options_);
      std::lock_guard lock(mutex_);
      if (!outcome.ok()) {
        failure_ = outcome.error();
        return;
      }
      record(*outcome);
    }
  }

  void record(const ExecutionOutcome& outcome) {
    if (timings_.runs.size() == first_run_ && !command_.quiet) {
      WorkScope work(EngineWork::kOutput);
      print(std::cout, outcome.result, command_.format);
      std::cout.flush();
    }
    double first_code_ms = static_cast<double>(outcome.first_code - query_.times().begin) / 1e6;
    if (compiled_ && timings_.runs.size() == first_run_)
      timings_.prepared.push_back({query_.settings().name, query_.times(), first_code_ms, preparing_cpu_ms_});
    timings_.runs.push_back(
        {query_.settings().name, outcome.wall_ns, outcome.cpu_ns, outcome.result.rows, outcome.peak_memory});
    cycles_.resize(outcome.operator_cycles.size());
    for (std::size_t i = 0; i < cycles_.size(); ++i) cycles_[i] += outcome.operator_cycles[i];
  }

  void report_operators() {
    if (cycles_.empty()) return;
    double rate = rate_.per_nanosecond();
    auto visit = [&](auto& self, const Operator& op) -> void {
      timings_.operators.push_back({query_.settings().name, title(op), kind_name(op.kind()), op.id,
                                    static_cast<double>(cycles_[op.id]) / rate});
      for (const OperatorPtr& input : op.inputs) self(self, *input);
    };
    visit(visit, *query_.plan().root);
  }

  const CommandLine& command_;
  const CompiledQuery& query_;
  bool compiled_;
  double preparing_cpu_ms_;
  Timings& timings_;
  ExecuteOptions options_;
  CycleRate rate_;
  std::atomic<unsigned> started_{0};
  std::mutex mutex_;
  std::optional<Error> failure_;
  std::size_t first_run_ = timings_.runs.size();
  std::vector<std::uint64_t> cycles_;
};

void print_times(const CompiledQuery& query, const Timings& timings, std::size_t first_run) {
  const PrepareTimes& times = query.times();
  fmt::print(stderr, "{}: plan {:.2f} ms, generate {:.2f} ms, compile {:.2f} ms, register {:.2f} ms\n",
             query.settings().name, times.plan, times.generate, times.compile, times.ship);
  for (std::size_t i = first_run; i < timings.runs.size(); ++i) {
    const Timings::Run& run = timings.runs[i];
    fmt::print(stderr, "  run {}: {:.2f} ms, CPU {:.2f} ms, {} rows, {:.1f} MiB\n", i - first_run + 1,
               static_cast<double>(run.wall_ns) / 1e6, static_cast<double>(run.cpu_ns) / 1e6, run.rows,
               static_cast<double>(run.peak_memory) / 1048576);
  }
}

Status print_measured(const CommandLine& command, const CompiledQuery& query,
                      const std::atomic<bool>& cancel) {
  AnalyzeOptions options;
  options.threads = command.threads;
  options.repeat = command.repeat;
  options.execute = make_execute_options(command, cancel);
  Result<MeasuredPlan> plan = explain_analyze(query, options);
  if (!plan.ok()) return std::move(plan).error();
  std::cout << (command.format == ResultFormat::kJson ? to_json(*plan) : to_text(*plan)) << std::flush;
  return Ok{};
}

// Not from the cache: code of one level, seen as it is made.
Status explain_levels(const CommandLine& command, const QueryText& sql, const QueryContext& context,
                      CompileSettings settings) {
  struct Seen final : CodeObserver {
    v1::Plan plan;
    v1::CodeObject code;
    void loaded(const v1::Plan& described, const v1::CodeObject& loaded) override {
      plan = described;
      code = loaded;
    }
  } seen;
  settings.tiered = false;
  settings.observer = &seen;
  auto query = CompiledQuery::make(sql, context.database, context.jit, settings);
  if (!query.ok()) return std::move(query).error();
  Result<std::string> text = command.format == ResultFormat::kJson
                                 ? levels_json(seen.plan, seen.code)
                                 : levels_text((*query)->plan(), seen.plan, seen.code, detect_style());
  if (!text.ok()) return std::move(text).error();
  std::cout << *text << std::flush;
  return Ok{};
}

}  // namespace

Status run_query(const CommandLine& command, const std::string& name, const QueryText& text,
                 QueryContext& context) {
  using Command = CommandLine::Command;
  Statement statement = read_statement(text);
  bool analyze = statement.analyze || command.command == Command::kExplainAnalyze;
  bool explain = !analyze && (statement.explain || command.command == Command::kExplain);
  CompileSettings settings;
  settings.name = name;
  settings.level = command.level;
  settings.tiered = command.tiered;
  settings.tags = command.tags;
  settings.lineage = command.lineage;
  settings.instrument = command.instrument && !analyze;
  settings.count_rows = analyze || command.count_rows;
  if (explain && command.levels) return explain_levels(command, statement.sql, context, settings);
  if (context.names.wanted()) settings.observer = &context.names;
  double cpu_ms = thread_cpu_ms();
  auto found = context.plans.get(statement.sql, context.database, context.jit, settings);
  if (!found.ok()) return std::move(found).error();
  cpu_ms = thread_cpu_ms() - cpu_ms;
  const CompiledQuery& query = *found->query;
  if (explain) {
    std::cout << to_string(query.plan()) << std::flush;
    return Ok{};
  }
  if (analyze) return print_measured(command, query, context.cancel);
  std::size_t first_run = context.timings.runs.size();
  Status status = Runner(command, query, found->compiled, cpu_ms, context).run();
  if (status.ok() && command.timing) print_times(query, context.timings, first_run);
  return status;
}

Status write_timings(const std::string& path, const Timings& timings) {
  nlohmann::json out;
  out["executions"] = nlohmann::json::array();
  out["operators"] = nlohmann::json::array();
  out["queries"] = nlohmann::json::array();
  for (const Timings::Run& run : timings.runs) {
    out["executions"].push_back({{"query", run.query},
                                 {"wall_ns", run.wall_ns},
                                 {"cpu_ns", run.cpu_ns},
                                 {"rows", run.rows},
                                 {"peak_memory", run.peak_memory}});
  }
  for (const Timings::OperatorTime& op : timings.operators) {
    out["operators"].push_back(
        {{"query", op.query}, {"id", op.id}, {"name", op.name}, {"kind", op.kind}, {"ns", op.ns}});
  }
  for (const Timings::Prepared& query : timings.prepared) {
    out["queries"].push_back({{"name", query.name},
                              {"plan_ms", query.times.plan},
                              {"generate_ms", query.times.generate},
                              {"compile_ms", query.times.compile},
                              {"register_ms", query.times.ship},
                              {"first_code_ms", query.first_code_ms},
                              {"preparing_cpu_ms", query.preparing_cpu_ms}});
  }
  std::string text = out.dump(1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (path == "-") {
    std::cout << text << "\n";
    return Ok{};
  }
  std::ofstream file(path);
  if (!(file << text << "\n")) return internal(fmt::format("cannot write {}", path));
  return Ok{};
}

}  // namespace tailor::weft
