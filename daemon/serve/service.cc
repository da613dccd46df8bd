#include "daemon/serve/service.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "daemon/query/json/accounting_json.h"
#include "daemon/query/json/report_json.h"
#include "daemon/query/reports/plan_report.h"
#include "daemon/query/sums/keys.h"
#include "daemon/query/time/wall_time.h"
#include "daemon/serve/bounds_view.h"
#include "daemon/serve/file_state.h"
#include "daemon/serve/history.h"
#include "daemon/serve/json_time.h"
#include "daemon/serve/kind_costs.h"
#include "daemon/serve/query_runs.h"
#include "daemon/serve/sums_json.h"
#include "daemon/serve/tag_cost.h"
#include "daemon/store/meta_codec.h"

namespace tailor::serve {
namespace {

template <typename... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};
template <typename... Ts>
Overloaded(Ts...) -> Overloaded<Ts...>;

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "";
}

std::uint64_t own_memory_bytes() {
  std::uint64_t pages = 0, resident = 0;
  if (std::FILE* statm = std::fopen("/proc/self/statm", "re")) {
    if (std::fscanf(statm, "%lu %lu", &pages, &resident) != 2) resident = 0;
    std::fclose(statm);
  }
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

// A process that ends at once takes a message or two along. An agent that this daemon does not keep up with
// has many.
bool loses_messages(const v1::ProcessAccounting& total) {
  constexpr std::uint64_t kFew = 100;
  const std::uint64_t unsent = total.agent_unsent();
  return unsent > kFew && unsent > (total.messages() + unsent) / 100;
}

Json health_of(const v1::DaemonStatus& status) {
  Json reasons = Json::array();
  const v1::ProcessAccounting& total = status.total();
  const double lost = static_cast<double>(total.lost_ring() + total.lost_hardware());
  const double given = static_cast<double>(total.received()) + lost;
  const double lost_share = given > 0 ? lost / given : 0;
  if (lost_share > 0.01)
    reasons.push_back(fmt::format("{:.1f} % of the samples were lost", lost_share * 100));
  if (loses_messages(total)) {
    reasons.push_back(
        fmt::format("{} messages of agents were not sent before their connection ended: plans, code and "
                    "executions are missing",
                    total.agent_unsent()));
  }
  if (!status.store_problem().empty()) reasons.push_back("the store: " + status.store_problem());
  if (status.store_loss().blocks() > 0)
    reasons.push_back(fmt::format("{} blocks could not be written", status.store_loss().blocks()));
  for (const v1::ProcessStatus& process : status.processes()) {
    if (!process.sampled())
      reasons.push_back(fmt::format("process {} is not sampled: {}", process.info().process().pid(),
                                    process.not_sampled_because()));
  }
  const double uptime = static_cast<double>(status.uptime_ns());
  return {{"status", reasons.empty() ? "ok" : "degraded"},
          {"reasons", reasons},
          {"received", total.received()},
          {"attributed", total.attributed()},
          {"unattributed", total.unattributed()},
          {"lost", lost},
          {"late", total.late()},
          {"lost_share", lost_share},
          {"own_cpu_share", uptime > 0 ? static_cast<double>(status.own_cpu_ns()) / uptime : 0},
          {"own_memory_bytes", own_memory_bytes()}};
}

Json rate_json(const v1::RateStatus& rate) {
  return {{"hz", rate.frequency()},
          {"until_ms", rate.until_ns() == 0 ? Json() : Json(to_ms(rate.until_ns()))},
          {"why", rate.why()}};
}

Json process_status_json(const v1::ProcessStatus& process) {
  const v1::ProcessInfo& info = process.info();
  Json out = {
      {"pid", info.process().pid()},
      {"start", info.process().start()},
      {"comm", info.comm()},
      {"engine", info.engine_name() + (info.engine_version().empty() ? "" : " " + info.engine_version())},
      {"sampled", process.sampled()},
      {"note", process.not_sampled_because()}};
  if (!info.cgroup().empty()) {
    out["cgroup"] = info.cgroup();
    out["pod"] = process.pod();
    out["container"] = process.container();
  }
  out["rate"] = process.has_rate() ? rate_json(process.rate()) : Json();
  if (const auto account = store::decode(process.accounting()); account.ok())
    out["accounting"] = query::accounting_json({*account, 0});
  return out;
}

}  // namespace

bool Service::is_quick(const Request& request) {
  return std::holds_alternative<HealthRequest>(request) || std::holds_alternative<StatusRequest>(request);
}

