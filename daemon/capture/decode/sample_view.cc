#include "daemon/capture/decode/sample_view.h"

#include <bit>

namespace tailor::capture {
namespace {

RegisterView parse_registers(std::uint64_t mask, ByteCursor& cursor) {
  RegisterView view;
  view.abi = cursor.u64();
  if (view.abi == PERF_SAMPLE_REGS_ABI_NONE) return view;
  view.mask = mask;
  view.values = cursor.words(static_cast<std::uint64_t>(std::popcount(mask)));
  return view;
}

// A group holds `nr` members of one to three words.
std::uint64_t read_values_words(std::uint64_t read_format, std::uint64_t members) {
  std::uint64_t per_member = 1 + !!(read_format & PERF_FORMAT_ID) + !!(read_format & PERF_FORMAT_LOST);
  return members * per_member + !!(read_format & PERF_FORMAT_TOTAL_TIME_ENABLED) +
         !!(read_format & PERF_FORMAT_TOTAL_TIME_RUNNING);
}

// Where a sample has no branch stack at all the kernel writes the count 0 and leaves out the hardware index
// too, so an empty stack has two encodings; the caller tries both.
void parse_branches(const EventFormat& format, bool index_follows_zero, ByteCursor& cursor, SampleView& out) {
  std::uint64_t count = cursor.u64();
  bool has_index = format.branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX;
  if (has_index && (count != 0 || index_follows_zero)) out.branch_hw_index = cursor.u64();
  // Bounded before it is multiplied.
  if (count > cursor.remaining()) count = cursor.remaining() + 1;
  out.branches = cursor.words(count * 3);
  if (format.branch_sample_type & kBranchCounters) out.branch_counters = cursor.words(count);
}

void parse_stack(ByteCursor& cursor, SampleView& out) {
  std::uint64_t size = cursor.u64();
  if (size == 0) return;
  out.stack = cursor.take(size);
  out.stack_dynamic_size = cursor.u64();
}

void parse_head(std::uint64_t type, ByteCursor& cursor, SampleView& out) {
  if (type & PERF_SAMPLE_IDENTIFIER) out.identifier = cursor.u64();
  if (type & PERF_SAMPLE_IP) out.ip = cursor.u64();
  if (type & PERF_SAMPLE_TID) {
    out.pid = cursor.i32();
    out.tid = cursor.i32();
  }
  if (type & PERF_SAMPLE_TIME) out.time = cursor.u64();
  if (type & PERF_SAMPLE_ADDR) out.address = cursor.u64();
  if (type & PERF_SAMPLE_ID) out.id = cursor.u64();
  if (type & PERF_SAMPLE_STREAM_ID) out.stream_id = cursor.u64();
  if (type & PERF_SAMPLE_CPU) {
    out.cpu = cursor.u32();
    cursor.u32();
  }
  if (type & PERF_SAMPLE_PERIOD) out.period = cursor.u64();
}

void parse_tail(const EventFormat& format, ByteCursor& cursor, SampleView& out) {
  std::uint64_t type = format.sample_type;
  if (type & PERF_SAMPLE_REGS_USER) out.user_registers = parse_registers(format.regs_user, cursor);
  if (type & PERF_SAMPLE_STACK_USER) parse_stack(cursor, out);
  if (type & PERF_SAMPLE_WEIGHT_TYPE) out.weight = cursor.u64();
  if (type & PERF_SAMPLE_DATA_SRC) out.data_source = cursor.u64();
  if (type & PERF_SAMPLE_TRANSACTION) out.transaction = cursor.u64();
  if (type & PERF_SAMPLE_REGS_INTR) out.interrupt_registers = parse_registers(format.regs_intr, cursor);
  if (type & PERF_SAMPLE_PHYS_ADDR) out.physical_address = cursor.u64();
  if (type & PERF_SAMPLE_CGROUP) out.cgroup = cursor.u64();
  if (type & PERF_SAMPLE_DATA_PAGE_SIZE) out.data_page_size = cursor.u64();
  if (type & PERF_SAMPLE_CODE_PAGE_SIZE) out.code_page_size = cursor.u64();
  if (type & PERF_SAMPLE_AUX) out.aux = cursor.take(cursor.u64());
}

bool parse(const EventFormat& format, bool index_follows_zero, ByteCursor cursor, SampleView& out) {
  std::uint64_t type = format.sample_type;
  parse_head(type, cursor, out);
  if (type & PERF_SAMPLE_READ) {
    if (!skip_read_values(format.read_format, cursor, out.read_values)) return false;
  }
  if (type & PERF_SAMPLE_CALLCHAIN) out.chain = cursor.words(cursor.u64());
  if (type & PERF_SAMPLE_RAW) out.raw = cursor.take(cursor.u32());
  if (type & PERF_SAMPLE_BRANCH_STACK) parse_branches(format, index_follows_zero, cursor, out);
  parse_tail(format, cursor, out);
  return cursor.ok() && cursor.at_end() && out.stack_dynamic_size <= out.stack.size();
}

}  // namespace

bool skip_read_values(std::uint64_t read_format, ByteCursor& cursor, std::span<const std::byte>& values) {
  ByteCursor start = cursor;
  std::uint64_t members = 1;
  if (read_format & PERF_FORMAT_GROUP) {
    members = cursor.u64();
    if (members > cursor.remaining()) return false;
  }
  cursor.words(read_values_words(read_format, members));
  if (!cursor.ok()) return false;
  values = start.take(start.remaining() - cursor.remaining());
  return true;
}

bool parse_sample(const EventFormat& format, std::span<const std::byte> payload, SampleView& out) {
  out = SampleView{};
  if (parse(format, true, ByteCursor(payload), out)) return true;
  constexpr std::uint64_t kIndexed = PERF_SAMPLE_BRANCH_HW_INDEX;
  if (!(format.sample_type & PERF_SAMPLE_BRANCH_STACK) || !(format.branch_sample_type & kIndexed))
    return false;
  out = SampleView{};
  return parse(format, false, ByteCursor(payload), out) && out.branches.empty();
}

std::size_t sample_id_size(const EventFormat& format) {
  if (!format.sample_id_all) return 0;
  constexpr std::uint64_t kFields = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
                                    PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER;
  return static_cast<std::size_t>(std::popcount(format.sample_type & kFields)) * sizeof(std::uint64_t);
}

SampleId parse_sample_id(const EventFormat& format, std::span<const std::byte> trailer) {
  SampleId out;
  ByteCursor cursor(trailer);
  std::uint64_t type = format.sample_id_all ? format.sample_type : 0;
  out.has_tid = type & PERF_SAMPLE_TID;
  out.has_time = type & PERF_SAMPLE_TIME;
  out.has_cpu = type & PERF_SAMPLE_CPU;
  if (out.has_tid) {
    out.pid = cursor.i32();
    out.tid = cursor.i32();
  }
  if (out.has_time) out.time = cursor.u64();
  if (type & PERF_SAMPLE_ID) out.id = cursor.u64();
  if (type & PERF_SAMPLE_STREAM_ID) out.stream_id = cursor.u64();
  if (out.has_cpu) {
    out.cpu = cursor.u32();
    cursor.u32();
  }
  if (type & PERF_SAMPLE_IDENTIFIER) out.id = cursor.u64();
  return out;
}

}  // namespace tailor::capture
