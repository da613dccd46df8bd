// Answers requests: the one implementation behind HTTP, the control socket and the command line.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/serve/access.h"
#include "daemon/serve/execution_groups.h"
#include "daemon/serve/library.h"
#include "daemon/serve/plan_changes.h"
#include "daemon/serve/request.h"
#include "daemon/serve/view_functions.h"
#include "daemon/serve/views.h"
#include "proto/base/result.h"
#include "proto/base/stop.h"
#include "tailor/v1/control.pb.h"

namespace tailor::serve {

struct ServiceOptions {
  std::string version;
  // The daemon's status as it was published last; empty: no daemon, a file is shown.
  std::function<v1::DaemonStatus()> status;
  // Does what is asked, for who may ask it; empty: no daemon. Any thread.
  std::function<Result<v1::ControlReply>(const v1::ControlRequest&, const Access&)> control = {};
  // CPU time in ns that was measured so far, by keys as kind_costs.h has them; empty: no daemon. Any thread.
  std::function<std::map<std::string, double>()> kinds = {};
  // Where names of functions are looked for. The owner of a process chooses the files that it names, so a
  // daemon opens none for others who ask.
  query::NamesFrom names_from = query::NamesFrom::kProfile;
};

// A part of the list of executions, and what a list has to say beside them.
struct ExecutionPage {
  ExecutionList list;
  std::vector<store::RemovedOfUser> removed;
  std::optional<GoneList> gone;  // on the last page: what else passes the filter
  Json file;                     // file_state()
};

// Any number of threads. An answer reads what is stored and published; a ControlCall alone changes something.
class Service {
 public:
  // `library` must outlive it.
  Service(Library& library, ServiceOptions options)
      : library_(library), options_(std::move(options)), names_(options_.names_from) {}

  Result<Json> answer(const Request& request, const Access& access, const Stop& stop);
  // Whether it can be answered at once, without the store.
  static bool is_quick(const Request& request);

  // All views of one target with the keys of their requests (docs/http-api.md, "bundle").
  Result<Json> bundle(const Target& target, const Access& access, const Stop& stop);

  // The same as values, for those who make text of them. None has data that `access` may not see.

  // Loads and checks that `access` may see it.
  Result<View> open(const Target& target, const Filters& filters, Detail detail, const Access& access,
                    const Stop& stop);
  // Calls `take`, newest first, for what passes the filter, its limit apart, until it says false.
  Status visit(const ExecutionFilter& filter, const Access& access, const Stop& stop,
               const std::function<bool(store::ExecutionRow)>& take);
  // `most_checked`: bytes of samples behind the executions that are looked at for damage.
  Result<ExecutionPage> page(const ExecutionFilter& filter, std::uint64_t most_checked, const Access& access,
                             const Stop& stop);
  // What of all users' samples in the range is damaged: denied where `access` does not see everything.
  // `most_checked` as of page().
  Result<Json> file_state_of_time(const store::WallRange& range, std::uint64_t most_checked,
                                  const Access& access, const Stop& stop);
  Result<PlanChangeList> plan_changes(const ExecutionFilter& filter, const Access& access, const Stop& stop);
  Result<std::vector<ExecutionGroup>> groups(const ExecutionFilter& filter, GroupBy by, const Access& access,
                                             const Stop& stop);
  Result<NotInGroups> not_in_groups(const ExecutionFilter& filter, const Access& access, const Stop& stop);
  // Whether samples of executions that pass the filter are gone, and sums know them. False where that cannot
  // be read: an answer from samples says what is wrong with the store.
  bool has_gone(const ExecutionFilter& filter, const Access& access, const Stop& stop);
  // All sums of the hours that the range touches, and what of the samples behind them is damaged. What was
  // lost, it has of all users.
  Result<store::Summary> sums(const store::WallRange& range, const Access& access, const Stop& stop,
                              query::StoreDamage& damage);

  bool live() const { return static_cast<bool>(options_.status); }
  Json health() const;
  // For an asker who sees everything: the sums are of the whole host. Else, and without a daemon, nothing.
  std::map<std::string, double> kinds(const Access& access) const;

 private:
  Json status(const Access& access) const;
  Result<Json> executions(const ExecutionsRequest& request, const Access& access, const Stop& stop);
  Result<Json> execution(const Target& target, const Access& access, const Stop& stop);
  Result<Json> view(const ViewRequest& request, const Access& access, const Stop& stop);
  // As open(); of all executions, or of those that pass a filter, it is the newest ones that have enough
  // samples together (query_runs.h).
  Result<View> open_runs(const Target& target, const Filters& filters, Detail detail, const Access& access,
                         const Stop& stop);
  // "report" is null where there is no sample.
  Result<Json> report(const ReportRequest& request, const Access& access, const Stop& stop);
  Result<Json> compare(const CompareRequest& request, const Access& access, const Stop& stop);
  Result<Json> fingerprints(const FingerprintsRequest& request, const Access& access, const Stop& stop);
  Result<Json> fingerprint(const FingerprintRequest& request, const Access& access, const Stop& stop);
  Result<Json> control(const ControlCall& call, const Access& access) const;
  Result<Json> history(const HistoryRequest& request, const Access& access, const Stop& stop);
  Result<Json> tag_cost(const TagCostRequest& request, const Access& access, const Stop& stop);
  Result<Json> plan_changes(const PlanChangesRequest& request, const Access& access, const Stop& stop);
  Result<Json> host(const HostRequest& request, const Access& access, const Stop& stop);

  // Denied where `access` may see the executions, and not their IR and machine code.
  static Status may_read_code(const View& view, const Access& access);

  Library& library_;
  ServiceOptions options_;
  KnownNames names_;
};

// A view of what is loaded, by its request. Functions have the names that the profile has.
Result<Json> view_answer(const View& view, const ViewKind& kind);
// Whether it needs single samples even without filters.
Detail detail_of(const ViewKind& kind);

}  // namespace tailor::serve
