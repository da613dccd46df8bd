// Executions added up by where they ran.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/query/json/json_parts.h"
#include "daemon/serve/library.h"
#include "daemon/store/catalogue.h"
#include "proto/base/result.h"
#include "proto/base/stop.h"

namespace tailor::serve {

enum class GroupBy { kCgroup, kPod, kContainer };

// "cgroup", "pod", "container".
std::string_view name_of(GroupBy by);

struct ExecutionGroup {
  std::string name;  // the cgroup's path, the pod's uid, the container's id; empty: of those without one
  // Runs that an engine added up count each (profile/added_runs.h); `running`: records that have not ended.
  // `ended`: of these the elapsed time is known. `untimed`: ended too, and it is not (profile::is_untimed).
  std::uint64_t executions = 0, running = 0, ended = 0, untimed = 0, failed = 0;
  std::uint64_t samples = 0;
  std::uint64_t drawn = 0;  // of `executions`: samples and CPU time are of these, where a share is sampled
  double cpu_ns = 0;
  double elapsed_ns = 0;           // the sum over `ended`
  std::uint64_t last_wall_ns = 0;  // when the newest began
};

// One thread. Memory is bounded.
class ExecutionGroups {
 public:
  static constexpr std::size_t kMostGroups = 10'000;
  static constexpr const char* kOther = "(other)";  // the groups beyond these, in one

  explicit ExecutionGroups(GroupBy by) : by_(by) {}
  void add(const store::ExecutionRow& row);
  // The one with most CPU time first; its name decides where that is the same.
  std::vector<ExecutionGroup> finish() const;

 private:
  const GroupBy by_;
  std::map<std::string, ExecutionGroup> groups_;
};

// Of all executions that pass the filter; its limit does not count.
Result<std::vector<ExecutionGroup>> groups_of(Library& library, const ExecutionFilter& filter, GroupBy by,
                                              const Stop& stop);

// What the groups of a store lack.
struct NotInGroups {
  static constexpr std::size_t kMostRows = 10'000;  // of queries and hours that are added up
  GoneSum gone;                                     // sums do not know where executions ran
  std::vector<store::RemovedOfUser> removed;        // to make room in the catalogue
};
// By the same filter, of the users whom the asker may see.
Result<NotInGroups> not_in_groups(Library& library, const ExecutionFilter& filter, const SeesUser& sees,
                                  const Stop& stop);

// docs/report-json.md, "tailor list --by ... --json": at most `limit` of them.
query::Json groups_json(const std::vector<ExecutionGroup>& groups, GroupBy by, std::size_t limit,
                        const NotInGroups& missing = {});

}  // namespace tailor::serve
