// The same recording as machines of both byte orders write it.
#include "daemon/formats/perf_swap.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <zstd.h>

#include <cstddef>
#include <cstring>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "daemon/formats/perf_data.h"
#include "tests/support/both_orders.h"

namespace tailor::formats {
namespace {

using test::BothOrders;

constexpr std::uint64_t kMagic = 0x32454C4946524550;
constexpr std::uint32_t kPid = 0x1234, kTid = 0x1235, kCpu = 3;
constexpr std::uint64_t kPlain = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
                                 PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD;
constexpr std::uint64_t kAll = kPlain | PERF_SAMPLE_ADDR | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |
                               PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW |
                               PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER |
                               PERF_SAMPLE_WEIGHT_STRUCT | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_TRANSACTION |
                               PERF_SAMPLE_REGS_INTR | PERF_SAMPLE_PHYS_ADDR | PERF_SAMPLE_CGROUP |
                               PERF_SAMPLE_DATA_PAGE_SIZE | PERF_SAMPLE_CODE_PAGE_SIZE | PERF_SAMPLE_AUX;
constexpr std::uint32_t kAttrBytes = 112;

// use_clockid, precise_ip and others; the numbers are their places in perf_event.h.
void put_attr(BothOrders& out, std::uint64_t config, std::uint64_t type) {
  out.u32(PERF_TYPE_HARDWARE).u32(kAttrBytes).u64(config).u64(4000).u64(type);
  out.u64(PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED);
  out.bits({{0, 1, 1}, {1, 1, 1}, {5, 1, 1}, {15, 2, 2}, {18, 1, 1}, {23, 1, 1}, {25, 1, 1}});
  out.u32(1).u32(0x01020304).u64(0x1122334455667788).u64(5);
  out.u64(PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_HW_INDEX).u64(0b1011);
  out.u32(512).u32(4).u64(0b11).u32(77).u16(127).u16(0);
}

// `broken`: that machine has a process and its thread in one number. None has.
void put_sample(BothOrders& out, std::uint64_t id, std::uint64_t time, std::uint64_t branches,
                bool broken = false) {
  out.begin(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER).u64(id).u64(0x401000 + time);
  if (broken) {
    out.u64(std::uint64_t{kTid} << 32 | kPid);
  } else {
    out.u32(kPid).u32(kTid);
  }
  out.u64(time).u64(0xAABBCCDD00112233).u64(id).u64(id + 100).u32(kCpu).u32(0).u64(1000 + time);
  out.u64(2).u64(12345).u64(time * 3).u64(7).u64(time * 2).u64(9);       // counts of both events
  out.u64(3).u64(PERF_CONTEXT_USER).u64(0x401000 + time).u64(0x402020);  // call chain
  out.u32(12).raw("raw bytes 12");
  out.u64(branches);
  if (branches != 0) out.u64(UINT64_MAX).u64s({1, 2, 3});
  out.u64(PERF_SAMPLE_REGS_ABI_64).u64s({11, 12, 13});
  out.u64(16).raw("a stack as it is").u64(8);
  out.u64(0x0003000200000001);  // a weight of three parts
  out.u64(0x68100142).u64(6);
  out.u64(PERF_SAMPLE_REGS_ABI_64).u64s({21, 22});
  out.u64s({0x5000, 42, 4096, 65536});
  out.u64(8).raw("auxbytes").end();
}

// The identity behind other records.
void put_trailer(BothOrders& out, std::uint64_t id, std::uint64_t time) {
  out.u32(kPid).u32(kTid).u64(time).u64(id).u64(id + 100).u32(kCpu).u32(0).u64(id).end();
}

void put_mapping(BothOrders& out, std::uint16_t misc) {
  out.begin(PERF_RECORD_MMAP2, static_cast<std::uint16_t>(misc | PERF_RECORD_MISC_USER));
  out.u32(kPid).u32(kTid).u64(0x400000).u64(0x9000).u64(0x1000);
  if (misc == 0) {
    out.u32(8).u32(1).u64(99).u64(2);
  } else {
    out.u8(20).u8(0).u16(0).raw("01234567890123456789");
  }
  out.u32(5).u32(2).text("/opt/a program");
}

void put_other_records(BothOrders& out) {
  std::uint64_t time = 10;
  const auto done = [&] { put_trailer(out, 9, time++); };
  out.begin(PERF_RECORD_MMAP, 1).u32(UINT32_MAX).u32(0).u64(0xFFFF0000).u64(0x100).u64(0xFFFF0000);
  out.text("[kernel.kallsyms]_text"), done();
  put_mapping(out, 0), done();
  put_mapping(out, PERF_RECORD_MISC_MMAP_BUILD_ID), done();
  out.begin(PERF_RECORD_LOST).u64(9).u64(17), done();
  out.begin(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC).u32(kPid).u32(kTid).text("engine"), done();
  for (const std::uint32_t type : {PERF_RECORD_FORK, PERF_RECORD_EXIT})
    out.begin(type).u32(kPid + 1).u32(kPid).u32(kTid + 1).u32(kTid).u64(time), done();
  out.begin(PERF_RECORD_THROTTLE).u64s({time, 9, 109}), done();
  out.begin(PERF_RECORD_READ).u32(kPid).u32(kTid).u64s({1, 12345, 77, 9}), done();
  out.begin(PERF_RECORD_AUX).u64s({4096, 512, 1}), done();
  out.begin(PERF_RECORD_ITRACE_START).u32(kPid).u32(kTid), done();
  out.begin(PERF_RECORD_LOST_SAMPLES).u64(5), done();
  out.begin(PERF_RECORD_SWITCH), done();
  out.begin(PERF_RECORD_SWITCH_CPU_WIDE, PERF_RECORD_MISC_SWITCH_OUT).u32(kPid + 2).u32(kTid + 2), done();
  out.begin(PERF_RECORD_NAMESPACES).u32(kPid).u32(kTid).u64s({2, 4, 0xF0000000, 4, 0xF0000001}), done();
  out.begin(PERF_RECORD_KSYMBOL).u64(0xFFFF8000).u32(321).u16(1).u16(0).text("bpf_prog_a"), done();
  out.begin(PERF_RECORD_BPF_EVENT).u16(1).u16(0).u32(55).raw("tag8byte"), done();
  out.begin(PERF_RECORD_CGROUP).u64(42).text("/engines"), done();
  out.begin(PERF_RECORD_TEXT_POKE).u64(0xFFFF0010).u16(5).u16(5).raw(std::string_view("oldolnewne\0\0", 12)),
      done();
  out.begin(PERF_RECORD_AUX_OUTPUT_HW_ID).u64(3), done();
}

// Features by their numbers: arch, host, build ids, names of events, clock.
void put_feature(BothOrders& out, unsigned feature) {
  if (feature == 2) {
    out.u32(0).u16(0).u16(8 + 28 + 16).u32(UINT32_MAX).raw("abcdefghijklmnopqrst").u32(0);
    out.raw("/lib/some.so").u32(0);
  }
  if (feature == 3) out.u32(8).raw("mainfram");
  if (feature == 6) out.u32(8).raw(std::string_view("s390x\0\0\0", 8));
  if (feature == 12) {
    out.u32(2).u32(kAttrBytes);
    for (const std::uint64_t id : {7, 9}) {
      put_attr(out, id, kAll);
      out.u32(1).u32(8).raw(std::string_view(id == 7 ? "cycles\0\0" : "insns\0\0\0", 8)).u64(id);
    }
  }
}

BothOrders pipe_file(bool broken = false) {
  BothOrders out;
  out.u64(kMagic).u64(16);
  for (const std::uint64_t id : {7, 9}) {
    out.begin(64), put_attr(out, id - 7, kAll), out.u64(id).end();
  }
  out.begin(80).u64(6), put_feature(out, 6), out.end();
  out.begin(78).u64(2).u64(9).text("an event").end();
  put_other_records(out);
  out.begin(68).end();
  put_sample(out, 7, 100, 0, broken);
  put_sample(out, 9, 101, 1, broken);
  return out;
}

// `narrow`: of a machine of 32 bits, whose bits of features are two numbers.
BothOrders plain_file(bool narrow = false) {
  constexpr std::uint64_t kIds = 104, kAttrs = kIds + 16, kEntry = kAttrBytes + 16;
  constexpr std::uint64_t kRecords = kAttrs + 2 * kEntry;
  BothOrders records;
  put_sample(records, 7, 100, 1), put_sample(records, 9, 101, 0);
  const std::uint64_t size = records.little.size();
  constexpr unsigned kFeatures[] = {2, 3, 6, 12};
  BothOrders out;
  out.u64(kMagic).u64(104).u64(kEntry).u64(kAttrs).u64(2 * kEntry).u64(kRecords).u64(size).u64(0).u64(0);
  std::uint32_t bits = 0;
  for (const unsigned feature : kFeatures) bits |= 1u << feature;
  if (narrow) {
    out.u32(bits).u32(0);
  } else {
    out.u64(bits);
  }
  out.u64s({0, 0, 0});
  out.u64(7).u64(9);
  for (std::uint64_t i = 0; i < 2; ++i) {
    put_attr(out, i, kAll);
    out.u64(kIds + 8 * i).u64(8);
  }
  put_sample(out, 7, 100, 1), put_sample(out, 9, 101, 0);
  std::uint64_t at = kRecords + size + std::size(kFeatures) * 16;
  for (const unsigned feature : kFeatures) {
    BothOrders content;
    put_feature(content, feature);
    out.u64(at).u64(content.little.size());
    at += content.little.size();
  }
  for (const unsigned feature : kFeatures) put_feature(out, feature);
  return out;
}

std::string joined(std::span<const std::uint64_t> words) {
  return fmt::format("{}", fmt::join(words, ","));
}

// All that was read, to compare.
std::string told(const Result<PerfData>& read) {
  if (!read.ok()) return read.error().message;
  std::string out;
  const auto line = [&out](const auto&... values) {
    ((out += fmt::format("{} ", values)), ...), out += '\n';
  };
  for (const PerfDataEvent& event : read->events) {
    const perf_event_attr& a = event.attr;
    line(event.name, a.type, a.config, a.sample_period, a.sample_type, a.read_format, a.branch_sample_type);
    line(a.wakeup_events, a.bp_type, a.config1, a.config2, a.sample_regs_user, a.sample_stack_user, a.clockid,
         a.sample_regs_intr, a.aux_watermark, a.sample_max_stack);
    std::uint64_t flags = 0;
    std::memcpy(&flags, reinterpret_cast<const char*>(&a) + offsetof(perf_event_attr, wakeup_events) - 8, 8);
    line(flags, joined(event.ids));
  }
  for (const capture::Event& e : read->batch.events) {
    line(static_cast<int>(e.kind), e.time, static_cast<int>(e.mode), e.source, e.cpu, e.pid, e.tid, e.weight,
         e.ip, e.address, e.size, e.page_offset, e.data_source, e.parent_pid, e.parent_tid, e.latency);
    line(e.flag_exec, e.flag_executable, e.flag_shared, e.regs_mask, read->batch.text_of(e),
         joined(read->batch.chain(e)));
  }
  const capture::DecodeCounts& counts = read->counts;
  line(counts.records, counts.decoded, counts.malformed, counts.unknown_id, counts.unknown_type,
       counts.cut_bytes, counts.lost, read->tool_records, read->unknown_members, read->missing_bytes);
  return out;
}

TEST(PerfSwap, AllRecordsAreTheSame) {
  const BothOrders file = pipe_file();
  const auto little = read_perf_data(file.little), big = read_perf_data(file.big);
  EXPECT_EQ(told(big), told(little));
  ASSERT_TRUE(big.ok()) << big.error().message;
  EXPECT_EQ(big->counts.malformed, 0u);
  EXPECT_EQ(big->counts.unknown_type, 0u);
  ASSERT_EQ(big->batch.events.size(), 24u);  // each sample of the group is one of each event
  const capture::Event& sample = big->batch.events.back();
  EXPECT_EQ(sample.pid, static_cast<std::int32_t>(kPid));
  EXPECT_EQ(sample.tid, static_cast<std::int32_t>(kTid));
  EXPECT_EQ(sample.cpu, kCpu);
  EXPECT_EQ(sample.ip, 0x401000u + 101);
  const perf_event_attr& attr = big->events[1].attr;
  EXPECT_EQ(attr.precise_ip, 2u);
  EXPECT_EQ(attr.use_clockid, 1u);
  EXPECT_EQ(attr.sample_id_all, 1u);
  EXPECT_EQ(attr.exclude_user, 0u);
  EXPECT_EQ(big->events[1].name, "an event");
}

// What the test above compares sees a thread in the place of its process.
TEST(PerfSwap, AThreadInThePlaceOfItsProcessIsSeen) {
  const BothOrders file = pipe_file(true);
  EXPECT_EQ(told(read_perf_data(file.little)), told(read_perf_data(pipe_file().little)));
  EXPECT_NE(told(read_perf_data(file.big)), told(read_perf_data(file.little)));
}

TEST(PerfSwap, HeadersAndFeaturesAreTheSame) {
  const BothOrders file = plain_file();
  EXPECT_EQ(told(read_perf_data(file.big)), told(read_perf_data(file.little)));
  for (const bool narrow : {false, true}) {
    const BothOrders described = plain_file(narrow);
    for (const std::vector<std::byte>& bytes : {described.little, described.big}) {
      auto header = parse_perf_header(PerfBytes(bytes).first(kPerfHeaderBytes));
      ASSERT_TRUE(header.ok()) << header.error().message;
      const PerfReadAt read = [&bytes](std::uint64_t at,
                                       std::uint64_t size) -> Result<std::vector<std::byte>> {
        const PerfBytes piece = PerfBytes(bytes).subspan(at, size);
        return std::vector<std::byte>(piece.begin(), piece.end());
      };
      auto attrs = read_perf_attrs(*header, read);
      ASSERT_TRUE(attrs.ok()) << attrs.error().message;
      const PerfDescription text = read_perf_description(*header, read, *attrs);
      EXPECT_EQ(text.host, "mainfram");
      EXPECT_EQ(text.arch, "s390x");
      ASSERT_EQ(text.build_ids.size(), 1u);
      EXPECT_EQ(text.build_ids[0].pid, -1);
      EXPECT_EQ(text.build_ids[0].path, "/lib/some.so");
      EXPECT_EQ(text.build_ids[0].build_id.substr(0, 6), "616263");
      EXPECT_EQ((*attrs)[1].name, "insns");
      EXPECT_EQ((*attrs)[1].ids, std::vector<std::uint64_t>{9});
    }
  }
}

// What zstd packed are records of that order as well.
TEST(PerfSwap, CompressedRecordsAreTheSame) {
  BothOrders inner;
  put_sample(inner, 7, 100, 1), put_sample(inner, 9, 101, 0);
  const auto packed = [](const std::vector<std::byte>& bytes) {
    std::string out(ZSTD_compressBound(bytes.size()), '\0');
    out.resize(ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), 1));
    return out;
  };
  std::vector<std::string> results;
  for (const bool big : {false, true}) {
    BothOrders file;
    file.u64(kMagic).u64(16);
    for (const std::uint64_t id : {7, 9}) {
      file.begin(64), put_attr(file, id - 7, kAll), file.u64(id).end();
    }
    file.begin(80).u64(6), put_feature(file, 6), file.end();
    const std::string content = packed(big ? inner.big : inner.little);
    file.begin(83).u64(content.size()).text(content).end();
    const auto read = read_perf_data(big ? file.big : file.little);
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(read->batch.events.size(), 4u);
    EXPECT_EQ(read->counts.malformed, 0u);
    results.push_back(told(read));
  }
  EXPECT_EQ(results[0], results[1]);
}

