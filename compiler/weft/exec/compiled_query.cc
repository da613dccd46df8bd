#include "compiler/weft/exec/compiled_query.h"

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>

#include "compiler/llvm/query_module.h"
#include "compiler/weft/codegen/compilation.h"
#include "compiler/weft/exec/components.h"
#include "compiler/weft/optimizer/planner.h"

namespace tailor::weft {
namespace {

constexpr LevelIndex kOperatorLevel = 0;
constexpr LevelIndex kTaskLevel = 1;
// A query that is over by then is not worth optimising.
constexpr std::chrono::milliseconds kTrialTime{5};
std::mutex background_mutex;

// Adds the time it lives to `total`, in milliseconds.
class Timer {
 public:
  explicit Timer(double& total) : total_(total) {}
  ~Timer() { total_ += std::chrono::duration<double, std::milli>(Clock::now() - begin_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  double& total_;
  Clock::time_point begin_ = Clock::now();
};

}  // namespace

Result<std::unique_ptr<CompiledQuery>> CompiledQuery::make(const QueryText& sql, const Database& database,
                                                           jit::Jit& jit, const CompileSettings& settings) {
  std::unique_ptr<CompiledQuery> query(new CompiledQuery(sql, database, jit, settings));
  query->times_.begin = std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
  {
    Timer timer(query->times_.plan);
    Result<ReadQuery> read = [&] {
      WorkScope work(EngineWork::kParse);
      return read_query(sql, database.catalog());
    }();
    if (!read.ok()) return std::move(read).error();
    WorkScope work(EngineWork::kOptimise);
    Result<Plan> plan = optimise(sql, *std::move(read));
    if (!plan.ok()) return std::move(plan).error();
    query->plan_ = std::move(*plan);
  }
  if (Status status = query->generate(); !status.ok()) return std::move(status).error();
  return query;
}

Status CompiledQuery::generate() {
  WorkScope generating(EngineWork::kGenerate);
  ids_ = tailor_plan_new();
  jit::QueryModuleOptions options;
  options.name = settings_.name;
  options.tags = settings_.tags;
  options.lineage = settings_.lineage;
  options.tag_sections = settings_.tag_sections;
  options.padding = settings_.padding;
  options.make_tag = [this](ComponentId upper, ComponentId lower) { return tailor_tag(&ids_, upper, lower); };
  auto declare = [this](const std::string& name, std::uint32_t role, ComponentId op, std::uint32_t element) {
    tailor_region_kind kind{sizeof(kind), name.c_str(), role, ids_.id, kOperatorLevel, op, element};
    return tailor_region_kind_declare(&kind);
  };
  std::unique_ptr<jit::QueryModule> module = std::make_unique<jit::QueryModule>(dictionary_, options);
  Result<jit::SealedModule> sealed = [&] {
    Timer timer(times_.generate);
    Compilation compilation(plan_, dictionary_, *module,
                            {&database_, settings_.instrument, settings_.count_rows, declare});
    program_ = compilation.run();
    return module->seal();
  }();
  if (!sealed.ok()) return std::move(sealed).error();
  module.reset();
  task_operators_.assign(program_.task_count + 1, kNoComponent);
  for (ComponentId task = 1; task <= program_.task_count; ++task) {
    std::vector<ComponentId> owners = dictionary_.owners(kTaskLevel, task);
    if (!owners.empty()) task_operators_[task] = owners.front();
  }
  if (settings_.observer != nullptr) described_ = dictionary_.build({ids_.id, ids_.slot, ids_.generation});
  if (ids_.id != 0) {
    Timer timer(times_.ship);
    WorkScope work(EngineWork::kRegister);
    dictionary_.attach("sql", text_.text);
    std::string plan = dictionary_.serialise({ids_.id, ids_.slot, ids_.generation});
    tailor_plan_load(ids_.id, plan.data(), plan.size());
  }
  Timer timer(times_.compile);
  WorkScope work(EngineWork::kCompile);
  if (!settings_.tiered || settings_.level == jit::OptLevel::kO0)
    return add_code(std::move(*sealed), settings_.level);
  jit::SealedModule later = sealed->clone();
  if (Status status = add_code(std::move(*sealed), jit::OptLevel::kO0); !status.ok()) return status;
  compiling_ = std::jthread([this, module = std::move(later)](std::stop_token stop) mutable {
    tailor_thread_register("weft compiler");
    WorkScope optimising(EngineWork::kCompile);
    jit::SealedModule mine = std::move(module);  // which goes away within the scope
    std::unique_lock lock(background_mutex);
    // Many queries may be new at once: one at a time is optimised, and queries that are over by then are not.
    std::condition_variable_any().wait_for(lock, stop, kTrialTime, [] { return false; });
    // On failure the unoptimised code goes on being used.
    if (!stop.stop_requested()) (void)add_code(std::move(mine), settings_.level);
  });
  return Ok{};
}

Status CompiledQuery::add_code(jit::SealedModule module, jit::OptLevel level) {
  WorkScope work(EngineWork::kCompile);
  auto compiled = jit_.compile(std::move(module), {.level = level});
  if (!compiled.ok()) return std::move(compiled).error();
  Code& code = tiers_.emplace_back(Code{std::move(*compiled), tailor_code_new()});
  if (code.id != 0 || settings_.observer != nullptr) {
    std::string object = code.module->code_object(code.id, ids_.id);
    if (code.id != 0) tailor_code_load(code.id, object.data(), object.size());
    v1::CodeObject loaded;
    if (settings_.observer != nullptr && loaded.ParseFromString(object))
      settings_.observer->loaded(described_, loaded);
  }
  best_.store(code.module.get(), std::memory_order_release);
  return Ok{};
}

Result<const CompiledQuery*> CompiledQuery::without_tags() const {
  if (settings_.tags == jit::TagStrategy::kNone) return this;
  std::lock_guard lock(untagged_mutex_);
  if (untagged_ == nullptr) {
    CompileSettings settings = settings_;
    settings.tags = jit::TagStrategy::kNone;
    settings.tiered = false;
    auto made = make(text_, database_, jit_, settings);
    if (!made.ok()) return std::move(made).error();
    untagged_ = std::move(*made);
  }
  return static_cast<const CompiledQuery*>(untagged_.get());
}

std::uint64_t CompiledQuery::tag(ComponentId operator_id, ComponentId task) const {
  if (settings_.tags == jit::TagStrategy::kNone) return 0;
  return tailor_tag(&ids_, operator_id, task);
}

void CompiledQuery::tell_rows(const std::vector<std::uint64_t>& rows) const {
  if (ids_.id == 0) return;
  std::lock_guard lock(told_mutex_);
  if (rows == told_rows_) return;
  v1::Plan plan = dictionary_.build({ids_.id, ids_.slot, ids_.generation});
  for (v1::Component& op : *plan.mutable_levels(static_cast<int>(kOperatorLevel))->mutable_components()) {
    if (op.kind() == kUnusedKind || op.id() >= rows.size()) continue;
    v1::Attribute& counted = *op.add_attributes();
    counted.set_key("actual_rows");
    counted.set_number(static_cast<double>(rows[op.id()]));
  }
  const std::string bytes = plan.SerializeAsString();
  // What the agent has no room for now is told after the next execution.
  if (tailor_plan_load(ids_.id, bytes.data(), bytes.size()) != -ENOBUFS) told_rows_ = rows;
}

CompiledQuery::~CompiledQuery() {
  compiling_ = {};  // asks it to stop, and waits
  for (const Code& code : tiers_) tailor_code_unload(code.id);
  tailor_plan_unload(ids_.id);
}

}  // namespace tailor::weft
