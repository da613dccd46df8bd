// What a service gives as values, for those who make text of them.
#include <map>
#include <utility>

#include "daemon/serve/file_state.h"
#include "daemon/serve/service.h"

namespace tailor::serve {

Status Service::visit(const ExecutionFilter& filter, const Access& access, const Stop& stop,
                      const std::function<bool(store::ExecutionRow)>& take) {
  ExecutionFilter visible = filter;
  visible.visible = visible_to(access);
  return library_.visit(visible, stop, take);
}

Result<ExecutionPage> Service::page(const ExecutionFilter& asked, std::uint64_t most_checked,
                                    const Access& access, const Stop& stop) {
  ExecutionFilter filter = asked;
  filter.visible = visible_to(access);
  auto list = library_.executions(filter, stop);
  if (!list) return list.error();
  auto removed = library_.removed(sums_visible_to(access));
  if (!removed) return removed.error();
  auto file = file_state(library_, list->rows, most_checked, stop);
  if (!file) return file.error();
  ExecutionPage out{std::move(*list), std::move(*removed), std::nullopt, std::move(*file)};
  if (out.list.more && !out.list.rows.empty()) return out;
  auto gone = library_.gone(filter, sums_visible_to(access), stop);
  if (!gone) return gone.error();
  out.gone = std::move(*gone);
  return out;
}

Result<Json> Service::file_state_of_time(const store::WallRange& range, std::uint64_t most_checked,
                                         const Access& access, const Stop& stop) {
  if (!access.see_all)
    return denied("damage in a range of time is of all users, and you may see executions of some only");
  return serve::file_state_of_time(library_, range, most_checked, stop);
}

Result<PlanChangeList> Service::plan_changes(const ExecutionFilter& asked, const Access& access,
                                             const Stop& stop) {
  ExecutionFilter filter = asked;
  filter.visible = visible_to(access);
  return serve::plan_changes(library_, filter, stop);
}

Result<std::vector<ExecutionGroup>> Service::groups(const ExecutionFilter& asked, GroupBy by,
                                                    const Access& access, const Stop& stop) {
  ExecutionFilter filter = asked;
  filter.visible = visible_to(access);
  return groups_of(library_, filter, by, stop);
}

Result<NotInGroups> Service::not_in_groups(const ExecutionFilter& filter, const Access& access,
                                           const Stop& stop) {
  return serve::not_in_groups(library_, filter, sums_visible_to(access), stop);
}

bool Service::has_gone(const ExecutionFilter& asked, const Access& access, const Stop& stop) {
  ExecutionFilter filter = asked;
  filter.limit = 1;
  const auto rows = library_.gone(filter, sums_visible_to(access), stop);
  return rows && !rows->rows.empty();
}

Result<store::Summary> Service::sums(const store::WallRange& range, const Access& access, const Stop& stop,
                                     query::StoreDamage& damage) {
  auto sums = library_.sums(range, stop, damage);
  if (!sums || access.see_all) return sums;
  // What sums of other users say is as unknown as what is not there.
  const auto hidden = [&](const auto& row) { return !sees_sums_of(access, row.first.uid); };
  std::erase_if(sums->costs, hidden);
  std::erase_if(sums->runs, hidden);
  std::erase_if(sums->queries, hidden);
  return sums;
}

}  // namespace tailor::serve
