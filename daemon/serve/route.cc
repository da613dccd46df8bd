#include "daemon/serve/route.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "daemon/query/time/wall_time.h"

namespace tailor::serve {
namespace {

constexpr std::string_view kRoot = "/api/v1/";
constexpr std::size_t kLongest = 400;  // bytes of a parameter's value

template <typename Number>
bool parse_number(std::string_view text, Number& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

// The parameters of one request: each is taken once, and what nobody took is wrong.
class Taker {
 public:
  explicit Taker(const Parameters& parameters) {
    for (const auto& [name, value] : parameters) {
      if (value.size() > kLongest) {
        fail(fmt::format("the parameter {} is longer than {} bytes", name, kLongest));
      } else if (!values_[name].empty() && name != "label") {
        fail(fmt::format("the parameter {} is given more than once", name));
      }
      values_[name].push_back(value);
    }
  }

  // Null where it was not given.
  const std::string* text(const std::string& name) {
    const auto found = values_.find(name);
    if (found == values_.end()) return nullptr;
    taken_.insert(name);
    return &found->second.front();
  }

  std::vector<std::string> all(const std::string& name) {
    if (text(name) == nullptr) return {};
    return values_[name];
  }

  template <typename Number>
  std::optional<Number> number(const std::string& name, Number least, Number most) {
    const std::string* value = text(name);
    if (value == nullptr) return std::nullopt;
    Number out{};
    if (parse_number(*value, out) && out >= least && out <= most) return out;
    fail(fmt::format("{} is a number from {} to {}, not \"{}\"", name, least, most, *value));
    return std::nullopt;
  }

  // The index of the choice that was given; `otherwise` if none was.
  std::size_t choice(const std::string& name, const std::vector<std::string_view>& choices,
                     std::size_t otherwise) {
    const std::string* value = text(name);
    if (value == nullptr) return otherwise;
    const auto found = std::find(choices.begin(), choices.end(), *value);
    if (found != choices.end()) return static_cast<std::size_t>(found - choices.begin());
    fail(fmt::format("{} is one of {}, not \"{}\"", name, fmt::join(choices, ", "), *value));
    return otherwise;
  }

  void fail(std::string message) {
    if (problem_.empty()) problem_ = std::move(message);
  }

  Status finish() {
    for (const auto& [name, value] : values_) {
      if (!taken_.contains(name)) fail(fmt::format("there is no parameter \"{}\" here", name));
    }
    if (!problem_.empty()) return invalid(problem_);
    return Ok{};
  }

 private:
  std::map<std::string, std::vector<std::string>> values_;
  std::set<std::string> taken_;
  std::string problem_;
};

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

void take_range(Taker& take, std::optional<std::uint64_t>& since, std::optional<std::uint64_t>& until) {
  for (auto [name, out] : {std::pair{"since", &since}, std::pair{"until", &until}}) {
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
  filters.iteration = take.number<std::uint64_t>("iteration", 0, UINT64_MAX);
  if (const std::string* loop = take.text("loop")) filters.loop = *loop;
  return filters;
}

// What a list of executions and a view of several have in common.
ExecutionFilter take_choice(Taker& take) {
  ExecutionFilter filter;
  take_range(take, filter.since_ns, filter.until_ns);
  if (const std::string* text = take.text("process_name")) filter.process_name = *text;
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
         !filter.labels.empty() || !filter.fingerprint.empty();
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

std::optional<ViewKind> take_view(std::string_view name, Taker& take) {
  if (name == "profile") return ProfileView{};
  if (name == "threads") return ThreadsView{};
  if (name == "sources") return SourcesView{};
  if (name == "timeline") {
    TimelineView view;
    view.options.buckets =
        take.number<std::uint32_t>("buckets", 1, query::kMaxBuckets).value_or(view.options.buckets);
    view.options.lanes = static_cast<query::Lanes>(take.choice("lanes", {"all", "pipeline", "thread"}, 1));
    view.options.by = static_cast<query::OwnedBy>(take.choice("by", {"operator", "task"}, 0));
    return view;
  }
  if (name == "flame") {
    FlameView view;
    if (const std::string* order = take.text("order")) {
      auto parsed = query::parse_flame_order(*order);
      if (!parsed) take.fail(parsed.error().message);
      if (parsed) view.order = std::move(*parsed);
      if (query::has_functions(view.order))
        take.fail("functions are not levels here: executions/{id}/functions has them");
    }
    return view;
  }
  if (name == "functions") {
    FunctionsView view;
    view.request.nodes = take.number<std::size_t>("nodes", 16, 4000).value_or(view.request.nodes);
    if (const std::string* plan = take.text("plan")) view.request.plan_key = *plan;
    return view;
  }
  if (name == "listing") {
    ListingView view;
    if (const std::string* plan = take.text("plan")) view.plan_key = *plan;
    return view;
  }
  if (name == "memory") return MemoryView{take.number<std::size_t>("points", 0, 1'000'000).value_or(20'000)};
  if (name == "samples")
    return SamplesView{take.number<std::size_t>("limit", 1, 2'000'000).value_or(200'000),
                       take.choice("many", {"refuse", "slices"}, 0) == 1};
  if (name == "iterations") {
    const std::size_t from = take.choice("from", {"marks", "samples", ""}, 2);
    return IterationsView{from == 0   ? query::IterationsFrom::kMarks
                          : from == 1 ? query::IterationsFrom::kSamples
                                      : query::IterationsFrom::kBest};
  }
  return std::nullopt;
}

Error no_such_path(std::string_view path) {
  return not_found(fmt::format("there is no {}; docs/http-api.md lists the paths", path.substr(0, 100)));
}

// executions/{id} and what is below it.
Result<Request> route_execution(std::string_view rest, std::string_view path, Taker& take) {
  const std::size_t slash = rest.find('/');
  auto target = parse_target(rest.substr(0, slash));
  if (!target) return target.error();
  if (slash == std::string_view::npos) return Request(ExecutionRequest{*target});
  const std::string_view name = rest.substr(slash + 1);
  if (name == "bundle") return Request(BundleRequest{*target});
  auto kind = take_view(name, take);
  if (!kind) return no_such_path(path);
  ExecutionFilter choice = take_choice(take);
  if (chooses(choice)) {
    if (target->what != Target::What::kAll)
      take.fail(
          "since, until, process_name, label, fingerprint and min_elapsed_ms choose among executions: "
          "ask for executions/all");
    *target = {Target::What::kFiltered, 0, {}, std::move(choice)};
  }
  ViewRequest request{*target, {}, std::move(*kind)};
  if (!std::holds_alternative<SourcesView>(request.kind)) request.filters = take_filters(take);
  return Request(std::move(request));
}

Result<Request> route_compare(Taker& take) {
  CompareRequest request;
  for (auto [name, out] : {std::pair{"a", &request.a}, std::pair{"b", &request.b}}) {
    const std::string* id = take.text(name);
    if (id == nullptr) return invalid(fmt::format("compare takes two executions: {} is missing", name));
    auto target = parse_target(*id);
    if (!target) return target.error();
    *out = std::move(*target);
  }
  if (const std::string* source = take.text("source")) request.source = *source;
  return Request(std::move(request));
}

HistoryRequest take_history(Taker& take) {
  HistoryRequest request;
  if (const std::string* text = take.text("fingerprint")) request.fingerprint = *text;
  take_range(take, request.since_ns, request.until_ns);
  request.by = static_cast<HistoryRequest::Period>(take.choice("by", {"hour", "day"}, 1));
  request.limit = take.number<std::size_t>("limit", 1, 1000).value_or(100);
  return request;
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

Result<Request> route_control(std::string_view name, std::string_view path, Taker& take) {
  constexpr std::uint32_t kMostHz = 50'000;
  constexpr std::uint64_t kMostMs = std::uint64_t{7} * 86'400'000;
  ControlCall call;
  if (name == "pause") {
    take_which(take, *call.asked.mutable_pause());
  } else if (name == "resume") {
    take_which(take, *call.asked.mutable_resume());
  } else if (name == "rate") {
    v1::RateRequest& rate = *call.asked.mutable_rate();
    take_which(take, rate);
    const auto hz = take.number<std::uint32_t>("hz", 0, kMostHz);
    if (hz) rate.set_frequency(*hz);
    if (const auto ms = take.number<std::uint64_t>("for_ms", 0, kMostMs)) rate.set_for_ns(*ms * 1'000'000);
    if (!hz) take.fail("a rate takes hz: samples per second of CPU time, 0 for the rate of before");
  } else {
    return no_such_path(path);
  }
  return Request(std::move(call));
}

Result<Request> route_request(std::string_view path, Taker& take) {
  const std::string_view name = path.substr(std::min(path.size(), kRoot.size()));
  if (name == "health") return Request(HealthRequest{});
  if (name == "status") return Request(StatusRequest{});
  if (name == "executions") return Request(ExecutionsRequest{take_execution_filter(take)});
  if (name.starts_with("executions/")) return route_execution(name.substr(11), path, take);
  if (name == "compare") return route_compare(take);
  if (name.starts_with("control/")) return route_control(name.substr(8), path, take);
  if (name == "fingerprints") {
    FingerprintsRequest request;
    request.limit = take.number<std::size_t>("limit", 1, 1000).value_or(100);
    take_range(take, request.filter.since_ns, request.filter.until_ns);
    request.order =
        static_cast<FingerprintsRequest::Order>(take.choice("order", {"cpu", "executions", "elapsed"}, 0));
    return Request(std::move(request));
  }
  if (name.starts_with("fingerprints/")) {
    FingerprintRequest request{std::string(name.substr(13)), {}};
    if (request.fingerprint.empty() || request.fingerprint.size() > 64 ||
        request.fingerprint.find('/') != std::string::npos)
      return no_such_path(path);
    take_range(take, request.filter.since_ns, request.filter.until_ns);
    return Request(std::move(request));
  }
  if (name == "history") return Request(take_history(take));
  if (name == "tag-cost") {
    TagCostRequest request;
    request.limit = take.number<std::size_t>("limit", 1, 1000).value_or(100);
    take_range(take, request.filter.since_ns, request.filter.until_ns);
    if (const std::string* text = take.text("fingerprint")) request.filter.fingerprint = *text;
    return Request(std::move(request));
  }
  if (name == "host") {
    HostRequest request;
    take_range(take, request.since_ns, request.until_ns);
    request.buckets = take.number<std::uint32_t>("buckets", 1, query::kMaxBuckets).value_or(90);
    return Request(request);
  }
  return no_such_path(path);
}

}  // namespace

Result<Routed> route(std::string_view path, const Parameters& parameters) {
  if (!path.starts_with(kRoot)) return no_such_path(path);
  Taker take(parameters);
  Routed routed;
  if (const auto ms = take.number<std::int64_t>("timeout_ms", 1, 60'000))
    routed.timeout = std::chrono::milliseconds(*ms);
  auto request = route_request(path, take);
  if (!request) return request.error();
  if (Status done = take.finish(); !done.ok()) return done.error();
  routed.request = std::move(*request);
  return routed;
}

std::string_view methods_of(std::string_view path) {
  if (path == "/api/v1/session") return "POST, DELETE";
  if (path == "/metrics" || path == "/" || path.starts_with("/assets/") || path == "/index.html" ||
      path == "/api/v1/openapi.json" || path == "/api/v1/live")
    return "GET";
  const auto routed = route(path, {});
  const bool known = routed.ok() || routed.error().kind == ErrorKind::kInvalid;
  if (!known) return "";
  return path.starts_with("/api/v1/control/") ? "POST" : "GET";
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
