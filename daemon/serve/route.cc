#include "daemon/serve/route.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "daemon/query/time/wall_time.h"
#include "daemon/serve/taker.h"

namespace tailor::serve {
namespace {

constexpr std::size_t kLongestFingerprint = 64;  // bytes

bool is_prefix(std::string_view id) {
  return id.size() >= 4 && id.size() <= 32 && std::all_of(id.begin(), id.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
         });
}

Result<Target> parse_target(std::string_view id) {
  if (id == "last") return Target{Target::What::kLast, 1, {}};
  if (id == "all") return Target{Target::What::kAll, 1, {}};
  if (is_prefix(id)) return prefix_target(std::string(id));
  return invalid(
      fmt::format("an execution is named by 4 to 32 hexadecimal digits, \"last\" or \"all\", not by \"{}\"",
                  id.substr(0, 64)));
}

// `of`: what stands before the names of the parameters.
void take_range(Taker& take, std::optional<std::uint64_t>& since, std::optional<std::uint64_t>& until,
                const std::string& of = "") {
  for (const auto& [name, out] : {std::pair{of + "since", &since}, std::pair{of + "until", &until}}) {
    const std::string* text = take.text(name);
    if (text == nullptr) continue;
    auto time = parse_time(*text);
    if (time.ok()) {
      *out = *time;
    } else {
      take.fail(fmt::format("{}: {}", name, time.error().message));
    }
  }
}

Filters take_filters(Taker& take) {
  constexpr auto kMost = std::numeric_limits<std::int32_t>::max();
  Filters filters;
  if (const std::string* source = take.text("source")) filters.source = *source;
  filters.from_ns = take.number<TimeNs>("from_ns", kTimeMin, kTimeMax);
  filters.to_ns = take.number<TimeNs>("to_ns", kTimeMin, kTimeMax);
  filters.tid = take.number<std::int32_t>("thread", 0, kMost);
  filters.pid = take.number<std::int32_t>("process", 0, kMost);
  filters.pipeline = take.number<std::uint32_t>("pipeline", 0, UINT16_MAX);
  filters.op = take.number<std::uint32_t>("operator", 0, UINT32_MAX);
  if (const std::string* plan = take.text("plan")) filters.plan = *plan;
  filters.iteration = take.number<std::uint64_t>("iteration", 0, UINT64_MAX);
  if (const std::string* loop = take.text("loop")) filters.loop = *loop;
  return filters;
}

// What a list of executions and a view of several have in common.
ExecutionFilter take_choice(Taker& take) {
  ExecutionFilter filter;
  take_range(take, filter.since_ns, filter.until_ns);
  if (const std::string* text = take.text("process_name")) filter.process_name = *text;
  if (const std::string* text = take.text("cgroup")) filter.cgroup = *text;
  for (const std::string& label : take.all("label")) {
    const std::size_t equal = label.find('=');
    if (equal == std::string::npos || equal == 0) {
      take.fail(fmt::format("a label is given as key=value, not as \"{}\"", label));
      continue;
    }
    filter.labels.emplace_back(label.substr(0, equal), label.substr(equal + 1));
  }
  if (const std::string* text = take.text("fingerprint")) filter.fingerprint = *text;
  if (const auto ms = take.number<double>("min_elapsed_ms", 0, 1e12))
    filter.min_elapsed_ns = static_cast<std::int64_t>(*ms * 1e6);
  return filter;
}

bool chooses(const ExecutionFilter& filter) {
  return filter.since_ns || filter.until_ns || filter.min_elapsed_ns || !filter.process_name.empty() ||
         !filter.cgroup.empty() || !filter.labels.empty() || !filter.fingerprint.empty();
}

ExecutionFilter take_execution_filter(Taker& take) {
  ExecutionFilter filter = take_choice(take);
  filter.limit = take.number<std::size_t>("limit", 1, 1000).value_or(100);
  filter.pid = take.number<std::int32_t>("process", 0, std::numeric_limits<std::int32_t>::max());
  if (const std::string* text = take.text("plan")) filter.plan = *text;
  if (const std::string* text = take.text("cursor")) {
    if (text->size() != 32 || !is_prefix(*text)) take.fail("a cursor is the `next` of the answer before");
    filter.after = *text;
  }
  return filter;
}

ViewKind take_profile(Taker& take) {
  return ProfileView{static_cast<SharesOf>(take.choice("of", {"plan", "everything", "elapsed"}, 0))};
}

ViewKind take_timeline(Taker& take) {
  TimelineView view;
  view.options.buckets =
      take.number<std::uint32_t>("buckets", 1, query::kMaxBuckets).value_or(view.options.buckets);
  view.options.lanes = static_cast<query::Lanes>(take.choice("lanes", {"all", "pipeline", "thread"}, 1));
  view.options.by = static_cast<query::OwnedBy>(take.choice("by", {"operator", "task"}, 0));
  return view;
}

ViewKind take_flame(Taker& take) {
  FlameView view;
  if (const std::string* order = take.text("order")) {
    auto parsed = query::parse_flame_order(*order);
    if (!parsed) take.fail(parsed.error().message);
    if (parsed) view.order = std::move(*parsed);
    if (query::has_functions(view.order))
      take.fail("functions are not levels here: executions/{id}/functions has them");
  }
  if (take.choice("of", {"cpu", "elapsed"}, 0) == 1) view.of = SharesOf::kElapsed;
  return view;
}

ViewKind take_functions(Taker& take) {
  FunctionsView view;
  view.request.nodes = take.number<std::size_t>("nodes", 16, 4000).value_or(view.request.nodes);
  return view;
}

ViewKind take_listing(Taker& take) {
  ListingView view;
  if (const std::string* plan = take.text("plan")) view.plan_key = *plan;
  return view;
}

ViewKind take_memory(Taker& take) {
  return MemoryView{take.number<std::size_t>("points", 0, 1'000'000).value_or(20'000)};
}

ViewKind take_bounds(Taker& take) {
  BoundsView view;
  const auto cache = take.number<std::uint64_t>("cache", 4096, std::uint64_t{1} << 46);
  if (!cache) take.fail("bounds are those of a cache: give its size in bytes as cache");
  view.request.cache_bytes = cache.value_or(0);
  view.request.rates.bytes = take.number<double>("bytes_per_second", 1, 1e15).value_or(0);
  view.request.rates.cycles = take.number<double>("cycles_per_second", 1, 1e15).value_or(0);
  return view;
}

ViewKind take_samples(Taker& take) {
  return SamplesView{take.number<std::size_t>("limit", 1, 2'000'000).value_or(200'000),
                     take.choice("many", {"refuse", "slices"}, 0) == 1};
}

ViewKind take_iterations(Taker& take) {
  const std::size_t from = take.choice("from", {"marks", "samples", ""}, 2);
  return IterationsView{from == 0   ? query::IterationsFrom::kMarks
                        : from == 1 ? query::IterationsFrom::kSamples
                                    : query::IterationsFrom::kBest};
}

template <typename View>
ViewKind take_nothing(Taker&) {
  return View{};
}

Error no_such_path(std::string_view path) {
  return not_found(fmt::format("there is no {}; docs/http-api.md lists the paths", path.substr(0, 100)));
}

// Of the paths below: `named` is what stands for the {...} of the path.
template <typename Asked>
Result<Request> ask(std::string_view, Taker&) {
  return Request(Asked{});
}

// What is asked of one target, without parameters.
template <typename Asked>
Result<Request> ask_of_target(std::string_view named, Taker&) {
  auto target = parse_target(named);
  if (!target) return target.error();
  return Request(Asked{*target});
}

// A listing is of a plan even without a number of it.
void check_plan(const ViewRequest& request, Taker& take) {
  const Filters& filters = request.filters;
  if (filters.plan.empty() || filters.pipeline || filters.op) return;
  if (std::holds_alternative<ListingView>(request.kind)) return;
  take.fail("plan says whose numbers pipeline and operator are: give one of them with it");
}

bool is_of_elapsed_time(const ViewKind& kind) {
  const auto* profile = std::get_if<ProfileView>(&kind);
  const auto* flame = std::get_if<FlameView>(&kind);
  return (profile != nullptr && profile->of == SharesOf::kElapsed) ||
         (flame != nullptr && flame->of == SharesOf::kElapsed);
}

template <ViewKind (*take_kind)(Taker&)>
Result<Request> ask_view(std::string_view named, Taker& take) {
  auto target = parse_target(named);
  if (!target) return target.error();
  ExecutionFilter choice = take_choice(take);
  if (chooses(choice)) {
    if (target->what != Target::What::kAll)
      take.fail(
          "since, until, process_name, cgroup, label, fingerprint and min_elapsed_ms choose among "
          "executions: ask for executions/all");
    *target = {Target::What::kFiltered, 0, {}, std::move(choice)};
  }
  ViewRequest request{*target, {}, take_kind(take)};
  if (!std::holds_alternative<SourcesView>(request.kind)) request.filters = take_filters(take);
  const Filters& given = request.filters;
  if (is_of_elapsed_time(request.kind) && (given.tid || given.pipeline || given.op || given.iteration))
    take.fail(
        "thread, pipeline, operator and iteration leave out threads that worked: with of=elapsed only "
        "from_ns and to_ns choose samples");
  check_plan(request, take);
  return Request(std::move(request));
}

Result<Request> ask_executions(std::string_view, Taker& take) {
  return Request(ExecutionsRequest{take_execution_filter(take)});
}

// Of a comparison: an execution, or all runs of a query that began in a time.
Result<Target> take_side(Taker& take, const std::string& name) {
  constexpr std::string_view kQuery = "fingerprint:";
  const std::string* text = take.text(name);
  if (text == nullptr)
    return invalid(fmt::format("compare takes two executions or queries: {} is missing", name));
  if (!text->starts_with(kQuery)) return parse_target(*text);
  ExecutionFilter runs;
  runs.fingerprint = text->substr(kQuery.size());
  if (runs.fingerprint.empty() || runs.fingerprint.size() > kLongestFingerprint)
    return invalid(fmt::format("{}: a query is named fingerprint:DIGITS, with at most {} digits", name,
                               kLongestFingerprint));
  take_range(take, runs.since_ns, runs.until_ns, name + "_");
  if (runs.since_ns && runs.until_ns && *runs.since_ns >= *runs.until_ns)
    return invalid(fmt::format("{}: the time ends before it begins", name));
  return Target{Target::What::kFiltered, 0, {}, std::move(runs)};
}

Result<Request> ask_compare(std::string_view, Taker& take) {
  CompareRequest request;
  for (const auto& [name, out] : {std::pair{"a", &request.a}, std::pair{"b", &request.b}}) {
    auto target = take_side(take, name);
    if (!target) return target.error();
    *out = std::move(*target);
  }
  if (const std::string* source = take.text("source")) request.source = *source;
  return Request(std::move(request));
}

Result<Request> ask_history(std::string_view, Taker& take) {
  HistoryRequest request;
  if (const std::string* text = take.text("fingerprint")) request.fingerprint = *text;
  take_range(take, request.since_ns, request.until_ns);
  request.by = static_cast<HistoryRequest::Period>(take.choice("by", {"hour", "day"}, 1));
  request.limit = take.number<std::size_t>("limit", 1, 1000).value_or(100);
  return Request(std::move(request));
}

// `which`: a PauseRequest, ResumeRequest or RateRequest.
template <typename Which>
void take_which(Taker& take, Which& which) {
  const auto pid = take.number<std::int32_t>("process", 1, std::numeric_limits<std::int32_t>::max());
  if (pid) {
    which.set_pid(*pid);
  } else {
    which.set_all(true);
  }
}

Result<Request> ask_pause(std::string_view, Taker& take) {
  ControlCall call;
  take_which(take, *call.asked.mutable_pause());
  return Request(std::move(call));
}

Result<Request> ask_resume(std::string_view, Taker& take) {
  ControlCall call;
  take_which(take, *call.asked.mutable_resume());
  return Request(std::move(call));
}

Result<Request> ask_rate(std::string_view, Taker& take) {
  constexpr std::uint32_t kMostHz = 50'000;
  constexpr std::uint64_t kMostMs = std::uint64_t{7} * 86'400'000;
  ControlCall call;
  v1::RateRequest& rate = *call.asked.mutable_rate();
  take_which(take, rate);
  const auto hz = take.number<std::uint32_t>("hz", 0, kMostHz);
  if (hz) rate.set_frequency(*hz);
  if (const auto ms = take.number<std::uint64_t>("for_ms", 0, kMostMs)) rate.set_for_ns(*ms * 1'000'000);
  if (!hz) take.fail("a rate takes hz: samples per second of CPU time, 0 for the rate of before");
  return Request(std::move(call));
}

Result<Request> ask_fingerprints(std::string_view, Taker& take) {
  FingerprintsRequest request;
  request.limit = take.number<std::size_t>("limit", 1, 1000).value_or(100);
  take_range(take, request.filter.since_ns, request.filter.until_ns);
  request.order =
      static_cast<FingerprintsRequest::Order>(take.choice("order", {"cpu", "executions", "elapsed"}, 0));
  return Request(std::move(request));
}

Result<Request> ask_fingerprint(std::string_view named, Taker& take) {
  if (named.size() > kLongestFingerprint) return no_such_path("/api/v1/fingerprints/" + std::string(named));
  FingerprintRequest request{std::string(named), {}};
  take_range(take, request.filter.since_ns, request.filter.until_ns);
  return Request(std::move(request));
}

Result<Request> ask_tag_cost(std::string_view, Taker& take) {
  TagCostRequest request;
  request.limit = take.number<std::size_t>("limit", 1, 1000).value_or(100);
  take_range(take, request.filter.since_ns, request.filter.until_ns);
  if (const std::string* text = take.text("fingerprint")) request.filter.fingerprint = *text;
  return Request(std::move(request));
}

Result<Request> ask_plan_changes(std::string_view, Taker& take) {
  PlanChangesRequest request{take_choice(take)};
  request.filter.limit = take.number<std::size_t>("limit", 1, 1000).value_or(100);
  return Request(std::move(request));
}

Result<Request> ask_host(std::string_view, Taker& take) {
  HostRequest request;
  take_range(take, request.since_ns, request.until_ns);
  request.buckets = take.number<std::uint32_t>("buckets", 1, query::kMaxBuckets).value_or(90);
  return Request(request);
}

using Ask = Result<Request> (*)(std::string_view named, Taker& take);

struct PathRow {
  Path path;
  Ask ask = nullptr;  // of what the service answers
};

// Every path. A new one has its line here, its shape in openapi.json and its line in docs/http-api.md.
// clang-format off
constexpr PathRow kPathRows[] = {
    {{"/", "GET", Needs::kNothing, Answerer::kPage, ""}},
    {{"/index.html", "GET", Needs::kNothing, Answerer::kPage, ""}},
    {{"/assets/*", "GET", Needs::kNothing, Answerer::kPage, ""}},
    {{"/metrics", "GET", Needs::kMetrics, Answerer::kMetrics, ""}},
    {{"/api/v1/openapi.json", "GET", Needs::kVisitor, Answerer::kContract, ""}},
    {{"/api/v1/session", "POST, DELETE", Needs::kNothing, Answerer::kSession, "Session"}},
    {{"/api/v1/live", "GET", Needs::kVisitor, Answerer::kLive, ""}},
    {{"/api/v1/health", "GET", Needs::kNothingAnywhere, Answerer::kHealth, "Health"}, ask<HealthRequest>},
    {{"/api/v1/status", "GET", Needs::kVisitor, Answerer::kService, "Status"}, ask<StatusRequest>},
    {{"/api/v1/host", "GET", Needs::kVisitor, Answerer::kService, "Host"}, ask_host},
    {{"/api/v1/executions", "GET", Needs::kVisitor, Answerer::kService, "Executions"}, ask_executions},
    {{"/api/v1/executions/{id}", "GET", Needs::kVisitor, Answerer::kService, "Execution"}, ask_of_target<ExecutionRequest>},
    {{"/api/v1/executions/{id}/profile", "GET", Needs::kVisitor, Answerer::kService, "Profile"}, ask_view<take_profile>},
    {{"/api/v1/executions/{id}/timeline", "GET", Needs::kVisitor, Answerer::kService, "Timeline"}, ask_view<take_timeline>},
    {{"/api/v1/executions/{id}/flame", "GET", Needs::kVisitor, Answerer::kService, "Flame"}, ask_view<take_flame>},
    {{"/api/v1/executions/{id}/functions", "GET", Needs::kVisitor, Answerer::kService, "Functions"}, ask_view<take_functions>},
    {{"/api/v1/executions/{id}/listing", "GET", Needs::kVisitor, Answerer::kService, "Listing"}, ask_view<take_listing>},
    {{"/api/v1/executions/{id}/memory", "GET", Needs::kVisitor, Answerer::kService, "Memory"}, ask_view<take_memory>},
    {{"/api/v1/executions/{id}/bounds", "GET", Needs::kVisitor, Answerer::kService, "Bounds"}, ask_view<take_bounds>},
    {{"/api/v1/executions/{id}/threads", "GET", Needs::kVisitor, Answerer::kService, "Threads"}, ask_view<take_nothing<ThreadsView>>},
    {{"/api/v1/executions/{id}/iterations", "GET", Needs::kVisitor, Answerer::kService, "Iterations"}, ask_view<take_iterations>},
    {{"/api/v1/executions/{id}/sources", "GET", Needs::kVisitor, Answerer::kService, "Sources"}, ask_view<take_nothing<SourcesView>>},
    {{"/api/v1/executions/{id}/samples", "GET", Needs::kVisitor, Answerer::kService, "Samples"}, ask_view<take_samples>},
    {{"/api/v1/executions/{id}/bundle", "GET", Needs::kVisitor, Answerer::kService, "Bundle"}, ask_of_target<BundleRequest>},
    {{"/api/v1/compare", "GET", Needs::kVisitor, Answerer::kService, "Compare"}, ask_compare},
    {{"/api/v1/fingerprints", "GET", Needs::kVisitor, Answerer::kService, "Fingerprints"}, ask_fingerprints},
    {{"/api/v1/fingerprints/{fingerprint}", "GET", Needs::kVisitor, Answerer::kService, "Fingerprint"}, ask_fingerprint},
    {{"/api/v1/history", "GET", Needs::kVisitor, Answerer::kService, "History"}, ask_history},
    {{"/api/v1/tag-cost", "GET", Needs::kVisitor, Answerer::kService, "TagCosts"}, ask_tag_cost},
    {{"/api/v1/plan-changes", "GET", Needs::kVisitor, Answerer::kService, "PlanChanges"}, ask_plan_changes},
    {{"/api/v1/control/pause", "POST", Needs::kControl, Answerer::kService, "Controlled"}, ask_pause},
    {{"/api/v1/control/resume", "POST", Needs::kControl, Answerer::kService, "Controlled"}, ask_resume},
    {{"/api/v1/control/rate", "POST", Needs::kControl, Answerer::kService, "Controlled"}, ask_rate},
};
// clang-format on

// What stands for the pattern's {...}, "" where it has none. Nothing: the path is another one.
std::optional<std::string_view> fit(std::string_view pattern, std::string_view path) {
  if (pattern.ends_with('*')) {
    const std::string_view head = pattern.substr(0, pattern.size() - 1);
    return path.starts_with(head) ? std::optional(std::string_view()) : std::nullopt;
  }
  const std::size_t open = pattern.find('{');
  if (open == std::string_view::npos)
    return pattern == path ? std::optional(std::string_view()) : std::nullopt;
  const std::string_view head = pattern.substr(0, open), tail = pattern.substr(pattern.find('}') + 1);
  if (path.size() <= head.size() + tail.size() || !path.starts_with(head) || !path.ends_with(tail))
    return std::nullopt;
  const std::string_view named = path.substr(head.size(), path.size() - head.size() - tail.size());
  return named.find('/') == std::string_view::npos ? std::optional(named) : std::nullopt;
}

struct Found {
  const PathRow* row = nullptr;
  std::string_view named;
};

Found find_path_row(std::string_view path) {
  for (const PathRow& row : kPathRows) {
    if (const auto named = fit(row.path.pattern, path)) return {&row, *named};
  }
  return {};
}

}  // namespace

std::vector<Path> paths() {
  std::vector<Path> all;
  for (const PathRow& row : kPathRows) all.push_back(row.path);
  return all;
}

const Path* find_path(std::string_view path) {
  const PathRow* row = find_path_row(path).row;
  return row == nullptr ? nullptr : &row->path;
}

Result<Routed> route(std::string_view path, const Parameters& parameters) {
  const auto [row, named] = find_path_row(path);
  if (row == nullptr || row->ask == nullptr) return no_such_path(path);
  Taker take(parameters);
  Routed routed;
  if (const auto ms = take.number<std::int64_t>("timeout_ms", 1, 60'000))
    routed.timeout = std::chrono::milliseconds(*ms);
  auto request = row->ask(named, take);
  if (!request) return request.error();
  if (Status done = take.finish(); !done.ok()) return done.error();
  routed.request = std::move(*request);
  return routed;
}

Result<std::uint64_t> parse_time(const std::string& text) {
  constexpr double kMostMs = 9e12;  // the year 2255
  double ms = 0;
  if (parse_number(text, ms) && ms >= 0 && ms <= kMostMs)
    return static_cast<std::uint64_t>(std::llround(ms * 1000)) * 1000;
  if (text == "now" || text.starts_with('-') || text.ends_with(" ago"))
    return query::parse_time(text, query::wall_clock_ns(), query::Repeated::kFirst);
  // A + that was not encoded arrives as a blank.
  std::string written = text;
  if (written.size() > 6 && written[written.size() - 6] == ' ') written[written.size() - 6] = '+';
  auto time = query::parse_rfc3339(written);
  if (time.ok()) return time;
  return invalid(
      "a time is Unix milliseconds, or as 2026-01-31T14:00:00+01:00 (the zone may be Z), or before now as "
      "-10m");
}

}  // namespace tailor::serve
