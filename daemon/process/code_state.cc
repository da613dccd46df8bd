#include "daemon/process/code_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tailor::process {
namespace {

// User addresses of x86-64, five-level paging included.
constexpr std::uint64_t kUserEnd = std::uint64_t{1} << 56;
// Any number of them, as long as the plan is not known.
constexpr std::uint32_t kAnyComponent = UINT32_MAX;

std::uint64_t size_of(const v1::CodeObject& code) {
  return code.size() != 0 ? code.size() : code.code().size();
}

std::string check_range(const v1::CodeObject& code, const Limits& limits) {
  const std::uint64_t size = size_of(code);
  if (code.id() == 0) return "has no id";
  if (size == 0) return "is empty";
  if (size > limits.code_bytes) return fmt::format("claims {} bytes", size);
  if (!code.code().empty() && code.code().size() != size) {
    return fmt::format("brings {} bytes for a range of {}", code.code().size(), size);
  }
  if (code.base() == 0 || code.base() >= kUserEnd || size > kUserEnd - code.base()) {
    return fmt::format("claims {} bytes at {:#x}, which is no range of user addresses", size, code.base());
  }
  return {};
}

std::string check_row(std::uint32_t link, std::uint8_t flag, std::uint32_t sets) {
  if (!v1::RowFlag_IsValid(flag)) return fmt::format("flag {}", flag);
  const bool owned = flag != v1::ROW_PROLOGUE && flag != v1::ROW_UNMAPPED;
  if (owned != (link != 0)) return fmt::format("link {} with flag {}", link, flag);
  if (!link_exists(link, kAnyComponent, sets)) return fmt::format("link {} leads nowhere", link);
  return {};
}

std::string read_rows(const v1::RowTable& rows, CheckedCode& checked) {
  CodeState& out = checked.state;
  const int count = rows.offset_delta_size();
  if (rows.link_delta_size() != count || rows.flags().size() != static_cast<std::size_t>(count)) {
    return fmt::format("{} offsets, {} links, {} flags", count, rows.link_delta_size(), rows.flags().size());
  }
  std::string sets = check_link_sets(rows.link_sets(), kAnyComponent);
  if (!sets.empty()) return sets;
  for (const v1::LinkSet& set : rows.link_sets()) {
    for (std::uint32_t id : set.ids()) checked.highest_in_sets = std::max(checked.highest_in_sets, id);
  }
  const std::uint64_t size = out.end - out.base;
  out.rows.reserve(static_cast<std::size_t>(count));
  std::uint64_t offset = 0;
  std::uint32_t link = 0;
  for (int i = 0; i < count; ++i) {
    if (i > 0 && rows.offset_delta(i) == 0) return fmt::format("row {} does not follow the one before", i);
    offset += rows.offset_delta(i);
    if (offset >= size) return fmt::format("row {} begins at {} of {} bytes", i, offset, size);
    link += static_cast<std::uint32_t>(rows.link_delta(i));
    const auto flag = static_cast<std::uint8_t>(rows.flags()[static_cast<std::size_t>(i)]);
    std::string problem = check_row(link, flag, static_cast<std::uint32_t>(rows.link_sets_size()));
    if (!problem.empty()) return fmt::format("row {}: {}", i, problem);
    out.rows.push_back({static_cast<std::uint32_t>(offset), link, static_cast<v1::RowFlag>(flag)});
  }
  out.index_rows();
  return {};
}

// Where links of the rows lead to a component above.
std::string check_components(const CheckedCode& code, std::uint32_t components) {
  if (code.highest_in_sets > components)
    return fmt::format("a link set names component {} of {}", code.highest_in_sets, components);
  const std::vector<CodeRow>& rows = code.state.rows;
  const auto wrong = std::ranges::find_if(
      rows, [&](const CodeRow& row) { return (row.link & 1) == 0 && row.link >> 1 > components; });
  if (wrong == rows.end()) return {};
  return fmt::format("row {}: link {} leads nowhere", wrong - rows.begin(), wrong->link);
}

}  // namespace

void CodeState::index_rows() {
  constexpr std::uint64_t kMostBlocksARow = 8;
  const std::uint64_t count = (end - base - 1) / kBlock + 1;
  if (count > kMostBlocksARow * rows.size()) return;
  blocks.resize(count);
  for (const CodeRow& row : rows) blocks[row.offset / kBlock] |= std::uint64_t{1} << row.offset % kBlock;
  std::uint64_t before = 0;
  for (std::uint64_t& block : blocks) {
    const std::uint32_t here = ones(static_cast<std::uint32_t>(block));
    block |= before << 32;
    before += here;
  }
}

std::size_t CodeState::search_rows(std::uint64_t offset) const {
  const auto after = std::ranges::upper_bound(rows, offset, {}, &CodeRow::offset);
  return static_cast<std::size_t>(after - rows.begin());
}

Result<CheckedCode> check_code(const v1::CodeObject& code, const Limits& limits) {
  std::string problem = check_range(code, limits);
  CheckedCode checked;
  if (problem.empty()) {
    checked.state.id = code.id();
    checked.state.base = code.base();
    checked.state.end = code.base() + size_of(code);
    checked.state.machine_code = code.code();
    if (code.plan_id() != 0) {
      problem = read_rows(code.rows(), checked);
    } else if (code.rows().offset_delta_size() != 0) {
      problem = "has rows, but no plan";
    }
  }
  if (!problem.empty()) return invalid(fmt::format("code object {}: {}", code.id(), problem));
  return checked;
}

Result<CodeState> fit_code(CheckedCode code, const PlanState* plan) {
  if (plan == nullptr) return std::move(code.state);
  if (const std::string problem = check_components(code, plan->component_counts.back()); !problem.empty())
    return invalid(fmt::format("code object {}: {}", code.state.id, problem));
  code.state.plan = plan->id;
  code.state.level = plan->lowest_level();
  return std::move(code.state);
}

Result<CodeState> check_code(const v1::CodeObject& code, const PlanState* plan, const Limits& limits) {
  Result<CheckedCode> checked = check_code(code, limits);
  if (!checked.ok()) return checked.error();
  return fit_code(std::move(*checked), plan);
}

}  // namespace tailor::process