Result<Json> Service::answer(const Request& request, const Access& access, const Stop& stop) {
  return std::visit(Overloaded{
                        [&](const HealthRequest&) -> Result<Json> {
                          Json all = health();
                          return Json{{"status", all["status"]},
                                      {"reasons", access.see_all ? all["reasons"] : Json::array()}};
                        },
                        [&](const StatusRequest&) -> Result<Json> { return status(access); },
                        [&](const ExecutionsRequest& r) { return executions(r, access, stop); },
                        [&](const ExecutionRequest& r) { return execution(r.target, access, stop); },
                        [&](const ViewRequest& r) { return view(r, access, stop); },
                        [&](const ReportRequest& r) { return report(r, access, stop); },
                        [&](const BundleRequest& r) { return bundle(r.target, access, stop); },
                        [&](const CompareRequest& r) { return compare(r, access, stop); },
                        [&](const FingerprintsRequest& r) { return fingerprints(r, access, stop); },
                        [&](const FingerprintRequest& r) { return fingerprint(r, access, stop); },
                        [&](const HistoryRequest& r) { return history(r, access, stop); },
                        [&](const TagCostRequest& r) { return tag_cost(r, access, stop); },
                        [&](const PlanChangesRequest& r) { return plan_changes(r, access, stop); },
                        [&](const HostRequest& r) { return host(r, access, stop); },
                        [&](const ControlCall& r) { return control(r, access); },
                    },
                    request);
}

Json Service::health() const {
  if (!live()) return {{"status", "ok"}, {"reasons", Json::array()}};
  return health_of(options_.status());
}

Json Service::status(const Access& access) const {
  Json out = {{"mode", live() ? "live" : "file"}, {"version", options_.version}};
  Json processes = Json::array();
  Json health = {{"status", "ok"}, {"reasons", Json::array()}};
  if (live()) {
    const v1::DaemonStatus now = options_.status();
    out["pid"] = now.pid();
    out["uptime_ns"] = now.uptime_ns();
    health = health_of(now);
    out["clock_source"] = now.clock_source();
    out["clock_error_ns"] = now.clock_error_ns();
    out["capture"] = now.sampling_notes();
    if (access.see_all) {
      for (const v1::ProcessStatus& process : now.processes())
        processes.push_back(process_status_json(process));
    } else {
      health["reasons"] = Json::array();
    }
  }
  out["now_ms"] = to_ms(query::wall_clock_ns());
  out["host"] = host_name();
  out["file"] = library_.file();
  out["health"] = std::move(health);
  out["processes"] = std::move(processes);
  out["may"] = {{"see", access.see_all ? "all" : "some"}, {"control", access.control}};
  return out;
}

Result<Json> Service::executions(const ExecutionsRequest& request, const Access& access, const Stop& stop) {
  auto found = page(request.filter, kMostCheckedOfRequest, access, stop);
  if (!found) return found.error();
  Json out = executions_page_json(found->list, found->removed, found->gone ? &*found->gone : nullptr);
  out["file"] = std::move(found->file);
  return out;
}

Result<View> Service::open(const Target& target, const Filters& filters, Detail detail, const Access& access,
                           const Stop& stop) {
  auto view = open_view(library_, target, filters, detail, stop, visible_to(access));
  if (!view || access.see_all) return view;
  const Error hidden = denied("you may not see this execution");
  if (view->selection.executions.empty()) return hidden;
  for (const auto& [process, handle] : view->selection.executions) {
    const profile::ExecutionRecord* record = view->whole->execution(process, handle);
    if (record == nullptr || !access.sees(*record)) return hidden;
  }
  return view;
}

Result<View> Service::open_runs(const Target& target, const Filters& filters, Detail detail,
                                const Access& access, const Stop& stop) {
  const bool everything = target.what == Target::What::kAll && library_.file().empty();
  if (!everything && target.what != Target::What::kFiltered)
    return open(target, filters, detail, access, stop);
  ExecutionFilter filter = target.filter;
  filter.visible = visible_to(access);
  QueryRuns runs;
  Status read = library_.visit(in_order_of_time(filter), stop, [&](const store::ExecutionRow& row) {
    runs.add(row);
    return true;
  });
  if (!read) return read.error();
  const std::string where = library_.file().empty() ? "the store" : library_.file();
  if (runs.taken() == 0)
    return everything ? not_found(where + " holds no execution yet") : none_passes(filter, where);
  auto view = open(runs.target(filter), filters, detail, access, stop);
  if (!view) return view;
  view->id = "all";
  view->runs = {runs.executions(), runs.sampled(), runs.left_out()};
  return view;
}

