#include "compiler/weft/workflow/lowering.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/tagging/lowering_step.h"
#include "compiler/weft/workflow/function_builder.h"
#include "compiler/weft/workflow/join_index.h"
#include "compiler/weft/workflow/signature.h"
#include "compiler/weft/workflow/udf_inliner.h"

namespace tailor::weft::workflow {
namespace {

constexpr LevelIndex kOperatorLevel = 0;
constexpr LevelIndex kUdfLevel = 1;
constexpr const char* kGlueKind = "operator code";

// What an operator of a pipeline generates with.
struct OperatorCode {
  const PipelineOperator* op = nullptr;
  ComponentId id = kNoComponent;
  ComponentId glue = kNoComponent, udf = kNoComponent;  // tasks
  llvm::Function* function = nullptr;
  std::uint32_t index = 0;  // of the program, for a join
};

class Lowering {
 public:
  Lowering(const Workflow& workflow, const UdfLibrary& library, tagging::DictionaryBuilder& dictionary,
           jit::QueryModule& module)
      : workflow_(workflow),
        library_(library),
        dictionary_(dictionary),
        to_udfs_(dictionary, kOperatorLevel, kUdfLevel),
        inliner_(module, library),
        build_(workflow, program_, module, dictionary, inliner_) {}

  WorkflowProgram run() {
    lay_out();
    program_.context_operators.assign(workflow_.contexts.size(), kNoComponent);
    for (const Input& input : workflow_.inputs) add_input(input);
    for (const Statement& statement : workflow_.statements) program_.steps.push_back(lower(statement));
    return std::move(program_);
  }

 private:
  void lay_out() {
    std::size_t at = kColumnsOffset;
    for (const Input& input : workflow_.inputs) {
      std::vector<std::size_t>& offsets = program_.column_offsets.emplace_back();
      for (std::size_t i = 0; i < input.fields.size(); ++i, at += 8) offsets.push_back(at);
    }
    program_.shared_bytes = at;
    program_.local_bytes = kContextsOffset + 8 * workflow_.contexts.size();
  }

  ComponentId add_operator(const std::string& name, const char* kind, Place place,
                           std::vector<ComponentId> inputs = {},
                           std::vector<tagging::Attribute> attributes = {}) {
    attributes.push_back({"line", static_cast<double>(place.line)});
    return dictionary_.add(
        kOperatorLevel,
        {.name = name, .kind = kind, .inputs = std::move(inputs), .attributes = std::move(attributes)});
  }

  // A component of the level "udf"; `function` is empty for an operator's own code.
  ComponentId add_task(ComponentId operator_id, const std::string& name, const std::string& function) {
    const auto active = to_udfs_.tracker().enter(operator_id);
    const ComponentId task = to_udfs_.emit({.name = name, .kind = function.empty() ? kGlueKind : "udf"});
    program_.function_names.resize(task + 1);
    program_.function_names[task] = function;
    return task;
  }

  std::uint32_t add_pipeline(const std::string& name) {
    std::vector<std::uint32_t> before;
    if (last_pipeline_ != 0) before.push_back(last_pipeline_);
    last_pipeline_ = dictionary_.add_pipeline(name, kUdfLevel, {}, std::move(before));
    return last_pipeline_;
  }

  llvm::Function* function_named(const std::string& name) const { return library_.find(name); }

  // An input that a function makes is a pipeline of its own, which runs first.
  void add_input(const Input& input) {
    const auto index = static_cast<std::uint32_t>(program_.input_operators.size());
    const ComponentId id = add_operator(input.name, "input", input.place);
    program_.input_operators.push_back(id);
    if (!input.generator) return;
    StepCode step;
    step.kind = StepCode::Kind::kGenerate;
    step.place = input.place;
    step.operator_id = id;
    step.input = index;
    step.name = input.name;
    step.pipeline = add_pipeline("make " + input.name);
    step.function = fmt::format("generate_{}", step.pipeline);
    const ComponentId glue = add_task(id, "make " + input.name, "");
    const ComponentId udf = add_task(id, input.generator->function, input.generator->function);
    program_.udf_uses.push_back(
        {udf, input.generator->function, input.generator->place, step.pipeline, true});
    llvm::Function& function = *function_named(input.generator->function);
    build_.begin(step.function, step.pipeline, glue);
    build_.count_loop(build_.argument(2), build_.argument(3), [&](llvm::Value* row) {
      std::vector<llvm::Value*> arguments = build_.arguments(function, 1, *input.generator, {}, {});
      arguments.insert(arguments.begin(), row);
      for (std::uint32_t i = 0; i < input.fields.size(); ++i)
        arguments.push_back(build_.element(build_.column(index, i), row, input.fields[i].bytes()));
      build_.run_task(udf, [&] { inliner_.call(function, arguments); });
    });
    build_.end(input.place);
    program_.steps.push_back(std::move(step));
  }

