// Patterns of memory access: what an operator does with a region, said so that its traffic can be computed.
//
// The algebra is that of Manegold, Boncz and Kersten as "Communication-Minimizing Plans" (Love, 2019; below:
// the thesis) presents it: basic patterns in section 7.1 (figure 7.1), flags for reading and writing in
// section 7.2 (tables 7.1 and 7.2). A plan is a sequence of phases, and a phase is a set of basic patterns
// that run at the same time: a polynomial of section 7.2.
//
// All of this is data. The functions are pure, and any thread may call them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "proto/base/result.h"

namespace tailor::traffic {

// Items of one width that lie one after the other, the first at the begin of a line.
struct Region {
  std::uint32_t id = 0;          // the caller's number: patterns with the same id use the same memory
  std::uint64_t items = 0;       // 0: there is no traffic
  std::uint32_t item_bytes = 0;  // from one item to the next: the stride. 1 .. kMostItemBytes
  std::uint32_t part = 0;        // it is part 1 .. `parts` of the region `id`. 0: it is the whole
  std::uint32_t parts = 1;       // the same wherever parts of `id` are named. `items` are those of this part
};

enum class PatternKind : unsigned char {
  kSequential,   // S_Tra, RS_Tra: each item in order, `times` times. A stride is an item that is used in part
  kConditional,  // S_Tra_CR: in order, each item with probability `share`
  kRandomTraversal,  // R_Tra, RR_Tra: each item once in a random order, `times` times in other orders
  kRandomAccess,     // R_Acc: `accesses` to items that are drawn evenly, with repetition
  kNested,  // Nest: `cursors` sequential traversals of equal parts, one item of one of them at a time
};

struct Pattern {
  PatternKind kind = PatternKind::kSequential;
  Region region = {};
  std::uint32_t used_bytes = 0;  // of each item, from its first byte on; 0: all of them
  std::uint64_t times = 1;       // kSequential, kRandomTraversal: how often the region is traversed
  bool turns = false;  // kSequential: each traversal goes the other way ("bi"), and not the same ("uni")
  double share = 1;    // kConditional: 0 .. 1
  std::uint64_t accesses = 0;  // kRandomAccess
  std::uint32_t cursors = 1;   // kNested
  bool at_random = true;       // kNested: the next cursor is drawn; else they take turns
  bool reads = true;
  bool writes = false;    // every access writes all used bytes
  bool allocates = true;  // false: accesses bypass the cache, as streaming stores do
  bool discards = false;  // nobody needs the written data after its phase, and they need not be written back
};

// Patterns that run at the same time, each at a constant rate from the phase's begin to its end.
struct Phase {
  std::vector<Pattern> patterns = {};
  std::vector<std::uint32_t> discarded = {};  // ids of regions whose content nobody needs after this phase
};

// Fully associative, with a number of equal lines.
struct Cache {
  std::uint32_t line_bytes = 64;  // a power of two, 16 .. 4096
  std::uint64_t lines = 0;
  // A line that is written and not there is read first, as caches of today do it. Without it a line that a
  // sequential pattern overwrites is not read (tables 7.1 and 7.2).
  bool fills_on_write = true;
};

// What becomes of lines that are modified and still in the cache at the end of the last phase.
enum class Ending : unsigned char {
  kWrittenBack,  // they count as written
  kLeft,         // they do not count
};

inline constexpr std::uint32_t kMostItemBytes = 4096;
inline constexpr std::uint64_t kMostRegionBytes = std::uint64_t{1} << 52;
inline constexpr std::uint64_t kMostLines = std::uint64_t{1} << 40;
inline constexpr std::uint64_t kMostTimes = std::uint64_t{1} << 32;
inline constexpr std::size_t kMostPatterns = 2048;  // of all phases
inline constexpr std::size_t kMostPatternsOfPhase = 64;
// Of regions that are used as a whole and in parts: patterns of the whole times parts, of all such regions.
inline constexpr std::uint64_t kMostPieces = std::uint64_t{1} << 14;

// Whether a pattern can be evaluated with any cache: its numbers are within the bounds above. Errors
// (kInvalid) say what of it is not possible.
Status check(const Pattern& pattern);

// Whether these can be evaluated: all numbers are within the bounds above, and the cache has a line for each
// pattern of a phase. The work and memory of an evaluation are bounded then. Errors (kInvalid) name phase and
// pattern from 1 and say what is possible.
Status check(const Cache& cache, std::span<const Phase> phases);

// `phases` as they run block by block (section 7.2, "Block-wise Patterns"): `blocks` times one after the
// other. Each time, patterns of `regions` use the next of `blocks` equal parts, with their share of the
// accesses. All other patterns are repeated. Of a part, `items` and `accesses` are rounded up. Regions are
// discarded after the last block.
//
// Errors (kInvalid): `blocks` is 0, one of `regions` is a part already, or the result has more than
// kMostPatterns patterns.
Result<std::vector<Phase>> blocked(std::span<const Phase> phases, std::uint32_t blocks,
                                   std::span<const std::uint32_t> regions);

}  // namespace tailor::traffic
