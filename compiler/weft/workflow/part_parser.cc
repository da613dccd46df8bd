#include "compiler/weft/workflow/part_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "compiler/weft/workflow/limits.h"

namespace tailor::weft::workflow {

std::int64_t PartParser::integer(TokenCursor& at, const char* what) const {
  if (at.peek().kind != Token::Kind::kName) return at.integer(what);
  const Place place = at.place();
  const std::string name = at.name(what);
  const auto constant = names_.find(name, NamedThing::Kind::kConstant);
  if (!constant) at.fail(place, fmt::format("there is no constant {} before this line", name));
  return workflow_.constants[*constant].second;
}

std::uint64_t PartParser::extent(TokenCursor& at, const char* what, std::uint64_t most) const {
  const Place place = at.place();
  const std::int64_t value = integer(at, what);
  if (value < 1 || static_cast<std::uint64_t>(value) > most)
    at.fail(place, fmt::format("{} is {}, and must be from 1 to {}", what, value, most));
  return static_cast<std::uint64_t>(value);
}

Scalar PartParser::scalar(TokenCursor& at) {
  for (Scalar each : {Scalar::kF64, Scalar::kF32, Scalar::kI64, Scalar::kI32})
    if (at.take(scalar_name(each))) return each;
  at.fail_expected("a type (f64, f32, i64 or i32)");
}

double PartParser::value(TokenCursor& at, Scalar type, const char* what) {
  const Place place = at.place();
  const double number = at.number(what);
  if (type == Scalar::kF64 || type == Scalar::kF32) return number;
  // Within these bounds a double holds each whole number as it is.
  const double most = type == Scalar::kI64 ? 9007199254740992.0 : 2147483647.0;
  if (std::trunc(number) != number || std::abs(number) > most)
    at.fail(place, fmt::format("{} is no {} from {} to {}", number, scalar_name(type), -most, most));
  return number;
}

Field PartParser::field(TokenCursor& at) const {
  Field field;
  field.place = at.place();
  field.name = at.name("the name of a field");
  field.scalar = scalar(at);
  if (at.take("[")) {
    field.count = extent(at, "the number of values", kMostCount);
    at.expect("]");
  }
  if (const NamedThing* thing = names_.find(field.name)) {
    at.fail(field.place, fmt::format("the field {} has the name of {}, of line {}", field.name,
                                     thing_name(thing->kind), thing->place.line));
  }
  return field;
}

void PartParser::add_field(TokenCursor& at, std::vector<Field>& fields, Field field) const {
  for (const Field& other : fields) {
    if (other.name != field.name) continue;
    at.fail(field.place,
            fmt::format("the field {} is there already, from line {}", field.name, other.place.line));
  }
  if (fields.size() == kMostFields)
    at.fail(field.place, fmt::format("tuples have at most {} fields", kMostFields));
  fields.push_back(std::move(field));
}

Call PartParser::call(TokenCursor& at, const std::vector<Field>& fields) const {
  Call call;
  call.place = at.place();
  call.function = at.function("the name of a function");
  at.expect("(");
  if (at.take(")")) return call;
  do {
    if (call.arguments.size() == kMostArguments)
      at.fail(at.place(), fmt::format("a call has at most {} arguments", kMostArguments));
    call.arguments.push_back(argument(at, fields));
  } while (at.take(","));
  at.expect(")");
  return call;
}

std::uint32_t PartParser::context(TokenCursor& at) const {
  const Place place = at.place();
  const std::string name = at.name("the name of a context");
  const auto found = names_.find(name, NamedThing::Kind::kContext);
  if (!found) at.fail(place, fmt::format("there is no context {} before this line", name));
  return *found;
}

std::vector<std::uint32_t> PartParser::contexts(TokenCursor& at) const {
  std::vector<std::uint32_t> out;
  do {
    const Place place = at.place();
    const std::uint32_t each = context(at);
    if (std::ranges::find(out, each) != out.end())
      at.fail(place, fmt::format("the context {} is named twice", workflow_.contexts[each].name));
    out.push_back(each);
  } while (at.take(","));
  return out;
}

void PartParser::check_changes(const TokenCursor& at, const Call& update,
                               const std::vector<std::uint32_t>& changed) const {
  for (std::uint32_t each : changed) {
    const bool given = std::ranges::any_of(update.arguments, [&](const Argument& argument) {
      return argument.kind == Argument::Kind::kContext && argument.index == each;
    });
    if (given) continue;
    at.fail(update.place, fmt::format("{} may change the context {}, so that must be an argument of it",
                                      update.function, workflow_.contexts[each].name));
  }
}

Argument PartParser::argument(TokenCursor& at, const std::vector<Field>& fields) const {
  Argument out;
  out.place = at.place();
  if (at.peek().kind == Token::Kind::kReal) {
    out.kind = Argument::Kind::kReal;
    out.real = at.number("a number");
    return out;
  }
  if (at.peek().kind == Token::Kind::kInteger) {
    out.integer = at.integer("a whole number");
    return out;
  }
  const std::string name = at.name("a field, a context, a constant or a number");
  for (std::uint32_t i = 0; i < fields.size(); ++i) {
    if (fields[i].name != name) continue;
    out.kind = Argument::Kind::kField;
    out.index = i;
    return out;
  }
  const NamedThing* thing = names_.find(name);
  if (thing == nullptr)
    at.fail(out.place, fmt::format("there is no field, context or constant {} before this place", name));
  if (thing->kind == NamedThing::Kind::kInput)
    at.fail(out.place, fmt::format("{} is an input: a function gets its fields, not the input itself", name));
  if (thing->kind == NamedThing::Kind::kConstant) {
    out.integer = workflow_.constants[thing->index].second;
    return out;
  }
  out.kind = Argument::Kind::kContext;
  out.index = thing->index;
  return out;
}

}  // namespace tailor::weft::workflow
