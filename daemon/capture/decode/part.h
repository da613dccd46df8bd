// Two events that sample the same time together, as one source, without counting any of it twice.
//
// The hardware's own records (PEBS) have the exact instruction, but none in kernel mode, and no stack. So a
// counter of the same event runs beside it, at which a program or perf looks at everything. Each moment is
// counted by one of the two, whichever samples it: a moment of user code that the record itself gives an
// owner by the record, all others by the counter. The moment decides and not the sample, so that the sum
// of both is the time that was used, and both have the same unit.
#pragma once

#include <cstdint>

namespace tailor::capture {

// Which moments the samples of an event count. Journalled: never renumber.
enum class Part : std::uint8_t {
  kAll = 0,      // it samples alone
  kRecords = 1,  // user code whose owner the instruction or the tag register tells
  kRest = 2,     // all others: kernel mode, and user code that needs more to be known
};

}  // namespace tailor::capture
