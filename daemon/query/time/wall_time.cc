#include "daemon/query/time/wall_time.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <optional>

namespace tailor::query {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kLastSecond = 9'000'000'000;  // in the year 2255; as ns it fits 63 bits

// Reads a text from its beginning. What does not match is left where it is.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : rest_(text) {}

  bool at_end() const { return rest_.empty(); }
  bool at_digit() const { return !rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9'; }

  bool take(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  // Exactly `digits` digits.
  std::optional<int> number(std::size_t digits) {
    if (rest_.size() < digits) return std::nullopt;
    int value = 0;
    for (std::size_t i = 0; i < digits; ++i) {
      if (rest_[i] < '0' || rest_[i] > '9') return std::nullopt;
      value = value * 10 + (rest_[i] - '0');
    }
    rest_.remove_prefix(digits);
    return value;
  }

  // Any number of digits, as the part of `unit` that they are after a decimal point.
  std::int64_t fraction(std::int64_t unit) {
    std::int64_t sum = 0;
    for (; at_digit(); rest_.remove_prefix(1)) {
      unit /= 10;
      sum += unit * (rest_.front() - '0');
    }
    return sum;
  }

  // "12" or "1.5".
  std::optional<double> decimal() {
    if (!at_digit()) return std::nullopt;
    double value = 0;
    for (; at_digit(); rest_.remove_prefix(1)) value = value * 10 + (rest_.front() - '0');
    if (take(".")) value += static_cast<double>(fraction(kSecond)) / kSecond;
    return value;
  }

 private:
  std::string_view rest_;
};

struct Day {
  int year = 0, month = 0, day = 0;
};

struct TimeOfDay {
  int hour = 0, minute = 0, second = 0;
  std::int64_t ns = 0;
};

std::optional<Day> take_day(Cursor& in) {
  const auto year = in.number(4);
  if (!year || !in.take("-")) return std::nullopt;
  const auto month = in.number(2);
  if (!month || !in.take("-")) return std::nullopt;
  const auto day = in.number(2);
  if (!day) return std::nullopt;
  // timegm() takes the 31st of February for a day in March.
  std::tm parts{};
  parts.tm_year = *year - 1900;
  parts.tm_mon = *month - 1;
  parts.tm_mday = *day;
  (void)::timegm(&parts);
  if (*year < 1970 || parts.tm_mon != *month - 1 || parts.tm_mday != *day) return std::nullopt;
  return Day{*year, *month, *day};
}

std::optional<TimeOfDay> take_time_of_day(Cursor& in) {
  TimeOfDay time;
  const auto hour = in.number(2);
  if (!hour || !in.take(":")) return std::nullopt;
  const auto minute = in.number(2);
  if (!minute || *hour > 23 || *minute > 59) return std::nullopt;
  time.hour = *hour;
  time.minute = *minute;
  if (!in.take(":")) return time;
  const auto second = in.number(2);
  if (!second || *second > 60) return std::nullopt;  // 60: a leap second
  time.second = *second;
  if (in.take(".")) {
    if (!in.at_digit()) return std::nullopt;
    time.ns = in.fraction(kSecond);
  }
  return time;
}

// Seconds east of UTC.
std::optional<std::int64_t> take_zone(Cursor& in) {
  if (in.take("Z") || in.take("z")) return 0;
  const int sign = in.take("+") ? 1 : in.take("-") ? -1 : 0;
  if (sign == 0) return std::nullopt;
  const auto hours = in.number(2);
  if (!hours || !in.take(":")) return std::nullopt;
  const auto minutes = in.number(2);
  if (!minutes || *hours > 14 || *minutes > 59) return std::nullopt;
  return sign * (*hours * 3600 + *minutes * 60);
}

std::tm parts_of(const Day& day, const TimeOfDay& time) {
  std::tm parts{};
  parts.tm_year = day.year - 1900;
  parts.tm_mon = day.month - 1;
  parts.tm_mday = day.day;
  parts.tm_hour = time.hour;
  parts.tm_min = time.minute;
  parts.tm_sec = time.second;
  return parts;
}

// The day that the local calendar has `days` before the given time, or that of a zone.
Day day_of(std::uint64_t ns, int days_before, std::optional<std::int64_t> zone) {
  auto seconds = static_cast<std::time_t>(ns / kSecond) + zone.value_or(0);
  std::tm parts{};
  if (zone) {
    ::gmtime_r(&seconds, &parts);
  } else {
    ::localtime_r(&seconds, &parts);
  }
  // At noon no clock is set, and days have other lengths than 24 hours.
  parts.tm_mday -= days_before;
  parts.tm_hour = 12;
  (void)::timegm(&parts);
  return {parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday};
}

std::optional<std::uint64_t> in_ns(std::int64_t seconds, std::int64_t ns) {
  if (seconds < 0 || seconds > kLastSecond) return std::nullopt;
  return static_cast<std::uint64_t>(seconds * kSecond + ns);
}

// Nothing for a local time that the clocks left out.
std::optional<std::int64_t> local_seconds(const Day& day, const TimeOfDay& time, Repeated repeated) {
  std::optional<std::int64_t> found;
  for (const int summer : {0, 1}) {
    const std::tm wanted = parts_of(day, time);
    std::tm asked = wanted;
    asked.tm_isdst = summer;
    const std::time_t seconds = ::mktime(&asked);
    std::tm shown{};
    if (seconds == -1 || ::localtime_r(&seconds, &shown) == nullptr) continue;
    const bool same =
        shown.tm_mday == wanted.tm_mday && shown.tm_hour == wanted.tm_hour && shown.tm_min == wanted.tm_min;
    if (!same && time.second < 60) continue;
    if (!found) {
      found = seconds;
    } else {
      found = repeated == Repeated::kFirst ? std::min<std::int64_t>(*found, seconds)
                                           : std::max<std::int64_t>(*found, seconds);
    }
  }
  return found;
}

Error wrong_time(std::string_view text) {
  return invalid(fmt::format(
      "\"{}\" is no time. Accepted: 14:00 or 14:00:30 (today), \"yesterday 14:00\", 2026-01-31, "
      "2026-01-31T14:00 or \"2026-01-31 14:00\", each also with a zone (14:00+02:00, 2026-01-31T14:00Z), "
      "-10m or \"10m ago\" (units s, m, h, d, w), now",
      text.substr(0, 100)));
}

// "-10m", "10m ago"
std::optional<std::uint64_t> before_now(std::string_view text, std::uint64_t now_ns) {
  if (text.ends_with(" ago")) {
    text.remove_suffix(4);
  } else if (text.starts_with("-")) {
    text.remove_prefix(1);
  } else {
    return std::nullopt;
  }
  const auto ago = parse_duration(text);
  if (!ago.ok() || static_cast<std::uint64_t>(*ago) > now_ns) return std::nullopt;
  return now_ns - static_cast<std::uint64_t>(*ago);
}

}  // namespace

Result<std::uint64_t> parse_rfc3339(std::string_view text) {
  Cursor in(text);
  const auto wrong = [&] {
    return invalid(
        fmt::format("\"{}\" is no time with a zone, as in 2026-01-31T14:00:00+01:00 or "
                    "2026-01-31T14:00:00Z",
                    text.substr(0, 100)));
  };
  const auto day = take_day(in);
  if (!day || !(in.take("T") || in.take("t") || in.take(" "))) return wrong();
  const auto time = take_time_of_day(in);
  if (!time) return wrong();
  const auto zone = take_zone(in);
  if (!zone || !in.at_end()) return wrong();
  std::tm parts = parts_of(*day, *time);
  const auto ns = in_ns(static_cast<std::int64_t>(::timegm(&parts)) - *zone, time->ns);
  if (!ns) return wrong();
  return *ns;
}

Result<std::uint64_t> parse_time(std::string_view text, std::uint64_t now_ns, Repeated repeated) {
  if (text == "now") return now_ns;
  if (const auto ago = before_now(text, now_ns)) return *ago;
  Cursor in(text);
  std::optional<Day> day;
  int days_before = 0;
  bool needs_time = true;
  if (in.take("yesterday") || in.take("today")) {
    days_before = text.starts_with("yesterday") ? 1 : 0;
    needs_time = in.take(" ");
  } else if (text.size() > 4 && text[4] == '-') {
    day = take_day(in);
    if (!day) return wrong_time(text);
    needs_time = in.take("T") || in.take("t") || in.take(" ");
  }
  TimeOfDay time;
  if (needs_time) {
    const auto taken = take_time_of_day(in);
    if (!taken) return wrong_time(text);
    time = *taken;
  }
  std::optional<std::int64_t> zone;
  if (!in.at_end()) {
    zone = take_zone(in);
    if (!zone || !in.at_end()) return wrong_time(text);
  }
  if (!day) day = day_of(now_ns, days_before, zone);
  std::optional<std::int64_t> seconds;
  if (zone) {
    std::tm parts = parts_of(*day, time);
    seconds = static_cast<std::int64_t>(::timegm(&parts)) - *zone;
  } else {
    seconds = local_seconds(*day, time, repeated);
    if (!seconds) {
      return invalid(
          fmt::format("there was no {:02}:{:02} on {:04}-{:02}-{:02} here: the clocks were put forward. Give "
                      "the zone too, as in {:04}-{:02}-{:02}T{:02}:{:02}Z",
                      time.hour, time.minute, day->year, day->month, day->day, day->year, day->month,
                      day->day, time.hour, time.minute));
    }
  }
  const auto ns = in_ns(*seconds, time.ns);
  if (!ns) return wrong_time(text);
  return *ns;
}

Result<std::int64_t> parse_duration(std::string_view text) {
  constexpr double kMost = 1e17;  // three years
  const auto wrong = [&] {
    return invalid(
        fmt::format("\"{}\" is no duration, as in 500ms, 1.5s, 10m, 2h30m or 3d (units ms, s, m, h, d, w)",
                    text.substr(0, 100)));
  };
  Cursor in(text);
  if (in.at_end()) return wrong();
  double sum = 0;
  while (!in.at_end()) {
    const auto number = in.decimal();
    if (!number) return wrong();
    if (in.take("ms")) {
      sum += *number * 1e6;
    } else if (in.take("s")) {
      sum += *number * 1e9;
    } else if (in.take("m")) {
      sum += *number * 60e9;
    } else if (in.take("h")) {
      sum += *number * 3600e9;
    } else if (in.take("d")) {
      sum += *number * 86'400e9;
    } else if (in.take("w")) {
      sum += *number * 7 * 86'400e9;
    } else {
      return wrong();
    }
    if (!(sum <= kMost)) return wrong();
  }
  return static_cast<std::int64_t>(std::llround(sum));
}

std::string rfc3339(std::uint64_t ns) {
  const auto seconds = static_cast<std::time_t>(ns / kSecond);
  std::tm parts{};
  char day[32];
  if (::localtime_r(&seconds, &parts) == nullptr ||
      std::strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &parts) == 0)
    return "?";
  const long minutes = std::labs(parts.tm_gmtoff) / 60;
  return fmt::format("{}.{:03}{}{:02}:{:02}", day, ns % kSecond / 1'000'000, parts.tm_gmtoff < 0 ? '-' : '+',
                     minutes / 60, minutes % 60);
}

std::string local_time(std::uint64_t ns, std::uint64_t now_ns) {
  if (ns == 0) return "?";
  const auto seconds = static_cast<std::time_t>(ns / kSecond),
             now = static_cast<std::time_t>(now_ns / kSecond);
  std::tm parts{}, today{};
  char text[32];
  if (::localtime_r(&seconds, &parts) == nullptr || ::localtime_r(&now, &today) == nullptr) return "?";
  const bool same_day = parts.tm_yday == today.tm_yday && parts.tm_year == today.tm_year;
  if (std::strftime(text, sizeof text, same_day ? "%H:%M:%S" : "%Y-%m-%d %H:%M:%S", &parts) == 0) return "?";
  return text;
}

std::uint64_t wall_clock_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * kSecond + static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace tailor::query
