// How long a plan takes at least on a machine (section 7.3 of the thesis): by bandwidth, by the rate of
// accesses, by computation.
//
// Equations 7.24 to 7.26 are printed upside down: a time is bytes divided by a bandwidth, and accesses
// divided by a rate.
#pragma once

#include <span>

namespace tailor::traffic {

// What a machine can do in a second. Measured, not assumed: 0 is "not known", and limits nothing.
struct Machine {
  double read_bytes = 0;  // in order
  double written_bytes = 0;
  double moved_bytes = 0;        // read and written together
  double random_read_bytes = 0;  // whole lines, in a random order
  double random_written_bytes = 0;
  double accesses = 0;  // to memory, also those that the cache answers
  double cycles = 0;    // of computation
};

// What a phase needs.
struct Needs {
  double read_bytes = 0;  // in order
  double written_bytes = 0;
  double random_read_bytes = 0;
  double random_written_bytes = 0;
  double accesses = 0;
  double cycles = 0;
};

// What a phase waits for. The order is that of the levels: the bandwidths are BWOnly, then ConstRate, then
// ArInt.
enum class Limit : unsigned char {
  kNothing,  // it needs nothing, or nothing that is known of the machine
  kRead,
  kWrite,
  kMove,
  kRandomRead,
  kRandomWrite,
  kAccess,
  kCompute,
};

// Seconds at least. The largest one is the bound, and its cause the limit.
struct Bounds {
  double bandwidth = 0;    // level BWOnly
  double access_rate = 0;  // what level ConstRate adds
  double compute = 0;      // what level ArInt adds
  double seconds = 0;
  Limit limit = Limit::kNothing;
  bool is_partial = false;  // something that it needs has no known rate: the truth may be longer
};

// The bounds of a phase. Accesses and computation overlap with transfers. Numbers that are negative or not
// finite count as not known. Pure; any thread.
Bounds bounds_of(const Needs& needs, const Machine& machine);

// Those of phases that run one after the other: each waits for its own limit, so their times are added.
// `limit` is that of most of the time. The parts are sums, too: the largest of them can be less than
// `seconds`.
Bounds bounds_of(std::span<const Needs> phases, const Machine& machine);

// A word for it: "read bandwidth", "computation" ...
const char* name_of(Limit limit);

}  // namespace tailor::traffic
