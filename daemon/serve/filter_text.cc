#include "daemon/serve/filter_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "daemon/query/time/wall_time.h"

namespace tailor::serve {

std::string filter_text(const ExecutionFilter& filter) {
  std::vector<std::string> all;
  if (filter.since_ns) all.push_back(fmt::format("began at {} or later", query::rfc3339(*filter.since_ns)));
  if (filter.until_ns) all.push_back(fmt::format("began before {}", query::rfc3339(*filter.until_ns)));
  if (filter.pid) all.push_back(fmt::format("is of process {}", *filter.pid));
  if (!filter.process_name.empty())
    all.push_back(fmt::format("is of a process or engine \"{}\"", filter.process_name));
  if (!filter.cgroup.empty()) all.push_back(fmt::format("is in a cgroup \"{}\"", filter.cgroup));
  for (const auto& [key, value] : filter.labels)
    all.push_back(fmt::format("has the label {}={}", key, value));
  if (!filter.fingerprint.empty()) all.push_back("has the fingerprint " + filter.fingerprint);
  if (filter.min_elapsed_ns)
    all.push_back(fmt::format("took {} s or longer", static_cast<double>(*filter.min_elapsed_ns) / 1e9));
  return fmt::format("{}", fmt::join(all, " and "));
}

}  // namespace tailor::serve
