#include "daemon/query/json/iterations_json.h"

#include "daemon/query/json/accounting_json.h"
#include "daemon/query/sums/keys.h"

namespace tailor::query {

Json json_of(const Profile& profile, const Selection& selection, const std::vector<Loop>& loops,
             const std::function<bool(const TimedSample&)>& keep) {
  Json out = Json::array();
  for (const Loop& loop : loops) {
    const auto& [process, handle] = loop.execution;
    const profile::ExecutionRecord* record = profile.execution(process, handle);
    const TimeNs begin = record == nullptr ? loop.iterations.front().from : record->begin;
    Json iterations = Json::array();
    for (const IterationRow& row : iteration_rows(profile, selection, loop, keep)) {
      iterations.push_back({{"number", row.iteration.number},
                            {"begin_ns", row.iteration.from - begin},
                            {"elapsed_ns", row.iteration.to - row.iteration.from},
                            {"samples", row.cost.samples},
                            {"weight", row.cost.weight}});
    }
    out.push_back({{"execution", record == nullptr ? "" : hex(record->id)},
                   {"process", {{"pid", process.pid}, {"start", process.start}}},
                   {"component", loop.component},
                   {"name", loop.name},
                   {"found_by", loop.marked ? "marks" : "samples"},
                   {"spread", loop.spread()},
                   {"median_ns", loop.median_ns()},
                   {"iterations", std::move(iterations)}});
  }
  return {{"loops", std::move(out)},
          {"accounting", accounting_json(account_of(profile))},
          {"file", damage_json(profile)}};
}

}  // namespace tailor::query
