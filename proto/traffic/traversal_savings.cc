#include "proto/traffic/traversal_savings.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace tailor::traffic {
namespace {

constexpr int kParts = 128;
// Of a traversal: each is looked at in its middle.
constexpr int kMoments = 32;
// Lines with more items count as if the items were used in this many bundles. Numbers of uses left differ
// more then, so more seems to be saved: the bound stays one.
constexpr double kMostBundles = 32;

// Lines that have the same number of uses left.
struct Left {
  double uses = 0;
  double lines = 0;
};

// Lines with a use left when `done` of a traversal is over, those with most first. Without `untouched`, lines
// that the traversal has not used yet are left out.
std::vector<Left> left_at(const std::vector<LineGroup>& groups, double done, bool untouched) {
  std::vector<Left> out;
  for (const LineGroup& group : groups) {
    const bool is_bundled = group.items > kMostBundles;
    const int bundles = static_cast<int>(std::min(group.items, kMostBundles));
    double chance = std::pow(done, bundles);  // that none is left, then one after the other
    for (int left = 1; left <= bundles; ++left) {
      chance *= static_cast<double>(bundles - left + 1) / left * (1 - done) / done;
      if (left == bundles && !is_bundled && !untouched) break;
      out.push_back({left * group.items / bundles, group.lines * chance});
    }
  }
  std::ranges::sort(out, std::greater<>(), &Left::uses);
  return out;
}

}  // namespace

TraversalSavings::TraversalSavings(const std::vector<LineGroup>& groups)
    : all_lines_(lines_in(groups)), first_(kParts + 1), later_(kParts + 1) {
  for (int moment = 0; moment < kMoments; ++moment) {
    const double done = (moment + 0.5) / kMoments;
    // The uses that pass in this moment, as a part of all that are left.
    const double pass = 1 / (1 - done) / kMoments;
    for (std::vector<double>* const saved : {&first_, &later_}) {
      std::vector<Left> lines = left_at(groups, done, saved == &later_);
      auto next = lines.begin();
      double uses = 0;
      for (int part = 1; part <= kParts; ++part) {
        double space = edge(part) - edge(part - 1);
        while (space > 0 && next != lines.end()) {
          const double taken = std::min(space, next->lines);
          uses += taken * next->uses;
          space -= taken;
          next->lines -= taken;
          if (next->lines <= 0) ++next;
        }
        (*saved)[static_cast<std::size_t>(part)] += uses * pass;
      }
    }
  }
}

double TraversalSavings::edge(int part) const {
  const double share = static_cast<double>(part) / kParts;
  return all_lines_ * share * share;
}

double TraversalSavings::at(const std::vector<double>& saved, double lines) const {
  if (saved.empty() || lines <= 0) return 0;
  if (lines >= all_lines_) return saved.back();
  const int part = std::min(static_cast<int>(std::sqrt(lines / all_lines_) * kParts), kParts - 1);
  const double low = edge(part), high = edge(part + 1);
  const double within = std::clamp((lines - low) / (high - low), 0.0, 1.0);
  const double before = saved[static_cast<std::size_t>(part)];
  return before + (saved[static_cast<std::size_t>(part) + 1] - before) * within;
}

}  // namespace tailor::traffic
