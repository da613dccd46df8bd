#include "proto/traffic/line_groups.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace tailor::traffic {

std::vector<LineGroup> line_groups(const Region& region, std::uint32_t used_bytes, std::uint32_t line_bytes) {
  if (region.items == 0) return {};
  const std::uint64_t items = region.items;
  const std::uint64_t stride = region.item_bytes;
  const std::uint64_t used = used_bytes == 0 ? stride : used_bytes;
  const std::uint64_t line = line_bytes;
  const std::uint64_t lines = ((items - 1) * stride + used - 1) / line + 1;
  const auto items_on = [&](std::uint64_t at) {
    const std::uint64_t begin = at * line;
    const std::uint64_t last = std::min((begin + line - 1) / stride, items - 1);
    const std::uint64_t first = begin < used ? 0 : (begin - used) / stride + 1;
    return last >= first ? last - first + 1 : 0;
  };
  std::map<std::uint64_t, double> found;
  // The layout repeats itself after this many lines. The first period may lack items before it, and the last
  // line may lack items after it.
  const std::uint64_t period = stride / std::gcd(stride, line);
  if (lines <= 2 * period + 1) {
    for (std::uint64_t at = 0; at < lines; ++at) found[items_on(at)] += 1;
  } else {
    const std::uint64_t between = lines - 1 - period;
    for (std::uint64_t at = 0; at < period; ++at) {
      found[items_on(at)] += 1;
      const std::uint64_t more = between / period + (at < between % period ? 1 : 0);
      found[items_on(period + at)] += static_cast<double>(more);
    }
    found[items_on(lines - 1)] += 1;
  }
  std::vector<LineGroup> out;
  for (const auto& [on_line, count] : found)
    if (on_line > 0 && count > 0) out.push_back({count, static_cast<double>(on_line)});
  return out;
}

double lines_in(const std::vector<LineGroup>& groups) {
  double sum = 0;
  for (const LineGroup& group : groups) sum += group.lines;
  return sum;
}

double visits_in(const std::vector<LineGroup>& groups) {
  double sum = 0;
  for (const LineGroup& group : groups) sum += group.lines * group.items;
  return sum;
}

double never(double chance, double times) {
  if (times <= 0 || chance <= 0) return 1;
  if (chance >= 1) return 0;
  return std::exp(times * std::log1p(-chance));
}

double ever(double chance, double times) {
  if (times <= 0 || chance <= 0) return 0;
  if (chance >= 1) return 1;
  return -std::expm1(times * std::log1p(-chance));
}

double distinct_of_accesses(const std::vector<LineGroup>& groups, std::uint64_t items, double accesses) {
  double sum = 0;
  for (const LineGroup& group : groups)
    sum += group.lines * ever(group.items / static_cast<double>(items), accesses);
  return sum;
}

double distinct_of_share(const std::vector<LineGroup>& groups, double share) {
  double sum = 0;
  for (const LineGroup& group : groups) sum += group.lines * ever(share, group.items);
  return sum;
}

}  // namespace tailor::traffic
