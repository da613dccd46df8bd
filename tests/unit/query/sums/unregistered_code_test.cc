// Why code that a process generated is nobody's, by what its profile tells.
#include "daemon/query/sums/unregistered_code.h"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "daemon/query/reports/plan_report.h"
#include "tests/support/engine_messages.h"
#include "tests/support/profile_bytes.h"
#include "tests/support/sample_profile.h"

namespace tailor::query {
namespace {

constexpr ProcessId kForgetful{50, 1};
constexpr std::uint64_t kOwnCode = 0x40000;

profile::SampleRecord forgotten_sample(std::uint64_t ip, ProcessId process = kForgetful) {
  profile::SampleRecord sample =
      test::unattributed_sample(test::kSampleStart, profile::Reason::kUnregisteredCode);
  sample.process = process;
  sample.ip = sample.user_ip = ip;
  sample.attribution.execution = 0;
  return sample;
}

std::vector<UnregisteredCode> found(const std::function<void(profile::ProfileSink&)>& give) {
  const Profile profile = test::make_profile([&](profile::ProfileSink& sink) {
    test::give_profile(sink, 10);
    profile::ProcessRecord record;
    record.process = kForgetful;
    record.tag_strategy = v1::TAGS_R15;
    sink.on_process(record);
    give(sink);
  });
  const auto report = plan_report(profile, {});
  EXPECT_TRUE(report);
  return report->unregistered;
}

profile::Accounting with_refused(std::uint64_t messages) {
  profile::Accounting account;
  account.process = kForgetful;
  account.messages = account.messages_rejected = messages;
  return account;
}

TEST(UnregisteredCode, AProfileWithoutAnyHasNone) {
  EXPECT_TRUE(found([](profile::ProfileSink&) {}).empty());
}

TEST(UnregisteredCode, IsSummedByProcess) {
  const auto all = found([](profile::ProfileSink& sink) {
    sink.on_samples(std::vector{forgotten_sample(kOwnCode, test::kSampleProcess), forgotten_sample(kOwnCode),
                                forgotten_sample(kOwnCode + 8)});
  });
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].process, kForgetful);
  EXPECT_EQ(all[0].cost.samples, 2u);
  EXPECT_EQ(all[0].why, WhyUnregistered::kNone);
  EXPECT_TRUE(all[0].tags);
  EXPECT_EQ(all[1].process, test::kSampleProcess);
  EXPECT_EQ(all[1].why, WhyUnregistered::kNotThis) << "it has the code of the sample profile";
}

TEST(UnregisteredCode, MayHaveBeenRefused) {
  const auto all = found([](profile::ProfileSink& sink) {
    sink.on_accounting(with_refused(2));
    sink.on_samples(std::vector{forgotten_sample(kOwnCode)});
  });
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].why, WhyUnregistered::kRefused);
  EXPECT_EQ(found_text(all[0]), "2 messages of its agent were refused, and its code may be among them");
}

// Its plan was not loaded: more is known than that something was refused.
TEST(UnregisteredCode, MayHaveNamedAWrongPlan) {
  const auto all = found([](profile::ProfileSink& sink) {
    profile::Accounting account = with_refused(3);
    account.codes_without_plan = 1;
    sink.on_accounting(account);
    sink.on_samples(std::vector{forgotten_sample(kOwnCode)});
  });
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].why, WhyUnregistered::kWrongPlan);
  EXPECT_EQ(key_of(all[0].why), "wrong_plan");
  EXPECT_EQ(found_text(all[0]), "1 code object of it was refused, because the plan was not loaded");
}

// Loaded too late, or unloaded too early.
TEST(UnregisteredCode, MayBeThereAtOtherTimes) {
  for (const std::uint64_t elsewhere : {0u, 3u}) {
    const auto all = found([&](profile::ProfileSink& sink) {
      sink.on_accounting(with_refused(1));
      sink.on_code(kForgetful, 10, test::small_code(11, 0, kOwnCode));
      sink.on_code_unload(kForgetful, 20, 11);
      std::vector samples(2, forgotten_sample(kOwnCode + 8));
      for (std::uint64_t i = 0; i < elsewhere; ++i) samples.push_back(forgotten_sample(kOwnCode + 0x1000));
      sink.on_samples(samples);
    });
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0].why, elsewhere == 0 ? WhyUnregistered::kOtherTime : WhyUnregistered::kRefused)
        << "most of the samples decide";
  }
}

TEST(UnregisteredCode, WithoutTagsItsSharedCodeIsNobodysEither) {
  const auto all = found([](profile::ProfileSink& sink) {
    profile::ProcessRecord record;
    record.process = kForgetful;
    record.tag_strategy = v1::TAGS_NONE;
    sink.on_process(record);
    sink.on_samples(std::vector{forgotten_sample(kOwnCode)});
  });
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(
      found_text(all[0]),
      "it has registered no code, and it keeps no tags, so shared code that it calls has no owner either");
}

TEST(UnregisteredCode, TheSelectionCounts) {
  const Profile profile = test::make_profile([](profile::ProfileSink& sink) {
    test::give_profile(sink, 10);
    sink.on_samples(std::vector{forgotten_sample(kOwnCode)});
  });
  Selection other;
  other.process = test::kSampleProcess;
  EXPECT_TRUE(unregistered_code(profile, other, 0).empty());
  EXPECT_TRUE(unregistered_code(profile, {}, 1).empty()) << "another source";
  EXPECT_EQ(unregistered_code(profile, {}, 0).size(), 1u);
}

}  // namespace
}  // namespace tailor::query
