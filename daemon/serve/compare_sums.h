// Two times of a query, operator by operator, from sums: where its samples are gone.
#pragma once

#include <string>

#include "daemon/query/reports/compare.h"
#include "daemon/store/summary.h"
#include "proto/base/result.h"

namespace tailor::serve {

// All of a query in some sums, whatever its plans.
struct QueryInSums {
  const store::Summary& sums;
  std::string fingerprint;
};

// `source`: the name of an event. Empty: one that both sides have, of time on CPU where there is such a one.
// Not found where a side has nothing of the query, or both have no event in common. Operators match by their
// number where both sides have the same plan and no other, else by kind and name. They are no tree: the most
// expensive one is first. Executions are those that ended in the time; of a share that is sampled, those that
// were drawn. Then no interval is known.
Result<query::Comparison> compare_sums(const QueryInSums& a, const QueryInSums& b, const std::string& source);

}  // namespace tailor::serve
