// One process says very much that takes little room in a file: what others said stays whole in every report.
#include "daemon/query/load/profile_shares.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "daemon/query/json/report_json.h"
#include "daemon/query/load/profile_loader.h"
#include "daemon/query/reports/plan_report.h"
#include "tests/support/profile_bytes.h"
#include "tests/support/sample_profile.h"

namespace tailor::query {
namespace {

using testing::HasSubstr;

constexpr ProcessId kHostile{666, 1};
constexpr ProcessId kOther{667, 1};
constexpr int kVictimRounds = 20;

LoadOptions all_of_it() {
  LoadOptions options;
  options.functions = true;
  options.keep_samples = true;
  return options;
}

// What a report of the victim's process says, apart from what is said of the file.
std::string report_of_victim(const Profile& profile) {
  Selection selection;
  selection.process = test::kSampleProcess;
  const auto report = plan_report(profile, selection);
  EXPECT_TRUE(report) << report.error().message;
  if (!report) return "";
  Json json = json_of(profile, *report);
  for (const char* of_file : {"file", "accounting", "recording"}) json.erase(of_file);
  // Where a part of the file is left out, nobody knows how many executions have no sample.
  for (Json& plan : json["plans"]) plan.erase("executions_without_sample");
  return json.dump(1);
}

std::size_t marks_of_victim(const Profile& profile) {
  return static_cast<std::size_t>(
      std::ranges::count(profile.marks(), test::kSampleProcess, &profile::ActivityRecord::process));
}

using Give = std::function<void(profile::ProfileSink&)>;

// The attack comes first, when nothing is taken yet.
std::string attacked(const Give& attack) {
  return test::profile_bytes([&](profile::ProfileSink& sink) {
    profile::ProcessRecord hostile;
    hostile.process = kHostile;
    hostile.comm = "hostile";
    sink.on_process(hostile);
    attack(sink);
    test::give_profile(sink, kVictimRounds);
  });
}

// One loader, without shares: all together within one budget.
Status load_without_shares(const std::string& bytes, ProfileLoader& loader) {
  store::MemoryInput input(bytes);
  return store::read_profile(input, loader, loader.read_report(), loader.said_loss(),
                             [&](std::uint64_t read) { return loader.may_go_on(read); });
}

void expect_harmless(const Give& attack, std::uint64_t LeftOut::* left_out) {
  const std::string bytes = attacked(attack);
  ProfileLoader old(all_of_it());
  const Status failed = load_without_shares(bytes, old);
  ASSERT_FALSE(failed) << "the attack takes more than one budget for all";
  EXPECT_THAT(failed.error().message, HasSubstr("made to do harm"));

  const Profile alone = test::load(attacked([](profile::ProfileSink&) {}), all_of_it());
  store::MemoryInput input(bytes);
  const auto profile = Profile::load(input, all_of_it());
  ASSERT_TRUE(profile) << profile.error().message;
  EXPECT_EQ(report_of_victim(*profile), report_of_victim(alone));
  EXPECT_EQ(profile->thread_name(test::kSampleProcess, 4243), alone.thread_name(test::kSampleProcess, 4243));
  EXPECT_EQ(marks_of_victim(*profile), marks_of_victim(alone));
  ASSERT_EQ(profile->left_out().size(), 1u);
  EXPECT_GT(profile->left_out().at(kHostile).*left_out, 0u);
  EXPECT_THAT(profile->left_out_text(), HasSubstr("Of process 666 (hostile), "));
  EXPECT_EQ(alone.left_out_text(), "");
}

TEST(ProfileShares, FortyPlansWithNamesThatCompressWell) {
  expect_harmless(
      [](profile::ProfileSink& sink) {
        v1::Plan plan;
        v1::Level& level = *plan.add_levels();
        level.set_component_count(300);
        for (std::uint32_t id = 1; id <= 300; ++id) {
          v1::Component& component = *level.add_components();
          component.set_id(id);
          component.set_name(std::string(4'000, 'x'));
        }
        for (PlanId id = 1; id <= 40; ++id) {
          plan.set_id(id);
          sink.on_plan(kHostile, 0, plan);
        }
      },
      &LeftOut::plans);
}

// Names that came late are read first, and then everything is read once more with them: by then the first
// blocks alone would not pay for all of them.
TEST(ProfileShares, NamesThatCameLateCountOnce) {
  constexpr std::uint64_t kFunctions = 250'000;
  const std::string bytes = attacked([](profile::ProfileSink& sink) {
    std::mt19937_64 draw(1);
    v1::CodeObject code;
    code.set_told_by(v1::TOLD_BY_JITDUMP);
    code.set_size(64);
    for (std::uint64_t id = 1; id <= kFunctions; ++id) {
      code.set_id(id);
      code.set_base(0x7000'0000'0000 + 64 * id);
      code.set_name(fmt::format("{:016x}{:016x}", draw(), draw()));
      sink.on_code(kHostile, 0, code);
    }
  });
  ProfileLoader once(all_of_it());
  ASSERT_TRUE(load_without_shares(bytes, once));
  EXPECT_TRUE(once.learned_late());
  EXPECT_FALSE(once.may_go_on(1)) << "the first blocks would not pay for it";

  const Profile profile = test::load(bytes, all_of_it());
  EXPECT_EQ(profile.left_out_text(), "");
  EXPECT_EQ(report_of_victim(profile),
            report_of_victim(test::load(attacked([](profile::ProfileSink&) {}), all_of_it())));
}

// However many processes a user has.
TEST(ProfileShares, PlansOfAHundredProcesses) {
  const Give attack = [](profile::ProfileSink& sink) {
    v1::Plan plan;
    plan.set_id(1);
    plan.set_name(std::string(1'000'000, 'x'));
    for (int pid = 1'000; pid < 1'100; ++pid) sink.on_plan({pid, 1}, 0, plan);
  };
  const std::string bytes = attacked(attack);
  ProfileLoader old(all_of_it());
  ASSERT_FALSE(load_without_shares(bytes, old));
  const Profile profile = test::load(bytes, all_of_it());
  EXPECT_EQ(report_of_victim(profile), report_of_victim(test::load(attacked([](profile::ProfileSink&) {}))));
  EXPECT_EQ(profile.left_out().size(), 100u);
  EXPECT_THAT(profile.left_out_text(), HasSubstr("Something is left out of 97 more processes."));
}

TEST(ProfileShares, CodeOfThousandsOfClassesWithLongNames) {
  expect_harmless(
      [](profile::ProfileSink& sink) {
        v1::CodeObject code;
        code.set_base(0x10000);
        code.set_size(1u << 20);
        for (std::uint32_t i = 0; i < 2'895; ++i) {
          v1::CodeSymbol& symbol = *code.add_symbols();
          symbol.set_offset(i * 16);
          symbol.set_size(16);
          symbol.set_name(std::string(2'000, 'C'));
        }
        for (CodeId id = 1; id <= 20; ++id) {
          code.set_id(id);
          sink.on_code(kHostile, 0, code);
        }
      },
      &LeftOut::code);
}

TEST(ProfileShares, LabelsOfExecutions) {
  expect_harmless(
      [](profile::ProfileSink& sink) {
        profile::ExecutionRecord execution;
        execution.process = kHostile;
        for (ExecutionHandle handle = 1; handle <= 60; ++handle) {
          execution.handle = handle;
          execution.labels = {{"query", std::string((2u << 20) - handle, 'q')}};
          sink.on_execution(execution);
        }
      },
      &LeftOut::texts);
}

TEST(ProfileShares, NamesOfComponents) {
  expect_harmless(
      [](profile::ProfileSink& sink) {
        for (std::uint32_t id = 1; id <= 30'000; ++id)
          sink.on_component(kHostile, id, std::string(4'000, 'n'));
      },
      &LeftOut::names);
}

TEST(ProfileShares, KindsOfRegions) {
  expect_harmless(
      [](profile::ProfileSink& sink) {
        v1::RegionKind kind;
        kind.set_name(std::string(4'000, 'r'));
        for (std::uint32_t id = 1; id <= 30'000; ++id) {
          kind.set_id(id);
          sink.on_region_kind(kHostile, kind);
        }
      },
      &LeftOut::names);
}

TEST(ProfileShares, MarksOfThreads) {
  expect_harmless(
      [](profile::ProfileSink& sink) {
        std::vector<profile::ActivityRecord> marks(1'000'000);
        for (profile::ActivityRecord& mark : marks) {
          mark.process = kHostile;
          mark.kind = TAILOR_LOG_ITERATION;
        }
        sink.on_activity(marks);
        sink.on_activity(marks);
      },
      &LeftOut::marks);
}

// ---- How the budget is divided. ----

constexpr std::size_t kMB = std::size_t{1} << 20;

ProfileShares::Item plan_of(ProcessId process, std::uint64_t id = 1) {
  return {process, Said::kPlans, 0, id};
}

TEST(ProfileShares, WhoNeedsLittleHasItWhole) {
  ProfileShares shares;
  for (std::uint64_t id = 0; id < 100; ++id) shares.want(plan_of(kHostile, id), kMB);
  shares.want(plan_of(kOther), kMB);
  shares.divide(0);
  EXPECT_TRUE(shares.may_keep(plan_of(kOther), kMB));
  std::uint64_t kept = 0;
  for (std::uint64_t id = 0; id < 100; ++id) kept += shares.may_keep(plan_of(kHostile, id), kMB);
  EXPECT_EQ(kept, 63u) << "the rest of 64 MB";
  EXPECT_EQ(shares.left_out().at(kHostile).plans, 37u);
  EXPECT_FALSE(shares.left_out().contains(kOther));
}

TEST(ProfileShares, ManyThatWantMuchHaveEvenParts) {
  ProfileShares shares;
  for (int pid = 1; pid <= 1'000; ++pid) shares.want(plan_of({pid, 1}), kMB);
  shares.want(plan_of(kOther), kMB / 32);
  shares.divide(0);
  EXPECT_TRUE(shares.may_keep(plan_of(kOther), kMB / 32));
  EXPECT_FALSE(shares.may_keep(plan_of({5, 1}), kMB));
  EXPECT_TRUE(shares.may_keep(plan_of({6, 1}), kMB / 16));
}

// A block that is one process's own counts for it alone.
TEST(ProfileShares, WhatBlocksPayForIsTheirs) {
  ProfileShares shares;
  for (int pid = 1; pid <= 1'000; ++pid) shares.want(plan_of({pid, 1}), 100 * kMB);
  shares.want(plan_of(kOther), 50 * kMB);
  shares.paid(kOther, kMB);
  shares.divide(kMB);
  EXPECT_TRUE(shares.may_keep(plan_of(kOther), 50 * kMB));
}

TEST(ProfileShares, WhatIsSaidAgainCountsOnce) {
  ProfileShares shares;
  for (int i = 0; i < 100; ++i) shares.want(plan_of(kOther), kMB);
  for (std::uint64_t id = 0; id < 1'000; ++id) shares.want(plan_of(kHostile, id), kMB);
  shares.divide(0);
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(shares.may_keep(plan_of(kOther), kMB));
  EXPECT_EQ(shares.kept(), kMB);
  for (int i = 0; i < 100; ++i) shares.may_keep(plan_of(kHostile, 7), 100 * kMB);
  EXPECT_EQ(shares.left_out().at(kHostile).plans, 1u);
}

// Behind a mark that is missing nobody knows what a thread did.
TEST(ProfileShares, NoMarkIsKeptBehindOneThatIsNot) {
  ProfileShares shares;
  shares.want_more(kOther, 100 * kMB);
  shares.divide(0);
  EXPECT_TRUE(shares.may_keep_mark(kOther, kMB));
  EXPECT_FALSE(shares.may_keep_mark(kOther, 100 * kMB));
  EXPECT_FALSE(shares.may_keep_mark(kOther, 1));
  EXPECT_EQ(shares.left_out().at(kOther).marks, 2u);
  shares.begin();
  EXPECT_TRUE(shares.may_keep_mark(kOther, 1));
}

}  // namespace
}  // namespace tailor::query
