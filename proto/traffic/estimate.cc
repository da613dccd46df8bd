#include "proto/traffic/estimate.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "proto/traffic/cache_stack.h"
#include "proto/traffic/shape.h"

namespace tailor::traffic {
namespace {

// In which a phase is played. Its cost grows with them, and the error falls.
constexpr int kSteps = 48;

// Patterns of one phase that use the same memory and let it into the cache.
struct SharedRegion {
  Region region = {};
  std::vector<std::size_t> members = {};
  double lines = 0;      // of the region
  bool in_order = true;  // each line is used before those that lie behind it
  Found found = {};
};

// Chances are independent: the lines that at least one of `members` touches.
template <typename Counts>
double touched_by_any(const std::vector<Shape>& shapes, const SharedRegion& of, double window,
                      Counts counts) {
  if (of.members.size() == 1 && counts(of.members.front()))
    return shapes[of.members.front()].distinct(window);
  if (of.lines <= 0) return 0;
  double untouched = 0;  // its logarithm, so that small shares are not lost
  for (const std::size_t member : of.members)
    if (counts(member)) untouched += std::log1p(-std::min(1.0, shapes[member].distinct(window) / of.lines));
  return of.lines * -std::expm1(untouched);
}

class PhaseEstimate {
 public:
  PhaseEstimate(const Cache& cache, const Phase& phase, std::size_t number, CacheStack& stack, Estimate& out)
      : cache_(cache), phase_(phase), number_(number), stack_(stack), out_(out) {
    shapes_.reserve(phase.patterns.size());
    for (const Pattern& pattern : phase.patterns) shapes_.emplace_back(pattern, cache.line_bytes);
  }

  void run() {
    std::vector<PatternTraffic>& traffic = out_.phases[number_];
    for (std::size_t i = 0; i < shapes_.size(); ++i) {
      if (phase_.patterns[i].allocates) {
        add(i);
      } else {
        traffic[i].fetched = shapes_[i].misses(0);
        if (phase_.patterns[i].writes) traffic[i].written = traffic[i].fetched;
      }
    }
    window_ = window_for(static_cast<double>(cache_.lines), [this](double window) {
      double sum = 0;
      for (const SharedRegion& each : regions_) sum += touched(each, window);
      return sum;
    });
    const std::vector<double> hits = first_hits();
    for (std::size_t i = 0; i < regions_.size(); ++i) use(regions_[i], hits[i]);
    for (std::size_t i = 0; i < shapes_.size(); ++i) {
      traffic[i].read = shapes_[i].lines_read(traffic[i].fetched, cache_.fills_on_write);
      if (phase_.patterns[i].discards) stack_.discard(phase_.patterns[i].region.id, {number_, i});
    }
    write_back(stack_.fit(), 1);
    for (const std::uint32_t region : phase_.discarded) stack_.discard(region);
  }

 private:
  void add(std::size_t pattern) {
    if (shapes_[pattern].footprint() <= 0) return;
    const Region& region = phase_.patterns[pattern].region;
    auto same = std::ranges::find_if(regions_, [&](const SharedRegion& each) {
      return each.region.id == region.id && each.region.part == region.part;
    });
    if (same == regions_.end()) {
      regions_.push_back({.region = region, .found = stack_.find(region)});
      same = regions_.end() - 1;
    }
    same->members.push_back(pattern);
    same->lines = std::max(same->lines, shapes_[pattern].region_lines());
    same->in_order = same->in_order && shapes_[pattern].is_in_order_of_time();
  }

  double touched(const SharedRegion& of, double window) const {
    return touched_by_any(shapes_, of, window, [](std::size_t) { return true; });
  }

  // Lines of each region that earlier phases left and that are still there when this one first needs them
  // (7.11: IUtil says all or nothing). The phase is played in steps: what comes in drives the oldest lines
  // out.
  std::vector<double> first_hits() const {
    std::vector<double> hits(regions_.size()), touched_before(regions_.size());
    if (std::ranges::all_of(regions_, [](const SharedRegion& each) { return each.found.lines() <= 0; }))
      return hits;
    double came = 0;
    for (int step = 1; step <= kSteps; ++step) {
      const double all_hits = std::accumulate(hits.begin(), hits.end(), 0.0);
      double coming = 0;
      std::vector<double> more(regions_.size());
      for (std::size_t i = 0; i < regions_.size(); ++i) {
        const SharedRegion& each = regions_[i];
        const double until = touched(each, static_cast<double>(step) / kSteps);
        const double first_touched = std::max(0.0, until - touched_before[i]);
        const double middle = (until + touched_before[i]) / 2;
        touched_before[i] = until;
        // A line that is used again lies on top. It drives out what lay below it: half of the rest, or all of
        // it in order, where the oldest one is used first.
        const bool is_in_order = each.in_order && each.found.in_order;
        const double moved = hits[i] * (is_in_order ? 1 : 0.5) + (all_hits - hits[i]) * 0.5;
        more[i] = std::min(first_touched, first_touched * chance_of_hit(each, came + moved, middle));
        coming += first_touched - more[i];
      }
      for (std::size_t i = 0; i < regions_.size(); ++i) hits[i] += more[i];
      came += coming;
    }
    return hits;
  }

