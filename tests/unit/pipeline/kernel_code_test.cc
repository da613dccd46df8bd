// What a profile is told of code that the kernel loads, by the kernel's own records.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/pipeline/fixture.h"

namespace tailor::pipeline {
namespace {

constexpr std::uint64_t kPrograms = 0xffffffffc0000000;

class KernelMappings : public test::CollectingSink {
 public:
  void on_mapping(const profile::MappingRecord& mapping) override {
    if (mapping.process == ProcessId{}) mappings.push_back(mapping);
  }
  std::vector<profile::MappingRecord> mappings;
};

class KernelCodeTest : public testing::Test {
 protected:
  static constexpr TimeNs ms(std::int64_t n) { return n * 1'000'000; }
  KernelCodeTest() { script.open(capture::kOfKernelCode); }

  void symbol(TimeNs time, std::uint64_t begin, std::uint32_t size, const std::string& name,
              std::uint16_t type = PERF_RECORD_KSYMBOL_TYPE_BPF, std::uint16_t flags = 0) {
    auto bytes = test::RecordBytes(PERF_RECORD_KSYMBOL, 0);
    bytes.u64(begin).u32(size).u16(type).u16(flags).text(name);
    script.record(std::move(bytes), 0, time);
  }
  void unload(TimeNs time, std::uint64_t begin, std::uint32_t size) {
    symbol(time, begin, size, "gone", PERF_RECORD_KSYMBOL_TYPE_BPF, PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER);
  }
  void read(TimeNs now = ms(1'000'000)) {
    script.read();
    pipeline.flush(now);
  }
  // "milliseconds path begin+size" of what was told, from kPrograms on.
  std::vector<std::string> told() const {
    std::vector<std::string> out;
    for (const profile::MappingRecord& each : sink.mappings)
      out.push_back(std::to_string(each.time / ms(1)) + " " + each.path + " " +
                    std::to_string(each.begin - kPrograms) + "+" + std::to_string(each.size));
    return out;
  }
  using Told = std::vector<std::string>;

