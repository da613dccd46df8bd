#include "daemon/clock/conversion.h"

#include <algorithm>

namespace tailor::clock {
namespace {

using Wide = __int128;

TimeNs saturate(Wide ns) {
  return static_cast<TimeNs>(std::clamp<Wide>(ns, kTimeMin, kTimeMax));
}

// tsc - from as a signed number, without the wrap of unsigned subtraction.
Wide distance(const Conversion& c, std::uint64_t tsc) {
  return static_cast<Wide>(tsc) - c.from_tsc;
}

}  // namespace

const char* name(Source source) {
  switch (source) {
    case Source::kModule:
      return "module";
    case Source::kPerfPage:
      return "perf-page";
    case Source::kCalibration:
      break;
  }
  return "calibration";
}

TimeNs to_ns(const Conversion& c, std::uint64_t tsc) {
  // |distance| < 2^64 and mult < 2^62 fit into 127 bits; a larger mult would be more than 1 s per tick.
  const Wide mult = static_cast<Wide>(std::min(c.mult, std::uint64_t{1} << 62));
  return saturate(static_cast<Wide>(c.base_ns) + ((distance(c, tsc) * mult) >> c.shift));
}

std::uint64_t to_tsc(const Conversion& c, TimeNs ns) {
  if (c.mult == 0) return c.from_tsc;
  // to_ns(x) <= ns  <=>  (x - from) * mult < (ns - base + 1) << shift; 65 + 63 bits would not fit, so the
  // distance is cut to what a 64-bit counter can span.
  const Wide limit = (static_cast<Wide>(1) << (126 - c.shift)) - 1;
  const Wide span = std::clamp<Wide>(static_cast<Wide>(ns) - c.base_ns + 1, -limit, limit);
  const Wide scaled = (span << c.shift) - 1;
  const Wide mult = static_cast<Wide>(c.mult);
  Wide ticks = scaled / mult;
  if (scaled % mult < 0) --ticks;
  return static_cast<std::uint64_t>(std::clamp<Wide>(ticks + c.from_tsc, 0, UINT64_MAX));
}

std::uint64_t error_bound_ns(const Conversion& c, std::uint64_t tsc) {
  Wide ns = (distance(c, tsc) * static_cast<Wide>(std::min(c.mult, std::uint64_t{1} << 62))) >> c.shift;
  if (ns < 0) ns = -ns;
  const Wide growth = std::min<Wide>(ns, kTimeMax) * static_cast<Wide>(std::min(c.drift_ppb, kPpb)) / kPpb;
  return static_cast<std::uint64_t>(std::min<Wide>(c.error_ns + growth, UINT64_MAX));
}

Conversion rebased(const Conversion& c, std::uint64_t tsc) {
  Conversion moved = c;
  moved.from_tsc = tsc;
  moved.base_ns = to_ns(c, tsc);
  moved.error_ns = error_bound_ns(c, tsc) + 1;
  return moved;
}

}  // namespace tailor::clock