  StepCode lower(const Statement& statement) {
    switch (statement.kind) {
      case Statement::Kind::kPipeline:
        return lower_pipeline(statement);
      case Statement::Kind::kUpdate:
        return lower_update(statement);
      case Statement::Kind::kLoop:
        return lower_loop(statement);
    }
    return {};
  }

  void note_changes(const std::vector<std::uint32_t>& contexts, ComponentId id) {
    for (std::uint32_t each : contexts)
      if (program_.context_operators[each] == kNoComponent) program_.context_operators[each] = id;
  }

  // ---- an update that runs once, and loops

  StepCode lower_update(const Statement& statement) {
    const Call& call = *statement.call;
    StepCode step;
    step.kind = StepCode::Kind::kUpdate;
    step.place = statement.place;
    step.operator_id = add_operator(call.function, "update", statement.place);
    note_changes(statement.contexts, step.operator_id);
    step.pipeline = add_pipeline(fmt::format("update {}", call.function));
    step.function = fmt::format("update_{}", step.pipeline);
    const ComponentId glue = add_task(step.operator_id, "call of " + call.function, "");
    const ComponentId udf = add_task(step.operator_id, call.function, call.function);
    llvm::Function& function = *function_named(call.function);
    build_.begin(step.function, step.pipeline, glue);
    const std::vector<llvm::Value*> arguments = build_.arguments(function, 0, call, statement.contexts, {});
    build_.run_task(udf, [&] { inliner_.call(function, arguments); });
    build_.end(statement.place);
    return step;
  }

  StepCode lower_loop(const Statement& statement) {
    StepCode step;
    step.kind = StepCode::Kind::kLoop;
    step.place = statement.place;
    step.name = statement.name;
    step.count = statement.count;
    step.watch = statement.watch;
    step.operator_id = add_operator(statement.name, "loop", statement.place, {},
                                    {{"most_iterations", static_cast<double>(statement.count)}});
    for (const Statement& each : statement.body) step.body.push_back(lower(each));
    if (!statement.call) return step;
    const Call& call = *statement.call;
    step.pipeline = add_pipeline(fmt::format("until {}", call.function));
    step.function = fmt::format("until_{}", step.pipeline);
    const ComponentId glue = add_task(step.operator_id, "call of " + call.function, "");
    const ComponentId udf = add_task(step.operator_id, call.function, call.function);
    llvm::Function& function = *function_named(call.function);
    build_.begin(step.function, step.pipeline, glue);
    const std::vector<llvm::Value*> arguments = build_.arguments(function, 0, call, {}, {});
    llvm::Value* said = nullptr;
    build_.run_task(udf, [&] { said = inliner_.call(function, arguments); });
    jit::TrackedBuilder& ir = build_.ir();
    ir.CreateStore(ir.CreateZExt(build_.truth(said), ir.getInt64Ty()), build_.shared_word(kTruthOffset));
    build_.end(statement.place);
    return step;
  }

  // ---- pipelines

  StepCode lower_pipeline(const Statement& statement) {
    const Input& input = workflow_.inputs[statement.input];
    StepCode step;
    step.place = statement.place;
    step.input = statement.input;
    step.name = fmt::format("{}, line {}", input.name, statement.place.line);
    step.pipeline = add_pipeline(step.name);
    step.function = fmt::format("pipeline_{}", step.pipeline);
    const ComponentId source = program_.input_operators[statement.input];
    const ComponentId scan = add_task(source, "read " + input.name, "");
    std::vector<OperatorCode> operators;
    ComponentId previous = source;
    for (const PipelineOperator& op : statement.operators) {
      const bool joins = op.kind == OperatorKind::kJoin;
      operators.push_back(joins ? add_join(op, previous) : add_pipeline_operator(op, previous));
      previous = operators.back().id;
      if (joins) step.indexes.push_back(operators.back().index);
    }
    note_uses(operators, step.pipeline);
    step.operator_id = operators.front().id;
    build_.begin(step.function, step.pipeline, scan);
    build_.count_loop(build_.argument(2), build_.argument(3), [&](llvm::Value* row) {
      fields_.assign(statement.fields.size(), FieldValue());
      read_fields(statement, row);
      consume(statement, operators, 0);
    });
    build_.end(statement.place);
    for (const OperatorCode& each : operators)
      if (each.op->pattern == Pattern::kParallel) add_combines(each, step.combines);
    return step;
  }

