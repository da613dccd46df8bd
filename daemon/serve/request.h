// What can be asked (docs/http-api.md), as values: every transport makes these, the service answers them.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "daemon/query/reports/flame.h"
#include "daemon/serve/library.h"
#include "daemon/serve/view.h"
#include "daemon/serve/view_options.h"
#include "tailor/v1/control.pb.h"

namespace tailor::serve {

struct HealthRequest {};
struct StatusRequest {};

struct ExecutionsRequest {
  ExecutionFilter filter;
};
struct ExecutionRequest {
  Target target;
};

// A view of samples.
struct ProfileView {
  SharesOf of = SharesOf::kPlan;
};
struct TimelineView {
  TimelineRequest options;
};
struct FlameView {
  std::vector<query::FlameLevel> order = query::default_flame_order();
  SharesOf of = SharesOf::kPlan;
};
struct FunctionsView {
  FunctionsRequest request;
};
struct ListingView {
  std::string plan_key;  // empty: the most expensive
};
struct MemoryView {
  std::size_t points = 20'000;
};
struct BoundsView {
  BoundsRequest request;
};
struct ThreadsView {};
struct IterationsView {
  query::IterationsFrom from = query::IterationsFrom::kBest;
};
struct SourcesView {};
struct SamplesView {
  std::size_t limit = 200'000;
  bool slices = false;  // of more samples than that: sums over slices of time
};
using ViewKind = std::variant<ProfileView, TimelineView, FlameView, FunctionsView, ListingView, MemoryView,
                              BoundsView, ThreadsView, IterationsView, SourcesView, SamplesView>;
struct ViewRequest {
  Target target;
  Filters filters;
  ViewKind kind;
};

// One report of several executions, as the command line writes it: for engines that show it to their users.
struct ReportRequest {
  std::vector<ExecutionId> executions;
};

struct BundleRequest {
  Target target;
};
// Two executions, or all runs of a query in a time: then kFiltered, by fingerprint and time alone.
struct CompareRequest {
  Target a, b;
  std::string source;
};
struct FingerprintsRequest {
  enum class Order { kCpu, kExecutions, kElapsed };
  ExecutionFilter filter;
  std::string containing;  // only queries with this in their name or text, in any case; "": all
  std::size_t limit = 100;
  Order order = Order::kCpu;
};
struct FingerprintRequest {
  std::string fingerprint;
  ExecutionFilter filter;
};
// One query over hours or days, or all of them: samples, and the sums of those that are gone.
struct HistoryRequest {
  enum class Period { kHour, kDay };                // UTC
  std::string fingerprint;                          // empty: all queries
  std::optional<std::uint64_t> since_ns, until_ns;  // whole hours; nothing: all
  Period by = Period::kDay;
  std::size_t limit = 100;  // rows of a period, and queries
};
// What tags cost: executions with them against those without.
struct TagCostRequest {
  ExecutionFilter filter;   // its limit does not count
  std::size_t limit = 100;  // queries
};
// Executions that ran by another plan than the one of their query before.
struct PlanChangesRequest {
  ExecutionFilter filter;  // among these; its limit counts changes
};
struct HostRequest {
  std::optional<std::uint64_t> since_ns, until_ns;
  std::uint32_t buckets = 90;
};

// Changes what the daemon samples: a PauseRequest, ResumeRequest or RateRequest.
struct ControlCall {
  v1::ControlRequest asked;
};

using Request =
    std::variant<HealthRequest, StatusRequest, ExecutionsRequest, ExecutionRequest, ViewRequest,
                 ReportRequest, BundleRequest, CompareRequest, FingerprintsRequest, FingerprintRequest,
                 HistoryRequest, TagCostRequest, PlanChangesRequest, HostRequest, ControlCall>;

}  // namespace tailor::serve