  KernelMappings sink;
  Pipeline pipeline{sink};
  test::ScriptedInput script{pipeline};
};

TEST_F(KernelCodeTest, ProgramsComeAndGo) {
  symbol(ms(1), kPrograms, 64, "bpf_prog_1_one");
  symbol(ms(2), kPrograms, 64, "bpf_prog_1_one");  // told by whoever looked, and by the kernel
  unload(ms(3), kPrograms, 64);
  symbol(ms(4), kPrograms, 32, "bpf_prog_2_two");
  symbol(ms(5), kPrograms + 128, 64, "ftrace_trampoline", PERF_RECORD_KSYMBOL_TYPE_OOL);
  read();
  EXPECT_EQ(told(), (Told{"1 [bpf] bpf_prog_1_one 0+64", "3  0+64", "4 [bpf] bpf_prog_2_two 0+32",
                          "5 [kernel] ftrace_trampoline 128+64"}));
}

// One whose end was a guess ends where another begins, and does not come back when that one goes.
TEST_F(KernelCodeTest, AProgramEndsWhereAnotherBegins) {
  symbol(ms(1), kPrograms, 4096, "bpf_prog_1_one");
  symbol(ms(2), kPrograms + 512, 64, "bpf_prog_2_two");
  unload(ms(3), kPrograms + 512, 64);
  symbol(ms(4), kPrograms, 64, "bpf_prog_3_three");
  read();
  EXPECT_EQ(told(), (Told{"1 [bpf] bpf_prog_1_one 0+4096", "2  512+3584", "2 [bpf] bpf_prog_2_two 512+64",
                          "3  512+64", "4  0+512", "4 [bpf] bpf_prog_3_three 0+64"}));
}

TEST_F(KernelCodeTest, ALateOneCountsFromItsTimeAlone) {
  symbol(ms(5), kPrograms, 64, "bpf_prog_2_two");
  read(ms(10));
  symbol(ms(2), kPrograms, 64, "bpf_prog_1_one");
  unload(ms(4), kPrograms, 64);
  read();
  unload(ms(20), kPrograms, 64);
  read();
  EXPECT_EQ(told(),
            (Told{"5 [bpf] bpf_prog_2_two 0+64", "2 [bpf] bpf_prog_1_one 0+64", "4  0+64", "20  0+64"}));
}

// A loss may have been that a program went, and that another took its place.
TEST_F(KernelCodeTest, NothingIsKnownBehindALoss) {
  symbol(ms(1), kPrograms, 64, "bpf_prog_1_one");
  read(ms(2));
  script.record(test::RecordBytes(PERF_RECORD_LOST, 0).u64(0).u64(3), 0, ms(5));
  symbol(ms(4), kPrograms + 64, 64, "bpf_prog_2_two");
  symbol(ms(6), kPrograms + 128, 64, "bpf_prog_3_three");
  read();
  ASSERT_EQ(sink.mappings.size(), 3u);
  EXPECT_EQ(told()[0], "1 [bpf] bpf_prog_1_one 0+64");
  EXPECT_EQ(sink.mappings[1].begin, std::uint64_t{1} << 63);
  EXPECT_EQ(sink.mappings[1].path, "");
  EXPECT_EQ(sink.mappings[1].time, ms(5));
  EXPECT_EQ(told()[2], "6 [bpf] bpf_prog_3_three 128+64");
  EXPECT_EQ(pipeline.stats().problems, 1u);
  EXPECT_EQ(pipeline.total().lost_ring, 0u) << "these records are no samples";
}

TEST_F(KernelCodeTest, WhatCannotBeIsCountedAndIgnored) {
  symbol(ms(1), 0x1000, 64, "bpf_prog_of_user_memory");
  symbol(ms(2), kPrograms, 0, "bpf_prog_of_nothing");
  symbol(ms(3), UINT64_MAX - 8, 64, "bpf_prog_beyond_the_end");
  symbol(ms(4), kPrograms, 64, "");
  symbol(ms(5), kPrograms, 64, "a name");
  symbol(ms(6), kPrograms, 64, "a/jit-1.dump");
  symbol(ms(7), kPrograms, 64, std::string(513, 'x'));
  read();
  EXPECT_TRUE(sink.mappings.empty());
  EXPECT_EQ(pipeline.stats().problems, 7u);
}

// A symbol of the kernel itself names waits, and is no code that was loaded.
TEST_F(KernelCodeTest, SymbolsOfTheKernelAreNotTold) {
  symbol(ms(1), kPrograms, 64, "io_schedule", PERF_RECORD_KSYMBOL_TYPE_UNKNOWN);
  read();
  EXPECT_TRUE(sink.mappings.empty());
  EXPECT_EQ(pipeline.stats().problems, 0u);
}

TEST(KernelCode, IsBounded) {
  KernelMappings sink;
  KernelCode code(sink);
  const auto load = [&](std::uint64_t i) {
    EXPECT_TRUE(code.add({.time = 1, .begin = kPrograms + 64 * i, .size = 64, .name = "many", .bpf = true}));
  };
  for (std::uint64_t i = 0; i < 2 * KernelCode::kMostAtOnce; ++i) load(i);
  EXPECT_EQ(sink.mappings.size(), KernelCode::kMostAtOnce + 1);
  EXPECT_EQ(sink.mappings.back().path, "") << "nothing is known";
  EXPECT_EQ(sink.mappings.back().begin, std::uint64_t{1} << 63);

  KernelMappings other;
  KernelCode churn(other);
  for (std::uint64_t i = 0; i < 2 * KernelCode::kMostTold; ++i)
    churn.add({.time = 1, .begin = kPrograms, .size = 64 + i % 2, .name = "many", .bpf = true});
  EXPECT_EQ(other.mappings.size(), KernelCode::kMostTold + 1);
}

// Rings of kernel code have no samples: nothing waits for them, and they make no process.
TEST_F(KernelCodeTest, TheirRingHoldsNothingUp) {
  symbol(ms(1), kPrograms, 64, "bpf_prog_1_one");
  script.read(ms(1));
  pipeline.advance(ms(500));
  EXPECT_EQ(pipeline.stats().watermark, ms(300));
  EXPECT_EQ(sink.mappings.size(), 1u);
  EXPECT_EQ(pipeline.stats().processes, 0u);
}

}  // namespace
}  // namespace tailor::pipeline
