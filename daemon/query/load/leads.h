// Several processes may work for one execution: the workers of a parallel query have executions of their own,
// whose label "leader_execution" names that of their leader. A report shows them as one.
#pragma once

#include <map>
#include <utility>

#include "daemon/query/load/cell.h"
#include "daemon/query/load/execution_table.h"
#include "proto/base/ids.h"

namespace tailor::query {

// An execution that another one worked for.
struct Lead {
  ProcessId process;
  ExecutionHandle execution = 0;
  PlanId worker_plan = 0, plan = 0;
};
using Leads = std::map<std::pair<ProcessId, ExecutionHandle>, Lead>;

// By worker. A worker has none if its leader is not in the table, is another user's, or is a worker itself.
// The executions must be sorted.
Leads find_leads(const ExecutionTable& executions);

}  // namespace tailor::query
