#include "proto/traffic/lower_bound.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "proto/traffic/shape.h"

namespace tailor::traffic {
namespace {

// A stretch of a pattern's space along which each line saves as much.
struct Stretch {
  std::size_t pattern = 0;
  double lines = 0;
  double saves = 0;  // lines of traffic for each line of space
};

struct Corner {
  double lines = 0;
  double cost = 0;
};

// Points of the cost between no space and all that helps. Their chords lie above a convex cost by about a
// thousandth of it at most.
constexpr int kPoints = 128;

// The least that the pattern moves with that much space.
double cost_of(const Shape& shape, double lines) {
  const double fetched = shape.least_misses(lines);
  return shape.lines_read(fetched, false) + (shape.pattern().writes ? fetched : 0);
}

// The lower convex hull of a pattern's cost, as stretches from the most saving one on.
void add_stretches(const Shape& shape, std::size_t pattern, double most, std::vector<Stretch>& out) {
  std::vector<Corner> hull;
  for (int i = 0; i <= kPoints; ++i) {
    const double lines = most * i / kPoints;
    const Corner next{lines, cost_of(shape, lines)};
    const auto bends_up = [&] {
      const Corner &a = hull[hull.size() - 2], &b = hull.back();
      return (b.cost - a.cost) * (next.lines - b.lines) <= (next.cost - b.cost) * (b.lines - a.lines);
    };
    while (hull.size() >= 2 && !bends_up()) hull.pop_back();
    hull.push_back(next);
  }
  for (std::size_t i = 1; i < hull.size(); ++i) {
    const double lines = hull[i].lines - hull[i - 1].lines;
    const double saved = hull[i - 1].cost - hull[i].cost;
    if (lines > 0 && saved > 0) out.push_back({pattern, lines, saved / lines});
  }
}

// What earlier phases used of a region.
struct History {
  bool is_known = false;
  double of_whole = 0;                 // lines of the region that may still be there since all of it was used
  std::set<std::uint32_t> parts = {};  // that were used since
};

class Bound {
 public:
  Bound(const Cache& cache, std::span<const Phase> phases, Ending ending)
      : cache_(cache), phases_(phases), ending_(ending), lines_(static_cast<double>(cache.lines)) {
    for (std::size_t i = 0; i < phases.size(); ++i)
      for (const Pattern& pattern : phases[i].patterns) {
        if (!pattern.writes) continue;
        last_writers_[{pattern.region.id, pattern.region.part}] = i;
        last_writers_of_any_[pattern.region.id] = i;
      }
  }

  LowerBound run() {
    for (std::size_t i = 0; i < phases_.size(); ++i) add_phase(i);
    double read = 0, written = 0;
    for (const std::vector<PatternFloor>& phase : out_.phases)
      for (const PatternFloor& each : phase) {
        read += each.read;
        written += each.written;
      }
    out_.read = read;
    out_.written = written;
    out_.moved = std::max(read + written, divided_);
    return std::move(out_);
  }

 private:
  void add_phase(std::size_t number) {
    const std::vector<Pattern>& patterns = phases_[number].patterns;
    std::vector<PatternFloor>& floors = out_.phases.emplace_back(patterns.size());
    std::vector<Shape> shapes;
    shapes.reserve(patterns.size());
    for (const Pattern& pattern : patterns) shapes.emplace_back(pattern, cache_.line_bytes);
    const std::vector<std::size_t> reads = alone(shapes, false), writes = alone(shapes, true);
    for (const std::size_t i : reads) floors[i].read = read_floor(shapes[i]);
    for (const std::size_t i : writes) floors[i].written = write_floor(shapes[i], number);
    divide(shapes, reads, writes, number, floors);
    for (const Shape& shape : shapes) note_use(shape);
  }

  // Patterns that use a region alone, or alone write it. Where several do, any of them may find what another
  // one brought, and any may be the last to modify a line: none has a floor.
  static std::vector<std::size_t> alone(const std::vector<Shape>& shapes, bool writers) {
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      const auto rivals = [&](const Shape& other) {
        return other.pattern().region.id == shapes[i].pattern().region.id &&
               (!writers || other.pattern().writes);
      };
      if (writers && !shapes[i].pattern().writes) continue;
      if (std::ranges::count_if(shapes, rivals) == 1) out.push_back(i);
    }
    return out;
  }

