// What the samples of a thread share as long as no mark of its log changes on whose behalf it works: found
// once for all of them.
#pragma once

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

// Of one thread in one format.
struct ThreadSpan {
  std::uint64_t thread = 0;  // pid, tid << 32
  const capture::FixedSample* format = nullptr;
  TimeNs from = 0;
  std::uint64_t length = 0;  // ns; 0: nothing is known
  ProcessEntry* entry = nullptr;
  process::ThreadContext context;
  std::uint32_t number = 0;  // of ThreadSpans::number()
  bool has_tag = false;      // at `tag_at` of a packed sample, in words
  std::uint32_t tag_at = 0;
  profile::SampleRecord record;  // of any of them, but for time, CPU, weight, addresses, tag and attribution
  // Of samples that are not counted yet.
  std::uint64_t received = 0, attributed = 0, weight = 0;
  std::uint64_t elsewhere = 0;  // that another event counts

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
