// The views of docs/http-api.md, "Paths", as JSON: what HTTP answers and what a report file holds. Each is of
// one View; times in it are since the view's origin.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/query/json/json_parts.h"
#include "daemon/query/reports/compare.h"
#include "daemon/query/reports/flame.h"
#include "daemon/query/time/elapsed_time.h"
#include "daemon/query/time/timeline.h"
#include "daemon/serve/gone.h"
#include "daemon/serve/library.h"
#include "daemon/serve/plan_changes.h"
#include "daemon/serve/view.h"
#include "daemon/serve/view_options.h"

namespace tailor::serve {

using query::Json;

// All fail, saying so, where there is nothing to show. Of elapsed time, the view must have been loaded with
// its samples, and without filters but those for time.
Result<Json> profile_json(const View& view, SharesOf of = SharesOf::kPlan);
Result<query::ElapsedTime> elapsed_of(const View& view);
Result<Json> timeline_json(const View& view, const TimelineRequest& request);
Result<query::Timeline> timeline_of(const View& view, const TimelineRequest& request);
// With functions in `order`, the view must have been loaded with Detail::kFunctions. Of elapsed time there
// are none.
Result<Json> flame_json(const View& view, const std::vector<query::FlameLevel>& order,
                        SharesOf of = SharesOf::kPlan);
Result<query::FlameReport> flame_of(const View& view, const std::vector<query::FlameLevel>& order,
                                    SharesOf of = SharesOf::kPlan);
// `plan_key` empty: the most expensive.
Result<Json> listing_json(const View& view, const std::string& plan_key);
Result<Json> memory_json(const View& view, std::size_t points);
Result<Json> threads_json(const View& view);
Result<Json> iterations_json(const View& view, query::IterationsFrom from);
Result<Json> sources_json(const View& view);
Result<Json> samples_json(const View& view, std::size_t limit);
// How many samples the view has, of all sources or of the one that is selected.
std::uint64_t samples_in(const View& view);
// Of a profile with slices, without filters for single samples.
Result<Json> slices_json(const View& view, std::size_t limit);
// Fails where the units of both sides differ.
Result<query::Comparison> comparison(const View& a, const View& b);
Result<Json> compare_json(const View& a, const View& b);
// Of sums (compare_sums.h), for programs: the same keys, without what only samples have. Null is what the
// sums do not know.
Json sums_comparison_json(const query::Comparison& both);

// A row of a list of executions. `process` may be null: then the process is not described.
Json execution_json(const store::ExecutionRow& row, const profile::ProcessRecord* process);
Json executions_json(const std::vector<store::ExecutionRow>& rows);
// What was removed from a catalogue: part of lists of executions, where there is something.
Json removed_json(const std::vector<store::RemovedOfUser>& removed);
// docs/http-api.md, "executions". `gone` is null on all pages but the last.
Json executions_page_json(const ExecutionList& list, const std::vector<store::RemovedOfUser>& removed,
                          const GoneList* gone);
// docs/report-json.md, "tailor list --json". `file`: of file_state().
Json list_json(const ExecutionList& list, const GoneList& gone,
               const std::vector<store::RemovedOfUser>& removed, Json file);
// docs/report-json.md, "tailor list --plan-changes --json".
Json plan_changes_json(const PlanChangeList& list);

}  // namespace tailor::serve