Result<Json> Service::execution(const Target& target, const Access& access, const Stop& stop) {
  if (target.what == Target::What::kAll) return invalid("\"all\" is no execution; ask for its views");
  auto view = open(target, {}, Detail::kSums, access, stop);
  if (!view) return view.error();
  for (const store::ExecutionRow& row : rows_of(*view->whole)) {
    if (!view->selection.executions.contains({row.record.process, row.record.handle})) continue;
    const auto process = view->whole->processes().find(row.record.process);
    return execution_json(row, process == view->whole->processes().end() ? nullptr : &process->second);
  }
  return not_found("the execution is no longer in the store");
}

Result<Json> Service::view(const ViewRequest& request, const Access& access, const Stop& stop) {
  const auto* samples = std::get_if<SamplesView>(&request.kind);
  if (samples != nullptr && samples->slices && !request.filters.need_samples()) {
    auto sums = open_runs(request.target, request.filters, Detail::kSums, access, stop);
    if (!sums) return sums.error();
    if (samples_in(*sums) > samples->limit) {
      auto slices = open_runs(request.target, request.filters, Detail::kSlices, access, stop);
      return slices ? slices_json(*slices, samples->limit) : slices.error();
    }
  }
  Target target = request.target;
  // No other sample is in the answer. What an operator has a part of follows from all of them.
  if (samples != nullptr && request.filters.is_of_time_alone())
    target.time_alone = {request.filters.from_ns.value_or(kTimeMin),
                         request.filters.to_ns.value_or(kTimeMax)};
  auto view = open_runs(target, request.filters, detail_of(request.kind), access, stop);
  if (!view) return view.error();
  if (std::holds_alternative<ListingView>(request.kind)) {
    if (Status may = may_read_code(*view, access); !may.ok()) return may.error();
  }
  if (const auto* functions = std::get_if<FunctionsView>(&request.kind))
    return functions_json(*view, *names_.of(view->whole), functions->request);
  return view_answer(*view, request.kind);
}

Result<Json> Service::report(const ReportRequest& request, const Access& access, const Stop& stop) {
  constexpr std::size_t kMost = 1000;
  if (request.executions.empty() || request.executions.size() > kMost)
    return invalid(
        fmt::format("a report is of 1 to {} executions, not of {}", kMost, request.executions.size()));
  Target target{Target::What::kIds};
  target.ids = request.executions;
  auto view = open(target, {}, Detail::kSums, access, stop);
  if (!view) return view.error();
  if (!query::default_source(view->profile, view->selection))
    return Json{{"samples", 0}, {"report", nullptr}};
  // The asking page shows operators and the engine's work in one table.
  view->selection.base = query::Base::kEverything;
  auto made = query::plan_report(view->profile, view->selection);
  if (!made) return made.error();
  return Json{{"samples", made->total.samples}, {"report", query::json_of(view->profile, *made)}};
}

Status Service::may_read_code(const View& view, const Access& access) {
  if (access.see_all) return Ok{};
  for (const auto& [process, handle] : view.selection.executions) {
    const profile::ExecutionRecord* record = view.whole->execution(process, handle);
    if (record == nullptr || !access.reads_code_of(*record))
      return denied("listings hold constants of the query: only its own user may read them");
  }
  return Ok{};
}

Result<Json> Service::fingerprints(const FingerprintsRequest& request, const Access& access,
                                   const Stop& stop) {
  ExecutionFilter filter = request.filter;
  filter.visible = visible_to(access);
  QuerySums sums(filter.ran_since ? filter.since_ns.value_or(0) : 0);
  Status read = library_.visit(filter, stop, [&](const store::ExecutionRow& row) {
    sums.add(row);
    return true;
  });
  if (!read) return read.error();
  return sums.json(request.limit, request.order, request.containing);
}

Result<Json> Service::history(const HistoryRequest& request, const Access& access, const Stop& stop) {
  const store::WallRange range{request.since_ns.value_or(0), request.until_ns.value_or(INT64_MAX)};
  if (range.since_ns >= range.until_ns) return invalid("the time ends before it begins");
  if (!access.see_all && (!access.uids || !access.labels.empty()))
    return denied("sums over days have no labels, and you may see executions of some labels only");
  query::StoreDamage damage;
  auto sums = library_.sums(range, stop, damage);
  if (!sums) return sums.error();
  auto out = history_json(*sums, request, access);
  if (out) (*out)["file"] = query::damage_json(damage.read, query::damage_text(damage.read, damage.loss));
  return out;
}

Result<Json> Service::tag_cost(const TagCostRequest& request, const Access& access, const Stop& stop) {
  ExecutionFilter filter = request.filter;
  filter.visible = visible_to(access);
  TagCosts costs;
  Status read = library_.visit(filter, stop, [&](const store::ExecutionRow& row) {
    costs.add(row);
    return true;
  });
  if (!read) return read.error();
  return costs.json(request.limit);
}

