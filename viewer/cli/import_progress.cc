#include "viewer/cli/import_progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "viewer/cli/text.h"

namespace tailor::cli {

std::string import_progress(std::uint64_t done, std::uint64_t size, double seconds) {
  const auto read = static_cast<double>(done);
  const double part = size == 0 ? 0 : std::min(1.0, read / static_cast<double>(size));
  std::string out = size == 0 ? bytes_text(read) : fmt::format("{:.0f} %", std::floor(100 * part));
  if (seconds < 1) return out;
  out += fmt::format(", {}/s", bytes_text(read / seconds));
  if (part > 0) out += fmt::format(", {:.0f} s left", std::ceil(seconds * (1 - part) / part));
  return out;
}

}  // namespace tailor::cli
