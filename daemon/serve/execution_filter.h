// Which executions somebody asks for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/store/catalogue.h"

namespace tailor::serve {

// Whether the asker may see an execution; empty: all. An execution that one may not see does not exist.
using Visible = std::function<bool(const store::ExecutionRow&)>;

// What a list of executions is to hold. Nothing set: the newest.
struct ExecutionFilter {
  std::size_t limit = 100;
  std::optional<std::uint64_t> since_ns, until_ns;  // CLOCK_REALTIME of the begin: [since, until)
  bool ran_since = false;  // those too that began before `since_ns` and ran then or later (store::WallRange)
  std::optional<std::int32_t> pid;
  std::string process_name;  // of the process or its engine, in any case of letters
  std::string cgroup;        // of the process: a pattern of profile/cgroup.h
  std::vector<std::pair<std::string, std::string>> labels;  // all must hold
  std::string fingerprint;                                  // of fingerprint.h
  std::string plan;                                         // part of the plan's name
  // Where an engine added up runs, of the longest of them.
  std::optional<std::int64_t> min_elapsed_ns;
  std::string after;  // only those that follow this execution in the list: its id, 32 digits
  // Who may see what; empty: everything.
  Visible visible;
};

}  // namespace tailor::serve
