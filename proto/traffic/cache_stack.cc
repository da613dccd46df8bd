#include "proto/traffic/cache_stack.h"

#include <algorithm>
#include <utility>

namespace tailor::traffic {
namespace {

// Less than this is rounding.
constexpr double kFewestLines = 1e-9;

// Whether an entry is that region or lies in it.
bool is_of(const CachedRegion& entry, const Region& region) {
  return entry.region.id == region.id && (region.part == 0 || entry.region.part == region.part);
}

// Moves a share of all modified lines to `out`.
void split_off(std::vector<Modified>& from, double share, std::vector<Modified>& out) {
  for (Modified& each : from) {
    out.push_back({each.by, each.lines * share});
    each.lines *= 1 - share;
  }
  std::erase_if(from, [](const Modified& each) { return each.lines <= kFewestLines / 1000; });
}

}  // namespace

double value_at(const Curve& curve, double at) {
  const double place = std::clamp(at, 0.0, 1.0) * kCurveSteps;
  const int step = std::min(static_cast<int>(place), kCurveSteps - 1);
  const double low = curve[static_cast<std::size_t>(step)], high = curve[static_cast<std::size_t>(step) + 1];
  return low + (high - low) * (place - step);
}

std::vector<CacheStack::Layer> CacheStack::layers() const {
  std::vector<Layer> out;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const CachedRegion& entry = entries_[i];
    if (out.empty() || entries_[out.back().begin].phase != entry.phase) out.push_back({.begin = i});
    Layer& layer = out.back();
    layer.end = i + 1;
    layer.lines += entry.lines();
    for (std::size_t step = 0; step < layer.by_age.size(); ++step)
      layer.by_age[step] += entry.scale * entry.by_age[step];
  }
  return out;
}

// How young the lines of a layer are of which `lines` are left.
double CacheStack::youth_with(const Layer& layer, double lines) const {
  for (std::size_t step = 0; step + 1 < layer.by_age.size(); ++step) {
    const double low = layer.by_age[step], high = layer.by_age[step + 1];
    if (lines >= high) continue;
    const double within = high > low ? std::clamp((lines - low) / (high - low), 0.0, 1.0) : 0;
    return std::min(entries_[layer.begin].youth, (static_cast<double>(step) + within) / kCurveSteps);
  }
  return entries_[layer.begin].youth;
}

void CacheStack::split(const Region& region) {
  const auto is_whole = [&](const CachedRegion& entry) {
    return entry.region.id == region.id && entry.region.part == 0;
  };
  if (std::ranges::none_of(entries_, is_whole)) return;
  std::vector<CachedRegion> out;
  out.reserve(entries_.size());
  for (CachedRegion& entry : entries_) {
    if (!is_whole(entry)) {
      out.push_back(std::move(entry));
      continue;
    }
    const double all = entry.lines(), of_part = entry.touched / region.parts;
    for (std::uint32_t part = 1; part <= region.parts; ++part) {
      CachedRegion& made = out.emplace_back(entry);
      made.region = region;
      made.region.part = part;
      made.touched = of_part;
      for (double& lines : made.by_age) {
        // In order, what was used last are the last lines of the region.
        const double first_left = entry.touched - lines;
        lines = entry.in_order
                    ? std::clamp(of_part * part - std::max(of_part * (part - 1), first_left), 0.0, of_part)
                    : lines / region.parts;
      }
      for (Modified& each : made.modified) each.lines *= all > 0 ? made.lines() / all : 0;
    }
  }
  entries_ = std::move(out);
}

Found CacheStack::find(const Region& region) {
  if (region.part != 0) split(region);
  Found found;
  found.in_order = true;
  const std::vector<Layer> all = layers();
  double free = lines_;
  for (const Layer& layer : all) free -= layer.lines;
  double below = std::max(0.0, free);
  for (const Layer& layer : all) {
    bool has_some = false;
    for (std::size_t i = layer.begin; i < layer.end; ++i) {
      if (!is_of(entries_[i], region) || entries_[i].lines() <= 0) continue;
      has_some = true;
      found.spread += entries_[i].touched * entries_[i].scale;
      found.in_order = found.in_order && entries_[i].in_order;
    }
    for (int step = 0; has_some && step <= kCurveSteps; ++step) {
      // What came in has filled what was free and the layers below.
      const double lost = lines_ * step / kCurveSteps - below;
      if (lost >= layer.lines) continue;
      const bool is_whole = lost <= 0;
      const double youth = is_whole ? 1 : youth_with(layer, layer.lines - lost);
      for (std::size_t i = layer.begin; i < layer.end; ++i)
        if (is_of(entries_[i], region))
          found.left[static_cast<std::size_t>(step)] +=
              is_whole ? entries_[i].lines() : entries_[i].lines(youth);
    }
    below += layer.lines;
  }
  return found;
}

std::vector<Modified> CacheStack::take(const Region& region, double used) {
  std::vector<Modified> out;
  double there = 0;
  for (const CachedRegion& entry : entries_)
    if (is_of(entry, region)) there += entry.lines();
  if (there <= 0 || used <= 0) return out;
  const double share = std::min(1.0, used / there);
  for (CachedRegion& entry : entries_) {
    if (!is_of(entry, region)) continue;
    split_off(entry.modified, share, out);
    entry.scale *= 1 - share;
  }
  return out;
}

void CacheStack::push(CachedRegion entry) {
  entries_.push_back(std::move(entry));
}

std::vector<Modified> CacheStack::fit() {
  std::vector<Modified> out;
  const std::vector<Layer> all = layers();
  double excess = -lines_;
  for (const Layer& layer : all) excess += layer.lines;
  for (const Layer& layer : all) {
    // What rounding gives back is no loss.
    if (excess <= kFewestLines) break;
    const double youth = excess >= layer.lines ? 0 : youth_with(layer, layer.lines - excess);
    for (std::size_t i = layer.begin; i < layer.end; ++i) {
      CachedRegion& entry = entries_[i];
      const double before = entry.lines(), after = entry.lines(youth);
      split_off(entry.modified, before > 0 ? std::clamp(1 - after / before, 0.0, 1.0) : 1, out);
      entry.youth = youth;
    }
    excess -= layer.lines;
  }
  std::erase_if(entries_, [](const CachedRegion& entry) { return entry.lines() <= kFewestLines; });
  return out;
}

void CacheStack::discard(std::uint32_t region) {
  for (CachedRegion& entry : entries_)
    if (entry.region.id == region) entry.modified.clear();
}

void CacheStack::discard(std::uint32_t region, PatternAt by) {
  for (CachedRegion& entry : entries_) {
    if (entry.region.id != region) continue;
    std::erase_if(entry.modified, [&](const Modified& each) {
      return each.by.phase == by.phase && each.by.pattern == by.pattern;
    });
  }
}

std::vector<Modified> CacheStack::modified() const {
  std::vector<Modified> out;
  for (const CachedRegion& entry : entries_)
    out.insert(out.end(), entry.modified.begin(), entry.modified.end());
  return out;
}

}  // namespace tailor::traffic
