#include "daemon/query/reports/row_skews.h"

namespace tailor::query {

std::span<const ThreadWork> work_of(const WorkByCell* work, const Cost& cost) {
  if (work == nullptr) return {};
  const auto found = work->find(cost.own_key);
  return found == work->end() ? std::span<const ThreadWork>() : std::span(found->second);
}

void add_work(std::span<const ThreadWork> work, double part, SkewSum& to) {
  for (const ThreadWork& each : work)
    to.add(each.execution, each.thread, each.cpu_ns * part, each.squares * part * part);
}

}  // namespace tailor::query
