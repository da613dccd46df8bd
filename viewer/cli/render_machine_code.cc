#include "viewer/cli/render_machine_code.h"

#include <fmt/format.h>

#include <algorithm>

#include "viewer/cli/render_parts.h"
#include "viewer/cli/share_cells.h"
#include "viewer/cli/text.h"

namespace tailor::cli {
namespace {

using query::NativeCode;
using query::NativeInstruction;

// The first names of many.
constexpr std::size_t kMostNamed = 8;

std::string code_text(const NativeCode& code, const Terminal& terminal) {
  std::string out = fmt::format("code object {}", code.code);
  if (!code.name.empty()) out += " " + escape_line(code.name, terminal.ascii);
  if (!code.tier.empty()) out += " (" + escape_line(code.tier, terminal.ascii) + ")";
  return out + fmt::format(" at {:#x}: {}", code.base, percent(code.cost.share));
}

}  // namespace

MachineCodeText::MachineCodeText(const query::AnnotateReport& report, const Terminal& terminal)
    : report_(report), terminal_(terminal) {
  for (const NativeCode& code : report.machine_code) {
    for (const NativeInstruction& instruction : code.instructions) {
      const ComponentId line = instruction.lines.empty() ? kNoComponent : instruction.lines.front();
      const Row row{&code, &instruction};
      rows_[line <= report.lines.size() ? line : kNoComponent].push_back(row);
      place_width_ = std::max(place_width_, place_text(row).size());
    }
  }
}

std::string MachineCodeText::heading() const {
  if (empty()) return "";
  std::string out;
  for (const NativeCode& code : report_.machine_code)
    out += (out.empty() ? "Machine code: " : "; ") + code_text(code, terminal_);
  const bool complete =
      std::ranges::all_of(report_.machine_code, [](const NativeCode& code) { return code.complete; });
  if (!complete) out += ". It is so large that instructions without samples are left out";
  return terminal_.dim(wrap(out + ".", terminal_.width, 0)) + "\n";
}

std::string MachineCodeText::below(ComponentId line, bool all, const ListingColumns& columns) const {
  const auto rows = rows_.find(line);
  if (line == kNoComponent || rows == rows_.end()) return "";
  std::string out;
  for (const Row& row : rows->second) {
    if (all || row.instruction->cost.amount.samples > 0) out += row_text(row, columns);
  }
  return out;
}

std::string MachineCodeText::of_no_line(bool all, const ListingColumns& columns) const {
  std::string out;
  if (const auto rows = rows_.find(kNoComponent); rows != rows_.end()) {
    for (const Row& row : rows->second) {
      if (all || row.instruction->cost.amount.samples > 0) out += row_text(row, columns);
    }
  }
  for (const NativeCode& code : report_.machine_code) {
    if (code.somewhere.amount.samples <= 0) continue;
    out += std::string(columns.number, ' ') + share_cell(code.somewhere, terminal_) +
           fmt::format("    in code object {}, address not kept\n", code.code);
  }
  return out.empty() ? "" : "\n" + terminal_.bold("Machine code that descends from no line") + "\n" + out;
}

std::size_t MachineCodeText::owner_width() const {
  std::size_t out = 0;
  for (const auto& [line, rows] : rows_) {
    for (const Row& row : rows) out = std::max(out, cli::columns(owner_text(*row.instruction)));
  }
  return out;
}

// "+1f", with the code object before it where there are several.
std::string MachineCodeText::place_text(const Row& row) const {
  const std::string offset = fmt::format("+{:x}", row.instruction->offset);
  return report_.machine_code.size() == 1 ? offset : fmt::format("{}{}", row.code->code, offset);
}

std::string MachineCodeText::row_text(const Row& row, const ListingColumns& columns) const {
  const NativeInstruction& instruction = *row.instruction;
  const std::string share = instruction.cost.amount.weight > 0 ? share_cell(instruction.cost, terminal_)
                                                               : std::string(kShareWidth, ' ');
  const std::string code = instruction.text.empty() ? "(code not recorded)" : instruction.text;
  const std::string text = "    " + pad_left(place_text(row), place_width_) + "  " + code;
  std::string out = std::string(columns.number, ' ') + share + "  " +
                    terminal_.bar_colour(pad(cut(text, columns.text, terminal_.ascii), columns.text)) + "  " +
                    terminal_.dim(cut(owner_text(instruction), columns.owner, terminal_.ascii));
  while (out.ends_with(' ')) out.pop_back();
  return out + "\n";
}

// What the line above does not say.
std::string MachineCodeText::owner_text(const NativeInstruction& instruction) const {
  if (instruction.lines.size() < 2)
    return instruction.quality == profile::Quality::kInferred ? "inferred" : "";
  std::vector<std::string> numbers, operators;
  for (const ComponentId line : instruction.lines) {
    if (numbers.size() == kMostNamed) {
      numbers.emplace_back("...");
      break;
    }
    numbers.push_back(std::to_string(line));
    if (line == 0 || line > report_.lines.size()) continue;
    for (const std::string& name : report_.lines[line - 1].operators) {
      std::string shown = escape_line(name, terminal_.ascii);
      if (operators.size() < kMostNamed && std::ranges::find(operators, shown) == operators.end())
        operators.push_back(std::move(shown));
    }
  }
  return fmt::format("lines {}: {}", fmt::join(numbers, ", "), fmt::join(operators, " + "));
}

}  // namespace tailor::cli
