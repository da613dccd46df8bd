// The short way for samples whose fields all have fixed places, as those of a profile do.
//
// Without call chains, stacks, raw data and the like, only a register set without values (a kernel thread)
// changes the length of a sample. So when a sample has the full length and its register sets say they have
// values, every field is at an offset that depends on the format alone, and in user mode every register is
// user code's own. Such a sample can wait as the kernel wrote it until its event is needed. All others take
// the long way through parse_sample() and append_sample(), which give the same.
#pragma once

#include <linux/perf_event.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include "daemon/capture/decode/byte_cursor.h"
#include "daemon/capture/decode/event.h"
#include "daemon/capture/decode/ring_chunk.h"

namespace tailor::capture {

class FixedSample {
 public:
  // Nothing if a field of the format has no fixed place. `ring_cpu` is the CPU of samples that do not say.
  static std::optional<FixedSample> of(const EventFormat& format, std::uint32_t ring_cpu);

  // Whether unpack() gives the event of the PERF_RECORD_SAMPLE with this misc and payload; if not, take the
  // long way.
  bool fits(std::uint16_t misc, std::span<const std::byte> payload) const {
    const bool user = (misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_USER;
    if (!user || payload.size() != words_ * sizeof(std::uint64_t)) return false;
    const WordView words(payload.data(), words_);
    if (user_ != kAbsent && words[user_] == PERF_SAMPLE_REGS_ABI_NONE) return false;
    if (interrupt_ != kAbsent && words[interrupt_] == PERF_SAMPLE_REGS_ABI_NONE) return false;
    return usable_;
  }

  // How many of the records at the begin of `words`, one after the other, are samples that fit, as fits() and
  // named() say; take(word number of the payload, time) is called for each. Changes nothing else.
  template <typename Take>
  std::size_t for_each_fitting(std::span<const std::uint64_t> words, Take take) const {
    const std::size_t size = words_ + 1;
    std::size_t count = 0;
    if (!usable_) return count;
    for (std::size_t at = 0; at + size <= words.size(); at += size, ++count) {
      const std::uint64_t* payload = words.data() + at + 1;
      if ((words[at] & kHeaderMask) != header_ || !named(payload)) break;
      if (user_ != kAbsent && payload[user_] == PERF_SAMPLE_REGS_ABI_NONE) break;
      if (interrupt_ != kAbsent && payload[interrupt_] == PERF_SAMPLE_REGS_ABI_NONE) break;
      take(at + 1, time(payload));
    }
    return count;
  }

  // Words of a record that fits, with its header.
  std::size_t record_words() const { return words_ + 1; }

  // Fields of a payload that fits. Those that the format does not have are 0, but for the CPU and the weight,
  // which are then the same for all.
  TimeNs time(const std::uint64_t* payload) const { return static_cast<TimeNs>(word(payload, time_)); }
  std::uint64_t ip(const std::uint64_t* payload) const { return word(payload, ip_); }
  std::uint64_t thread(const std::uint64_t* payload) const { return word(payload, tid_); }  // pid, tid << 32
  std::uint64_t tag(const std::uint64_t* payload) const { return word(payload, tag_); }
  std::uint32_t cpu(const std::uint64_t* payload) const {
    return cpu_ == kAbsent ? blank_.cpu : static_cast<std::uint32_t>(payload[cpu_]);
  }
  std::uint64_t weight(const std::uint64_t* payload) const {
    return period_ == kAbsent ? blank_.weight : payload[period_];
  }
  // The values of registers(), in the order of the bits.
  const std::uint64_t* register_values(const std::uint64_t* payload) const {
    return payload + first_register_;
  }
  // Whether the kernel knew its process.
  bool named(const std::uint64_t* payload) const { return static_cast<std::int32_t>(thread(payload)) >= 0; }

  // The same for all samples of the format.
  std::uint16_t source() const { return blank_.source; }
  std::uint8_t tag_from() const { return blank_.tag_from; }
  Part part() const { return blank_.part; }
  bool has_tag() const { return blank_.has_tag; }
  std::uint32_t registers() const { return blank_.regs_mask; }
  // Where in a payload the first value of registers() is, and the tag. Not asked where there is none.
  std::uint32_t registers_at() const { return first_register_; }
  std::uint32_t tag_at() const { return tag_; }
  // Where in a payload the three words of kStatePlaces are.
  bool has_state() const { return state_ != kAbsent; }
  std::uint32_t state_at() const { return state_; }
  bool of_memory() const { return of_memory_; }  // has a data address, a data source or a latency

  // The event of a payload that fits. `at` is where the payload begins in the words of the event's batch: the
  // registers stay there.
  Event unpack(const std::uint64_t* payload, std::uint32_t at) const {
    // A copy is several times cheaper than zeroing in place, which compilers do by a string instruction.
    Event event = blank_;
    if (time_ != kAbsent) event.time = static_cast<TimeNs>(payload[time_]);
    if (tid_ != kAbsent) {
      event.pid = static_cast<std::int32_t>(payload[tid_]);
      event.tid = static_cast<std::int32_t>(payload[tid_] >> 32);
    }
    if (ip_ != kAbsent) event.ip = event.user_ip = payload[ip_];
    if (cpu_ != kAbsent) event.cpu = static_cast<std::uint32_t>(payload[cpu_]);
    if (period_ != kAbsent) event.weight = payload[period_];
    if (tag_ != kAbsent) event.tag = payload[tag_];
    if (first_register_ != kAbsent) event.regs_offset = at + first_register_;
    if (of_memory_) unpack_memory(payload, event);
    return event;
  }

 private:
  static constexpr std::uint8_t kAbsent = 0xFF;
  // Of a perf_event_header as a word: its type, the CPU mode in its misc, its size.
  static constexpr std::uint64_t kHeaderMask =
      0xFFFF'0000'FFFF'FFFF | std::uint64_t{PERF_RECORD_MISC_CPUMODE_MASK} << 32;

  static std::uint64_t word(const std::uint64_t* payload, std::uint8_t at) {
    return at == kAbsent ? 0 : payload[at];
  }
  void unpack_memory(const std::uint64_t* payload, Event& event) const {
    if (address_ != kAbsent) event.address = payload[address_];
    if (data_source_ != kAbsent) event.data_source = payload[data_source_];
    if (weight_ == kAbsent) return;
    constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
    const std::uint64_t weight = payload[weight_];
    event.latency = static_cast<std::uint32_t>(wide_latency_ ? std::min(weight, kMost) : weight);
  }

  void set_registers(std::uint8_t at, std::uint64_t mask, std::uint8_t tag_register);

  Event blank_;  // with what depends on the format alone
  std::size_t words_ = 0;
  std::uint64_t header_ = 0;
  bool usable_ = true;      // the masks name known registers only
  bool of_memory_ = false;  // has address, data source or weight
  bool wide_latency_ = false;
  // In words from the start of the payload.
  std::uint8_t ip_ = kAbsent, tid_ = kAbsent, time_ = kAbsent, address_ = kAbsent, cpu_ = kAbsent,
               period_ = kAbsent, user_ = kAbsent, weight_ = kAbsent, data_source_ = kAbsent,
               interrupt_ = kAbsent;
  // Of the set that counts in user mode: the values, the one that holds the tag, and the first of a state.
  std::uint8_t first_register_ = kAbsent, tag_ = kAbsent, state_ = kAbsent;
};

}  // namespace tailor::capture
