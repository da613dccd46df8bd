// Rows of executions with those of their parallel workers added up (profile/leader.h).
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "daemon/store/catalogue.h"

namespace tailor::store {

// For rows that come newest first: a worker begins after its leader, so the leader's row comes last.
class LeaderRows {
 public:
  // The executions of a recording with that identity.
  using Find = std::function<std::vector<profile::ExecutionRecord>(RecordingNumber, const ExecutionId&)>;
  explicit LeaderRows(Find find) : find_(std::move(find)) {}

  // Whether the row is to be shown; else it is a worker's, whose cost will be in the row of its leader. A
  // worker stands for itself where its leader is not known, or began after it.
  bool take(ExecutionRow& row);
  // The execution that this one worked for.
  std::optional<profile::ExecutionRecord> leader(const ExecutionRow& row);

 private:
  using Key = std::tuple<RecordingNumber, ProcessId, ExecutionHandle>;
  static constexpr std::size_t kMostLeaders = 100'000;  // whose rows are still to come

  Find find_;
  std::map<Key, ExecutionCost> costs_;  // of the workers of each leader
};

}  // namespace tailor::store
