#include "proto/traffic/cache_stack.h"

#include <algorithm>
#include <utility>

namespace tailor::traffic {
namespace {

// The share of an entry's lines that belong to `region`: 1 if the entry is that region or lies in it, a
// part's share of an entry that is the whole region, 0 of any other.
double share_of(const CachedRegion& entry, const Region& region) {
  if (entry.region.id != region.id) return 0;
  if (region.part == 0 || entry.region.part == region.part) return 1;
  return entry.region.part == 0 ? 1.0 / region.parts : 0;
}

// Moves a share of all modified lines to `out`.
void split_off(std::vector<Modified>& from, double share, std::vector<Modified>& out) {
  for (Modified& each : from) {
    out.push_back({each.by, each.lines * share});
    each.lines *= 1 - share;
  }
}

}  // namespace

Found CacheStack::find(const Region& region) const {
  Found found;
  double above = 0;
  std::size_t phase = 0;
  double of_phase = 0;  // lines of other regions that the same phase left: they are no later ones
  found.in_order = true;
  for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) {
    if (entry->phase != phase) {
      above += of_phase;
      of_phase = 0;
      phase = entry->phase;
    }
    const double share = share_of(*entry, region);
    if (share > 0 && entry->lines > 0) {
      found.lines += entry->lines * share;
      found.above = above;
      found.in_order = found.in_order && entry->in_order;
      found.cut = found.cut || entry->cut;
    } else {
      of_phase += entry->lines;
    }
  }
  return found;
}

std::vector<Modified> CacheStack::take(const Region& region, double used) {
  std::vector<Modified> out;
  double there = 0;
  for (const CachedRegion& entry : entries_) there += entry.lines * share_of(entry, region);
  if (there <= 0 || used <= 0) return out;
  const double share = std::min(1.0, used / there);
  for (CachedRegion& entry : entries_) {
    const double of_entry = share * share_of(entry, region);
    if (of_entry <= 0) continue;
    split_off(entry.modified, of_entry, out);
    entry.lines *= 1 - of_entry;
  }
  return out;
}

void CacheStack::push(CachedRegion entry) {
  entries_.push_back(std::move(entry));
}

std::vector<Modified> CacheStack::fit() {
  std::vector<Modified> out;
  double sum = 0;
  for (const CachedRegion& entry : entries_) sum += entry.lines;
  double excess = sum - lines_;
  for (std::size_t begin = 0; begin < entries_.size() && excess > 0;) {
    // Entries of one phase were used alternately: they give back evenly.
    std::size_t end = begin;
    double of_phase = 0;
    for (; end < entries_.size() && entries_[end].phase == entries_[begin].phase; ++end)
      of_phase += entries_[end].lines;
    const double share = of_phase > 0 ? std::min(1.0, excess / of_phase) : 1;
    for (std::size_t i = begin; i < end; ++i) {
      split_off(entries_[i].modified, share, out);
      entries_[i].lines *= 1 - share;
      // What rounding gives back is no loss.
      if (share > 1e-9) entries_[i].cut = true;
    }
    excess -= of_phase;
    begin = end;
  }
  std::erase_if(entries_, [](const CachedRegion& entry) { return entry.lines <= 1e-9; });
  return out;
}

void CacheStack::discard(std::uint32_t region) {
  for (CachedRegion& entry : entries_)
    if (entry.region.id == region) entry.modified.clear();
}

void CacheStack::discard(std::uint32_t region, PatternAt by) {
  for (CachedRegion& entry : entries_)
    if (entry.region.id == region)
      std::erase_if(entry.modified, [&](const Modified& each) {
        return each.by.phase == by.phase && each.by.pattern == by.pattern;
      });
}

std::vector<Modified> CacheStack::modified() const {
  std::vector<Modified> out;
  for (const CachedRegion& entry : entries_)
    out.insert(out.end(), entry.modified.begin(), entry.modified.end());
  return out;
}

}  // namespace tailor::traffic
