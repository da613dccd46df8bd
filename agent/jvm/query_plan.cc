#include "agent/jvm/query_plan.h"

#include <algorithm>
#include <iterator>

#include "agent/jvm/row_table.h"

namespace tailor::jvm {
namespace {

constexpr std::int32_t kOperators = 0, kLines = 1;

}  // namespace

QueryPlan::QueryPlan(const std::string& name)
    : builder_(tailor_plan_builder_new(name.c_str())), ids_(tailor_plan_new()) {
  tailor_plan_builder_add_level(builder_.get(), "operator");
  tailor_plan_builder_add_level(builder_.get(), "line");
  add_lines(around(), 1, "(around the generated code)\n");
}

QueryPlan::~QueryPlan() {
  tailor_plan_unload(ids_.id);
}

std::uint32_t QueryPlan::add_operator(const std::string& name, const std::string& kind,
                                      const std::string& detail) {
  const std::uint32_t id =
      tailor_plan_builder_add_component(builder_.get(), kOperators, name.c_str(), kind.c_str());
  if (id != 0 && !detail.empty())
    tailor_plan_builder_set_text(builder_.get(), kOperators, id, "details", detail.c_str());
  return id;
}

void QueryPlan::add_input(std::uint32_t of, std::uint32_t input) {
  if (of != 0 && input != 0 && of != input)
    tailor_plan_builder_add_input(builder_.get(), kOperators, of, input);
}

void QueryPlan::set_number(std::uint32_t of, const std::string& key, double value) {
  if (of != 0) tailor_plan_builder_set_number(builder_.get(), kOperators, of, key.c_str(), value);
}

std::uint32_t QueryPlan::add_lines(std::uint32_t first, std::uint32_t count, std::string text) {
  if (first == 0) first = line_count_ + 1;
  if (first > kMostLines || count > kMostLines - first) return 0;
  const std::uint32_t last = first + count - 1;
  const auto after = texts_.lower_bound(first);
  if (after != texts_.end() && after->first <= last) {
    // A source that was forgotten and compiled again.
    const bool same = after->first == first && after->second.lines == count && after->second.text == text;
    return same ? first : 0;
  }
  if (after != texts_.begin() && std::prev(after)->first + std::prev(after)->second.lines > first) return 0;
  if (last > line_count_) {
    if (tailor_plan_builder_add_components(builder_.get(), kLines, last - line_count_) == 0) return 0;
    line_count_ = last;
  }
  texts_[first] = {count, std::move(text)};
  return first;
}

std::uint32_t QueryPlan::add_unit(const GeneratedUnit& unit, const std::vector<std::uint32_t>& operators,
                                  std::uint32_t first) {
  auto at = lines_.find(unit.id);
  if (at == lines_.end()) {
    const auto count = static_cast<std::uint32_t>(unit.owners.size());
    first = add_lines(first, count + 1, unit.source + "\n(around the generated code)\n");
    if (first == 0) return 0;
    at = lines_.emplace(unit.id, Lines{first, count, {}}).first;
    at->second.owners.resize(count);
  }
  Lines& lines = at->second;
  for (std::uint32_t i = 0; i < lines.count; ++i) {
    const std::uint32_t number = unit.owners[i];
    const std::uint32_t owner = number != 0 && number <= operators.size() ? operators[number - 1] : 0;
    std::vector<std::uint32_t>& owners = lines.owners[i];
    if (owner == 0 || std::find(owners.begin(), owners.end(), owner) != owners.end()) continue;
    owners.push_back(owner);
    tailor_plan_builder_set_owners(builder_.get(), kLines, lines.first + i, owners.data(), owners.size());
  }
  return lines.first;
}

void QueryPlan::attach(const std::string& kind, const std::string& text) {
  tailor_plan_builder_attach(builder_.get(), kind.c_str(), text.data(), text.size());
}

int QueryPlan::send() {
  // Line n is the text of component n of the lowest level.
  std::string text;
  std::uint32_t next = 1;
  for (const auto& [first, piece] : texts_) {
    text.append(first - next, '\n');
    text += piece.text;
    next = first + piece.lines;
  }
  attach("ir", text);
  return tailor_plan_builder_load(builder_.get(), ids_.id);
}

std::uint32_t QueryPlan::add_role(const std::string& role, const std::vector<std::uint32_t>& operators) {
  std::uint32_t& line = roles_[{role, operators}];
  if (line != 0) return line;
  line = add_lines(0, 1, "(" + role + ")\n");
  if (line != 0 && !operators.empty())
    tailor_plan_builder_set_owners(builder_.get(), kLines, line, operators.data(), operators.size());
  return line;
}

std::uint32_t QueryPlan::add_stage(std::int32_t stage) {
  std::uint32_t& pipeline = stages_[stage];
  if (pipeline == 0) {
    const std::string name = "stage " + std::to_string(stage);
    pipeline = tailor_plan_builder_add_pipeline(builder_.get(), name.c_str(), kOperators);
  }
  return pipeline;
}

CodeBuilder QueryPlan::begin_code(const CompiledCode& code) const {
  const auto* base = reinterpret_cast<const void*>(static_cast<std::uintptr_t>(code.base));
  CodeBuilder builder(tailor_code_builder_new(ids_.id, base, code.size));
  tailor_code_builder_leave_code_out(builder.get());
  tailor_code_builder_set_name(builder.get(), code.methods[0].name.c_str());
  tailor_code_builder_set_tier(builder.get(), tier_of(code.facts).c_str());
  return builder;
}

std::uint32_t QueryPlan::line_of(const MethodText& method, std::int32_t line) const {
  const auto unit = lines_.find(method.unit);
  if (method.unit == 0 || unit == lines_.end()) return 0;
  const Lines& lines = unit->second;
  const auto number = static_cast<std::uint32_t>(std::max(line, 0));
  return lines.first + (number >= 1 && number <= lines.count ? number - 1 : lines.count);
}

CodeBuilder QueryPlan::mixed_code(const CompiledCode& code, const std::map<std::string, std::uint32_t>& roles,
                                  std::uint32_t around) const {
  CodeBuilder builder = begin_code(code);
  const auto role_of = [&](const MethodText& method) {
    const auto known = roles.find(method.role);
    return known == roles.end() ? 0 : known->second;
  };
  for (const CodeRun& run : runs_of(code)) {
    std::uint32_t component = 0;
    const PcState state = run.known ? code.states[run.state] : PcState{};
    for (std::uint32_t f = 0; f < state.frames && component == 0; ++f) {
      const InlineFrame& frame = code.frames[state.first_frame + f];
      const MethodText& method = code.methods[frame.method];
      component = line_of(method, frame.line);
      if (component == 0) component = role_of(method);
    }
    if (component == 0) component = role_of(code.methods[0]);
    if (component == 0) component = around;
    tailor_code_builder_add_row(builder.get(), run.offset, &component, 1,
                                run.inferred || !run.known ? TAILOR_ROW_INFERRED : TAILOR_ROW_EXACT);
  }
  return builder;
}

CodeBuilder QueryPlan::code(const CompiledCode& code, const GeneratedUnit& unit) const {
  const auto found = lines_.find(unit.id);
  if (found == lines_.end() || code.methods.empty()) return nullptr;
  const Lines& lines = found->second;
  CodeBuilder builder = begin_code(code);
  for (const CodeRun& run : runs_of(code)) {
    const PcState state = run.known ? code.states[run.state] : PcState{};
    std::uint32_t component = lines.first + lines.count;
    for (std::uint32_t f = 0; f < state.frames; ++f) {
      const InlineFrame& frame = code.frames[state.first_frame + f];
      if (code.methods[frame.method].unit != unit.id) continue;
      const auto line = static_cast<std::uint32_t>(std::max(frame.line, 0));
      if (line >= 1 && line <= lines.count) component = lines.first + line - 1;
      break;
    }
    tailor_code_builder_add_row(builder.get(), run.offset, &component, 1,
                                run.inferred || !run.known ? TAILOR_ROW_INFERRED : TAILOR_ROW_EXACT);
  }
  return builder;
}

}  // namespace tailor::jvm
