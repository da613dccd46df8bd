#include "daemon/foreign/foreign_plan.h"

#include <cstdint>

#include "proto/base/utf8.h"

namespace tailor::foreign {
namespace {

// Fills the row table of one code object, offsets growing.
class Rows {
 public:
  Rows(v1::RowTable& rows, v1::RowFlag flag) : rows_(rows), flag_(flag) {}

  void add(std::uint32_t offset, ComponentId component) {
    const auto link = static_cast<std::int64_t>(component) << 1;
    // Two lines at one offset: the last one counts, as in DWARF.
    if (rows_.offset_delta_size() != 0 && offset == last_offset_) {
      const int last = rows_.link_delta_size() - 1;
      rows_.set_link_delta(last, static_cast<std::int32_t>(rows_.link_delta(last) + link - last_link_));
    } else {
      rows_.add_offset_delta(offset - last_offset_);
      rows_.add_link_delta(static_cast<std::int32_t>(link - last_link_));
      rows_.mutable_flags()->push_back(static_cast<char>(flag_));
    }
    last_offset_ = offset;
    last_link_ = link;
  }

 private:
  v1::RowTable& rows_;
  v1::RowFlag flag_;
  std::uint32_t last_offset_ = 0;
  std::int64_t last_link_ = 0;
};

}  // namespace

ForeignPlan::ForeignPlan(PlanId id, const std::string& name, bool with_lines, v1::ToldBy told_by)
    : with_lines_(with_lines), told_by_(told_by) {
  plan_.set_id(id);
  plan_.set_name(name);
  plan_.add_levels()->set_name("function");
  if (with_lines_) plan_.add_levels()->set_name("line");
}

v1::CodeObject ForeignPlan::add(const formats::JitSymbol& symbol, CodeId id, std::uint64_t load_tsc) {
  const ComponentId function = function_of(symbol.name);
  v1::CodeObject code;
  code.set_id(id);
  code.set_plan_id(plan_.id());
  code.set_base(symbol.address);
  code.set_size(symbol.size);
  code.set_code(symbol.code.data(), symbol.code.size());
  code.set_load_tsc(load_tsc);
  code.set_name(replace_non_utf8(symbol.name));
  code.set_told_by(told_by_);
  Rows rows(*code.mutable_rows(), told_by_ == v1::TOLD_BY_PERF_MAP ? v1::ROW_INFERRED : v1::ROW_EXACT);
  if (!with_lines_) {
    rows.add(0, function);
    return code;
  }
  // Instructions before the first line, or of a symbol without any, belong to "line 0" of the function.
  if (symbol.lines.empty() || symbol.lines.front().offset != 0)
    rows.add(0, line_of(function, symbol.name, 0, symbol.name));
  for (const formats::SourceLine& line : symbol.lines)
    rows.add(line.offset, line_of(function, line.file, line.line, symbol.name));
  return code;
}

void ForeignPlan::name(const formats::JitSymbol& symbol) {
  const ComponentId function = function_of(symbol.name);
  if (!with_lines_) return;
  if (symbol.lines.empty() || symbol.lines.front().offset != 0)
    (void)line_of(function, symbol.name, 0, symbol.name);
  for (const formats::SourceLine& line : symbol.lines)
    (void)line_of(function, line.file, line.line, symbol.name);
}

ComponentId ForeignPlan::function_of(const std::string& name) {
  auto [found, fresh] = functions_.try_emplace(name, static_cast<ComponentId>(functions_.size() + 1));
  if (fresh) describe(0, found->second, name, "function");
  return found->second;
}

// `name`: of the function. Its line 0 is there for every function, whatever room there is.
ComponentId ForeignPlan::line_of(ComponentId function, const std::string& file, std::uint32_t line,
                                 const std::string& name) {
  constexpr std::size_t kNode = 256;  // of a map, and of the plan, beside the names
  const auto known = lines_.find({function, file, line});
  if (known != lines_.end()) return known->second;
  if (line_bytes_ > kMostLineBytes && line != 0) {
    ++lines_left_out_;
    return line_of(function, name, 0, name);
  }
  line_bytes_ += kNode + 2 * file.size();
  const auto id = static_cast<ComponentId>(lines_.size() + 1);
  lines_.emplace(std::tuple(function, file, line), id);
  describe(1, id, file + ":" + std::to_string(line), "line");
  plan_.mutable_levels(1)->add_links(function << 1);
  return id;
}

void ForeignPlan::describe(int level, ComponentId id, const std::string& name, const char* kind) {
  v1::Level& to = *plan_.mutable_levels(level);
  to.set_component_count(id);
  v1::Component& component = *to.add_components();
  component.set_id(id);
  component.set_name(replace_non_utf8(name));
  component.set_kind(kind);
}

}  // namespace tailor::foreign
