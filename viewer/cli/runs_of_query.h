// All runs of a query seen as one: where a report begins, because one run has a sample or two.
#pragma once

#include <string>

#include "daemon/serve/library.h"
#include "daemon/serve/query_runs.h"
#include "daemon/serve/service.h"
#include "proto/base/result.h"

namespace tailor::cli {

struct RunsOfQuery {
  std::string fingerprint;
  serve::QueryRuns runs;
  std::string last_sampled;  // the id of the newest run that has samples; "": none has
  bool older = false;        // there are older runs, or may be, that are not taken

  // Which executions these are, for a library.
  serve::Target target() const;
  // "These are all 320 runs of the query. 15 of them have samples."
  std::string text() const;
};

// Those of the fingerprint. No run is looked for among more than the newest executions.
Result<RunsOfQuery> runs_of_query(serve::Service& service, const std::string& fingerprint);
// The fingerprint of the newest execution that has samples, among the newest; "" if none has.
Result<std::string> newest_query(serve::Service& service);

}  // namespace tailor::cli
