#include "daemon/config/percentage.h"

#include <fmt/format.h>

#include <charconv>

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

}  // namespace tailor::config
