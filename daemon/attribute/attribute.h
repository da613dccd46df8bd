// From a sample to its owner: docs/ARCHITECTURE.md, Attribution.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "daemon/capture/decode/event.h"
#include "daemon/process/process_state.h"
#include "daemon/profile/attribution.h"

namespace tailor::attribute {

// Row flags are checked where they come in, and have the numbers of the qualities.
constexpr profile::Quality quality_of(v1::RowFlag flag) {
  return static_cast<profile::Quality>(flag);
}
static_assert(quality_of(v1::ROW_EXACT) == profile::Quality::kExact &&
              quality_of(v1::ROW_INFERRED) == profile::Quality::kInferred &&
              quality_of(v1::ROW_SHARED) == profile::Quality::kShared &&
              quality_of(v1::ROW_PROLOGUE) == profile::Quality::kPrologue &&
              quality_of(v1::ROW_UNMAPPED) == profile::Quality::kUnmapped && v1::RowFlag_ARRAYSIZE == 5);

// What the row of `address`, which lies in `code`, says.
inline void take_code(const process::CodeState& code, std::uint64_t address, profile::How how,
                      profile::Attribution& attribution) {
  const std::size_t count = code.rows_up_to(address);
  attribution.how = how;
  attribution.code = code.id;
  attribution.plan = code.plan;
  attribution.level = code.level;
  attribution.row = code.first_row + static_cast<std::uint32_t>(count);
  if (count == 0) {
    attribution.link = 0;
    attribution.quality = profile::Quality::kUnmapped;
    return;
  }
  const process::CodeRow& row = code.rows[count - 1];
  attribution.link = row.link;
  attribution.quality = quality_of(row.flag);
}

// Its plan is that of a tag.
constexpr bool is_by_tag(const profile::Attribution& attribution) {
  using profile::How;
  return attribution.how == How::kTag || attribution.how == How::kKernelTag ||
         attribution.how == How::kTagUnwound || attribution.how == How::kComponentInterval;
}

// The log names the execution, code and tags name the plan. Where they disagree (an edge of the log within
// the error of the clock, a stale mark) the sample keeps its plan and belongs to no execution. Where the
// marks were lost, or the thread made none and a tag names the plan, it belongs to the one execution of its
// plan that ran then, if there was but one.
inline void join_execution(const process::ProcessState& process, const process::ThreadContext& context,
                           TimeNs time, profile::Attribution& attribution) {
  if (attribution.plan != 0 && context.plan != 0 && context.plan != attribution.plan) return;
  attribution.execution = context.execution;
  if (attribution.plan != 0 &&
      (context.execution_lost || (context.execution == 0 && is_by_tag(attribution)))) {
    attribution.execution = process.sole_execution(attribution.plan, time);
    attribution.execution_lost = context.execution_lost && attribution.execution == 0;
  }
  attribution.pipeline = context.pipeline <= UINT16_MAX ? static_cast<std::uint16_t>(context.pipeline) : 0;
}

// What attribution asks of a sample; as in capture::Event.
struct Evidence {
  TimeNs time = 0;
  std::int32_t tid = 0;
  profile::Mode mode = profile::Mode::kUser;
  bool has_tag = false;
  std::uint8_t tag_from = 0;
  std::uint64_t ip = 0, user_ip = 0, tag = 0;
};

// Whom `sample` belongs to, by the state of its own process at the sample's time. `chain` is its user call
// chain, innermost first, without the IP itself (return addresses). `process` is NULL where nothing is known
// of the process. Everything the process said up to the sample's time must have arrived.
//
// Pure: no I/O, no lock, no allocation, no state. Any thread, while `process` does not change.
//
// `attribution` is a blank one. It is filled in place because a copy of what was just written in small pieces
// waits for every one of them.
void attribute(const Evidence& sample, std::span<const std::uint64_t> chain,
               const process::ProcessState* process, profile::Attribution& attribution);

// The same for callers that know what the thread worked on then: process.context_at(sample.tid, sample.time).
void attribute(const Evidence& sample, std::span<const std::uint64_t> chain,
               const process::ProcessState& process, const process::ThreadContext& context,
               profile::Attribution& attribution);

// Its first rule alone: user code at `address` that is registered and belongs to a plan. False: it is not,
// and `attribution` is as it was.
inline bool attribute_by_code(std::uint64_t address, TimeNs time, const process::ProcessState& process,
                              const process::ThreadContext& context, profile::Attribution& attribution) {
  const process::CodeState* code = process.code_at(address, time);
  if (code == nullptr || code->plan == 0 || address == 0) return false;
  take_code(*code, address, profile::How::kCode, attribution);
  join_execution(process, context, time, attribution);
  return true;
}

inline Evidence evidence_of(const capture::Event& sample) {
  return {sample.time,     sample.tid, sample.mode,    sample.has_tag,
          sample.tag_from, sample.ip,  sample.user_ip, sample.tag};
}

inline profile::Attribution attribute(const capture::Event& sample, std::span<const std::uint64_t> chain,
                                      const process::ProcessState* process) {
  profile::Attribution attribution;
  attribute(evidence_of(sample), chain, process, attribution);
  return attribution;
}

}  // namespace tailor::attribute
