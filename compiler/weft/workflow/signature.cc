#include "compiler/weft/workflow/signature.h"

#include <fmt/format.h>

#include <algorithm>

namespace tailor::weft::workflow {
namespace {

using ParameterKind = ParameterSpec::Kind;

// `pipeline` may be null where no tuple is there. Contexts among `changed` may be changed.
void add_arguments(const Workflow& workflow, const Statement* pipeline, const Call& call,
                   const std::vector<std::uint32_t>& changed, SignatureSpec& out) {
  unsigned constants = 0;
  for (const Argument& argument : call.arguments) {
    switch (argument.kind) {
      case Argument::Kind::kField: {
        const Field& field = pipeline->fields[argument.index];
        out.parameters.push_back({field.count == 0 ? ParameterKind::kValue : ParameterKind::kReadable,
                                  field.scalar, field.name, field.count});
        out.parameters.back().is_streamed = argument.index < workflow.inputs[pipeline->input].fields.size();
        break;
      }
      case Argument::Kind::kContext: {
        const Context& context = workflow.contexts[argument.index];
        const bool changes = std::ranges::find(changed, argument.index) != changed.end();
        const ParameterKind kind = changes                 ? ParameterKind::kWritable
                                   : context.shape.empty() ? ParameterKind::kValue
                                                           : ParameterKind::kReadable;
        out.parameters.push_back({kind, context.scalar, context.name});
        break;
      }
      case Argument::Kind::kInteger:
        out.parameters.push_back(
            {ParameterKind::kConstant, Scalar::kI64, fmt::format("constant{}", ++constants), 0, argument});
        break;
      case Argument::Kind::kReal:
        out.parameters.push_back(
            {ParameterKind::kConstant, Scalar::kF64, fmt::format("constant{}", ++constants), 0, argument});
        break;
    }
  }
}

void add_outputs(const std::vector<Field>& fields, const std::vector<std::uint32_t>& outputs,
                 SignatureSpec& out) {
  for (std::uint32_t each : outputs)
    out.parameters.push_back(
        {ParameterKind::kWritable, fields[each].scalar, fields[each].name, fields[each].values()});
}

const char* c_type(Scalar scalar) {
  switch (scalar) {
    case Scalar::kF64:
      return "double";
    case Scalar::kF32:
      return "float";
    case Scalar::kI64:
      return "int64_t";
    case Scalar::kI32:
      return "int32_t";
  }
  return "?";
}

void visit_statement(const Workflow& workflow, const Statement& statement, const VisitFunction& visit) {
  switch (statement.kind) {
    case Statement::Kind::kUpdate:
      visit(statement.call->function, statement.call->place, update_signature(workflow, statement));
      break;
    case Statement::Kind::kPipeline:
      for (const PipelineOperator& op : statement.operators) {
        if (op.kind == OperatorKind::kJoin) continue;
        visit(op.call.function, op.call.place, operator_signature(workflow, statement, op));
        if (op.pattern != Pattern::kParallel || op.contexts.empty()) continue;
        visit(op.combine, op.place, combine_signature(workflow.contexts[op.contexts.front()].scalar));
      }
      break;
    case Statement::Kind::kLoop:
      for (const Statement& each : statement.body) visit_statement(workflow, each, visit);
      if (statement.call)
        visit(statement.call->function, statement.call->place, until_signature(workflow, statement));
      break;
  }
}

}  // namespace

bool reduces_value(const Workflow& workflow, const PipelineOperator& op) {
  const std::size_t dimensions = workflow.contexts[op.contexts.front()].shape.size();
  return dimensions == (op.key ? 1 : 0);
}

SignatureSpec operator_signature(const Workflow& workflow, const Statement& pipeline,
                                 const PipelineOperator& op) {
  using Returns = SignatureSpec::Returns;
  SignatureSpec out;
  if (op.kind == OperatorKind::kReduce) {
    const Context& context = workflow.contexts[op.contexts.front()];
    const bool value = reduces_value(workflow, op);
    out.parameters.push_back(
        {value ? ParameterKind::kValue : ParameterKind::kWritable, context.scalar, context.name});
    out.result = value ? Returns::kValue : Returns::kNothing;
    out.scalar = context.scalar;
  }
  const std::vector<std::uint32_t> changed =
      op.kind == OperatorKind::kUpdate ? op.contexts : std::vector<std::uint32_t>();
  add_arguments(workflow, &pipeline, op.call, changed, out);
  switch (op.kind) {
    case OperatorKind::kMap:
      if (op.outputs.size() == 1 && pipeline.fields[op.outputs.front()].count == 0) {
        out.result = Returns::kValue;
        out.scalar = pipeline.fields[op.outputs.front()].scalar;
      } else {
        add_outputs(pipeline.fields, op.outputs, out);
      }
      break;
    case OperatorKind::kFilter:
      out.result = Returns::kTruth;
      break;
    case OperatorKind::kFlatmap:
      out.result = Returns::kCount;
      add_outputs(pipeline.fields, op.outputs, out);
      break;
    case OperatorKind::kJoin:
    case OperatorKind::kReduce:
    case OperatorKind::kUpdate:
      break;
  }
  return out;
}

SignatureSpec update_signature(const Workflow& workflow, const Statement& update) {
  SignatureSpec out;
  add_arguments(workflow, nullptr, *update.call, update.contexts, out);
  return out;
}

SignatureSpec until_signature(const Workflow& workflow, const Statement& loop) {
  SignatureSpec out;
  out.result = SignatureSpec::Returns::kTruth;
  add_arguments(workflow, nullptr, *loop.call, {}, out);
  return out;
}

SignatureSpec combine_signature(Scalar scalar) {
  return {SignatureSpec::Returns::kValue,
          scalar,
          {{ParameterKind::kValue, scalar, "a"}, {ParameterKind::kValue, scalar, "b"}}};
}

SignatureSpec generator_signature(const Workflow& workflow, const Input& input) {
  SignatureSpec out;
  out.parameters.push_back({ParameterKind::kRow, Scalar::kI64, "row"});
  add_arguments(workflow, nullptr, *input.generator, {}, out);
  for (const Field& field : input.fields) {
    out.parameters.push_back({ParameterKind::kWritable, field.scalar, field.name, field.values()});
    out.parameters.back().is_streamed = true;
  }
  return out;
}

std::string c_declaration(const std::string& function, const SignatureSpec& signature) {
  std::string text = "extern \"C\" ";
  switch (signature.result) {
    case SignatureSpec::Returns::kNothing:
      text += "void";
      break;
    case SignatureSpec::Returns::kValue:
      text += c_type(signature.scalar);
      break;
    case SignatureSpec::Returns::kTruth:
      text += "bool";
      break;
    case SignatureSpec::Returns::kCount:
      text += "int64_t";
      break;
  }
  text += " " + function + "(";
  for (const ParameterSpec& each : signature.parameters) {
    if (!text.ends_with('(')) text += ", ";
    if (each.kind == ParameterKind::kReadable) text += "const ";
    text += c_type(each.scalar);
    text += each.kind == ParameterKind::kReadable || each.kind == ParameterKind::kWritable ? "* " : " ";
    text += each.name;
  }
  return text + ")";
}

void visit_functions(const Workflow& workflow, const VisitFunction& visit) {
  for (const Input& input : workflow.inputs)
    if (input.generator)
      visit(input.generator->function, input.generator->place, generator_signature(workflow, input));
  for (const Statement& statement : workflow.statements) visit_statement(workflow, statement, visit);
}

}  // namespace tailor::weft::workflow
