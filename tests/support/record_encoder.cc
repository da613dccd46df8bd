#include "tests/support/record_encoder.h"

#include "daemon/capture/decode/sample_view.h"

namespace tailor::test {
namespace {

std::string_view text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void put_registers(RecordBytes& out, std::uint64_t abi, const std::vector<std::uint64_t>& values) {
  out.u64(abi);
  if (abi != PERF_SAMPLE_REGS_ABI_NONE) out.u64s(values);
}

void put_branches(RecordBytes& out, const capture::EventFormat& format, const SampleFields& f) {
  out.u64(f.branches.size() / 3);
  bool indexed = format.branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX;
  if (indexed && f.branch_index_present) out.u64(f.branch_hw_index);
  out.u64s(f.branches);
  if (format.branch_sample_type & capture::kBranchCounters) out.u64s(f.branch_counters);
}

}  // namespace

std::vector<std::byte> encode_sample(const capture::EventFormat& format, const SampleFields& f) {
  RecordBytes out(PERF_RECORD_SAMPLE, f.misc);
  auto has = [&](std::uint64_t bit) { return (format.sample_type & bit) != 0; };
  if (has(PERF_SAMPLE_IDENTIFIER)) out.u64(f.identifier);
  if (has(PERF_SAMPLE_IP)) out.u64(f.ip);
  if (has(PERF_SAMPLE_TID)) out.u32(static_cast<std::uint32_t>(f.pid)).u32(static_cast<std::uint32_t>(f.tid));
  if (has(PERF_SAMPLE_TIME)) out.u64(f.time);
  if (has(PERF_SAMPLE_ADDR)) out.u64(f.address);
  if (has(PERF_SAMPLE_ID)) out.u64(f.id);
  if (has(PERF_SAMPLE_STREAM_ID)) out.u64(f.stream_id);
  if (has(PERF_SAMPLE_CPU)) out.u32(f.cpu).u32(0);
  if (has(PERF_SAMPLE_PERIOD)) out.u64(f.period);
  if (has(PERF_SAMPLE_READ)) out.u64s(f.read_values);
  if (has(PERF_SAMPLE_CALLCHAIN)) out.u64(f.chain.size()).u64s(f.chain);
  if (has(PERF_SAMPLE_RAW)) out.u32(static_cast<std::uint32_t>(f.raw.size())).raw(text_of(f.raw));
  if (has(PERF_SAMPLE_BRANCH_STACK)) put_branches(out, format, f);
  if (has(PERF_SAMPLE_REGS_USER)) put_registers(out, f.user_abi, f.user_registers);
  if (has(PERF_SAMPLE_STACK_USER)) {
    out.u64(f.stack.size());
    if (!f.stack.empty()) out.raw(text_of(f.stack)).u64(f.stack_dynamic_size);
  }
  if (has(PERF_SAMPLE_WEIGHT) || has(PERF_SAMPLE_WEIGHT_STRUCT)) out.u64(f.weight);
  if (has(PERF_SAMPLE_DATA_SRC)) out.u64(f.data_source);
  if (has(PERF_SAMPLE_TRANSACTION)) out.u64(f.transaction);
  if (has(PERF_SAMPLE_REGS_INTR)) put_registers(out, f.interrupt_abi, f.interrupt_registers);
  if (has(PERF_SAMPLE_PHYS_ADDR)) out.u64(f.physical_address);
  if (has(PERF_SAMPLE_CGROUP)) out.u64(f.cgroup);
  if (has(PERF_SAMPLE_DATA_PAGE_SIZE)) out.u64(f.data_page_size);
  if (has(PERF_SAMPLE_CODE_PAGE_SIZE)) out.u64(f.code_page_size);
  if (has(PERF_SAMPLE_AUX)) out.u64(f.aux.size()).raw(text_of(f.aux));
  return out.done();
}

std::vector<std::byte> with_sample_id(RecordBytes record, const capture::EventFormat& format,
                                      const SampleFields& f) {
  if (!format.sample_id_all) return record.done();
  auto has = [&](std::uint64_t bit) { return (format.sample_type & bit) != 0; };
  if (has(PERF_SAMPLE_TID))
    record.u32(static_cast<std::uint32_t>(f.pid)).u32(static_cast<std::uint32_t>(f.tid));
  if (has(PERF_SAMPLE_TIME)) record.u64(f.time);
  if (has(PERF_SAMPLE_ID)) record.u64(f.id);
  if (has(PERF_SAMPLE_STREAM_ID)) record.u64(f.stream_id);
  if (has(PERF_SAMPLE_CPU)) record.u32(f.cpu).u32(0);
  if (has(PERF_SAMPLE_IDENTIFIER)) record.u64(f.identifier);
  return record.done();
}

void append(std::vector<std::byte>& to, std::span<const std::byte> bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}

std::vector<std::vector<std::byte>> every_sideband_record(const capture::EventFormat& format,
                                                          const SampleFields& id, std::uint64_t time) {
  std::vector<std::vector<std::byte>> records;
  auto add = [&](const RecordBytes& record) { records.push_back(with_sample_id(record, format, id)); };
  add(RecordBytes(PERF_RECORD_MMAP, 0).u32(1).u32(2).u64(0x1000).u64(0x2000).u64(0x3000).text("/lib/a.so"));
  add(RecordBytes(PERF_RECORD_MMAP2, PERF_RECORD_MISC_MMAP_BUILD_ID)
          .u32(1)
          .u32(2)
          .u64(0x1000)
          .u64(0x2000)
          .u64(0x3000)
          .u8(20)
          .u8(0)
          .u16(0)
          .raw("abcdefghijklmnopqrst")
          .u32(5)
          .u32(2)
          .text("/lib/b.so"));
  add(RecordBytes(PERF_RECORD_LOST, 0).u64(11).u64(42));
  add(RecordBytes(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC).u32(1).u32(2).text("engine"));
  add(RecordBytes(PERF_RECORD_EXIT, 0).u32(1).u32(3).u32(2).u32(4).u64(time));
  add(RecordBytes(PERF_RECORD_FORK, 0).u32(1).u32(3).u32(2).u32(4).u64(time + 1));
  add(RecordBytes(PERF_RECORD_THROTTLE, 0).u64(time + 2).u64(11).u64(12));
  add(RecordBytes(PERF_RECORD_UNTHROTTLE, 0).u64(time + 3).u64(11).u64(12));
  add(RecordBytes(PERF_RECORD_READ, 0).u32(1).u32(2).u64(77));
  add(RecordBytes(PERF_RECORD_AUX, 0).u64(1).u64(2).u64(3));
  add(RecordBytes(PERF_RECORD_ITRACE_START, 0).u32(1).u32(2));
  add(RecordBytes(PERF_RECORD_LOST_SAMPLES, 0).u64(9));
  add(RecordBytes(PERF_RECORD_SWITCH, PERF_RECORD_MISC_SWITCH_OUT | PERF_RECORD_MISC_SWITCH_OUT_PREEMPT));
  add(RecordBytes(PERF_RECORD_SWITCH_CPU_WIDE, 0).u32(8).u32(9));
  add(RecordBytes(PERF_RECORD_NAMESPACES, 0).u32(1).u32(2).u64(2).u64(10).u64(11).u64(12).u64(13));
  add(RecordBytes(PERF_RECORD_KSYMBOL, 0).u64(0x9000).u32(64).u16(1).u16(1).text("bpf_prog"));
  add(RecordBytes(PERF_RECORD_BPF_EVENT, 0).u16(1).u16(0).u32(5).raw("tagtagta"));
  add(RecordBytes(PERF_RECORD_CGROUP, 0).u64(77).text("/system.slice"));
  add(RecordBytes(PERF_RECORD_TEXT_POKE, 0).u64(0x9100).u16(4).u16(4).raw("old_new_").u32(0));
  add(RecordBytes(PERF_RECORD_AUX_OUTPUT_HW_ID, 0).u64(0x123));
  return records;
}

}  // namespace tailor::test