  // The chance that a line that is touched now, after `middle` others of its region, is there from before.
  // `driven` lines have driven others out in this phase.
  double chance_of_hit(const SharedRegion& of, double driven, double middle) const {
    const Found& found = of.found;
    if (found.lines() <= 0 || of.lines <= 0) return 0;
    const double left = value_at(found.left, driven / static_cast<double>(cache_.lines));
    if (!of.in_order || !found.in_order) return left / of.lines;
    // The lines that are left are the last ones of what was used.
    const double spread = std::min(found.spread, of.lines), all = touched(of, 1);
    if (spread <= 0 || all <= 0) return 0;
    return middle / all * spread >= spread - left ? spread / of.lines : 0;
  }

  void use(const SharedRegion& of, double hits) {
    std::vector<PatternTraffic>& traffic = out_.phases[number_];
    const double kept = touched(of, window_), ever = touched(of, 1);
    double apart = 0, fetched = 0;
    for (const std::size_t member : of.members) apart += shapes_[member].distinct(window_);
    for (const std::size_t member : of.members) {
      const double own = shapes_[member].distinct(window_);
      // The others of the region bring lines too: at first, and whenever they touched one within the window.
      const double untouched_by_others = others_leave(of, member);
      traffic[member].fetched = own * (apart > 0 ? kept / apart : 1) +
                                std::max(0.0, shapes_[member].misses(window_) - own) * untouched_by_others;
      traffic[member].kept = apart > 0 ? kept * own / apart : 0;
      fetched += traffic[member].fetched;
    }
    hits = std::min({hits, fetched, of.found.lines()});
    if (fetched > 0)
      for (const std::size_t member : of.members) traffic[member].fetched *= 1 - hits / fetched;

    CachedRegion entry{.region = of.region, .phase = number_, .in_order = of.in_order, .touched = ever};
    for (int step = 1; step <= kCurveSteps; ++step)
      entry.by_age[static_cast<std::size_t>(step)] = touched(of, window_ * step / kCurveSteps);
    const auto writes = [this](std::size_t member) { return phase_.patterns[member].writes; };
    const double by_writers = touched_by_any(shapes_, of, window_, writes);
    const double modified = kept > 0 ? std::min(1.0, by_writers / kept) : 0;
    note_modified(of, entry, modified, fetched);
    carry_over(of, entry, hits, (1 - modified) * (ever > 0 ? std::min(1.0, kept / ever) : 1), 1 - modified);
    stack_.push(std::move(entry));
  }

  // The share of the region's lines that no other of its patterns touches within the window.
  double others_leave(const SharedRegion& of, std::size_t member) const {
    double out = 1;
    for (const std::size_t other : of.members)
      if (other != member && of.lines > 0)
        out *= 1 - std::min(1.0, shapes_[other].distinct(window_) / of.lines);
    return out;
  }

  // Each stay of a line that a writer uses ends with a write-back, but for those that last beyond the phase.
  // `stays` are all stays of lines of the region, and `modified` is the share of lines that a writer uses.
  void note_modified(const SharedRegion& of, CachedRegion& entry, double modified, double stays) {
    double of_writers = 0;
    for (const std::size_t member : of.members)
      if (phase_.patterns[member].writes) of_writers += shapes_[member].distinct(window_);
    if (of_writers <= 0) return;
    const double ended = std::max(0.0, stays - entry.lines()) * modified;
    for (const std::size_t member : of.members) {
      if (!phase_.patterns[member].writes) continue;
      const double share = shapes_[member].distinct(window_) / of_writers;
      entry.modified.push_back({{number_, member}, entry.lines() * modified * share});
      out_.phases[number_][member].written += ended * share;
    }
  }

  // Lines that were modified before and are used again: of all of them `kept` stay modified in the new entry,
  // and the rest of `unwritten` is written back in this phase. A writer of this phase took over the others.
  void carry_over(const SharedRegion& of, CachedRegion& entry, double hits, double kept, double unwritten) {
    std::vector<Modified> taken = stack_.take(of.region, hits);
    write_back(taken, unwritten - kept);
    for (Modified& each : taken) {
      each.lines *= kept;
      if (each.lines > 1e-12) entry.modified.push_back(each);
    }
  }

  void write_back(const std::vector<Modified>& lines, double share) {
    for (const Modified& each : lines)
      out_.phases[each.by.phase][each.by.pattern].written += each.lines * share;
  }

  const Cache& cache_;
  const Phase& phase_;
  std::size_t number_;
  CacheStack& stack_;
  Estimate& out_;
  std::vector<Shape> shapes_;
  std::vector<SharedRegion> regions_;
  double window_ = 1;
};

}  // namespace

double Estimate::lines_read() const {
  double sum = 0;
  for (const std::vector<PatternTraffic>& phase : phases)
    for (const PatternTraffic& each : phase) sum += each.read;
  return sum;
}

double Estimate::lines_written() const {
  double sum = 0;
  for (const std::vector<PatternTraffic>& phase : phases)
    for (const PatternTraffic& each : phase) sum += each.written;
  return sum;
}

Result<Estimate> estimate(const Cache& cache, std::span<const Phase> phases, Ending ending) {
  if (Status fine = check(cache, phases); !fine) return fine.error();
  Estimate out;
  for (const Phase& phase : phases) out.phases.emplace_back(phase.patterns.size());
  CacheStack stack(static_cast<double>(cache.lines));
  for (std::size_t i = 0; i < phases.size(); ++i) PhaseEstimate(cache, phases[i], i, stack, out).run();
  for (const Modified& each : stack.modified()) {
    out.modified += each.lines;
    if (ending == Ending::kWrittenBack) out.phases[each.by.phase][each.by.pattern].written += each.lines;
  }
  return out;
}

}  // namespace tailor::traffic
