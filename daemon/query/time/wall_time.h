// Times of day and durations as people write and read them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "proto/base/result.h"

namespace tailor::query {

// CLOCK_REALTIME in ns of "2026-01-31T14:00:00.5+01:00" (RFC 3339). The zone may be Z, a blank may stand for
// the T, and seconds may be missing.
Result<std::uint64_t> parse_rfc3339(std::string_view text);

// The hour that clocks repeat when summer time ends: which of the two a time without zone means.
enum class Repeated { kFirst, kSecond };

// The same of a time that somebody types. Without a zone it is local time (TZ). The error names the accepted
// forms. A time that the clocks left out, when summer time began, is an error too.
Result<std::uint64_t> parse_time(std::string_view text, std::uint64_t now_ns, Repeated repeated);

// ns of "500ms", "1.5s", "2h30m". Units: ms, s, m, h, d, w.
Result<std::int64_t> parse_duration(std::string_view text);

// Local time with its zone, to the millisecond: "2026-01-31T14:00:00.500+01:00".
std::string rfc3339(std::uint64_t ns);

// Local time for people: "14:00:00" if it is of the same day as `now_ns`, else "2026-01-31 14:00:00"; "?" for
// 0, which is not known.
std::string local_time(std::uint64_t ns, std::uint64_t now_ns);

// CLOCK_REALTIME.
std::uint64_t wall_clock_ns();

}  // namespace tailor::query
