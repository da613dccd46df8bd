#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/query/reports/annotate_report.h"
#include "tests/support/profile_bytes.h"
#include "tests/support/sample_profile.h"

namespace tailor::query {
namespace {

// The listing of a plan whose IR components are its lines.
constexpr const char* kListing =
    "define void @main(ptr %state) {\n"
    "entry:\n"
    "  %1 = load i64, ptr %state\n"
    "  br label %loop\n"
    "loop:                        ; preds = %entry\n"
    "  %2 = add i64 %1, 1\n"
    "  %3 = call i64 @\"strange:\"(i64 %2)\n"
    "  ret void\n"
    "}\n";

void give_listing(profile::ProfileSink& sink, const char* text) {
  v1::Plan plan = test::sample_plan();
  if (text != nullptr) {
    v1::Attachment& attachment = *plan.add_attachments();
    attachment.set_kind("ir");
    attachment.set_sha256(std::string(32, 'i'));
    attachment.set_content(text);
  }
  sink.on_plan(test::kSampleProcess, test::kSampleStart, plan);
}

// Samples on the lines that are instructions, one shared by lines 4 and 6.
Profile listed() {
  return test::make_profile([](profile::ProfileSink& sink) {
    test::give_context(sink);
    give_listing(sink, kListing);
    std::vector<profile::SampleRecord> samples;
    for (std::uint32_t ir : {3, 4, 6, 7}) samples.push_back(test::ir_sample(test::kSampleStart, ir));
    samples.push_back(test::shared_sample(test::kSampleStart));
    sink.on_samples(samples);
  });
}

// Samples everywhere, on headings too.
Profile sampled_everywhere(const char* text) {
  return test::make_profile([&](profile::ProfileSink& sink) {
    test::give_profile(sink, 1);
    give_listing(sink, text);
  });
}

TEST(LineKind, OfListings) {
  using Kind = AnnotatedLine::Kind;
  EXPECT_EQ(line_kind("define void @main() {"), Kind::kFunction);
  EXPECT_EQ(line_kind("entry:"), Kind::kBlock);
  EXPECT_EQ(line_kind("7:                ; preds = %6, %0"), Kind::kBlock);
  EXPECT_EQ(line_kind("\"odd name\":  ; preds = %a"), Kind::kBlock);
  EXPECT_EQ(line_kind("  %1 = add i64 %0, 1"), Kind::kInstruction);
  EXPECT_EQ(line_kind("  switch i32 %a, label %b [ ; a:"), Kind::kInstruction);
  EXPECT_EQ(line_kind("}"), Kind::kOther);
  EXPECT_EQ(line_kind(""), Kind::kOther);
  EXPECT_EQ(line_kind("; comment:"), Kind::kOther);
}

TEST(Annotate, LinesBlocksAndOwners) {
  const Profile profile = listed();
  auto report = annotate_report(profile, {}, 0);
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_EQ(report->lines.size(), 9u);
  const AnnotatedLine& load = report->lines[2];
  EXPECT_DOUBLE_EQ(load.cost.amount.samples, 1);
  EXPECT_THAT(load.operators, testing::ElementsAre("Hash join"));
  EXPECT_THAT(load.tasks, testing::ElementsAre("build"));
  const AnnotatedLine& entry = report->lines[1];
  ASSERT_EQ(entry.by_operator.size(), 2u);
  EXPECT_EQ(entry.by_operator[0].first, "Table scan");
  EXPECT_DOUBLE_EQ(entry.by_operator[0].second.amount.samples, 1.5);
  EXPECT_EQ(entry.by_operator[1].first, "Hash join");
  const AnnotatedLine& loop = report->lines[4];
  EXPECT_EQ(loop.kind, AnnotatedLine::Kind::kBlock);
  EXPECT_DOUBLE_EQ(loop.cost.amount.samples, 2.5);
  ASSERT_EQ(loop.by_operator.size(), 1u);
  EXPECT_EQ(loop.by_operator[0].first, "Group by");
  const AnnotatedLine& function = report->lines[0];
  EXPECT_DOUBLE_EQ(function.cost.amount.samples, 5);
  EXPECT_TRUE(report->elsewhere.empty());
}

// Lines + what is on no line = everything the plan cost.
TEST(Annotate, AddsUpToThePlan) {
  const Profile profile = sampled_everywhere(kListing);
  auto report = annotate_report(profile, {}, 0);
  ASSERT_TRUE(report);
  double sum = 0;
  for (const AnnotatedLine& line : report->lines) {
    const bool heading =
        line.kind == AnnotatedLine::Kind::kFunction || line.kind == AnnotatedLine::Kind::kBlock;
    if (!heading) sum += line.cost.amount.samples;
  }
  std::map<std::string, double> elsewhere;
  for (const NamedRow& row : report->elsewhere) {
    sum += row.cost.amount.samples;
    elsewhere[row.key] = row.cost.amount.samples;
  }
  EXPECT_DOUBLE_EQ(sum, report->summary.plans[0].cost.amount.samples);
  EXPECT_DOUBLE_EQ(elsewhere.at("task:6"), 1);
  EXPECT_DOUBLE_EQ(elsewhere.at("prologue"), 1);
}

TEST(Annotate, WithoutTextItSaysWhatElseHelps) {
  EXPECT_THAT(annotate_report(sampled_everywhere(nullptr), {}, 0).error().message,
              testing::HasSubstr("--level ir"));
}

}  // namespace
}  // namespace tailor::query