  // Lines that may be there from earlier phases. Each saves one miss at most.
  double may_be_there(const Shape& shape) const {
    const Region& region = shape.pattern().region;
    const auto found = history_.find(region.id);
    if (found == history_.end() || !found->second.is_known) return 0;
    const bool is_again = region.part == 0 || found->second.parts.contains(region.part);
    return std::min(is_again ? lines_ : found->second.of_whole, shape.region_lines());
  }

  // All parts together save what the cache can hold of the whole.
  void note_use(const Shape& shape) {
    const Region& region = shape.pattern().region;
    const double there = may_be_there(shape);
    History& of = history_[region.id];
    of.is_known = true;
    if (region.part == 0) {
      of.of_whole = lines_;
      of.parts.clear();
    } else if (of.parts.insert(region.part).second) {
      of.of_whole -= std::min(of.of_whole, there);
    }
  }

  double read_floor(const Shape& shape) const {
    const double read = shape.lines_read(shape.least_misses(lines_), false);
    return std::max(0.0, read - may_be_there(shape));
  }

  // Each stay of a line in the cache ends with a write-back, but for those that end later: they can be of a
  // line that is modified again, or stay to the end.
  double write_floor(const Shape& shape, std::size_t number) const {
    const Pattern& pattern = shape.pattern();
    const double stays = shape.least_misses(lines_);
    return must_end(pattern, number) ? stays : std::max(0.0, stays - std::min(lines_, shape.footprint()));
  }

  // Whether all that the pattern modifies is written back for it.
  bool must_end(const Pattern& pattern, std::size_t number) const {
    if (!pattern.allocates) return true;
    if (ending_ != Ending::kWrittenBack || is_discarded(pattern, number)) return false;
    const Region& region = pattern.region;
    if (region.part == 0) return last_writers_of_any_.at(region.id) == number;
    const auto whole = last_writers_.find({region.id, 0});
    return last_writers_.at({region.id, region.part}) == number &&
           (whole == last_writers_.end() || whole->second < number);
  }

  bool is_discarded(const Pattern& pattern, std::size_t from) const {
    if (pattern.discards) return true;
    for (std::size_t i = from; i < phases_.size(); ++i)
      if (std::ranges::find(phases_[i].discarded, pattern.region.id) != phases_[i].discarded.end())
        return true;
    return false;
  }

  // The best division of the cache among the patterns of a phase (7.8), and what it moves.
  void divide(const std::vector<Shape>& shapes, const std::vector<std::size_t>& reads,
              const std::vector<std::size_t>& writes, std::size_t number, std::vector<PatternFloor>& floors) {
    std::vector<Stretch> stretches;
    std::vector<std::size_t> both = reads;
    for (const std::size_t i : writes)
      if (std::ranges::find(both, i) == both.end()) both.push_back(i);
    for (const std::size_t i : both)
      add_stretches(shapes[i], i, std::min(lines_, shapes[i].region_lines()), stretches);
    std::ranges::stable_sort(stretches, [](const Stretch& a, const Stretch& b) { return a.saves > b.saves; });
    double left = lines_;
    for (const Stretch& each : stretches) {
      const double taken = std::min(left, each.lines);
      floors[each.pattern].allocated += taken;
      left -= taken;
    }
    // What lies in the cache between two phases saves once what it can at most.
    double read = 0, there = 0, written = 0, stay = 0;
    for (const std::size_t i : reads) {
      read += shapes[i].lines_read(shapes[i].least_misses(floors[i].allocated), false);
      there += may_be_there(shapes[i]);
    }
    for (const std::size_t i : writes) {
      const double stays = shapes[i].least_misses(floors[i].allocated);
      written += stays;
      if (!must_end(shapes[i].pattern(), number)) stay += std::min(stays, shapes[i].footprint());
    }
    divided_ +=
        std::max(0.0, read - std::min(lines_, there)) + std::max(0.0, written - std::min(lines_, stay));
  }

  const Cache& cache_;
  std::span<const Phase> phases_;
  Ending ending_;
  double lines_;
  std::map<std::uint32_t, History> history_;  // by region
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t>
      last_writers_;                                          // by region and part: the phase
  std::map<std::uint32_t, std::size_t> last_writers_of_any_;  // by region
  LowerBound out_;
  double divided_ = 0;
};

}  // namespace

Result<LowerBound> lower_bound(const Cache& cache, std::span<const Phase> phases, Ending ending) {
  if (Status fine = check(cache, phases); !fine) return fine.error();
  return Bound(cache, phases, ending).run();
}

}  // namespace tailor::traffic
