// What the samples of a thread share as long as no mark changes on whose behalf it works: found once for all
// of them. Its log says that, or its slot, sample by sample.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "daemon/capture/decode/fixed_sample.h"
#include "daemon/pipeline/process_table.h"
#include "daemon/process/thread_timeline.h"
#include "daemon/profile/sink.h"
#include "proto/base/ids.h"

namespace tailor::pipeline {

// What a sample says by the slot of its thread. Only with kState it says for whom the thread works.
enum class SlotReading : std::uint8_t { kNotAsked, kState, kNoSlot, kUnread };

// A state as capture::kStatePlaces has it.
inline process::ThreadContext context_of_state(const std::uint64_t* words) {
  return {.execution = words[0],
          .plan = words[1],
          .pipeline = static_cast<std::uint32_t>(words[2] >> 32),
          .component = static_cast<std::uint32_t>(words[2])};
}

// Counts samples by what their slots said.
inline void count_slots(SlotReading reading, std::uint64_t samples, profile::Accounting& accounting) {
  if (reading == SlotReading::kState) accounting.slot_states += samples;
  if (reading == SlotReading::kNoSlot) accounting.slots_missing += samples;
  if (reading == SlotReading::kUnread) accounting.slots_unread += samples;
}

// What became of samples of a process and a source, until its account has it.
struct Tally {
  std::uint64_t kept = 0;
  std::uint64_t attributed = 0;  // of those that are kept, as the next two: found to be somebody's
  std::uint64_t executions_unknown = 0;
  std::uint64_t weight = 0;
  std::uint64_t not_drawn = 0, weight_not_drawn = 0;  // of executions that are not drawn
  std::uint64_t elsewhere = 0;                        // that another event counts
};

// Of one thread in one format.
struct ThreadSpan {
  std::uint64_t thread = 0;  // pid, tid << 32
  const capture::FixedSample* format = nullptr;
  TimeNs from = 0;
  std::uint64_t length = 0;  // ns; 0: nothing is known
  ProcessEntry* entry = nullptr;
  process::ThreadContext context;
  // Where a packed sample has its state, in words, 0: it has none. With SlotReading::kState the context is
  // that of the last sample, and `length` is that of the log else.
  std::uint32_t state_at = 0;
  std::uint64_t state[3] = {};  // of the last sample
  SlotReading reading = SlotReading::kNotAsked;
  std::uint32_t number = 0;  // of ThreadSpans::number()
  bool has_tag = false;      // at `tag_at` of a packed sample, in words
  std::uint32_t tag_at = 0;
  profile::SampleRecord record;  // of any of them, but for time, CPU, weight, addresses, tag and attribution
  Tally tally;

  bool is_state(const std::uint64_t* words) const {
    return words[0] == state[0] && words[1] == state[1] && words[2] == state[2];
  }
  void take_state(const std::uint64_t* words) { std::copy_n(words, 3, state); }

  bool holds(std::uint64_t of, const capture::FixedSample& in, TimeNs time) const {
    return thread == of && format == &in && static_cast<std::uint64_t>(time - from) < length;
  }
};

// One thread. Of fixed size: it forgets rather than searches.
class ThreadSpans {
 public:
  ThreadSpans() : numbered_(kNumbered) {}

  // Where the thread's span is, if it has one.
  ThreadSpan& of(std::uint64_t thread) { return spans_[(thread ^ thread >> 32) % kSpans]; }
  // It holds something from now on.
  void begin(ThreadSpan& span) {
    if (span.length == 0) begun_.push_back(&span);
  }
  // Calls use(span) for all that were begun, which then hold nothing.
  template <typename Use>
  void end_all(Use use) {
    for (ThreadSpan* span : begun_) {
      use(*span);
      span->length = 0;
    }
    begun_.clear();
  }

  // A number for the process, the source of samples, and on whose behalf a thread works. Not 0, and another
  // one than that of anything else, ever; 0 once there are no more.
  std::uint32_t number(const ProcessEntry& entry, std::uint16_t source,
                       const process::ThreadContext& context);

  // Entries of processes may be gone: no number is given again. Not while spans hold something.
  void forget_numbers();

 private:
  struct Numbered {
    const ProcessEntry* entry = nullptr;
    std::uint64_t rows = 0;  // process::CodeIndex::row_numbering()
    process::ThreadContext context;
    std::uint32_t number = 0;
    std::uint16_t source = 0;
  };

  static constexpr std::size_t kSpans = 128, kNumbered = 1024;

  std::array<ThreadSpan, kSpans> spans_;
  std::vector<ThreadSpan*> begun_;
  std::vector<Numbered> numbered_;
  std::uint32_t last_ = 0;
};

// What profile::SampleRecord::alike says of a sample of user code in such a span, 0: nothing. Given the
// span's number, the row tells all that attribution by code says; and the component, all that a tag of the
// plan says that the thread works for.
inline std::uint64_t alike(const ThreadSpan& span, const profile::Attribution& attribution) {
  constexpr std::uint32_t kTag = 1u << 31;
  constexpr int kLinkBits = 27;
  static_assert(process::CodeIndex::kRowNumbers < kTag);
  std::uint32_t within = 0;
  if (attribution.how == profile::How::kCode) {
    within = attribution.row;
  } else if (attribution.how == profile::How::kTag && attribution.code == 0 &&
             attribution.plan == span.context.plan && attribution.level < 16 &&
             attribution.link >> kLinkBits == 0) {
    within = kTag | attribution.level << kLinkBits | attribution.link;
  }
  return within == 0 || span.number == 0 ? 0 : std::uint64_t{span.number} << 32 | within;
}

}  // namespace tailor::pipeline
