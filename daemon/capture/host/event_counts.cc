#include "daemon/capture/host/event_counts.h"

#include <fmt/format.h>

#include <array>
#include <cstddef>

namespace tailor::capture {

namespace {

// A little is always missing: events of one process are opened one after the other.
constexpr double kAllTheTime = 0.98;

}  // namespace

std::optional<EventCounts> read_event_counts(os::Os& os, int fd, const perf_event_attr& attr) {
  std::array<std::uint64_t, 4> words{};
  const auto got = os.read(fd, std::as_writable_bytes(std::span(words)));
  std::size_t next = 1;  // after the value
  const auto take = [&](std::uint64_t field) { return (attr.read_format & field) != 0 ? words[next++] : 0; };
  EventCounts counts;
  counts.enabled_ns = take(PERF_FORMAT_TOTAL_TIME_ENABLED);
  counts.running_ns = take(PERF_FORMAT_TOTAL_TIME_RUNNING);
  counts.lost = take(PERF_FORMAT_LOST);
  if (!got || *got != next * sizeof words[0]) return std::nullopt;
  return counts;
}

std::string tell_shared_counters(std::span<const CountedTime> sources) {
  std::string text;
  for (const CountedTime& each : sources) {
    if (each.enabled_ns == 0) continue;
    const double share = static_cast<double>(each.running_ns) / static_cast<double>(each.enabled_ns);
    if (share >= kAllTheTime) continue;
    text += fmt::format(
        "{}{} counted {:.0f} % of the time, because the CPU has too few counters for all events: its numbers "
        "stand for that part only, and fewer events at a time give it more",
        text.empty() ? "" : "; ", each.source, share * 100);
  }
  return text;
}

}  // namespace tailor::capture