  void note_uses(const std::vector<OperatorCode>& operators, std::uint32_t pipeline) {
    bool every_tuple = true;
    for (const OperatorCode& each : operators) {
      const OperatorKind kind = each.op->kind;
      const Call& call = each.op->call;
      if (kind != OperatorKind::kJoin)
        program_.udf_uses.push_back({each.udf, call.function, call.place, pipeline, every_tuple});
      if (kind == OperatorKind::kFilter || kind == OperatorKind::kFlatmap || kind == OperatorKind::kJoin)
        every_tuple = false;
    }
  }

  OperatorCode add_pipeline_operator(const PipelineOperator& op, ComponentId previous) {
    const char* kind = operator_kind_name(op.kind);
    std::vector<tagging::Attribute> attributes{{"function", op.call.function}};
    if (!op.contexts.empty()) {
      attributes.push_back({"pattern", std::string(pattern_name(op.pattern))});
      attributes.push_back({"context", workflow_.contexts[op.contexts.front()].name});
    }
    OperatorCode out;
    out.op = &op;
    out.id = add_operator(fmt::format("{} {}", kind, op.call.function), kind, op.place, {previous},
                          std::move(attributes));
    out.glue = add_task(out.id, kind, "");
    out.udf = add_task(out.id, op.call.function, op.call.function);
    out.function = function_named(op.call.function);
    note_changes(op.contexts, out.id);
    return out;
  }

  OperatorCode add_join(const PipelineOperator& op, ComponentId previous) {
    const Input& input = workflow_.inputs[op.input];
    OperatorCode out;
    out.op = &op;
    out.id =
        add_operator("join " + input.name, "join", op.place, {previous, program_.input_operators[op.input]},
                     {{"key", input.fields[op.input_key].name}});
    out.glue = add_task(out.id, "join", "");
    for (; out.index < program_.indexes.size(); ++out.index) {
      const IndexCode& known = program_.indexes[out.index];
      if (known.input == op.input && known.field == op.input_key) return out;
    }
    program_.indexes.push_back({op.input, op.input_key, program_.shared_bytes, out.id, out.glue});
    program_.shared_bytes += kIndexBytes;
    return out;
  }

  // Those of the input that an operator uses.
  void read_fields(const Statement& statement, llvm::Value* row) {
    used_.assign(statement.fields.size(), false);
    for (const PipelineOperator& op : statement.operators) {
      if (op.key) used_[*op.key] = true;
      for (const Argument& each : op.call.arguments)
        if (each.kind == Argument::Kind::kField) used_[each.index] = true;
    }
    for (std::uint32_t i = 0; i < workflow_.inputs[statement.input].fields.size(); ++i)
      if (used_[i]) fields_[i].value = field_of_row(statement.input, i, row);
  }

  // The value, or the place of an array.
  llvm::Value* field_of_row(std::uint32_t input, std::uint32_t index, llvm::Value* row) {
    const Field& field = workflow_.inputs[input].fields[index];
    llvm::Value* place = build_.element(build_.column(input, index), row, field.bytes());
    if (field.count != 0) return place;
    return build_.ir().CreateLoad(build_.type_of(field.scalar), place, field.name);
  }

  // The operators from `at` on, for the tuple whose fields are bound.
  void consume(const Statement& statement, const std::vector<OperatorCode>& operators, std::size_t at) {
    if (at == operators.size()) return;
    const OperatorCode& code = operators[at];
    const auto next = [&] { consume(statement, operators, at + 1); };
    switch (code.op->kind) {
      case OperatorKind::kMap:
        build_.run_task(code.glue, [&] { map(statement, code); });
        return next();
      case OperatorKind::kFilter:
        return build_.run_task(code.glue, [&] {
          llvm::Value* said =
              call(code, nullptr, {}, build_.arguments(*code.function, 0, code.op->call, {}, fields_));
          build_.when(build_.truth(said), next);
        });
      case OperatorKind::kFlatmap:
        return build_.run_task(code.glue, [&] { flatmap(statement, code, next); });
      case OperatorKind::kJoin:
        return build_.run_task(code.glue, [&] { join(code, next); });
      case OperatorKind::kReduce:
        build_.run_task(code.glue, [&] {
          exclusively(code, [&] { return key_of(code); }, [&](llvm::Value* key) { reduce(code, key); });
        });
        return next();
      case OperatorKind::kUpdate:
        build_.run_task(code.glue, [&] {
          exclusively(
              code, [] { return nullptr; },
              [&](llvm::Value*) {
                call(code, nullptr, {},
                     build_.arguments(*code.function, 0, code.op->call, code.op->contexts, fields_));
              });
        });
        return next();
    }
  }

