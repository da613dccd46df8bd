#include "daemon/query/reports/machine_code.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/query/reports/annotate_report.h"
#include "daemon/query/reports/disassembler.h"
#include "tests/support/native_listing.h"
#include "tests/support/profile_bytes.h"
#include "tests/support/sample_profile.h"

namespace tailor::query {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Profile loaded(const std::function<void(profile::ProfileSink&)>& give) {
  LoadOptions options;
  options.code = true;
  options.keep_samples = true;
  return test::load(test::profile_bytes(give), options);
}

AnnotateReport annotated(const Profile& profile) {
  auto report = annotate_report(profile, {}, 0);
  EXPECT_TRUE(report);
  return std::move(*report);
}

TEST(MachineCode, InstructionsWithCostAndLines) {
  const AnnotateReport report = annotated(loaded(test::give_native_listing));
  ASSERT_EQ(report.machine_code.size(), 1u);
  const NativeCode& code = report.machine_code.front();
  EXPECT_EQ(code.code, test::kSampleCode);
  EXPECT_DOUBLE_EQ(code.cost.amount.samples, 100);
  EXPECT_DOUBLE_EQ(code.somewhere.amount.samples, 0);
  EXPECT_TRUE(code.complete);
  std::vector<std::string> texts;
  std::vector<double> samples;
  for (const NativeInstruction& each : code.instructions) {
    texts.push_back(each.text);
    samples.push_back(each.cost.amount.samples);
  }
  EXPECT_THAT(texts, ElementsAre("push rbp", "mov rbp, rsp", "mov rax, [rdi]", "add rax, 0x1",
                                 "test rax, rax", "jnz +0x4", "ret"));
  EXPECT_THAT(samples, ElementsAre(0, 2, 60, 20, 10, 6, 2));
  EXPECT_EQ(code.instructions[0].function, "main");
  EXPECT_THAT(code.instructions[1].lines, IsEmpty());
  EXPECT_EQ(code.instructions[1].quality, profile::Quality::kPrologue);
  EXPECT_THAT(code.instructions[2].lines, ElementsAre(3));
  EXPECT_THAT(code.instructions[3].lines, ElementsAre(4, 6));
  EXPECT_EQ(code.instructions[5].quality, profile::Quality::kInferred);
  EXPECT_DOUBLE_EQ(code.instructions[5].cost.amount.inferred, 6e6);
}

TEST(MachineCode, NothingWithoutBeingAskedFor) {
  const Profile profile = test::make_profile(test::give_native_listing);
  EXPECT_THAT(annotated(profile).machine_code, IsEmpty());
}

TEST(MachineCode, OfAPartOfTheSamples) {
  const Profile whole = loaded(test::give_native_listing);
  const Profile part = whole.only(
      [](const TimedSample& sample) { return sample.time < test::kSampleStart + 12'000'000; }, "a part");
  const AnnotateReport report = annotated(part);
  ASSERT_EQ(report.machine_code.size(), 1u);
  EXPECT_DOUBLE_EQ(report.machine_code[0].cost.amount.samples, 12);
  EXPECT_DOUBLE_EQ(report.machine_code[0].instructions[2].cost.amount.samples, 10);
}

// Every sample is somewhere, whatever the profile lacks.
TEST(MachineCode, CodeThatNobodyCouldRead) {
  const AnnotateReport report = annotated(loaded([](profile::ProfileSink& sink) {
    test::give_native_listing(sink);
    v1::CodeObject code = test::sample_code();
    code.set_size(code.code().size());
    code.clear_code();
    sink.on_code(test::kSampleProcess, test::kSampleStart, code);
  }));
  ASSERT_EQ(report.machine_code.size(), 1u);
  double sum = report.machine_code[0].somewhere.amount.samples;
  for (const NativeInstruction& each : report.machine_code[0].instructions) {
    EXPECT_EQ(each.text, "");
    sum += each.cost.amount.samples;
  }
  EXPECT_DOUBLE_EQ(sum, 100);
}

TEST(MachineCode, ASampleInTheMiddleOfAnInstructionIsIts) {
  const AnnotateReport report = annotated(loaded([](profile::ProfileSink& sink) {
    test::give_native_listing(sink);
    const profile::SampleRecord sample = test::native_sample(test::kSampleStart, 5);
    sink.on_samples({&sample, 1});
  }));
  EXPECT_DOUBLE_EQ(report.machine_code.at(0).instructions.at(2).cost.amount.samples, 61);
}

TEST(MachineCode, ACallerInTheCodeHasTheCall) {
  const AnnotateReport report = annotated(loaded([](profile::ProfileSink& sink) {
    test::give_native_listing(sink);
    profile::SampleRecord sample = test::native_sample(test::kSampleStart, 4);
    const profile::StackFrame frame{nullptr, sample.ip + 3};  // returns behind the instruction at 4
    sample.ip = sample.user_ip = 0x400000;
    sample.attribution.how = profile::How::kCallchain;
    sample.stack = &frame;
    sink.on_samples({&sample, 1});
  }));
  EXPECT_DOUBLE_EQ(report.machine_code.at(0).instructions.at(2).cost.amount.samples, 61);
}

TEST(MachineCode, HotBlocks) {
  const AnnotateReport report = annotated(loaded(test::give_native_listing));
  EXPECT_TRUE(report.lines.at(1).hot) << "70 of 100 samples";
  EXPECT_TRUE(report.lines.at(4).hot) << "28 of 100 samples";
  EXPECT_FALSE(report.lines.at(0).hot) << "a function is no block";
  // Five of 105: it may be less than a twentieth.
  const AnnotateReport cold = annotated(test::make_profile([](profile::ProfileSink& sink) {
    test::give_native_listing(sink);
    std::vector<profile::SampleRecord> samples(600, test::native_sample(test::kSampleStart, 4));
    sink.on_samples(samples);
  }));
  EXPECT_FALSE(cold.lines.at(4).hot);
}

TEST(Disassembler, WhatIsNoInstructionIsBytes) {
  Disassembler disassembler("\x06\x90", 0x1000);
  EXPECT_EQ(disassembler.length_at(0), 1u);
  EXPECT_EQ(disassembler.text_at(0), ".byte 0x06");
  EXPECT_EQ(disassembler.text_at(1), "nop");
}

TEST(Disassembler, AddressesOutsideAreAbsolute) {
  using std::string_view_literals::operator""sv;
  const std::string_view code = "\xe8\x00\x10\x00\x00\x48\x8b\x05\xf9\xff\xff\xff"sv;
  Disassembler disassembler(code, 0x7f0000000000);
  EXPECT_EQ(disassembler.text_at(0), "call 0x7f0000001005");
  EXPECT_EQ(disassembler.text_at(5), "mov rax, [+0x5]");
}

}  // namespace
}  // namespace tailor::query
