// Which of many pieces of code counts at an address and a time. Pieces may overlap in any way, and there may
// be very many of them at one place: the work and the memory are bounded, and the later ones count.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "proto/base/ids.h"

namespace tailor::query {

// One thread.
class LateSpans {
 public:
  struct Piece {
    std::uint64_t begin = 0, end = 0;  // begin < end
    TimeNs loaded = kTimeMin;
    bool untimed = false;  // of a perf map: it counts where nothing with a time does
  };
  struct Limits {
    std::size_t at_one_place = 4096;                // pieces with a time; the older ones are left out
    std::size_t in_all = std::size_t{1} << 24;      // the sum over all places
    std::size_t most_steps = std::size_t{1} << 24;  // over smaller names within one without a time
  };

  // What a piece takes where pieces do not overlap, about.
  static constexpr std::size_t kOfAPiece = 88;

  LateSpans() = default;
  // Of pieces in the order in which they were said.
  explicit LateSpans(std::span<const Piece> pieces) : LateSpans(pieces, Limits()) {}
  LateSpans(std::span<const Piece> pieces, const Limits& limits);

  // The index of the piece that was loaded last by that time. Where there is none, the name without a time
  // that counts there: the one within the others, else the last that was said, as perf reads them.
  std::optional<std::uint32_t> find(std::uint64_t address, TimeNs time) const;

  // How many pieces do not count somewhere although they should; a piece counts once for each such place.
  std::uint64_t left_out() const { return left_out_; }

 private:
  struct Named {
    std::uint64_t begin = 0, end = 0;
    std::uint32_t piece = 0;
  };
  // Pieces lie in by_load_ from `first` on.
  struct Place {
    std::uint64_t begin = 0, end = 0;
    std::size_t first = 0, count = 0;
  };

  void name_untimed(std::span<const Piece> pieces, const Limits& limits);
  void place_timed(std::span<const Piece> pieces, const Limits& limits);

  std::vector<Named> untimed_;  // by begin, disjoint
  std::vector<Place> places_;   // by begin, disjoint
  std::vector<std::uint32_t> by_load_;
  std::vector<TimeNs> loads_;  // of all pieces
  std::uint64_t left_out_ = 0;
};

}  // namespace tailor::query
