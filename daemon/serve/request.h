// What can be asked (docs/http-api.md), as values: every transport makes these, the service answers them.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "daemon/query/flame.h"
#include "daemon/serve/library.h"
#include "daemon/serve/view.h"
#include "daemon/serve/views.h"

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
struct ProfileView {};
struct TimelineView {
  TimelineRequest options;
};
struct FlameView {
  std::vector<query::FlameLevel> order = query::default_flame_order();
};
struct ListingView {
  std::string plan_key;  // empty: the most expensive
};
struct MemoryView {
  std::size_t points = 20'000;
};
struct ThreadsView {};
struct IterationsView {
  query::IterationsFrom from = query::IterationsFrom::kBest;
};
struct SourcesView {};
struct SamplesView {
  std::size_t limit = 200'000;
};
using ViewKind = std::variant<ProfileView, TimelineView, FlameView, ListingView, MemoryView, ThreadsView,
                              IterationsView, SourcesView, SamplesView>;
struct ViewRequest {
  Target target;
  Filters filters;
  ViewKind kind;
};

struct BundleRequest {
  Target target;
};
struct CompareRequest {
  Target a, b;
  std::string source;
};
struct FingerprintsRequest {
  enum class Order { kCpu, kExecutions, kElapsed };
  ExecutionFilter filter;
  std::size_t limit = 100;
  Order order = Order::kCpu;
};
struct FingerprintRequest {
  std::string fingerprint;
  ExecutionFilter filter;
};
struct HostRequest {
  std::optional<std::uint64_t> since_ns, until_ns;
  std::uint32_t buckets = 90;
};

using Request =
    std::variant<HealthRequest, StatusRequest, ExecutionsRequest, ExecutionRequest, ViewRequest,
                 BundleRequest, CompareRequest, FingerprintsRequest, FingerprintRequest, HostRequest>;

}  // namespace tailor::serve
