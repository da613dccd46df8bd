#include "daemon/process/code_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>

namespace tailor::process {
namespace {

// User addresses of x86-64, five-level paging included.
constexpr std::uint64_t kUserEnd = std::uint64_t{1} << 56;

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

std::string check_row(std::uint32_t link, std::uint8_t flag, std::uint32_t components, std::uint32_t sets) {
  if (!v1::RowFlag_IsValid(flag)) return fmt::format("flag {}", flag);
  const bool owned = flag != v1::ROW_PROLOGUE && flag != v1::ROW_UNMAPPED;
  if (owned != (link != 0)) return fmt::format("link {} with flag {}", link, flag);
  if (!link_exists(link, components, sets)) return fmt::format("link {} leads nowhere", link);
  return {};
}

std::string read_rows(const v1::RowTable& rows, std::uint32_t components, CodeState& out) {
  const int count = rows.offset_delta_size();
  if (rows.link_delta_size() != count || rows.flags().size() != static_cast<std::size_t>(count)) {
    return fmt::format("{} offsets, {} links, {} flags", count, rows.link_delta_size(), rows.flags().size());
  }
  std::string sets = check_link_sets(rows.link_sets(), components);
  if (!sets.empty()) return sets;
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
    std::string problem =
        check_row(link, flag, components, static_cast<std::uint32_t>(rows.link_sets_size()));
    if (!problem.empty()) return fmt::format("row {}: {}", i, problem);
    out.rows.push_back({static_cast<std::uint32_t>(offset), link, static_cast<v1::RowFlag>(flag)});
  }
  out.index_rows();
  return {};
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

Result<CodeState> check_code(const v1::CodeObject& code, const PlanState* plan, const Limits& limits) {
  std::string problem = check_range(code, limits);
  CodeState state;
  if (problem.empty()) {
    state.id = code.id();
    state.base = code.base();
    state.end = code.base() + size_of(code);
    state.machine_code = code.code();
    if (plan != nullptr) {
      state.plan = plan->id;
      state.level = plan->lowest_level();
      problem = read_rows(code.rows(), plan->component_counts.back(), state);
    } else if (code.rows().offset_delta_size() != 0) {
      problem = "has rows, but no plan";
    }
  }
  if (!problem.empty()) return invalid(fmt::format("code object {}: {}", code.id(), problem));
  return state;
}

}  // namespace tailor::process
