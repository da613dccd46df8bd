#include "daemon/foreign/foreign_plan.h"

#include <map>
#include <unordered_map>

#include "proto/base/ids.h"

namespace tailor::foreign {
namespace {

constexpr std::uint64_t kPlan = 1;

class Builder {
 public:
  Builder(bool with_lines, const std::string& name) : with_lines_(with_lines) {
    out_.plan.set_id(kPlan);
    out_.plan.set_name(name);
    out_.plan.add_levels()->set_name("function");
    if (with_lines_) out_.plan.add_levels()->set_name("line");
  }

  void add(const JitSymbol& symbol, std::uint64_t load_tsc) {
    const ComponentId function = function_of(symbol.name);
    v1::CodeObject& code = out_.code.emplace_back();
    code.set_id(out_.code.size());
    code.set_plan_id(kPlan);
    code.set_base(symbol.address);
    code.set_size(symbol.size);
    code.set_code(symbol.code.data(), symbol.code.size());
    code.set_load_tsc(load_tsc);
    code.set_name(symbol.name);
    last_link_ = last_offset_ = 0;
    if (!with_lines_) {
      row(code, 0, function);
      return;
    }
    // Instructions before the first line, or of a symbol without any, belong to "line 0" of the function.
    if (symbol.lines.empty() || symbol.lines.front().offset != 0)
      row(code, 0, line_of(function, symbol.name, 0));
    for (const SourceLine& line : symbol.lines)
      row(code, line.offset, line_of(function, line.file, line.line));
  }

  ForeignPlan take() && { return std::move(out_); }

 private:
  ComponentId function_of(const std::string& name) {
    auto [found, fresh] = functions_.try_emplace(name, static_cast<ComponentId>(functions_.size() + 1));
    if (fresh) describe(0, found->second, name, "function");
    return found->second;
  }

  ComponentId line_of(ComponentId function, const std::string& file, std::uint32_t line) {
    auto [found, fresh] =
        lines_.try_emplace({function, file, line}, static_cast<ComponentId>(lines_.size() + 1));
    if (fresh) {
      describe(1, found->second, file + ":" + std::to_string(line), "line");
      out_.plan.mutable_levels(1)->add_links(function << 1);
    }
    return found->second;
  }

  void describe(int level, ComponentId id, const std::string& name, const char* kind) {
    v1::Level& to = *out_.plan.mutable_levels(level);
    to.set_component_count(id);
    v1::Component& component = *to.add_components();
    component.set_id(id);
    component.set_name(name);
    component.set_kind(kind);
  }

  void row(v1::CodeObject& code, std::uint32_t offset, ComponentId component) {
    const auto link = static_cast<std::int64_t>(component) << 1;
    auto& rows = *code.mutable_rows();
    // Two lines at one offset: the last one counts, as in DWARF.
    if (rows.offset_delta_size() != 0 && offset == last_offset_) {
      rows.set_link_delta(
          rows.link_delta_size() - 1,
          static_cast<std::int32_t>(rows.link_delta(rows.link_delta_size() - 1) + link - last_link_));
    } else {
      rows.add_offset_delta(offset - last_offset_);
      rows.add_link_delta(static_cast<std::int32_t>(link - last_link_));
      rows.mutable_flags()->push_back(static_cast<char>(v1::ROW_EXACT));
    }
    last_offset_ = offset;
    last_link_ = link;
  }

  bool with_lines_;
  ForeignPlan out_;
  std::unordered_map<std::string, ComponentId> functions_;
  std::map<std::tuple<ComponentId, std::string, std::uint32_t>, ComponentId> lines_;
  std::uint32_t last_offset_ = 0;
  std::int64_t last_link_ = 0;
};

}  // namespace

ForeignPlan make_foreign_plan(const std::vector<JitSymbol>& symbols, const std::string& name,
                              const std::function<std::uint64_t(std::uint64_t)>& tsc_of) {
  bool with_lines = false;
  for (const JitSymbol& symbol : symbols) with_lines |= !symbol.lines.empty();
  Builder builder(with_lines, name);
  for (const JitSymbol& symbol : symbols)
    builder.add(symbol, symbol.timestamp_ns == 0 ? 0 : tsc_of(symbol.timestamp_ns));
  return std::move(builder).take();
}

}  // namespace tailor::foreign