// Also of what does not fit its own sizes, both orders say the same.
TEST(PerfSwap, TruncationsAreTheSame) {
  for (const BothOrders& file : {pipe_file(), plain_file()}) {
    for (std::size_t size = 8; size < file.little.size(); size += 3) {
      const auto little = read_perf_data(PerfBytes(file.little).first(size));
      const auto big = read_perf_data(PerfBytes(file.big).first(size));
      ASSERT_EQ(little.ok(), big.ok()) << size;
      ASSERT_EQ(little.ok() ? little->counts.decoded : 0, big.ok() ? big->counts.decoded : 0) << size;
    }
  }
}

TEST(PerfSwap, ASizeThatDoesNotFitIsCounted) {
  for (const std::uint64_t length :
       {std::uint64_t{4}, std::uint64_t{65536}, UINT64_MAX, UINT64_MAX / 8 + 2}) {
    BothOrders file;
    file.u64(kMagic).u64(16).begin(64);
    put_attr(file, 0, kPlain | PERF_SAMPLE_CALLCHAIN), file.u64(7).end();
    file.begin(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER).u64(7).u64(0x401000).u32(kPid).u32(kTid);
    file.u64(100).u32(kCpu).u32(0).u64(1000).u64(length).u64s({1, 2, 3}).end();
    const auto big = read_perf_data(file.big);
    ASSERT_TRUE(big.ok()) << big.error().message;
    EXPECT_EQ(big->counts.malformed, 1u);
    EXPECT_EQ(told(big), told(read_perf_data(file.little)));
  }
}

// An id of no event is counted as it is in our order.
TEST(PerfSwap, RecordsOfNoEventAreCounted) {
  BothOrders file = pipe_file();
  put_sample(file, 8, 102, 0);
  const auto big = read_perf_data(file.big);
  ASSERT_TRUE(big.ok()) << big.error().message;
  EXPECT_EQ(told(big), told(read_perf_data(file.little)));
  EXPECT_EQ(big->counts.unknown_id, 1u);
}

}  // namespace
}  // namespace tailor::formats
