// Every field of a PERF_RECORD_SAMPLE, and of the identity that trails all other records, as
// linux/perf_event.h lays them out. Views point into the record's bytes.
#pragma once

#include <linux/perf_event.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "daemon/capture/decode/byte_cursor.h"
#include "daemon/capture/decode/ring_chunk.h"

namespace tailor::capture {

// Newer than the headers of the oldest supported system (Linux 6.8): a word per branch after the stack.
inline constexpr std::uint64_t kBranchCounters = std::uint64_t{1} << 19;
// All bits of sample_type this decoder knows.
inline constexpr std::uint64_t kKnownSampleTypes = PERF_SAMPLE_MAX - 1;

// Registers as the kernel copied them: one word per bit of `mask`. abi is PERF_SAMPLE_REGS_ABI_*; with
// ABI_NONE (a kernel thread, say) there are no values.
struct RegisterView {
  std::uint64_t abi = PERF_SAMPLE_REGS_ABI_NONE;
  std::uint64_t mask = 0;
  WordView values;
};

struct SampleView {
  std::uint64_t identifier = 0, ip = 0;
  std::int32_t pid = 0, tid = 0;
  std::uint64_t time = 0, address = 0, id = 0, stream_id = 0;
  std::uint32_t cpu = 0;
  std::uint64_t period = 0;
  std::span<const std::byte> read_values;  // a read_format, checked against its own count
  WordView chain;                          // with its PERF_CONTEXT_* markers
  std::span<const std::byte> raw;
  std::uint64_t branch_hw_index = 0;
  WordView branches;  // triples: from, to, flags
  WordView branch_counters;
  RegisterView user_registers;
  std::span<const std::byte> stack;
  std::uint64_t stack_dynamic_size = 0;  // of `stack`, what really was on the stack
  std::uint64_t weight = 0;              // the full word, also for WEIGHT_STRUCT
  std::uint64_t data_source = 0, transaction = 0;
  RegisterView interrupt_registers;
  std::uint64_t physical_address = 0, cgroup = 0, data_page_size = 0, code_page_size = 0;
  std::span<const std::byte> aux;
};

// Fills `out` from the payload of a sample (what follows its header). False if a field does not fit or bytes
// are left over; `out` is then unspecified.
bool parse_sample(const EventFormat& format, std::span<const std::byte> payload, SampleView& out);

// Who, when and where: struct sample_id of perf_event.h.
struct SampleId {
  std::int32_t pid = 0, tid = 0;
  std::uint64_t time = 0, id = 0, stream_id = 0;
  std::uint32_t cpu = 0;
  bool has_tid = false, has_time = false, has_cpu = false;
};

// Bytes of the trailing sample_id, 0 without sample_id_all.
std::size_t sample_id_size(const EventFormat& format);

// `trailer` has exactly sample_id_size() bytes.
SampleId parse_sample_id(const EventFormat& format, std::span<const std::byte> trailer);

// Advances over a read_format. False if it does not fit.
bool skip_read_values(std::uint64_t read_format, ByteCursor& cursor, std::span<const std::byte>& values);

}  // namespace tailor::capture