Result<Json> Service::plan_changes(const PlanChangesRequest& request, const Access& access,
                                   const Stop& stop) {
  const auto list = plan_changes(request.filter, access, stop);
  if (!list) return list.error();
  return plan_changes_json(*list);
}

Result<Json> Service::host(const HostRequest& request, const Access& access, const Stop& stop) {
  constexpr std::uint64_t kDefaultNs = std::uint64_t{15} * 60 * 1'000'000'000;
  ExecutionFilter filter;
  const std::uint64_t until = request.until_ns.value_or(query::wall_clock_ns());
  const std::uint64_t since = request.since_ns.value_or(until > kDefaultNs ? until - kDefaultNs : 0);
  if (since >= until) return invalid("the time ends before it begins");
  filter.until_ns = until;
  filter.visible = visible_to(access);
  HostSums sums(since, until);
  Status read = library_.visit(filter, stop, [&](const store::ExecutionRow& row) {
    sums.add(row);
    return true;
  });
  if (!read) return read.error();
  Json out = sums.json(request.buckets);
  KindCosts kinds(since, until, request.buckets, access);
  Status sliced =
      library_.visit_slices({since, until}, stop, [&](const query::Profile& profile) { kinds.add(profile); });
  // Of very much the rest is shown without it.
  if (!sliced && (sliced.error().kind != ErrorKind::kExhausted || stop.stopped())) return sliced.error();
  out["by_kind"] = sliced ? kinds.json() : Json::array();
  if (!sliced) out["by_kind_left_out"] = sliced.error().message;
  Json all = health();
  out["health"] = {{"status", all["status"]}, {"reasons", access.see_all ? all["reasons"] : Json::array()}};
  return out;
}

std::map<std::string, double> Service::kinds(const Access& access) const {
  return access.see_all && options_.kinds ? options_.kinds() : std::map<std::string, double>();
}

Result<Json> Service::control(const ControlCall& call, const Access& access) const {
  if (Status may = check(Needs::kControl, access); !may.ok()) return may.error();
  if (!options_.control) return not_found("a file has no processes that are sampled");
  const auto reply = options_.control(call.asked, access);
  if (!reply) return reply.error();
  Json processes = Json::array(), problems = Json::array();
  const auto add = [&](const auto& part) {
    for (const v1::ProcessRef& process : part.processes())
      processes.push_back({{"pid", process.pid()}, {"start", process.start()}});
  };
  const auto add_problems = [&](const auto& part) {
    for (const std::string& problem : part.problems()) problems.push_back(problem);
  };
  add(reply->pause());
  add(reply->resume());
  add(reply->rate());
  add_problems(reply->resume());
  add_problems(reply->rate());
  return Json{{"processes", processes}, {"problems", problems}};
}

Detail detail_of(const ViewKind& kind) {
  if (std::holds_alternative<ListingView>(kind)) return Detail::kCode;
  if (std::holds_alternative<FunctionsView>(kind)) return Detail::kFunctions;
  const auto of_shares = [](SharesOf of) {
    return of == SharesOf::kElapsed ? Detail{.samples = true} : Detail::kSums;
  };
  if (const auto* profile = std::get_if<ProfileView>(&kind); profile != nullptr)
    return of_shares(profile->of);
  if (const auto* flame = std::get_if<FlameView>(&kind); flame != nullptr) return of_shares(flame->of);
  const bool of_sums = std::holds_alternative<SourcesView>(kind) || std::holds_alternative<BoundsView>(kind);
  return of_sums ? Detail::kSums : Detail::kSamples;
}

Result<Json> view_answer(const View& view, const ViewKind& kind) {
  return std::visit(Overloaded{
                        [&](const ProfileView& v) { return profile_json(view, v.of); },
                        [&](const TimelineView& v) { return timeline_json(view, v.options); },
                        [&](const FlameView& v) { return flame_json(view, v.order, v.of); },
                        [&](const FunctionsView& v) {
                          const query::NamedFunctions names(*view.whole, {}, query::NamesFrom::kProfile);
                          return functions_json(view, names, v.request);
                        },
                        [&](const ListingView& v) { return listing_json(view, v.plan_key); },
                        [&](const MemoryView& v) { return memory_json(view, v.points); },
                        [&](const BoundsView& v) { return bounds_json(view, v.request); },
                        [&](const ThreadsView&) { return threads_json(view); },
                        [&](const IterationsView& v) { return iterations_json(view, v.from); },
                        [&](const SourcesView&) { return sources_json(view); },
                        [&](const SamplesView& v) { return samples_json(view, v.limit); },
                    },
                    kind);
}

}  // namespace tailor::serve