  // The user's function with `before`, its written arguments, and the pointers in `outputs`.
  llvm::Value* call(const OperatorCode& code, llvm::Value* before, const std::vector<llvm::Value*>& outputs,
                    std::vector<llvm::Value*> arguments) {
    if (before != nullptr) arguments.insert(arguments.begin(), before);
    arguments.insert(arguments.end(), outputs.begin(), outputs.end());
    llvm::Value* value = nullptr;
    build_.run_task(code.udf, [&] { value = inliner_.call(*code.function, arguments); });
    return value;
  }

  void map(const Statement& statement, const OperatorCode& code) {
    const std::vector<std::uint32_t>& made = code.op->outputs;
    std::vector<llvm::Value*> arguments = build_.arguments(*code.function, 0, code.op->call, {}, fields_);
    if (made.size() == 1 && statement.fields[made.front()].count == 0) {
      fields_[made.front()].value = call(code, nullptr, {}, std::move(arguments));
      return;
    }
    const std::vector<llvm::Value*> places = output_places(statement, code);
    call(code, nullptr, places, std::move(arguments));
    bind_outputs(statement, code, places);
  }

  void flatmap(const Statement& statement, const OperatorCode& code, const std::function<void()>& next) {
    std::vector<llvm::Value*> arguments = build_.arguments(*code.function, 0, code.op->call, {}, fields_);
    const std::vector<llvm::Value*> places = output_places(statement, code);
    jit::TrackedBuilder& ir = build_.ir();
    llvm::Value* count = build_.widened(call(code, nullptr, places, std::move(arguments)));
    llvm::Value* most = ir.getInt64(code.op->most);
    build_.when(ir.CreateICmpUGT(count, most), [&] {
      build_.call_runtime("weft_wf_fail_count", {ir.getInt64(code.op->place.line), count, most});
    });
    build_.count_loop(ir.getInt64(0), count, [&](llvm::Value* index) {
      std::vector<llvm::Value*> elements;
      for (std::size_t i = 0; i < places.size(); ++i)
        elements.push_back(build_.element(places[i], index, statement.fields[code.op->outputs[i]].bytes()));
      bind_outputs(statement, code, elements);
      next();
    });
  }

  // One tuple for each row of the other input that has the key.
  void join(const OperatorCode& code, const std::function<void()>& next) {
    const PipelineOperator& op = *code.op;
    jit::TrackedBuilder& ir = build_.ir();
    const std::size_t index = program_.indexes[code.index].offset;
    llvm::Value* buckets = build_.shared_pointer(index);
    llvm::Value* links = build_.shared_pointer(index + 8);
    llvm::Value* shift = build_.shared_value(ir.getInt64Ty(), index + 16);
    llvm::Value* key = build_.widened(fields_[*op.key].value);
    llvm::Value* bucket = ir.CreateLShr(ir.CreateMul(key, ir.getInt64(kIndexFactor)), shift);
    llvm::Value* first = ir.CreateLoad(ir.getInt64Ty(), build_.element(buckets, bucket, 8), "first");
    build_.chain_loop(first, links, [&](llvm::Value* row) {
      llvm::Value* other = build_.widened(field_of_row(op.input, op.input_key, row));
      build_.when(ir.CreateICmpEQ(key, other), [&] {
        for (std::size_t i = 0; i < op.outputs.size(); ++i)
          if (used_[op.outputs[i]])
            fields_[op.outputs[i]].value = field_of_row(op.input, op.input_fields[i], row);
        next();
      });
    });
  }

  std::vector<llvm::Value*> output_places(const Statement& statement, const OperatorCode& code) {
    std::vector<llvm::Value*> places;
    for (std::uint32_t each : code.op->outputs) {
      const Field& field = statement.fields[each];
      places.push_back(build_.variable(
          field.scalar, field.values() * std::max<std::uint64_t>(code.op->most, 1), field.name));
    }
    return places;
  }

  void bind_outputs(const Statement& statement, const OperatorCode& code,
                    const std::vector<llvm::Value*>& places) {
    for (std::size_t i = 0; i < places.size(); ++i) {
      const std::uint32_t made = code.op->outputs[i];
      const Field& field = statement.fields[made];
      fields_[made].value = field.count == 0
                                ? build_.ir().CreateLoad(build_.type_of(field.scalar), places[i], field.name)
                                : places[i];
    }
  }

