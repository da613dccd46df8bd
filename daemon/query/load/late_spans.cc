#include "daemon/query/load/late_spans.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace tailor::query {
namespace {

using Piece = LateSpans::Piece;

// Of the names that were said so far, the one that counts at each address. Each new one is painted over what
// it does not contain. What it paints over is gone, so only the names within it cost more than once.
class Painting {
 public:
  struct Patch {
    std::uint64_t end = 0;
    std::uint32_t piece = 0;
  };

  Painting(std::span<const Piece> pieces, std::size_t most_steps)
      : pieces_(pieces), steps_left_(most_steps) {}

  // False: not everywhere, as there are too many names within.
  bool paint(std::uint32_t piece) {
    const Piece& mine = pieces_[piece];
    auto next = first_after(mine.begin);
    std::uint64_t from = mine.begin;
    while (next != patches_.end() && next->first < mine.end) {
      const Patch there = next->second;
      if (!is_within(pieces_[there.piece], mine)) {
        next = patches_.erase(next);
        if (there.end > mine.end) patches_.emplace_hint(next, mine.end, there);
        continue;
      }
      if (from < next->first) patches_.emplace_hint(next, from, Patch{next->first, piece});
      if (steps_left_ == 0) return false;
      --steps_left_;
      from = there.end;
      ++next;
    }
    if (from < mine.end) patches_.emplace_hint(next, from, Patch{mine.end, piece});
    return true;
  }

  const std::map<std::uint64_t, Patch>& patches() const { return patches_; }

 private:
  using Patches = std::map<std::uint64_t, Patch>;

  static bool is_within(const Piece& inner, const Piece& outer) {
    return inner.begin >= outer.begin && inner.end <= outer.end &&
           inner.end - inner.begin < outer.end - outer.begin;
  }

  // The first patch from this address on; one that lies across it is cut.
  Patches::iterator first_after(std::uint64_t address) {
    const auto next = patches_.lower_bound(address);
    if (next == patches_.begin()) return next;
    Patch& before = std::prev(next)->second;
    if (before.end <= address) return next;
    const Patch rest = before;
    before.end = address;
    return patches_.emplace_hint(next, address, rest);
  }

  std::span<const Piece> pieces_;
  std::size_t steps_left_;
  Patches patches_;  // by begin, disjoint
};

// Calls at(address, begins, pieces) at each address where pieces with a time begin or end: the ends first.
template <typename At>
void for_each_cut(std::span<const Piece> pieces, At at) {
  std::vector<std::uint32_t> begins, ends;
  for (std::uint32_t i = 0; i < pieces.size(); ++i) {
    if (!pieces[i].untimed) begins.push_back(i);
  }
  ends = begins;
  std::ranges::stable_sort(begins, {}, [&](std::uint32_t i) { return pieces[i].begin; });
  std::ranges::stable_sort(ends, {}, [&](std::uint32_t i) { return pieces[i].end; });
  auto begin = begins.begin();
  for (auto end = ends.begin(); end != ends.end();) {
    std::uint64_t address = pieces[*end].end;
    if (begin != begins.end()) address = std::min(address, pieces[*begin].begin);
    const auto first_end = end, first_begin = begin;
    while (end != ends.end() && pieces[*end].end == address) ++end;
    while (begin != begins.end() && pieces[*begin].begin == address) ++begin;
    at(address, std::span(first_end, end), std::span(first_begin, begin));
  }
}

// The most pieces of a place with which all places together stay within the bound: a power of two times less.
std::size_t fair_depth(std::span<const Piece> pieces, const LateSpans::Limits& limits) {
  std::vector<std::size_t> depths;
  for (std::size_t depth = std::max<std::size_t>(limits.at_one_place, 1); depth > 0; depth /= 2)
    depths.push_back(depth);
  std::vector<std::size_t> sums(depths.size());
  std::size_t open = 0;
  for_each_cut(
      pieces, [&](std::uint64_t, std::span<const std::uint32_t> ended, std::span<const std::uint32_t> begun) {
        open = open - ended.size() + begun.size();
        for (std::size_t i = 0; i < depths.size(); ++i) sums[i] += std::min(open, depths[i]);
      });
  for (std::size_t i = 0; i < depths.size(); ++i) {
    if (sums[i] <= limits.in_all) return depths[i];
  }
  return 1;
}

template <typename T>
const T* at_address(const std::vector<T>& parts, std::uint64_t address) {
  const auto after = std::ranges::upper_bound(parts, address, {}, &T::begin);
  if (after == parts.begin() || address >= std::prev(after)->end) return nullptr;
  return &*std::prev(after);
}

}  // namespace

LateSpans::LateSpans(std::span<const Piece> pieces, const Limits& limits) {
  name_untimed(pieces, limits);
  place_timed(pieces, limits);
}

void LateSpans::name_untimed(std::span<const Piece> pieces, const Limits& limits) {
  Painting painting(pieces, limits.most_steps);
  for (std::uint32_t i = 0; i < pieces.size(); ++i) {
    if (pieces[i].untimed && !painting.paint(i)) ++left_out_;
  }
  untimed_.reserve(painting.patches().size());
  for (const auto& [begin, patch] : painting.patches()) untimed_.push_back({begin, patch.end, patch.piece});
}

void LateSpans::place_timed(std::span<const Piece> pieces, const Limits& limits) {
  loads_.reserve(pieces.size());
  for (const Piece& piece : pieces) loads_.push_back(piece.loaded);
  const std::size_t depth = fair_depth(pieces, limits);
  std::set<std::pair<TimeNs, std::uint32_t>> open;
  for_each_cut(pieces, [&](std::uint64_t address, std::span<const std::uint32_t> ended,
                           std::span<const std::uint32_t> begun) {
    if (!open.empty()) places_.back().end = address;
    for (const std::uint32_t piece : ended) open.erase({pieces[piece].loaded, piece});
    for (const std::uint32_t piece : begun) open.emplace(pieces[piece].loaded, piece);
    if (open.empty()) return;
    const std::size_t count = std::min(open.size(), depth);
    left_out_ += open.size() - count;
    places_.push_back({address, address, by_load_.size(), count});
    auto each = open.end();
    std::advance(each, -static_cast<std::ptrdiff_t>(count));
    for (; each != open.end(); ++each) by_load_.push_back(each->second);
  });
}

std::optional<std::uint32_t> LateSpans::find(std::uint64_t address, TimeNs time) const {
  if (const Place* const place = at_address(places_, address)) {
    const std::span here(by_load_.data() + place->first, place->count);
    const auto later =
        std::ranges::upper_bound(here, time, {}, [this](std::uint32_t piece) { return loads_[piece]; });
    if (later != here.begin()) return *std::prev(later);
  }
  if (const Named* const named = at_address(untimed_, address)) return named->piece;
  return std::nullopt;
}

}  // namespace tailor::query
