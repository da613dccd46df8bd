#include "compiler/weft/workflow/pipeline_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "compiler/weft/workflow/limits.h"

namespace tailor::weft::workflow {

void PipelineParser::parse(TokenCursor& at) {
  PipelineOperator op;
  op.place = at.place();
  if (at.take("map")) {
    op.kind = OperatorKind::kMap;
    op.call = call(at, pipeline_.fields);
    outputs(at, op);
  } else if (at.take("filter")) {
    op.kind = OperatorKind::kFilter;
    op.call = call(at, pipeline_.fields);
  } else if (at.take("flatmap")) {
    op.kind = OperatorKind::kFlatmap;
    op.call = call(at, pipeline_.fields);
    outputs(at, op);
    at.expect("at");
    at.expect("most");
    op.most = extent(at, "the number of tuples", kMostTuples);
  } else if (at.take("join")) {
    op.kind = OperatorKind::kJoin;
    join(at, op);
  } else if (at.take("reduce")) {
    op.kind = OperatorKind::kReduce;
    op.call = call(at, pipeline_.fields);
    if (at.take("by")) op.key = key(at, pipeline_.fields, "the pipeline");
    at.expect("into");
    op.contexts.push_back(context(at));
    pattern(at, op);
  } else if (at.take("update")) {
    op.kind = OperatorKind::kUpdate;
    op.call = call(at, pipeline_.fields);
    at.expect("into");
    op.contexts = contexts(at);
    check_changes(at, op.call, op.contexts);
    pattern(at, op);
  } else {
    at.fail_expected("map, filter, flatmap, join, reduce, update or end");
  }
  at.expect_end();
  check_stack(at, op);
  pipeline_.operators.push_back(std::move(op));
}

void PipelineParser::finish(const TokenCursor& at) const {
  std::vector<const PipelineOperator*> writers(workflow_.contexts.size(), nullptr);
  bool written = false;
  for (const PipelineOperator& op : pipeline_.operators) {
    for (std::uint32_t each : op.contexts) {
      const PipelineOperator* other = std::exchange(writers[each], &op);
      written = true;
      if (other == nullptr) continue;
      if (op.pattern == Pattern::kAsynchronous && other->pattern == Pattern::kAsynchronous) continue;
      at.fail(op.place,
              fmt::format("line {} changes the context {} too; in one pipeline only asynchronous operators "
                          "may share a context that they change",
                          other->place.line, workflow_.contexts[each].name));
    }
  }
  if (!written)
    at.fail(pipeline_.place, "the pipeline has no reduce and no update: nothing of it would remain");
  for (const PipelineOperator& op : pipeline_.operators) check_reads(at, op, writers);
}

void PipelineParser::check_reads(const TokenCursor& at, const PipelineOperator& op,
                                 const std::vector<const PipelineOperator*>& writers) const {
  for (const Argument& argument : op.call.arguments) {
    if (argument.kind != Argument::Kind::kContext) continue;
    const PipelineOperator* writer = writers[argument.index];
    if (writer == nullptr || writer->pattern == Pattern::kAsynchronous) continue;
    // An update gets what it changes.
    if (writer == &op && op.kind == OperatorKind::kUpdate) continue;
    at.fail(
        argument.place,
        fmt::format(
            "line {} changes the context {} in this pipeline, so what it holds here is not known; read it "
            "in a later pipeline, or make that operator asynchronous",
            writer->place.line, workflow_.contexts[argument.index].name));
  }
}

void PipelineParser::outputs(TokenCursor& at, PipelineOperator& op) {
  at.expect("->");
  do {
    add_field(at, pipeline_.fields, field(at));
    op.outputs.push_back(static_cast<std::uint32_t>(pipeline_.fields.size() - 1));
  } while (at.take(","));
}

void PipelineParser::join(TokenCursor& at, PipelineOperator& op) {
  const Place place = at.place();
  const std::string name = at.name("the name of an input");
  const auto input = names_.find(name, NamedThing::Kind::kInput);
  if (!input) at.fail(place, fmt::format("there is no input {} before this line", name));
  const std::vector<Field>& joined = workflow_.inputs[*input].fields;
  op.input = *input;
  at.expect("on");
  op.key = key(at, pipeline_.fields, "the pipeline");
  at.expect("=");
  op.input_key = key(at, joined, "the input " + name);
  // The two keys are one number, so the tuple needs no second one.
  for (std::uint32_t i = 0; i < joined.size(); ++i) {
    if (i == op.input_key) continue;
    Field added = joined[i];
    added.place = place;
    add_field(at, pipeline_.fields, std::move(added));
    op.outputs.push_back(static_cast<std::uint32_t>(pipeline_.fields.size() - 1));
    op.input_fields.push_back(i);
  }
}

std::uint32_t PipelineParser::key(TokenCursor& at, const std::vector<Field>& fields,
                                  const std::string& owner) {
  const Place place = at.place();
  const std::string name = at.name("the field that is the key");
  for (std::uint32_t i = 0; i < fields.size(); ++i) {
    const Field& each = fields[i];
    if (each.name != name) continue;
    const bool whole = each.count == 0 && (each.scalar == Scalar::kI64 || each.scalar == Scalar::kI32);
    if (!whole) at.fail(place, fmt::format("the key {} is no whole number: it must be i64 or i32", name));
    return i;
  }
  at.fail(place, fmt::format("{} has no field {} before this place", owner, name));
}

void PipelineParser::pattern(TokenCursor& at, PipelineOperator& op) const {
  const Place place = at.place();
  const Context& first = workflow_.contexts[op.contexts.front()];
  if (op.key && first.shape.empty())
    at.fail(op.place, fmt::format("the context {} is one value, so a key has nothing to choose", first.name));
  const bool parallel = at.take("parallel");
  if (at.take("combine")) {
    op.pattern = Pattern::kParallel;
    op.combine = at.function("the function that brings two values together");
    if (at.take("start")) op.start = value(at, first.scalar, "the value with which each worker starts");
  } else if (parallel) {
    at.fail_expected("'combine FUNCTION'");
  } else if (at.take("asynchronous")) {
    op.pattern = Pattern::kAsynchronous;
  } else {
    at.take("synchronous");
  }
  if (op.pattern != Pattern::kParallel) return;
  for (std::uint32_t each : op.contexts) {
    const Context& other = workflow_.contexts[each];
    if (other.scalar == first.scalar) continue;
    at.fail(place, fmt::format("one function combines contexts of one type, but {} is {} and {} is {}",
                               first.name, scalar_name(first.scalar), other.name, scalar_name(other.scalar)));
  }
}

void PipelineParser::check_stack(const TokenCursor& at, const PipelineOperator& op) {
  if (op.kind == OperatorKind::kJoin) return;  // its fields lie in the input
  for (std::uint32_t each : op.outputs)
    stack_bytes_ += pipeline_.fields[each].bytes() * std::max<std::uint64_t>(op.most, 1);
  if (stack_bytes_ <= kMostStackBytes) return;
  at.fail(
      op.place,
      fmt::format("the fields that this pipeline makes need {} bytes of stack for one tuple, and may need "
                  "{}",
                  stack_bytes_, kMostStackBytes));
}

}  // namespace tailor::weft::workflow