  // The key as i64, checked; nullptr if the operator has none.
  llvm::Value* key_of(const OperatorCode& code) {
    if (!code.op->key) return nullptr;
    jit::TrackedBuilder& ir = build_.ir();
    llvm::Value* key = build_.widened(fields_[*code.op->key].value);
    llvm::Value* slots = ir.getInt64(workflow_.contexts[code.op->contexts.front()].slots());
    build_.when(ir.CreateICmpUGE(key, slots), [&] {
      build_.call_runtime("weft_wf_fail_key", {ir.getInt64(code.op->place.line), key, slots});
    });
    return key;
  }

  // What may fail runs before the lock is taken, so that no error leaves it locked.
  template <typename Before, typename Work>
  void exclusively(const OperatorCode& code, const Before& before, const Work& work) {
    llvm::Value* value = before();
    const bool alone = code.op->pattern == Pattern::kSynchronous;
    if (alone) build_.call_runtime("weft_wf_lock", {build_.shared_pointer(kMutexOffset)});
    work(value);
    if (alone) build_.call_runtime("weft_wf_unlock", {build_.shared_pointer(kMutexOffset)});
  }

  void reduce(const OperatorCode& code, llvm::Value* key) {
    const Context& context = workflow_.contexts[code.op->contexts.front()];
    llvm::Value* slot = build_.context(code.op->contexts.front());
    if (key != nullptr) slot = build_.element(slot, key, context.bytes() / context.slots());
    std::vector<llvm::Value*> arguments = build_.arguments(*code.function, 1, code.op->call, {}, fields_);
    if (!reduces_value(workflow_, *code.op)) {
      call(code, slot, {}, std::move(arguments));
      return;
    }
    jit::TrackedBuilder& ir = build_.ir();
    llvm::Value* before = ir.CreateLoad(build_.type_of(context.scalar), slot, context.name);
    ir.CreateStore(call(code, before, {}, std::move(arguments)), slot);
  }

  // One function for each context that workers have copies of.
  void add_combines(const OperatorCode& code, std::vector<CombineCode>& out) {
    const ComponentId glue = add_task(code.id, "combine copies", "");
    const ComponentId udf = add_task(code.id, code.op->combine, code.op->combine);
    llvm::Function& function = *function_named(code.op->combine);
    for (std::uint32_t each : code.op->contexts) {
      const Context& context = workflow_.contexts[each];
      CombineCode combine;
      combine.operator_id = code.id;
      combine.task = glue;
      combine.context = each;
      combine.start = code.op->start;
      combine.pipeline = add_pipeline(fmt::format("combine {}", context.name));
      combine.function = fmt::format("combine_{}", combine.pipeline);
      build_.begin(combine.function, combine.pipeline, glue);
      // The context itself comes in the place of the shared block; the worker's block has its copy.
      llvm::Value* copy = build_.context(each);
      build_.count_loop(build_.argument(2), build_.argument(3), [&](llvm::Value* index) {
        jit::TrackedBuilder& ir = build_.ir();
        llvm::Type* type = build_.type_of(context.scalar);
        llvm::Value* place = build_.element(build_.argument(0), index, scalar_bytes(context.scalar));
        llvm::Value* a = ir.CreateLoad(type, place, context.name);
        llvm::Value* b =
            ir.CreateLoad(type, build_.element(copy, index, scalar_bytes(context.scalar)), "copy");
        llvm::Value* both = nullptr;
        build_.run_task(udf, [&] { both = inliner_.call(function, {a, b}); });
        ir.CreateStore(both, place);
      });
      build_.end(code.op->place);
      out.push_back(std::move(combine));
    }
  }

  const Workflow& workflow_;
  const UdfLibrary& library_;
  tagging::DictionaryBuilder& dictionary_;
  tagging::LoweringStep to_udfs_;
  WorkflowProgram program_;
  UdfInliner inliner_;
  FunctionBuilder build_;
  std::vector<FieldValue> fields_;  // of the tuple at hand
  std::vector<bool> used_;          // by the pipeline at hand, of its fields
  std::uint32_t last_pipeline_ = 0;
};

}  // namespace

Result<WorkflowProgram> lower_workflow(const Workflow& workflow, const UdfLibrary& library,
                                       tagging::DictionaryBuilder& dictionary, jit::QueryModule& module) {
  try {
    return Lowering(workflow, library, dictionary, module).run();
  } catch (const LoweringFailure& failure) {
    return failure.error;
  }
}

}  // namespace tailor::weft::workflow
