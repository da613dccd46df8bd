// How far the clock model is from CLOCK_MONOTONIC_RAW, with the sources that this host has:
//   clock_calibration [SECONDS]
// Between the model's own observations fresh pairs are read, which the model never sees; a pair tells the
// error to half its width, so error and width are printed both.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "daemon/clock/host_clock.h"
#include "daemon/clock/model.h"
#include "daemon/os/host_time.h"

namespace tailor::clock {
namespace {

struct Point {
  std::int64_t off_ns;     // from the middle of the pair
  std::int64_t beyond_ns;  // outside the pair: certainly wrong by this much
  std::int64_t width_ns;   // of the pair
  std::uint64_t bound_ns;  // what the model says of itself
};

Point measure(const Model& model) {
  const Pair pair = read_pair(os::real(), 32);
  const TimeNs low = model.to_ns(pair.before), high = model.to_ns(pair.after);
  return {.off_ns = std::abs(model.to_ns(pair.middle()) - pair.raw_ns),
          .beyond_ns = std::max({std::int64_t{0}, low - pair.raw_ns, pair.raw_ns - high}),
          .width_ns = high - low,
          .bound_ns = model.timeline().error_bound_ns(pair.middle())};
}

template <typename Member>
std::int64_t percentile(std::vector<Point> points, Member member, double share) {
  const auto at =
      points.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(points.size() - 1));
  std::nth_element(points.begin(), at, points.end(),
                   [member](const Point& a, const Point& b) { return a.*member < b.*member; });
  return static_cast<std::int64_t>((*at).*member);
}

void print(const char* name, const std::vector<Point>& points) {
  std::printf(
      "%-14s n=%-6zu off median %ld max %ld ns   beyond the pair max %ld ns   pair width median %ld ns   "
      "own bound median %ld max %ld ns\n",
      name, points.size(), percentile(points, &Point::off_ns, 0.5), percentile(points, &Point::off_ns, 1),
      percentile(points, &Point::beyond_ns, 1), percentile(points, &Point::width_ns, 0.5),
      percentile(points, &Point::bound_ns, 0.5), percentile(points, &Point::bound_ns, 1));
}

int run(double seconds) {
  os::Os& os = os::real();
  HostClock host(os);
  Model model;
  std::vector<Point> early, settled;
  const TimeNs begin = os::read_raw_ns(), end = begin + static_cast<TimeNs>(seconds * 1e9);
  TimeNs next = begin;
  for (TimeNs now = begin; now < end; now = os::read_raw_ns()) {
    if (now >= next) {
      (void)model.observe(host.observe());
      next = now + static_cast<TimeNs>(model.next_observation_ns());
    }
    usleep(5'000);
    if (model.ready()) (now < begin + 2'000'000'000 ? early : settled).push_back(measure(model));
  }
  std::printf("source %s, %s, %zu conversions, %lu bound violations, %lu breaks\n", name(model.source()),
              model.trusted() ? "trusted" : "not trusted", model.timeline().pieces().size(),
              model.counters().bound_violations, model.counters().breaks);
  std::printf("module: %s\nperf page: %s\n", host.module_denial().c_str(), host.perf_denial().c_str());
  if (!early.empty()) print("first 2 s", early);
  if (!settled.empty()) print("after", settled);
  return 0;
}

}  // namespace
}  // namespace tailor::clock

int main(int argc, char** argv) {
  return tailor::clock::run(argc > 1 ? std::atof(argv[1]) : 60);
}
