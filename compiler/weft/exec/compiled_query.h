// A query from text to machine code, ready to be executed any number of times, also at once.
#pragma once

#include <tailor/agent.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "compiler/llvm/jit.h"
#include "compiler/llvm/tag_strategy.h"
#include "compiler/tagging/dictionary_builder.h"
#include "compiler/weft/codegen/program.h"
#include "compiler/weft/plan/operator.h"
#include "compiler/weft/plan/query_text.h"
#include "compiler/weft/storage/database.h"
#include "proto/base/result.h"
#include "tailor/v1/dictionary.pb.h"

namespace tailor::weft {

// Is told of code before it runs, also by the thread that compiles in the background.
class CodeObserver {
 public:
  virtual ~CodeObserver() = default;
  virtual void loaded(const v1::Plan& plan, const v1::CodeObject& code) = 0;
};

struct CompileSettings {
  std::string name = "query";
  jit::OptLevel level = jit::OptLevel::kO2;
  jit::TagStrategy tags = jit::TagStrategy::kR15;
  bool instrument = false;  // count cycles per operator
  bool count_rows = false;  // count the rows each operator passes on
  // Compile without optimisation first, so that the query can run at once, and at `level` in the background;
  // running executions change over at their next morsel.
  bool tiered = false;
  bool lineage = true;
  // Told of every code object; outlives the queries.
  CodeObserver* observer = nullptr;
  // Write the tag wherever control passes from one task to another (jit::QueryModuleOptions), so that the row
  // table can be checked against it. Slower code.
  bool tag_sections = false;
  // Bytes in front of every function (jit::QueryModuleOptions).
  unsigned padding = 0;

  bool operator==(const CompileSettings&) const = default;
};

// Milliseconds, but for `begin`.
struct PrepareTimes {
  double plan = 0, generate = 0, compile = 0, ship = 0;  // until the query can run
  std::int64_t begin = 0;                                // when the text came, CLOCK_MONOTONIC, nanoseconds
};

// Immutable once made, so any thread may execute it. Its end unloads code and plan: no execution may run
// then.
class CompiledQuery {
 public:
  // `jit` and `database` outlive the query. Errors: the text's, with a position, or the compiler's.
  static Result<std::unique_ptr<CompiledQuery>> make(const QueryText& sql, const Database& database,
                                                     jit::Jit& jit, const CompileSettings& settings);
  ~CompiledQuery();
  CompiledQuery(const CompiledQuery&) = delete;
  CompiledQuery& operator=(const CompiledQuery&) = delete;

  const std::string& sql() const { return text_.text; }
  const CompileSettings& settings() const { return settings_; }
  const Plan& plan() const { return plan_; }
  const Program& program() const { return program_; }
  // Operators, tasks and IR instructions, as the profiler was told.
  const tagging::DictionaryBuilder& dictionary() const { return dictionary_; }
  // The best code there is now; it stays loaded as long as the query.
  const jit::CompiledModule& code() const { return *best_.load(std::memory_order_acquire); }
  const Database& database() const { return database_; }
  const tailor_plan_ids& ids() const { return ids_; }
  const PrepareTimes& times() const { return times_; }
  // The operator a task belongs to.
  ComponentId operator_of(ComponentId task) const { return task_operators_[task]; }
  // The same query without tags, for executions that shall have none: compiled when it is first asked for, at
  // once at the level of the settings. A plan of its own. Any thread; waits while another compiles it.
  Result<const CompiledQuery*> without_tags() const;
  // As <tailor/tag_scope.h> wants it.
  std::uint32_t tag_strategy() const { return static_cast<std::uint32_t>(settings_.tags); }
  // 0 without tags. A task of 0 names the operator alone.
  std::uint64_t tag(ComponentId operator_id, ComponentId task) const;
  // Tells the profiler how many rows each operator passed on in an execution, by operator id: the plan's
  // attribute "actual_rows". The last execution counts. Costs a message if they are not what was told before.
  // Any thread.
  void tell_rows(const std::vector<std::uint64_t>& rows) const;

 private:
  CompiledQuery(QueryText text, const Database& database, jit::Jit& jit, const CompileSettings& settings)
      : text_(std::move(text)),
        settings_(settings),
        database_(database),
        jit_(jit),
        dictionary_(settings.name, {"operator", "task", "ir"}) {}
  Status generate();
  // Compiles, announces and publishes a tier.
  Status add_code(jit::SealedModule module, jit::OptLevel level);

  QueryText text_;
  CompileSettings settings_;
  const Database& database_;
  jit::Jit& jit_;
  Plan plan_;
  tagging::DictionaryBuilder dictionary_;
  Program program_;
  struct Code {
    std::unique_ptr<jit::CompiledModule> module;
    std::uint64_t id;
  };
  std::vector<Code> tiers_;  // written by the maker, then by the compiling thread
  std::atomic<const jit::CompiledModule*> best_{nullptr};
  tailor_plan_ids ids_{};
  v1::Plan described_;  // for settings_.observer
  std::vector<ComponentId> task_operators_;
  PrepareTimes times_;
  mutable std::mutex told_mutex_;
  mutable std::vector<std::uint64_t> told_rows_;  // empty: none
  mutable std::mutex untagged_mutex_;
  mutable std::unique_ptr<CompiledQuery> untagged_;  // nullptr: nobody asked for it
  std::jthread compiling_;                           // the last member: it uses the others
};

}  // namespace tailor::weft
