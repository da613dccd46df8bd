#include "daemon/query/reports/plan_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "daemon/query/reports/same_plans.h"
#include "tests/support/profile_bytes.h"
#include "tests/support/sample_profile.h"
#include "tests/support/worker_profile.h"

namespace tailor::query {
namespace {

PlanReport report_of(const Profile& profile, const Selection& selection = {}) {
  auto report = plan_report(profile, selection);
  EXPECT_TRUE(report) << (report ? "" : report.error().message);
  return std::move(*report);
}

double share_of(const PlanReport& report, ComponentId op) {
  for (const OperatorRow& row : report.plans.at(0).operators) {
    if (row.id == op) return row.cost.amount.samples;
  }
  return -1;
}

// One round of give_profile is 16 samples: IR 0 .. 10, one of link set {4, 6} of the code, tag of task 6,
// components 1 and 2, one unattributed.
class OneRound : public testing::Test {
 protected:
  Profile profile_ = test::make_profile([](profile::ProfileSink& sink) { test::give_profile(sink, 1); });
  PlanReport report_ = report_of(profile_);
};

TEST_F(OneRound, EveryOperatorGetsWhatWasComputedByHand) {
  EXPECT_DOUBLE_EQ(share_of(report_, 1), 2 + 1 + 0.5 + 0.5);  // IR 6, 7; tag; half of IR 8; half of the set
  EXPECT_DOUBLE_EQ(share_of(report_, 2), 2 + 0.5 + 1);        // IR 3, 5; half of IR 8; IR 9 whole
  EXPECT_DOUBLE_EQ(share_of(report_, 3), 1);                  // IR 2
  EXPECT_DOUBLE_EQ(share_of(report_, 4), 1);                  // IR 1
  EXPECT_DOUBLE_EQ(share_of(report_, 5), 1 + 0.5);            // IR 4, half of the set
}

// The twin that must not pass: costs given to the first owner alone.
TEST_F(OneRound, GivingSharedCostsToOneOwnerWouldBeSeen) {
  const double first_owner_only = 2 + 1 + 1 + 1;
  EXPECT_NE(share_of(report_, 1), first_owner_only);
}

TEST_F(OneRound, ClassesAddUpToEverything) {
  EXPECT_DOUBLE_EQ(report_.operators.amount.samples, 11);
  EXPECT_DOUBLE_EQ(report_.components.amount.samples, 2);
  EXPECT_DOUBLE_EQ(report_.unattributed.amount.samples, 3);  // the kernel's, IR 0 (set-up code), IR 10
  EXPECT_NEAR(report_.operators.share + report_.components.share + report_.unattributed.share, 1, 1e-12);
  EXPECT_DOUBLE_EQ(report_.all.share, 1);
}

Profile profile_with_worker(const std::string& leader) {
  return test::make_profile([&](profile::ProfileSink& sink) {
    test::give_profile(sink, 1);
    test::give_worker(sink, leader);
  });
}

TEST(PlanReportTest, WorkersAreOneExecutionWithTheirLeader) {
  const std::string leader = test::sample_leader();
  Selection only_leader;
  only_leader.executions.insert({test::kSampleProcess, test::kSampleExecution});
  const PlanReport alone = report_of(profile_with_worker("of no leader"), only_leader);
  const PlanReport both = report_of(profile_with_worker(leader), only_leader);
  EXPECT_EQ(both.plans.size(), 1u);
  EXPECT_DOUBLE_EQ(both.all.amount.samples, alone.all.amount.samples + 2);
  EXPECT_DOUBLE_EQ(share_of(both, 1), share_of(alone, 1) + 1);
  EXPECT_DOUBLE_EQ(both.components.amount.samples, alone.components.amount.samples + 1);
  EXPECT_EQ(both.plans.at(0).executions, 1u);
}

// IR 6 is one component, whichever process compiled it. What a link set is, only the worker's code object
// says.
TEST(PlanReportTest, CodeOfWorkersIsTheLeadersWhereItNamesOneComponent) {
  const auto with = [](profile::SampleRecord sample) {
    return test::make_profile([&](profile::ProfileSink& sink) {
      test::give_profile(sink, 1);
      test::give_worker(sink, test::sample_leader());
      v1::CodeObject code = test::sample_code();
      code.set_id(test::kSampleCode + 1);  // the leader has other code of this number
      sink.on_code(test::kWorkerProcess, test::kSampleStart, code);
      sample.process = test::kWorkerProcess;
      sample.attribution.code = code.id();
      sample.attribution.execution = test::kWorkerExecution;
      sink.on_samples({&sample, 1});
    });
  };
  const PlanReport alone = report_of(profile_with_worker(test::sample_leader()));
  const PlanReport single = report_of(with(test::ir_sample(test::kSampleStart + 3, 6)));
  EXPECT_EQ(single.plans.size(), 1u);
  EXPECT_DOUBLE_EQ(share_of(single, 1), share_of(alone, 1) + 1);
  const PlanReport set = report_of(with(test::shared_sample(test::kSampleStart + 3)));
  EXPECT_EQ(set.plans.size(), 2u);
  EXPECT_DOUBLE_EQ(share_of(set, 1), share_of(alone, 1));
}

// Another user's process cannot put its samples into an execution whose identity it has learned.
TEST(PlanReportTest, NobodyWorksForAnotherUsersExecution) {
  const Profile profile = test::make_profile([](profile::ProfileSink& sink) {
    test::give_profile(sink, 1);
    test::give_worker(sink, test::sample_leader());
    profile::ExecutionRecord worker = test::worker_execution(test::sample_leader());
    worker.uid = 1002;
    sink.on_execution(worker);
  });
  EXPECT_EQ(profile.led_by(test::kWorkerProcess, test::kWorkerExecution),
            std::pair(test::kWorkerProcess, test::kWorkerExecution));
}

TEST(PlanReportTest, AWorkerWhoseLeaderIsUnknownStandsForItself) {
  const PlanReport report = report_of(profile_with_worker(std::string(32, '0')));
  EXPECT_EQ(report.plans.size(), 2u);
}

TEST(PlanReportTest, ANumberThatTheEngineLeftOutIsNoOperator) {
  const Profile profile = test::make_profile([](profile::ProfileSink& sink) {
    test::give_profile(sink, 1);
    v1::Plan plan = test::sample_plan();
    plan.mutable_levels(0)->set_component_count(7);
    sink.on_plan(test::kSampleProcess, test::kSampleStart, plan);
  });
  const PlanReport report = report_of(profile);
  EXPECT_EQ(report.plans.at(0).operators.size(), 5u) << "6 and 7 have neither name nor cost";
}

TEST_F(OneRound, UnattributedByReason) {
  std::map<std::string, double> rows;
  for (const NamedRow& row : report_.unattributed_rows) rows[row.key] = row.cost.amount.samples;
  EXPECT_EQ(rows,
            (std::map<std::string, double>{{"no_operator", 1}, {"prologue", 1}, {"unknown_kernel", 1}}));
}

TEST_F(OneRound, ComponentsByName) {
  ASSERT_EQ(report_.component_rows.size(), 2u);
  EXPECT_EQ(report_.component_rows[0].name, "compile");
  EXPECT_EQ(report_.component_rows[1].name, "schedule");
}

TEST_F(OneRound, SharedAndKernelSharesAreShown) {
  // Shared between operators: IR 8 and the set; IR 9 meets again in the join.
  EXPECT_DOUBLE_EQ(report_.all.amount.shared / report_.total.weight, 2.0 / 16);
  EXPECT_DOUBLE_EQ(report_.all.amount.kernel / report_.total.weight, 1.0 / 16);
}

TEST_F(OneRound, PipelinesAndTasks) {
  ASSERT_GE(report_.plans[0].pipelines.size(), 2u);
  const PipelineRow& first = report_.plans[0].pipelines[0];
  EXPECT_EQ(first.name, "orders");
  ASSERT_GE(first.tasks.size(), 3u);
  EXPECT_EQ(first.tasks[0].name, "scan orders");
  EXPECT_THAT(first.tasks[0].operators, testing::ElementsAre("Table scan"));
  double sum = 0;
  for (const PipelineRow& row : report_.plans[0].pipelines) sum += row.cost.amount.samples;
  EXPECT_DOUBLE_EQ(sum, report_.plans[0].cost.amount.samples);
}

TEST_F(OneRound, IntervalsHoldTheShare) {
  EXPECT_DOUBLE_EQ(report_.effective_samples, 16);
  for (const OperatorRow& row : report_.plans[0].operators) {
    EXPECT_LE(row.cost.interval.low, row.cost.share);
    EXPECT_GE(row.cost.interval.high, row.cost.share);
  }
}

TEST_F(OneRound, SharesInAPlanArePartsOfItsOwnTime) {
  const PlanPart& plan = report_.plans.at(0);
  EXPECT_EQ(plan.own.samples, 13u);
  double share = 0, samples = 0;
  for (const OperatorRow& row : plan.operators) {
    EXPECT_NEAR(row.cost.share, row.cost.amount.samples / 13, 1e-12);
    share += row.cost.share;
    samples += row.cost.amount.samples;
  }
  for (const NamedRow& row : plan.unowned) {
    share += row.cost.share;
    samples += row.cost.amount.samples;
  }
  EXPECT_NEAR(share, 1, 1e-12);
  EXPECT_DOUBLE_EQ(samples, 13);
  EXPECT_NEAR(plan.cost.share, 13.0 / 16, 1e-12) << "the plan itself is a part of everything";
  const PlanReport of_everything = report_of(profile_, {.base = Base::kEverything});
  for (const OperatorRow& row : of_everything.plans.at(0).operators) {
    EXPECT_NEAR(row.cost.share, row.cost.amount.samples / 16, 1e-12);
  }
}

// What the engine did for an execution belongs to its plan, beside the plan's own time; what it did for none,
// such as loading, to nobody's.
TEST(PlanReport, WorkForAnExecutionStandsBesideItsPlan) {
  const Profile profile = test::make_profile([](profile::ProfileSink& sink) {
    test::give_context(sink);
    profile::SampleRecord component = test::ir_sample(1, 3), unknown = component, loading;
    component.attribution = {
        .how = profile::How::kComponentInterval, .engine_component = 1, .execution = test::kSampleExecution};
    unknown.attribution = {.reason = profile::Reason::kUnknownUserCode, .execution = test::kSampleExecution};
    loading = component;
    loading.attribution.execution = 0;
    sink.on_samples(
        std::vector{test::ir_sample(1, 3), component, component, unknown, loading, loading, loading});
  });
  const PlanReport report = report_of(profile);
  ASSERT_EQ(report.plans.size(), 1u);
  const PlanPart& plan = report.plans[0];
  EXPECT_EQ(plan.own.samples, 1u);
  ASSERT_EQ(plan.engine_rows.size(), 1u);
  EXPECT_EQ(plan.engine_rows[0].name, "compile");
  EXPECT_DOUBLE_EQ(plan.engine_rows[0].cost.amount.samples, 2);
  ASSERT_EQ(plan.unattributed_rows.size(), 1u);
  EXPECT_DOUBLE_EQ(plan.unattributed_rows[0].cost.amount.samples, 1);
  EXPECT_DOUBLE_EQ(report.components.amount.samples, 5);
  EXPECT_EQ(report.total.samples, 7u);
}

// Of `executions`, every second one is drawn, and has ten samples: of operator 2, or of operator 1 where
// `differ` says so. Each may be of a plan of its own. One more execution is drawn and has no sample.
Profile profile_of_share(ExecutionHandle executions, const std::function<bool(ExecutionHandle)>& differ,
                         bool own_plans = false) {
  return test::make_profile([&](profile::ProfileSink& sink) {
    test::give_context(sink);
    std::vector<profile::SampleRecord> samples;
    for (ExecutionHandle handle = 100; handle < 100 + executions; ++handle) {
      profile::ExecutionRecord execution;
      execution.process = test::kSampleProcess;
      execution.handle = handle;
      execution.id.bytes.fill(static_cast<std::uint8_t>(handle));
      execution.plan = own_plans ? static_cast<PlanId>(handle) : test::kSamplePlan;
      execution.begin = test::kSampleStart;
      execution.end = execution.begin + 1000;
      execution.drawn = handle % 2 == 0;
      sink.on_execution(execution);
      if (own_plans) {
        v1::Plan plan = test::sample_plan();
        plan.set_id(execution.plan);
        sink.on_plan(test::kSampleProcess, test::kSampleStart, plan);
      }
      for (int i = 0; execution.drawn && i < 10; ++i) {
        samples.push_back(test::tag_sample(test::kSampleStart + i, differ(handle) ? 6 : 5));
        samples.back().attribution.execution = handle;
        samples.back().attribution.plan = execution.plan;
      }
    }
    sink.on_samples(samples);
  });
}

double width(const PlanReport& report, ComponentId op) {
  for (const OperatorRow& row : report.plans.at(0).operators) {
    if (row.id == op) return row.cost.interval.high - row.cost.interval.low;
  }
  return -1;
}

// Samples of one execution are alike: ten executions tell less than their hundred samples.
TEST(PlanReport, OfAShareOfTheExecutionsIntervalsFollowFromExecutions) {
  const PlanReport alike = report_of(profile_of_share(20, [](auto) { return true; }));
  const PlanReport differ = report_of(profile_of_share(20, [](auto handle) { return handle % 4 == 0; }));
  ASSERT_EQ(differ.plans.size(), 1u);
  EXPECT_EQ(differ.total.samples, 100u);
  EXPECT_DOUBLE_EQ(differ.spread.drawn, 11.0 / 21);
  EXPECT_DOUBLE_EQ(differ.spread.sampled, 10);
  EXPECT_LT(differ.effective_samples, 25);
  const Interval by_samples = wilson(0.5, 100);
  EXPECT_GT(width(differ, 1), 1.8 * (by_samples.high - by_samples.low));
  EXPECT_NEAR(width(differ, 1), width(differ, 2), 1e-9);
  // Ten executions of ten samples each, five of them in each row.
  const RowSpread row{50, 5 * 100, 5 * 100};
  const WholeSpread whole{11.0 / 21, 10, 100, 10 * 100};
  const double average = effective_samples(whole, 100, 100, std::vector{row, row});
  EXPECT_NEAR(differ.effective_samples, average, 1e-6);
  const Interval expected = wilson(0.5, effective_samples(whole, 100, 100, row, average));
  EXPECT_NEAR(width(differ, 1), expected.high - expected.low, 1e-6);
  EXPECT_LT(alike.effective_samples, 25) << "all of them are one row";
  EXPECT_LT(scale_of(differ).sample_worth(), 0.25);
}

TEST(PlanReport, OfExecutionsThatAreAllDrawnSamplesCount) {
  const Profile profile = profile_of_share(20, [](auto handle) { return handle % 4 == 0; });
  Selection drawn;
  for (ExecutionHandle handle = 100; handle < 120; handle += 2)
    drawn.executions.insert({test::kSampleProcess, handle});
  const PlanReport report = report_of(profile, drawn);
  EXPECT_TRUE(report.spread.all_drawn());
  EXPECT_DOUBLE_EQ(report.effective_samples, 100);
  const Interval by_samples = wilson(0.5, 100);
  EXPECT_NEAR(width(report, 1), by_samples.high - by_samples.low, 1e-9);
}

TEST(PlanReport, OneExecutionOfSeveralTellsNoShare) {
  const PlanReport report = report_of(profile_of_share(2, [](auto) { return true; }));
  EXPECT_EQ(report.effective_samples, 0);
  EXPECT_EQ(report.operators.interval.low, 0);
  EXPECT_EQ(report.operators.interval.high, 1);
  EXPECT_EQ(width(report, 1), 1);
}

// A plan whose only execution is drawn is known by its samples. All plans of the tree together are not.
TEST(PlanReport, PlansOfOneTreeAreKnownByTheirExecutionsTogether) {
  PlanReport report = report_of(profile_of_share(20, [](auto handle) { return handle % 4 == 0; }, true));
  ASSERT_EQ(report.plans.size(), 10u);
  EXPECT_DOUBLE_EQ(report.plans[0].effective_samples, 10);
  unite_plans(report);
  ASSERT_EQ(report.plans.size(), 1u);
  EXPECT_LT(report.plans[0].effective_samples, 25);
  const PlanReport one_plan = report_of(profile_of_share(20, [](auto handle) { return handle % 4 == 0; }));
  EXPECT_NEAR(width(report, 1), width(one_plan, 1), 1e-9);
}

TEST_F(OneRound, LevelReportAddsUpToo) {
  for (const char* level : {"task", "ir", "operator"}) {
    auto report = level_report(profile_, {}, level);
    ASSERT_TRUE(report) << report.error().message;
    double sum = report->plans[0].unknown.amount.samples;
    for (const ComponentRow& row : report->plans[0].rows) sum += row.cost.amount.samples;
    EXPECT_NEAR(sum, report->summary.plans[0].cost.amount.samples, 1e-9) << level;
  }
  EXPECT_THAT(level_report(profile_, {}, "nosuch").error().message,
              "there is no level \"nosuch\"; there are: function, ir, operator, task");
}

// IR 1 .. 10 exact, IR 0 set-up code, the set shared; the tag's sample and those of components are at no
// link.
TEST_F(OneRound, LinksOfSamplesInGeneratedCode) {
  using profile::Quality;
  EXPECT_EQ(
      report_.evidence.by_link,
      (std::map<Quality, double>{{Quality::kExact, 10}, {Quality::kShared, 1}, {Quality::kPrologue, 1}}));
}

// Any mixture of samples: nothing is lost or counted twice on the way into a report.
TEST(PlanReport, EverythingAddsUpForAnyMixture) {
  std::mt19937 random(21);
  for (int round = 0; round < 60; ++round) {
    std::vector<profile::SampleRecord> samples;
    const int n = 1 + static_cast<int>(random() % 200);
    double weight = 0;
    for (int i = 0; i < n; ++i) {
      const TimeNs time = test::kSampleStart + i;
      profile::SampleRecord s = random() % 4 == 0   ? test::shared_sample(time)
                                : random() % 4 == 0 ? test::tag_sample(time, random() % 9)
                                : random() % 4 == 0 ? test::component_sample(time, random() % 4)
                                                    : test::ir_sample(time, random() % 14);
      s.weight = 1 + random() % 1000;
      s.attribution.how = static_cast<profile::How>(random() % 8);
      s.attribution.plan = random() % 3;
      s.attribution.code = random() % 4;
      s.attribution.level = random() % 5;
      s.attribution.link = random() % 30;
      s.attribution.kernel = random() % 2;
      weight += static_cast<double>(s.weight);
      samples.push_back(s);
    }
    const Profile profile = test::make_profile([&](profile::ProfileSink& sink) {
      test::give_context(sink);
      sink.on_samples(samples);
    });
    const PlanReport report = report_of(profile);
    ASSERT_NEAR(report.total.weight, weight, 1e-6);
    ASSERT_NEAR(
        report.operators.amount.weight + report.components.amount.weight + report.unattributed.amount.weight,
        weight, 1e-6 * weight);
    double rows = 0;
    for (const PlanPart& part : report.plans) {
      for (const OperatorRow& row : part.operators) rows += row.cost.amount.weight;
      double tasks = 0;
      for (const PipelineRow& row : part.pipelines) {
        double in_pipeline = 0;
        for (const ComponentRow& task : row.tasks) in_pipeline += task.cost.amount.weight;
        ASSERT_NEAR(in_pipeline, row.cost.amount.weight, 1e-6 * weight);
        tasks += in_pipeline;
      }
      ASSERT_NEAR(tasks, part.cost.amount.weight, 1e-6 * weight);
    }
    ASSERT_NEAR(rows, report.operators.amount.weight, 1e-6 * weight);
    for (const NamedRow& row : report.component_rows) rows += row.cost.amount.weight;
    for (const NamedRow& row : report.unattributed_rows) rows += row.cost.amount.weight;
    ASSERT_NEAR(rows, weight, 1e-6 * weight);
  }
}

// A tag's sample carries a quality too, that of nothing: what a row table said counts, and nothing else.
TEST(PlanReport, LinksAreCountedForAnyMixture) {
  using profile::How, profile::Quality;
  std::mt19937 random(5);
  std::map<Quality, double> expected, of_all;
  std::vector<profile::SampleRecord> samples;
  for (int i = 0; i < 500; ++i) {
    profile::SampleRecord s = test::ir_sample(test::kSampleStart + i, 1 + random() % 9);
    s.attribution.how = static_cast<How>(random() % 9);
    s.attribution.quality = static_cast<Quality>(random() % 5);
    const auto how = static_cast<int>(s.attribution.how);
    if (how == 1 || how == 3 || how == 5) expected[s.attribution.quality] += 1;
    of_all[s.attribution.quality] += 1;
    samples.push_back(s);
  }
  const PlanReport report = report_of(test::make_profile([&](profile::ProfileSink& sink) {
    test::give_context(sink);
    sink.on_samples(samples);
  }));
  EXPECT_EQ(report.evidence.by_link, expected);
  EXPECT_NE(report.evidence.by_link, of_all);
  const ByRule& by = report.evidence.all;
  double links = 0;
  for (const auto& [quality, n] : report.evidence.by_link) links += n;
  EXPECT_DOUBLE_EQ(links, by.at(How::kCode) + by.at(How::kKernelCode) + by.at(How::kCallchain));
}

TEST(PlanReport, UnitsAreNeverAdded) {
  const Profile profile = test::make_profile([](profile::ProfileSink& sink) {
    test::give_context(sink);
    profile::RecordingInfo info;
    info.sources = {{0, "cpu-clock", profile::Unit::kNsOnCpu, 1'000'000, false},
                    {1, "page-faults", profile::Unit::kEvents, 1, false}};
    sink.on_recording(info);
    std::vector<profile::SampleRecord> samples(5, test::ir_sample(test::kSampleStart, 4));
    for (int i = 0; i < 3; ++i) {
      samples.push_back(test::ir_sample(test::kSampleStart, 6));
      samples.back().source = 1;
      samples.back().weight = 1;
    }
    sink.on_samples(samples);
  });
  const PlanReport time = report_of(profile);
  EXPECT_EQ(time.source.name, "cpu-clock");
  EXPECT_EQ(time.total.samples, 5u);
  ASSERT_EQ(time.other_sources.size(), 1u);
  EXPECT_EQ(time.other_sources[0].second.samples, 3u);
  const PlanReport faults = report_of(profile, {.process = {}, .executions = {}, .source = 1});
  EXPECT_EQ(faults.total.samples, 3u);
  EXPECT_DOUBLE_EQ(faults.total.weight, 3);
}

TEST(PlanReport, ExecutionsDoNotMix) {
  const Profile profile = test::make_profile([](profile::ProfileSink& sink) {
    test::give_context(sink);
    std::vector<profile::SampleRecord> samples(4, test::ir_sample(test::kSampleStart, 4));
    samples.push_back(test::ir_sample(test::kSampleStart, 6));
    samples.back().attribution.execution = 99;
    sink.on_samples(samples);
  });
  const PlanReport one = report_of(profile, {.executions = {{test::kSampleProcess, test::kSampleExecution}}});
  EXPECT_EQ(one.execution, (InProcess<ExecutionHandle>{test::kSampleProcess, test::kSampleExecution}));
  EXPECT_FALSE(report_of(profile, {}).execution) << "nobody asked for one";
  EXPECT_EQ(one.total.samples, 4u);
  EXPECT_DOUBLE_EQ(share_of(one, 1), 0);
  EXPECT_FALSE(plan_report(profile, {.executions = {{test::kSampleProcess, 12345}}}));
}

TEST(PlanReport, MissingDictionaryIsAReasonNotACrash) {
  const Profile profile = test::make_profile([](profile::ProfileSink& sink) {
    sink.on_samples(std::vector{test::ir_sample(test::kSampleStart, 4)});
  });
  const PlanReport report = report_of(profile);
  ASSERT_EQ(report.unattributed_rows.size(), 1u);
  EXPECT_EQ(report.unattributed_rows[0].key, "dictionary_missing");
}

TEST(PlanReport, LossesAreCounted) {
  const Profile profile = test::make_profile([](profile::ProfileSink& sink) {
    test::give_profile(sink, 1);
    profile::Accounting rings;
    rings.lost_ring = 4;
    rings.received = rings.filtered = 7;  // of others
    rings.of_cpu(1).lost_ring = 4;
    sink.on_accounting(rings);
  });
  const PlanReport report = report_of(profile);
  const profile::Accounting& total = report.accounting.total;
  const auto received = static_cast<double>(total.received - 7);
  EXPECT_EQ(report.accounting.lost(), 4u);
  EXPECT_DOUBLE_EQ(report.accounting.lost_share(), 4.0 / (received + 4));
  EXPECT_EQ(total.received, total.attributed + total.unattributed + total.filtered + total.late);
  EXPECT_EQ(total.cpus.at(0).cpu, 1u);
}

TEST(PlanReport, EmptyProfile) {
  const Profile profile = test::make_profile([](profile::ProfileSink& sink) { test::give_context(sink); });
  EXPECT_THAT(plan_report(profile, {}).error().message, testing::HasSubstr("no sample"));
}

TEST(PlanReport, TimeRange) {
  const std::string bytes = test::profile_bytes([](profile::ProfileSink& sink) {
    test::give_context(sink);
    for (TimeNs t = 1; t <= 10; ++t) sink.on_samples(std::vector{test::ir_sample(t, 4)});
  });
  EXPECT_EQ(report_of(test::load(bytes, {.from = 3, .to = 5})).total.samples, 3u);
}

}  // namespace
}  // namespace tailor::query
