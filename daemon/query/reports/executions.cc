#include "daemon/query/reports/executions.h"

#include <fmt/format.h>

#include <algorithm>

#include "daemon/query/sums/keys.h"

namespace tailor::query {

Result<LoadedExecutions> load_executions(const std::string& directory, const store::Catalogue& catalogue,
                                         std::span<const store::ExecutionRow> rows,
                                         const LoadOptions& options) {
  LoadOptions range = options;
  range.from = kTimeMax;
  range.to = kTimeMin;
  Selection selection;
  for (const store::ExecutionRow& row : rows) {
    range.from = std::min(range.from, row.record.begin);
    range.to = std::max(range.to, row.record.end);
    selection.executions.insert({row.record.process, row.record.handle});
  }
  auto profile = Profile::load_store(directory, catalogue, rows.front().recording, range);
  if (!profile.ok()) return profile.error();
  return LoadedExecutions{std::move(*profile), std::move(selection)};
}

Result<std::vector<store::ExecutionRow>> find_executions(const store::Catalogue& catalogue,
                                                         std::span<const ExecutionId> ids) {
  std::vector<store::ExecutionRow> rows;
  for (const ExecutionId& id : ids) {
    auto found = catalogue.find_executions(hex(id));
    if (!found.ok()) return found.error();
    if (found->empty()) return not_found(fmt::format("no execution {} is known", hex(id)));
    if (!rows.empty() && rows.front().recording != found->front().recording) {
      return invalid(fmt::format("execution {} is of another recording than the others", hex(id)));
    }
    rows.push_back(std::move(found->front()));
  }
  return rows;
}

}  // namespace tailor::query
