#include "daemon/tailord/rate_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "daemon/config/sampling_options.h"

namespace tailor::tailord {
namespace {

bool same_events(const capture::CaptureOptions& one, const capture::CaptureOptions& other) {
  return std::ranges::equal(one.events, other.events, [](capture::EventSpec a, const capture::EventSpec& b) {
    a.period = b.period;
    return a == b;
  });
}

Status check_more(const Options& options, const capture::CaptureOptions& usual, const Raise& raise) {
  if (!raise.callchain && !raise.memory) return Ok{};
  if (options.sampling.aggregate > 0)
    return invalid("with --aggregate samples are sums, and those have neither call chains nor registers");
  if (!raise.callchain || usual.callchain) return Ok{};
  if (options.sampling.sampled_by == capture::SampledBy::kBpf)
    return invalid("call chains of every sample are perf's to take: leave out --sampler bpf");
  if (std::ranges::any_of(usual.events, [](const auto& each) { return each.part != capture::Part::kAll; }))
    return invalid(
        "cycles come from records of precise hardware here, and these have no call chains: --event cpu-clock "
        "has them");
  if (!session::keeps_sources_with_chains(usual))
    return invalid(
        "these events (--event) have another order where perf takes them all, as call chains need it: name "
        "timers and counters first, and those of precise hardware behind them");
  return Ok{};
}

}  // namespace

Result<session::Rate> rate_of(os::Os& os, const Options& options, const capture::CaptureOptions& usual,
                              const Raise& raise, std::string why) {
  const std::uint64_t frequency = raise.frequency;
  const std::uint64_t most = std::max(options.max_frequency, options.sampling.frequency);
  if (frequency < 1 || frequency > most)
    return invalid(fmt::format("a rate is from 1 to {} Hz, not {}: tailord --max-frequency says how much",
                               most, frequency));
  if (Status may = check_more(options, usual, raise); !may.ok()) return may.error();
  config::SamplingOptions asked = options.sampling;
  asked.frequency = frequency;
  asked.callchain = asked.callchain || raise.callchain;
  asked.memory = asked.memory || raise.memory;
  auto capture = config::capture_options(os, asked);
  if (!capture.ok()) return capture.error();
  if (!same_events(usual, *capture))
    return unavailable(fmt::format("this host does not give the daemon's events at {} Hz", frequency));
  if (usual.events == capture->events && frequency != options.sampling.frequency)
    return invalid("the daemon's events (--event) have periods of their own: no rate changes them");
  return session::Rate{frequency, kTimeMax, std::move(why),
                       std::make_shared<const capture::CaptureOptions>(std::move(*capture))};
}

}  // namespace tailor::tailord
