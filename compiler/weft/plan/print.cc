#include "compiler/weft/plan/print.h"

#include <fmt/format.h>

#include <cmath>

namespace tailor::weft {
namespace {

void append(std::string* text, const std::string& part, const char* separator = ", ") {
  if (part.empty()) return;
  if (!text->empty()) *text += separator;
  *text += part;
}

std::string aggregates_text(const std::vector<Aggregate>& aggregates) {
  std::string text;
  for (const Aggregate& aggregate : aggregates)
    append(&text, aggregate.result == aggregate.argument ? fmt::format("any({})", aggregate.result->name)
                                                         : aggregate.result->name);
  return text;
}

std::string keys_text(const std::vector<HashJoin::Key>& keys) {
  std::string text;
  for (const HashJoin::Key& key : keys) {
    append(&text, fmt::format("{} = {}", key.build->name, key.probe->name), " and ");
  }
  return text;
}

std::string sort_text(const Sort& sort) {
  std::string text;
  for (const Sort::Key& key : sort.keys) append(&text, key.iu->name + (key.descending ? " desc" : ""));
  return text;
}

std::string map_text(const Map& map) {
  std::string text;
  for (const Map::Computation& c : map.computations) {
    std::string expression = to_string(*c.expr);
    append(&text, expression == c.iu->name ? expression : fmt::format("{} := {}", c.iu->name, expression));
  }
  return text;
}

void print(const Operator& op, const std::string& indent, bool last, bool root, std::string* text) {
  std::string line = root ? "" : indent + (last ? "`- " : "|- ");
  line += fmt::format("{} #{}  {} rows", title(op), op.id,
                      static_cast<long long>(std::llround(op.estimated_rows)));
  append(&line, details(op), "  ");
  *text += line + "\n";
  std::string below = root ? "" : indent + (last ? "   " : "|  ");
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    print(*op.inputs[i], below, i + 1 == op.inputs.size(), false, text);
  }
}

}  // namespace

const char* kind_name(OperatorKind kind) {
  switch (kind) {
    case OperatorKind::kScan:
      return "scan";
    case OperatorKind::kFilter:
      return "filter";
    case OperatorKind::kMap:
      return "map";
    case OperatorKind::kHashJoin:
      return "hash_join";
    case OperatorKind::kGroupBy:
      return "group_by";
    case OperatorKind::kGroupJoin:
      return "group_join";
    case OperatorKind::kSort:
      return "sort";
    case OperatorKind::kLimit:
      return "limit";
    case OperatorKind::kOutput:
      return "output";
  }
  __builtin_unreachable();
}

const char* join_name(JoinKind kind) {
  switch (kind) {
    case JoinKind::kInner:
      return "inner";
    case JoinKind::kOuter:
      return "outer";
    case JoinKind::kSemi:
      return "semi";
    case JoinKind::kAnti:
      return "anti";
    case JoinKind::kMark:
      return "mark";
    case JoinKind::kSingle:
      return "single";
  }
  __builtin_unreachable();
}

std::string title(const Operator& op) {
  switch (op.kind()) {
    case OperatorKind::kScan:
      return "Scan " + as<Scan>(op).table->name;
    case OperatorKind::kFilter:
      return "Filter";
    case OperatorKind::kMap:
      return "Map";
    case OperatorKind::kHashJoin: {
      const auto& join = as<HashJoin>(op);
      if (join.join == JoinKind::kInner) return join.keys.empty() ? "Cross product" : "Hash join";
      return fmt::format("Hash join ({}{})", join_name(join.join),
                         join.preserved == JoinSide::kBuild ? ", keeps build" : "");
    }
    case OperatorKind::kGroupBy:
      return as<GroupBy>(op).aggregates.empty() ? "Distinct"
             : as<GroupBy>(op).keys.empty()     ? "Aggregate"
                                                : "Group by";
    case OperatorKind::kGroupJoin:
      return as<GroupJoin>(op).outer ? "Groupjoin (outer)" : "Groupjoin";
    case OperatorKind::kSort:
      return as<Sort>(op).limit ? fmt::format("Top {}", *as<Sort>(op).limit) : "Sort";
    case OperatorKind::kLimit:
      return fmt::format("Limit {}", as<Limit>(op).limit);
    case OperatorKind::kOutput:
      return "Output";
  }
  __builtin_unreachable();
}

std::string details(const Operator& op) {
  std::string text;
  switch (op.kind()) {
    case OperatorKind::kScan:
      return to_string(as<Scan>(op).conjuncts);
    case OperatorKind::kFilter:
      return to_string(as<Filter>(op).conjuncts);
    case OperatorKind::kMap:
      return map_text(as<Map>(op));
    case OperatorKind::kHashJoin:
      text = keys_text(as<HashJoin>(op).keys);
      append(&text, to_string(as<HashJoin>(op).residual), " and ");
      return text;
    case OperatorKind::kGroupBy:
      for (const Iu* key : as<GroupBy>(op).keys) append(&text, key->name);
      append(&text, aggregates_text(as<GroupBy>(op).aggregates), ": ");
      return text;
    case OperatorKind::kGroupJoin:
      text = keys_text(as<GroupJoin>(op).keys);
      append(&text, aggregates_text(as<GroupJoin>(op).aggregates), ": ");
      return text;
    case OperatorKind::kSort:
      return sort_text(as<Sort>(op));
    case OperatorKind::kLimit:
      return "";
    case OperatorKind::kOutput:
      for (const std::string& name : as<Output>(op).names) append(&text, name);
      return text;
  }
  __builtin_unreachable();
}

std::string to_string(const Plan& plan) {
  std::string text;
  print(*plan.root, "", true, true, &text);
  return text;
}

}  // namespace tailor::weft
