#include "compiler/weft/codegen/compilation.h"

#include <fmt/format.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <tailor/agent.h>
#include <x86intrin.h>

#include <algorithm>
#include <array>

#include "compiler/weft/codegen/translator.h"
#include "compiler/weft/plan/print.h"

namespace tailor::weft {
namespace {

constexpr LevelIndex kOperatorLevel = 0;
constexpr LevelIndex kTaskLevel = 1;

// Of a task: a daemon refuses a plan with more (docs/registration-api.md).
constexpr std::size_t kMostAccesses = 4096;

// Cycles between two readings of the counter with nothing in between: what a reading itself costs the section
// that it ends. The median, since some readings are interrupted.
std::uint64_t cost_of_reading() {
  std::array<std::uint64_t, 1001> costs;
  for (std::uint64_t& cost : costs) {
    std::uint64_t begin = __rdtsc();
    cost = __rdtsc() - begin;
  }
  std::ranges::nth_element(costs, costs.begin() + costs.size() / 2);
  return costs[costs.size() / 2];
}

}  // namespace

Compilation::Compilation(const Plan& plan, tagging::DictionaryBuilder& dictionary, jit::QueryModule& module,
                         Options options)
    : plan_(plan),
      dictionary_(dictionary),
      module_(module),
      options_(std::move(options)),
      to_tasks_(dictionary, kOperatorLevel, kTaskLevel) {
  program_.shared.add_bytes(16);  // locals, workers
  program_.local.add_bytes(16);   // slot, and where there is none
  program_.instrumented = options_.instrument;
  if (options_.instrument) cost_of_reading_ = cost_of_reading();
}

Compilation::~Compilation() = default;

Program Compilation::run() {
  describe_operators();
  program_.shared.set_region(region("shared state", TAILOR_REGION_OTHER, kNoComponent, 0));
  program_.local.set_region(region("worker state", TAILOR_REGION_OTHER, kNoComponent, 0));
  std::unique_ptr<Translator> root = make_translator(*plan_.root, nullptr, 0);
  if (options_.instrument) {
    // Tasks are not known yet: an operator has at most four in each of its pipelines.
    program_.cycles_offset = program_.local.add_bytes((std::size_t{plan_.operator_count} * 4 + 2) * 8);
  }
  program_.counts_rows = options_.count_rows;
  if (options_.count_rows)
    program_.rows_offset = program_.local.add_bytes((std::size_t{plan_.operator_count} + 1) * 8);
  ValueScopes::Scope scope(values_);
  translators_.push_back(std::move(root));
  produce(*translators_.back());
  program_.task_count = dictionary_.component_count(kTaskLevel);
  return std::move(program_);
}

void Compilation::describe_operators() {
  std::vector<const Operator*> operators(plan_.operator_count + 1, nullptr);
  auto visit = [&](auto& self, const Operator& op) -> void {
    operators[op.id] = &op;
    for (const OperatorPtr& input : op.inputs) self(self, *input);
  };
  visit(visit, *plan_.root);
  for (std::uint32_t id = 1; id <= plan_.operator_count; ++id) {
    const Operator* op = operators[id];
    if (op == nullptr) {
      dictionary_.add(kOperatorLevel, {.name = kUnusedKind, .kind = kUnusedKind});
      continue;
    }
    tagging::ComponentSpec spec{.name = title(*op), .kind = kind_name(op->kind())};
    for (const OperatorPtr& input : op->inputs) spec.inputs.push_back(input->id);
    spec.attributes.push_back({"estimated_rows", op->estimated_rows});
    if (op->kind() == OperatorKind::kScan) spec.attributes.push_back({"table", as<Scan>(*op).table->name});
    if (std::string text = details(*op); !text.empty())
      spec.attributes.push_back({"details", std::move(text)});
    dictionary_.add(kOperatorLevel, std::move(spec));
  }
}

std::unique_ptr<Translator> Compilation::make_translator(const Operator& op, Translator* parent,
                                                         std::uint32_t parent_input) {
  using Make = std::unique_ptr<Translator> (*)(Compilation&, const Operator&, Translator*, std::uint32_t);
  Make make = nullptr;
  switch (op.kind()) {
    case OperatorKind::kScan:
      make = make_scan;
      break;
    case OperatorKind::kFilter:
      make = make_filter;
      break;
    case OperatorKind::kMap:
      make = make_map;
      break;
    case OperatorKind::kHashJoin:
      make = make_hash_join;
      break;
    case OperatorKind::kGroupBy:
      make = as<GroupBy>(op).keys.empty() ? make_global_aggregate : make_group_by;
      break;
    case OperatorKind::kGroupJoin:
      make = make_group_join;
      break;
    case OperatorKind::kSort:
      make = make_sort;
      break;
    case OperatorKind::kLimit:
      make = make_limit;
      break;
    case OperatorKind::kOutput:
      make = make_output;
      break;
  }
  std::unique_ptr<Translator> translator = make(*this, op, parent, parent_input);
  for (std::uint32_t i = 0; i < op.inputs.size(); ++i) {
    std::unique_ptr<Translator> input = make_translator(*op.inputs[i], translator.get(), i);
    translator->add_input(*input);
    translators_.push_back(std::move(input));
  }
  return translator;
}

void Compilation::produce(Translator& translator) {
  auto active = to_tasks_.tracker().enter(translator.op().id);
  program_.shared.set_owner(translator.op().id);
  program_.local.set_owner(translator.op().id);
  translator.produce();
}

void Compilation::consume(Translator& from) {
  if (options_.count_rows) count_row(from.op().id);
  Translator& consumer = *from.parent();
  auto active = to_tasks_.tracker().enter(consumer.op().id);
  ValueScopes::Scope scope(values_);
  run_task(consumer.task_of(from.parent_input()), [&] { consumer.consume(from.parent_input()); });
}

ComponentId Compilation::add_task(std::string name, std::string kind,
                                  std::vector<tagging::Attribute> attributes) {
  return to_tasks_.emit(
      {.name = std::move(name), .kind = std::move(kind), .attributes = std::move(attributes)});
}

void Compilation::add_access(ComponentId task, v1::Access access) {
  std::vector<v1::Access>& accesses = dictionary_.describe(kTaskLevel, task).accesses;
  if (accesses.size() >= kMostAccesses) return;
  access.set_pipeline(pipeline_here());
  accesses.push_back(std::move(access));
}

std::uint32_t Compilation::pipeline_here() const {
  if (current_pipeline_ != 0) return current_pipeline_;
  return program_.pipelines[open_.back().last_program - 1].id;
}

void Compilation::run_task(ComponentId task, const std::function<void()>& generate) {
  if (current_pipeline_ != 0 && std::ranges::find(current_tasks_, task) == current_tasks_.end()) {
    current_tasks_.push_back(task);
    dictionary_.append_task(current_pipeline_, task);
  }
  if (!task_stack_.empty()) charge_time(task_stack_.back());
  task_stack_.push_back(task);
  {
    auto active = module_.tasks().enter(task);
    generate();
    charge_time(task);
  }
  task_stack_.pop_back();
}

void Compilation::begin_pipeline(std::string name) {
  open_.push_back({std::move(name), {}, {}, {}, 0});
}

void Compilation::end_pipeline(std::vector<FinishStep> finish) {
  OpenPipeline ended = std::move(open_.back());
  open_.pop_back();
  PipelineProgram& last = program_.pipelines[ended.last_program - 1];
  std::move(finish.begin(), finish.end(), std::back_inserter(last.finish));
  if (!open_.empty()) open_.back().depends_on.push_back(last.id);
}

void Compilation::generate_source(ComponentId task, std::function<std::uint64_t(const Frame&)> tuples,
                                  std::uint64_t morsel, bool sequential,
                                  const std::function<void(llvm::Value*, llvm::Value*)>& body) {
  OpenPipeline& pipeline = open_.back();
  PipelineProgram out;
  out.name = pipeline.name;
  out.id = dictionary_.add_pipeline(out.name, kTaskLevel, {}, pipeline.depends_on);
  out.function = fmt::format("pipeline_{}", out.id);
  out.tuples = std::move(tuples);
  out.morsel = morsel;
  out.sequential = sequential;
  pipeline.depends_on.push_back(out.id);

  current_pipeline_ = out.id;
  current_tasks_.clear();
  jit::TrackedBuilder& ir = module_.builder();
  auto* type = llvm::FunctionType::get(
      ir.getVoidTy(), {ir.getPtrTy(), ir.getPtrTy(), ir.getInt64Ty(), ir.getInt64Ty()}, false);
  llvm::Function* function = module_.begin_function(out.function, type);
  const char* names[] = {"shared", "local", "begin", "end"};
  for (unsigned i = 0; i < 4; ++i) function->getArg(i)->setName(names[i]);
  shared_argument_ = function->getArg(0);
  local_argument_ = function->getArg(1);
  shared_argument_ = function->getArg(0);
  function->addParamAttr(0, llvm::Attribute::NoAlias);
  function->addParamAttr(1, llvm::Attribute::NoAlias);
  run_task(task, [&] {
    if (module_.tags() == jit::TagStrategy::kMemorySlot)
      module_.set_slot(ir.CreateLoad(ir.getPtrTy(), local_pointer(kLocalSlotOffset), "slot"));
    if (options_.instrument) {
      last_cycles_ = module_.create_entry_alloca(ir.getInt64Ty(), "last_cycles");
      ir.CreateStore(ir.CreateIntrinsic(llvm::Intrinsic::readcyclecounter, {}, {}), last_cycles_);
    }
    run_hooks(pipeline.begin);
    body(function->getArg(2), function->getArg(3));
    run_hooks(open_.back().end);
  });
  {
    auto active = module_.tasks().enter(task);
    ir.CreateRetVoid();
  }
  last_cycles_ = nullptr;
  current_pipeline_ = 0;
  program_.pipelines.push_back(std::move(out));
  open_.back().last_program = program_.pipelines.size();
}

void Compilation::run_hooks(const std::vector<Hook>& hooks) {
  for (const Hook& hook : hooks) run_task(hook.task, hook.generate);
}

void Compilation::at_function_begin(ComponentId task, std::function<void()> generate) {
  open_.back().begin.push_back({task, std::move(generate)});
}

void Compilation::at_function_end(ComponentId task, std::function<void()> generate) {
  open_.back().end.push_back({task, std::move(generate)});
}

void Compilation::charge_time(ComponentId task) {
  if (last_cycles_ == nullptr) return;
  jit::TrackedBuilder& ir = module_.builder();
  llvm::Value* now = ir.CreateIntrinsic(llvm::Intrinsic::readcyclecounter, {}, {});
  llvm::Value* passed = ir.CreateSub(now, ir.CreateLoad(ir.getInt64Ty(), last_cycles_));
  passed = ir.CreateSub(passed, ir.getInt64(cost_of_reading_));
  llvm::Value* place = local_pointer(program_.cycles_offset + task * 8);
  ir.CreateStore(ir.CreateAdd(ir.CreateLoad(ir.getInt64Ty(), place), passed), place);
  ir.CreateStore(now, last_cycles_);
}

void Compilation::count_row(ComponentId operator_id) {
  jit::TrackedBuilder& ir = module_.builder();
  llvm::Value* place = local_pointer(program_.rows_offset + std::size_t{operator_id} * 8);
  ir.CreateStore(ir.CreateAdd(ir.CreateLoad(ir.getInt64Ty(), place), ir.getInt64(1)), place);
}

llvm::Value* Compilation::shared_pointer(std::size_t offset) {
  return ir().CreateConstInBoundsGEP1_64(ir().getInt8Ty(), shared_argument_, offset);
}

llvm::Value* Compilation::local_pointer(std::size_t offset) {
  return ir().CreateConstInBoundsGEP1_64(ir().getInt8Ty(), local_argument_, offset);
}

llvm::CallInst* Compilation::call(const std::string& name, llvm::Type* result,
                                  llvm::ArrayRef<llvm::Value*> arguments) {
  std::vector<llvm::Type*> types;
  for (llvm::Value* argument : arguments) types.push_back(argument->getType());
  auto* type = llvm::FunctionType::get(result, types, false);
  return module_.call_shared(module_.declare_shared(name, type), arguments);
}

RegionKind Compilation::region(const std::string& name, std::uint32_t role, ComponentId operator_id,
                               std::uint32_t element_bytes) {
  return options_.declare_region ? options_.declare_region(name, role, operator_id, element_bytes) : 0;
}

}  // namespace tailor::weft
