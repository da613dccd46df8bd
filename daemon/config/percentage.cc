#include "daemon/config/percentage.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace tailor::config {

Result<double> parse_percentage(std::string_view text) {
  std::string_view digits = text;
  const bool percent = digits.ends_with('%');
  if (percent) digits.remove_suffix(1);
  while (digits.ends_with(' ')) digits.remove_suffix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const bool whole = error == std::errc{} && end == digits.data() + digits.size();
  if (percent && whole && value > 0 && value < 100) return value / 100;
  return invalid(fmt::format("'{}' is no percentage above 0% and below 100%, as 1% or 0.5%", text));
}

Result<std::uint32_t> parse_share(std::string_view text) {
  constexpr double kMillion = 1e6;
  if (text == "0") return 0u;
  if (text == "all") return static_cast<std::uint32_t>(kMillion);
  double share = 0;
  if (text.starts_with("1/")) {
    std::uint32_t parts = 0;
    const auto [end, error] = std::from_chars(text.data() + 2, text.data() + text.size(), parts);
    if (error == std::errc{} && end == text.data() + text.size() && parts > 0) share = 1.0 / parts;
  } else if (const auto percentage = parse_percentage(text); percentage.ok()) {
    share = *percentage;
  }
  const auto millionths = static_cast<std::uint32_t>(std::lround(share * kMillion));
  if (millionths > 0) return millionths;
  return invalid(fmt::format("'{}' is no share: 1/8, 12.5%, 0 or all", text));
}

}  // namespace tailor::config
