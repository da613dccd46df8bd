#include "daemon/pipeline/memory_access.h"

#include <asm/perf_regs.h>
#include <gtest/gtest.h>

#include "tests/support/engine_messages.h"

namespace tailor::pipeline {
namespace {

constexpr std::uint64_t kCode = 0x10000;

class MemoryAccessTest : public testing::Test {
 protected:
  MemoryAccessTest() {
    process_.start_agent(1, 5, 0);
    EXPECT_TRUE(process_.load_plan(test::small_plan(1), 1).ok());
    v1::CodeObject code = test::small_code(11, 1, kCode);
    code.mutable_code()->replace(0, 4, "\x48\x8B\x13\x90", 4);  // mov rdx, [rbx]; nop
    EXPECT_TRUE(process_.load_code(code, 1).ok());
    region(TAILOR_LOG_REGION_ADD, 7, 0x5000, 0x100, 10);
    region(TAILOR_LOG_REGION_REMOVE, 0, 0x5000, 0, 100);
  }

  void region(tailor_log_kind kind, std::uint32_t id, std::uint64_t base, std::uint64_t bytes, TimeNs time) {
    tailor_log_record record{};
    record.kind = static_cast<std::uint16_t>(kind);
    record.id = id;
    record.a = base;
    record.b = bytes;
    ASSERT_TRUE(process_.add_activity(3, record, time).ok());
  }
  // With eight registers, RBX = 0x5010.
  profile::SampleRecord resolve(capture::Event event) {
    capture::Batch batch;
    batch.words = {1, 0x5010, 3, 4, 5, 6, 7, 8};
    if (event.regs_mask == 0) event.regs_mask = 0xFF;
    profile::SampleRecord record;
    memory_.resolve(batch, event, process_, record);
    return record;
  }
  static capture::Event at(TimeNs time) {
    capture::Event event;
    event.time = time;
    event.ip = kCode + 3;
    return event;
  }

  process::ProcessState process_{{42, 1}, {}};
  MemoryAccess memory_;
};

TEST_F(MemoryAccessTest, AnOperandAndItsRegion) {
  const profile::SampleRecord found = resolve(at(50));
  EXPECT_EQ(found.address, 0x5010u);
  EXPECT_EQ(found.address_from, profile::AddressFrom::kOperand);
  EXPECT_EQ(found.skid, 1);
  EXPECT_EQ(found.region, 7u);
  EXPECT_EQ(resolve(at(100)).region, 0u);  // it is gone
}

// Registered memory comes first; of other memory its mapping says what it is.
TEST_F(MemoryAccessTest, ElseTheMappingSaysWhatItIs) {
  const auto region_at = [&](std::uint64_t address) {
    capture::Event event = at(50);
    event.has_address = true;
    event.address = address;
    return resolve(event).region;
  };
  const auto kind = [](process::MemoryArea area) { return region_kind_of(area); };
  EXPECT_EQ(region_at(0x6000), 0u) << "nothing is known of it";
  process_.memory().map({0x5000, 0x2000, true, true, false, false, "//anon"});
  process_.memory().map({0x8000, 0x1000, true, false, false, false, "/lib"});
  EXPECT_EQ(region_at(0x5010), 7u);
  EXPECT_EQ(region_at(0x6000), kind(process::MemoryArea::kHeap));
  EXPECT_EQ(region_at(0x8000), kind(process::MemoryArea::kConstants));
  EXPECT_EQ(region_at(kCode + 1), kind(process::MemoryArea::kCode)) << "registered code";
  // The eighth register of the mask is the stack pointer: 8, in this mapping.
  process_.memory().map({0, 0x1000, true, true, false, false, ""});
  EXPECT_EQ(region_at(0x100), kind(process::MemoryArea::kStack));
}

TEST_F(MemoryAccessTest, WhatTheHardwareSaysCounts) {
  capture::Event event = at(50);
  event.has_address = true;
  event.address = 0x50FF;
  event.latency = 300;
  event.data_source = 99;
  const profile::SampleRecord found = resolve(event);
  EXPECT_EQ(found.address, 0x50FFu);
  EXPECT_EQ(found.address_from, profile::AddressFrom::kSample);
  EXPECT_EQ(found.region, 7u);
  EXPECT_EQ(found.latency, 300u);
  EXPECT_EQ(found.data_source, 99u);
}

TEST_F(MemoryAccessTest, NoGuessesElsewhere) {
  capture::Event kernel = at(50);
  kernel.mode = profile::Mode::kKernel;
  EXPECT_EQ(resolve(kernel).address_from, profile::AddressFrom::kNone);
  capture::Event library = at(50);
  library.ip = 0x7f0000000000;
  EXPECT_EQ(resolve(library).address_from, profile::AddressFrom::kNone);
  capture::Event tag_only = at(50);
  tag_only.regs_mask = 1u << PERF_REG_X86_BX;
  EXPECT_EQ(resolve(tag_only).address_from, profile::AddressFrom::kNone);
}

}  // namespace
}  // namespace tailor::pipeline
