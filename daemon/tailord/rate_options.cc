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

}  // namespace

Result<session::Rate> rate_of(os::Os& os, const Options& options, const capture::CaptureOptions& usual,
                              std::uint64_t frequency, std::string why) {
  const std::uint64_t most = std::max(options.max_frequency, options.sampling.frequency);
  if (frequency < 1 || frequency > most)
    return invalid(fmt::format("a rate is from 1 to {} Hz, not {}: tailord --max-frequency says how much",
                               most, frequency));
  config::SamplingOptions asked = options.sampling;
  asked.frequency = frequency;
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
