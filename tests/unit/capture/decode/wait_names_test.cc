#include "daemon/capture/decode/wait_names.h"

#include <gtest/gtest.h>

#include <array>

#include "daemon/capture/decode/off_cpu.h"
#include "daemon/capture/decode/record_decoder.h"
#include "daemon/capture/decode/told_record.h"
#include "daemon/capture/host/kernel_functions.h"
#include "tests/support/record_encoder.h"

namespace tailor::capture {
namespace {

constexpr std::string_view kKallsyms =
    "0000000000000000 A fixed_percpu_data\n"
    "ffffffff81000000 T schedule\n"
    "ffffffff81000100 t futex_wait_queue.isra.0\n"
    "ffffffff81000180 t futex_wait_queue.isra.0.cold\n"
    "ffffffff81000200 T exc_page_fault\n"
    "ffffffff81000200 T an_alias\n"
    "ffffffff81000300 T io_schedule\n"
    "nonsense\n"
    "ffffffff81000400 D do_nanosleep\n"
    "ffffffff81000400 T do_nanosleep\n"
    "ffffffffc0000000 t pipe_read\t[a_module]\n"
    "ffffffffc0900000 t last\t[a_module]\n";

WaitNames names_of(std::uint64_t shift) {
  WaitNames names;
  for (const KernelFunction& each : wait_functions(kKallsyms))
    names.learn(each.address + shift, each.size, each.name);
  return names;
}

profile::Wait of(const WaitNames& names, std::initializer_list<std::uint64_t> chain) {
  return names.of(std::span(chain.begin(), chain.size()));
}

TEST(WaitNames, FunctionsAreReadWithTheirEnds) {
  const auto functions = wait_functions(kKallsyms);
  ASSERT_EQ(functions.size(), 6u);
  EXPECT_EQ(functions[0].name, "futex_wait_queue.isra.0");
  EXPECT_EQ(functions[0].address, 0xffffffff81000100u);
  EXPECT_EQ(functions[0].size, 0x80u);
  EXPECT_EQ(functions[2].name, "exc_page_fault");
  EXPECT_EQ(functions[2].size, 0x100u);
  EXPECT_EQ(functions[5].name, "pipe_read");
  EXPECT_EQ(functions[5].size, 0x10000u);  // at most
}

// Addresses that are hidden are all zero.
TEST(WaitNames, HiddenAddressesGiveNoFunctions) {
  EXPECT_TRUE(wait_functions("0000000000000000 T io_schedule\n0000000000000000 T schedule\n").empty());
  EXPECT_TRUE(wait_functions("").empty());
}

TEST(WaitNames, TheInnermostNamesTheWait) {
  const WaitNames names = names_of(0);
  EXPECT_EQ(of(names, {0xffffffff81000010, 0xffffffff81000110}), profile::Wait::kLock);
  EXPECT_EQ(of(names, {0xffffffff81000010, 0xffffffff81000304, 0xffffffff81000110}), profile::Wait::kIo);
  EXPECT_EQ(of(names, {0xffffffff81000408}), profile::Wait::kSleep);
  EXPECT_EQ(of(names, {0xffffffffc0000008}), profile::Wait::kPeer);
}

TEST(WaitNames, APageFaultWaitsForItsPageByWhateverMeans) {
  EXPECT_EQ(of(names_of(0), {0xffffffff81000010, 0xffffffff81000304, 0xffffffff81000208}),
            profile::Wait::kPage);
}

TEST(WaitNames, WhatIsNotKnownIsNotGuessed) {
  EXPECT_EQ(of(names_of(0), {}), profile::Wait::kBlocked);
  EXPECT_EQ(of(names_of(0), {0xffffffff81000010, 0xffffffff82000000, 5}), profile::Wait::kBlocked);
  WaitNames hostile;
  hostile.learn(~std::uint64_t{0}, 2, "io_schedule");
  hostile.learn(1, 0, "io_schedule");
  EXPECT_EQ(of(hostile, {~std::uint64_t{0}, 1}), profile::Wait::kBlocked);
}

// The twin that must fail: with functions elsewhere (another kernel's) no wait gets its name.
TEST(WaitNames, AnotherKernelsFunctionsNameNothing) {
  EXPECT_EQ(of(names_of(0x1000000), {0xffffffff81000110, 0xffffffff81000304, 0xffffffff81000408}),
            profile::Wait::kBlocked);
}

// From the record that tells the function and the sample's chain to the wait's name.
TEST(WaitNames, RecordsCarryThem) {
  RingLayout layout;
  EventFormat format;
  format.source = 1;
  format.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN;
  layout.formats = {format};
  auto decoder = RecordDecoder::create(layout);
  ASSERT_TRUE(decoder);
  Batch batch;
  decoder->decode(
      symbol_record(layout, 5, {0xffffffff81000300, 0x100, "io_schedule"}, PERF_RECORD_KSYMBOL_TYPE_UNKNOWN),
      batch);
  test::SampleFields fields;
  fields.pid = fields.tid = 7;
  fields.time = 100;
  fields.misc = PERF_RECORD_MISC_KERNEL;
  fields.chain = {static_cast<std::uint64_t>(PERF_CONTEXT_KERNEL),
                  0xffffffff81000010,
                  0xffffffff81000340,
                  static_cast<std::uint64_t>(PERF_CONTEXT_USER),
                  0x5000,
                  0x6000};
  decoder->decode(test::encode_sample(format, fields), batch);
  ASSERT_EQ(batch.events.size(), 2u);
  EXPECT_EQ(batch.events[0].kind, Kind::kKernelSymbol);
  EXPECT_EQ(batch.events[0].time, 5);
  EXPECT_EQ(batch.text_of(batch.events[0]), "io_schedule");
  EXPECT_EQ(batch.events[1].user_ip, 0x5000u);
  ASSERT_EQ(batch.chain(batch.events[1]).size(), 1u);
  EXPECT_EQ(batch.chain(batch.events[1])[0], 0x6000u);
  EXPECT_EQ(batch.kernel_chain(batch.events[1]).size(), 2u);

  OffCpuTracker tracker;
  tracker.set_sources({{0, "cpu-clock", profile::Unit::kNsOnCpu, 1, false},
                       {1, "off-cpu", profile::Unit::kNsOffCpu, 1, false}});
  tracker.learn(batch.events[0], batch.text_of(batch.events[0]));
  Event back;
  back.kind = Kind::kSwitchIn;
  back.tid = 7;
  back.time = 400;
  for (const bool preempted : {false, true}) {
    ASSERT_TRUE(tracker.absorb(batch, batch.events[1]));
    Event out = back;
    out.kind = Kind::kSwitchOut;
    out.flag_preempted = preempted;
    tracker.left(out);
    const Batch* wait = tracker.returned(back);
    ASSERT_NE(wait, nullptr);
    EXPECT_EQ(wait->events[0].wait, preempted ? profile::Wait::kRunnable : profile::Wait::kIo);
    EXPECT_EQ(wait->chain(wait->events[0])[0], 0x6000u);
  }
}

}  // namespace
}  // namespace tailor::capture
