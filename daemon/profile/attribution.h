// What attribution says of one sample: whom it belongs to, and how that is known.
#pragma once

#include <cstdint>

#include "proto/base/ids.h"

namespace tailor::profile {

// In the order in which they are tried (docs/ARCHITECTURE.md, Attribution). Stored: never renumber.
enum class How : std::uint8_t {
  kUnattributed = 0,
  kCode = 1,               // user IP in registered code
  kTag = 2,                // user IP elsewhere, valid tag
  kKernelCode = 3,         // kernel mode, entered from registered code
  kKernelTag = 4,          // kernel mode, valid tag
  kCallchain = 5,          // innermost frame in registered code
  kComponentInterval = 6,  // engine component by declared interval
  kComponentCode = 7,      // engine component by code range
  kTagUnwound = 8,         // valid tag, recovered where call frame information says it was saved
};

// Why a sample is unattributed. Stored: never renumber.
enum class Reason : std::uint8_t {
  kNone = 0,
  kNotRegistered = 1,  // no agent spoke for its process then
  kUnknownUserCode = 2,
  kUnknownKernel = 3,   // kernel mode, and nothing says on whose behalf
  kTagCheckFailed = 4,  // something was where the tag is kept, but no tag
  kTagPlanNotLive = 5,
  kNoRegisters = 6,  // the sample carries neither user IP nor registers
  kMarksLost = 7,    // marks that might have said whose work it was were overwritten before they were read
  kTagsOff = 8,      // its execution ran without tags, to measure what tags cost
  kUnregisteredCode = 9,  // in code that its process generated, and that nobody registered
};

// What the row table says of the instruction. Stored: never renumber.
enum class Quality : std::uint8_t {
  kExact = 0,
  kInferred = 1,
  kShared = 2,
  kPrologue = 3,
  kUnmapped = 4,
  kTwoNames = 5
};

struct Attribution {
  How how = How::kUnattributed;
  Reason reason = Reason::kNone;
  Quality quality = Quality::kExact;
  bool kernel = false;          // sampled in kernel mode
  std::uint16_t pipeline = 0;   // by the thread's log, 0 unknown
  bool execution_lost = false;  // no execution, because marks were lost. Not stored
  LevelIndex level = 0;         // of `link`
  std::uint32_t link = 0;       // as Level.links in dictionary.proto; sets are those of `code`
  std::uint32_t engine_component = 0;
  std::uint32_t row = 0;  // kCode: its number among the rows of the process (process::CodeIndex). Not stored
  PlanId plan = 0;
  CodeId code = 0;                // 0 unless the IP (or a frame) is in registered code
  ExecutionHandle execution = 0;  // by the thread's log, 0 outside any execution
};

}  // namespace tailor::profile
