#include "daemon/store/catalogue_budget.h"

#include <fmt/format.h>

#include <algorithm>

namespace tailor::store {
namespace {

// Rows removed at a time, before it is looked again at who has most.
constexpr std::uint64_t kAtATime = 256;

// How many of `rows` that take `all` have `bytes`; one at least.
std::uint64_t rows_of_bytes(std::uint64_t bytes, std::uint64_t rows, std::uint64_t all) {
  const std::uint64_t of_each = std::max<std::uint64_t>(1, all / std::max<std::uint64_t>(1, rows));
  return bytes / of_each + 1;
}

}  // namespace

std::string user_text(std::optional<std::uint32_t> uid) {
  return uid ? fmt::format("user {}", *uid) : "users who are not known";
}

Status CatalogueBudget::make_room(Catalogue& catalogue, std::uint64_t rows, std::uint64_t wall_ns) {
  full_of_.reset();
  if (most_ == 0) return Ok{};
  for (;;) {
    const auto size = catalogue.size();
    if (!size) return size.error();
    if (size->used <= most_) return Ok{};
    const auto uses = catalogue.uses();
    if (!uses) return uses.error();
    if (rows == 0 && !uses->empty()) full_of_ = uses->front().uid;
    if (rows == 0) return Ok{};
    auto removed = remove_some(catalogue, *uses, size->used - most_, std::min(rows, kAtATime), wall_ns);
    if (!removed) return removed.error();
    if (*removed == 0) return Ok{};
    rows -= std::min(rows, *removed);
  }
}

Result<std::uint64_t> CatalogueBudget::remove_some(Catalogue& catalogue, const std::vector<UserUse>& uses,
                                                   std::uint64_t bytes, std::uint64_t most,
                                                   std::uint64_t wall_ns) const {
  for (const UserUse& of : uses) {
    const bool names_first = of.name_bytes > of.execution_bytes;
    for (const bool names : {names_first, !names_first}) {
      const std::uint64_t wanted = names ? rows_of_bytes(bytes, of.names, of.name_bytes)
                                         : rows_of_bytes(bytes, of.executions, of.execution_bytes);
      auto removed = names ? catalogue.remove_names(of.uid, std::min(most, wanted))
                           : catalogue.remove_executions(of.uid, std::min(most, wanted));
      if (!removed) return removed;
      if (*removed == 0) continue;
      Status noted =
          catalogue.note_removed({of.uid, names ? 0 : *removed, names ? *removed : 0, wall_ns, wall_ns});
      if (!noted) return noted.error();
      return removed;
    }
  }
  return std::uint64_t{0};
}

Status CatalogueBudget::give_back(Catalogue& catalogue, bool for_long) const {
  // What is free is used again soon, so a part of the budget stays.
  constexpr std::uint64_t kPart = 8, kAtOnce = 16u << 20;
  const auto size = catalogue.size();
  if (!size) return size.error();
  if (most_ == 0 || size->file <= most_ + most_ / kPart || size->file == size->used) return Ok{};
  return catalogue.give_back(for_long ? size->file - size->used : std::min(size->file - most_, kAtOnce),
                             for_long);
}

std::string CatalogueBudget::news(const Catalogue& catalogue) {
  const auto removed = catalogue.removed();
  if (!removed) return {};
  std::string out;
  for (const RemovedOfUser& each : *removed) {
    auto& [executions, names] = told_[each.uid];
    // Less: older ones were forgotten.
    const std::uint64_t more = each.executions - std::min(executions, each.executions);
    const std::uint64_t more_names = each.names - std::min(names, each.names);
    executions = each.executions;
    names = each.names;
    if (more + more_names == 0) continue;
    out += fmt::format("{}{} executions and {} names of {}", out.empty() ? "" : ", ", more, more_names,
                       user_text(each.uid));
  }
  return out.empty() ? out
                     : out + ": the catalogue is at its limit, and who has most of it loses the oldest first";
}

}  // namespace tailor::store
