#include "compiler/weft/workflow/explain_workflow.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/llvm/query_module.h"
#include "compiler/tagging/dictionary_builder.h"
#include "compiler/weft/workflow/signature.h"
#include "compiler/weft/workflow/udf_check.h"

namespace tailor::weft::workflow {
namespace {

std::string counted(std::uint64_t number, const char* what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

std::string type_text(Scalar scalar, std::span<const std::uint64_t> shape) {
  std::string text = scalar_name(scalar);
  for (std::size_t i = 0; i < shape.size(); ++i) text += fmt::format("{}{}", i == 0 ? "[" : ", ", shape[i]);
  return shape.empty() ? text : text + "]";
}

// Names one use of a function. An operator stands at another place than the function that it calls.
std::string key_of_use(const std::string& function, Place place) {
  return fmt::format("{} {}:{}", function, place.line, place.column);
}

class Explainer {
 public:
  Explainer(const Workflow& workflow, const UdfLibrary& library, const UdfAnalyser& analyser,
            unsigned threads, const HostSpeed& host)
      : workflow_(workflow), library_(library), analyser_(analyser), threads_(threads), host_(host) {}

  WorkflowExplanation explanation() {
    line(0,
         fmt::format("workflow {} ({}), on {}", workflow_.name, workflow_.file, counted(threads_, "worker")));
    put_host();
    for (const Input& input : workflow_.inputs) put_input(input);
    for (const Context& context : workflow_.contexts)
      line(0, fmt::format("context {} {}: {} bytes", context.name, type_text(context.scalar, context.shape),
                          context.bytes()));
    for (const Statement& statement : workflow_.statements) put(0, statement);
    return {std::move(out_), std::move(functions_)};
  }

 private:
  void line(unsigned depth, const std::string& text) {
    out_ += std::string(std::size_t{depth} * 2, ' ') + text + "\n";
  }

  std::string cost_of(const std::string& function) const {
    llvm::Function* found = library_.find(function);
    if (found == nullptr) return {};
    const UdfCounts counts = count_udf(library_, *found);
    std::string text = fmt::format("{}, {}, {}", counted(counts.instructions, "instruction"),
                                   counted(counts.loads, "load"), counted(counts.stores, "store"));
    if (counts.branches > 0) text += ", " + counted(counts.branches, "conditional jump");
    if (counts.math_calls > 0) text += ", " + counted(counts.math_calls, "call") + " of <math.h>";
    if (counts.loops) text += ", loops";
    return text;
  }

  void put_host() {
    const auto known = [](double number, const char* unit) {
      return number > 0 ? fmt::format("{:.2f} {}", number, unit) : std::string("not known");
    };
    line(0, fmt::format("host: {} (LLVM's name), as measured now: clock {}, memory read by one of {} {}",
                        analyser_.cpu(), known(host_.cycles_per_ns, "cycles a ns"),
                        counted(threads_, "worker"), known(host_.bytes_per_ns, "bytes a ns")));
  }

  void put_function(unsigned depth, const std::string& function, Place place) {
    line(depth, fmt::format("{}: {} before LLVM's passes", function, cost_of(function)));
    const UdfVerdict* verdict = analyser_.verdict(key_of_use(function, place));
    if (verdict == nullptr) return;
    line(depth + 1,
         fmt::format("alone in a loop {} vectors: {}", verdict->vectorised ? "it uses" : "it uses no",
                     verdict->said.empty() ? "LLVM gives no reason" : verdict->said));
  }

  // The same of a function that is called for each tuple, with what a tuple takes.
  void put_tuple_function(unsigned depth, const std::string& function, Place place, const Input& input) {
    put_function(depth, function, place);
    const UdfVerdict* verdict = analyser_.verdict(key_of_use(function, place));
    if (verdict == nullptr) return;
    const std::string cycles = cycles_text(verdict->cycles);
    line(depth + 1, cycles.empty() ? "cycles a tuple: not predicted, because " + verdict->cycles.unknown
                                   : "cycles a tuple, alone in a loop: " + cycles);
    line(depth + 1,
         fmt::format("memory of inputs: {} loaded and {} stored a tuple",
                     counted(verdict->loaded_bytes, "byte"), counted(verdict->stored_bytes, "byte")));
    std::uint64_t bytes = 0;
    for (const Field& field : input.fields) bytes += field.bytes();
    const std::uint64_t all = bytes == 0 ? 0 : std::min(input.rows, UINT64_MAX / bytes) * bytes;
    const BoundVerdict bound = judge_bound(*verdict, host_, all);
    line(depth + 1, fmt::format("{}: {}", bound_text(bound.bound), bound.reason));
    functions_.push_back({function, place, *verdict, bound});
  }

  static const char* bound_text(Bound bound) {
    switch (bound) {
      case Bound::kComputing:
        return "bound by computing";
      case Bound::kMemory:
        return "bound by memory";
      case Bound::kUnclear:
        return "not clear what bounds it";
    }
    return "";
  }

  void put_input(const Input& input) {
    std::uint64_t bytes = 0;
    std::string fields;
    for (const Field& field : input.fields) {
      bytes += field.bytes();
      const std::span<const std::uint64_t> shape(&field.count, field.count == 0 ? 0 : 1);
      fields +=
          fmt::format("{}{} {}", fields.empty() ? "" : ", ", field.name, type_text(field.scalar, shape));
    }
    const std::string tuple =
        fmt::format("input {}({}), {} bytes a tuple, one array a field", input.name, fields, bytes);
    if (!input.generator) return line(0, fmt::format("{}, from {}", tuple, input.path));
    line(0, fmt::format("{}, {} made by", tuple, counted(input.rows, "tuple")));
    put_tuple_function(1, input.generator->function, input.generator->place, input);
  }

  void put(unsigned depth, const Statement& statement) {
    switch (statement.kind) {
      case Statement::Kind::kPipeline:
        return put_pipeline(depth, statement);
      case Statement::Kind::kUpdate:
        line(depth, fmt::format("update, line {}, once, on one worker", statement.place.line));
        return put_function(depth + 1, statement.call->function, statement.call->place);
      case Statement::Kind::kLoop:
        break;
    }
    line(depth, fmt::format("loop {}, line {}, at most {}", statement.name, statement.place.line,
                            counted(statement.count, "iteration")));
    for (const Statement& each : statement.body) put(depth + 1, each);
    if (!statement.call) return;
    line(depth + 1, "until");
    put_function(depth + 2, statement.call->function, statement.call->place);
  }

  void put_pipeline(unsigned depth, const Statement& pipeline) {
    line(depth, fmt::format("pipeline of {}, line {}, one loop over its tuples",
                            workflow_.inputs[pipeline.input].name, pipeline.place.line));
    line(
        depth + 1,
        "strategy pipeline: the operators of a tuple run one after the other. weft has no other strategy for "
        "workflows yet");
    for (const PipelineOperator& op : pipeline.operators) {
      line(depth + 1,
           fmt::format("{}, line {}{}", operator_kind_name(op.kind), op.place.line, details(pipeline, op)));
      if (op.kind == OperatorKind::kJoin) continue;
      put_tuple_function(depth + 2, op.call.function, op.call.place, workflow_.inputs[pipeline.input]);
      if (op.pattern == Pattern::kParallel && !op.contexts.empty())
        put_function(depth + 2, op.combine, op.place);
    }
  }

  std::string details(const Statement& pipeline, const PipelineOperator& op) const {
    if (op.kind == OperatorKind::kFilter) return ": a branch, as the share of tuples that pass is not known";
    if (op.kind == OperatorKind::kFlatmap)
      return fmt::format(": at most {} for each one that comes", counted(op.most, "tuple"));
    if (op.kind == OperatorKind::kJoin) {
      const Input& input = workflow_.inputs[op.input];
      return fmt::format(" with {} on {} = {}: a hash table of {} by that field, made once a run", input.name,
                         pipeline.fields[*op.key].name, input.fields[op.input_key].name, input.name);
    }
    if (op.contexts.empty()) return {};
    const Context& context = workflow_.contexts[op.contexts.front()];
    std::string text = " into " + context.name;
    if (op.key) text += fmt::format(", a slot by {}, which is checked", pipeline.fields[*op.key].name);
    switch (op.pattern) {
      case Pattern::kParallel:
        if (threads_ == 1) return text + ": parallel; one worker changes the context itself";
        return text + fmt::format(": parallel; {} copies of {} bytes, combined after the pipeline", threads_,
                                  context.bytes());
      case Pattern::kSynchronous:
        return text + ": synchronous; a lock for each tuple";
      case Pattern::kAsynchronous:
        return text + ": asynchronous; what workers write at once may be lost";
    }
    return text;
  }

  const Workflow& workflow_;
  const UdfLibrary& library_;
  const UdfAnalyser& analyser_;
  unsigned threads_;
  const HostSpeed& host_;
  std::string out_;
  std::vector<ExplainedFunction> functions_;
};

}  // namespace

Result<WorkflowExplanation> explain_workflow(const Workflow& workflow, std::span<const UdfImage> images,
                                             unsigned threads, const HostSpeed& host) {
  // The module is for the analyser, and nothing of it runs.
  tagging::DictionaryBuilder plan("analysis", {"operator", "udf", "ir"});
  jit::QueryModule module(plan, {.name = "analysis"});
  auto library = UdfLibrary::load(workflow.file, images, module.context());
  if (!library.ok()) return library.error();
  if (Status checked = check_udfs(workflow, *library); !checked.ok()) return checked.error();
  library->prepare();
  UdfAnalyser analyser(module, *library);
  visit_functions(workflow, [&](const std::string& function, Place place, const SignatureSpec& signature) {
    analyser.add(key_of_use(function, place), *library->find(function), signature);
  });
  if (Status analysed = analyser.run(); !analysed.ok()) return analysed.error();
  return Explainer(workflow, *library, analyser, threads, host).explanation();
}

}  // namespace tailor::weft::workflow
