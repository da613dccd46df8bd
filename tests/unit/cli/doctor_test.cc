// What doctor finds in a profile of an engine that uses its agent wrongly.
#include "viewer/cli/doctor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "daemon/query/symbols/symbols.h"
#include "tests/support/called_profile.h"
#include "tests/support/engine_messages.h"
#include "tests/support/profile_bytes.h"
#include "tests/support/sample_profile.h"
#include "tests/support/walked_stacks.h"
#include "viewer/cli/doctor_names.h"

namespace tailor::cli {
namespace {

std::vector<Finding> findings_of(const std::string& check,
                                 const std::function<void(profile::ProfileSink&)>& give) {
  const query::Profile profile = test::make_profile(give);
  const auto report = query::plan_report(profile, {});
  EXPECT_TRUE(report);
  std::vector<Finding> found = look_at_profile(profile, *report);
  std::erase_if(found, [&](const Finding& each) { return each.check != check; });
  return found;
}

profile::ProcessRecord process(std::int32_t pid, const std::string& notice) {
  profile::ProcessRecord record;
  record.process = {pid, 1};
  record.agent_notices = {notice};
  return record;
}

// The profile keeps them, and processes that say the same are counted.
TEST(Doctor, SaysWhatAgentsNoticed) {
  EXPECT_TRUE(findings_of("agent", [](profile::ProfileSink& sink) { test::give_profile(sink, 1); }).empty());
  const auto found = findings_of("agent", [](profile::ProfileSink& sink) {
    test::give_profile(sink, 1);
    sink.on_process(process(50, "r15 is not kept"));
    sink.on_process(process(51, "r15 is not kept"));
    sink.on_process(process(52, "no tag for component 16384"));
  });
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].found, "the agent of process 52 says: no tag for component 16384");
  EXPECT_EQ(found[1].found, "the agent of process 50 says: r15 is not kept (2 processes say this)");
  EXPECT_TRUE(std::ranges::all_of(found, [](const Finding& each) {
    return each.state == Finding::State::kProblem && !each.remedy.empty();
  }));
}

TEST(Doctor, NamesWhyGeneratedCodeIsNobodys) {
  const auto forgotten = [](std::int32_t pid) {
    profile::SampleRecord sample =
        test::unattributed_sample(test::kSampleStart, profile::Reason::kUnregisteredCode);
    sample.process = {pid, 1};
    return sample;
  };
  const auto give = [&](std::size_t samples) {
    return findings_of("generated code", [&](profile::ProfileSink& sink) {
      test::give_profile(sink, 10);
      for (const std::int32_t pid : {50, 51, 52}) {
        profile::ProcessRecord record;
        record.process = {pid, 1};
        record.tag_strategy = v1::TAGS_R15;
        sink.on_process(record);
      }
      profile::Accounting refused;
      refused.process = {52, 1};
      refused.messages = refused.messages_rejected = 1;
      sink.on_accounting(refused);
      for (std::size_t i = 0; i < samples; ++i)
        sink.on_samples(std::vector{forgotten(50), forgotten(51), forgotten(52)});
    });
  };
  EXPECT_TRUE(give(0).empty());
  const auto few = give(1);
  ASSERT_EQ(few.size(), 2u);
  EXPECT_EQ(few[0].state, Finding::State::kNote) << "less than one in a hundred";
  const auto many = give(10);
  ASSERT_EQ(many.size(), 2u);
  EXPECT_EQ(many[0].state, Finding::State::kProblem);
  EXPECT_EQ(many[0].found,
            "5.3 % of the samples are in generated code that nobody registered: process 52: 1 message of its "
            "agent was "
            "refused, and its code may be among them");
  EXPECT_EQ(
      many[1].found,
      "10.5 % of the samples are in generated code that nobody registered: process 50: it has registered no "
      "code (2 processes are like this)");
  EXPECT_NE(many[0].remedy, many[1].remedy);
  EXPECT_EQ(many[0].cause, "refused");
  EXPECT_EQ(many[1].cause, "no_code");
}

TEST(Doctor, SaysWhatAgentsDidNotSend) {
  const auto of = [](std::uint64_t messages, std::uint64_t unsent) {
    return findings_of("messages", [=](profile::ProfileSink& sink) {
      test::give_profile(sink, 10);
      profile::Accounting account;
      account.process = {50, 1};
      account.messages = messages;
      account.agent_unsent = unsent;
      sink.on_accounting(account);
    });
  };
  EXPECT_TRUE(of(1000, 0).empty());
  const auto few = of(10, 2);
  ASSERT_EQ(few.size(), 1u);
  EXPECT_EQ(few[0].state, Finding::State::kNote);
  const auto many = of(10'000, 6425);
  ASSERT_EQ(many.size(), 1u);
  EXPECT_EQ(many[0].state, Finding::State::kProblem);
  EXPECT_NE(many[0].found.find("6,425 messages"), std::string::npos) << many[0].found;
  EXPECT_NE(many[0].remedy, few[0].remedy);
}

// One process, which kept tags, and what else its profile says.
std::vector<Finding> forgotten_code(const std::string& check, std::uint32_t tags,
                                    const std::function<void(profile::ProfileSink&)>& give) {
  return findings_of(check, [&](profile::ProfileSink& sink) {
    test::give_profile(sink, 10);
    profile::ProcessRecord record;
    record.process = {50, 1};
    record.tag_strategy = tags;
    sink.on_process(record);
    give(sink);
    profile::SampleRecord sample =
        test::unattributed_sample(test::kSampleStart, profile::Reason::kUnregisteredCode);
    sample.process = {50, 1};
    sample.ip = sample.user_ip = 0x40008;
    sink.on_samples(std::vector(10, sample));
  });
}

TEST(Doctor, HasAKeyForEachCauseOfForgottenCode) {
  const auto cause_of = [](const std::function<void(profile::ProfileSink&)>& give) {
    const auto found = forgotten_code("generated code", v1::TAGS_R15, give);
    EXPECT_EQ(found.size(), 1u);
    return found.empty() ? "" : found[0].cause;
  };
  const auto refused = [](std::uint64_t without_plan) {
    return [=](profile::ProfileSink& sink) {
      profile::Accounting account;
      account.process = {50, 1};
      account.messages = account.messages_rejected = 2;
      account.codes_without_plan = without_plan;
      sink.on_accounting(account);
    };
  };
  const auto code_at = [](std::uint64_t base) {
    return [=](profile::ProfileSink& sink) {
      sink.on_code({50, 1}, 10, test::small_code(11, 0, base));
      sink.on_code_unload({50, 1}, 20, 11);
    };
  };
  EXPECT_EQ(cause_of([](profile::ProfileSink&) {}), "no_code");
  EXPECT_EQ(cause_of(refused(1)), "wrong_plan");
  EXPECT_EQ(cause_of(refused(0)), "refused");
  EXPECT_EQ(cause_of(code_at(0x40000)), "other_time");
  EXPECT_EQ(cause_of(code_at(0x80000)), "not_this_code") << "as of a module that was cloned";
}

TEST(Doctor, SaysThatAnAgentKeepsNoTags) {
  const auto nothing_more = [](profile::ProfileSink&) {};
  EXPECT_TRUE(forgotten_code("tags", v1::TAGS_R15, nothing_more).empty());
  const auto found = forgotten_code("tags", v1::TAGS_NONE, nothing_more);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].cause, "no_tags");
  EXPECT_EQ(found[0].found,
            "the agent of process 50 keeps no tags, so shared code that generated code calls has no owner");
  EXPECT_NE(findings_json(found).find("\"cause\": \"no_tags\""), std::string::npos);
}

TEST(Doctor, SaysWhyStacksHaveNoBegin) {
  const auto found_of = [](std::uint64_t samples) {
    return findings_of("stacks", [&](profile::ProfileSink& sink) {
      test::give_profile(sink, 1);
      sink.on_accounting(test::walked_stacks(16, samples));
    });
  };
  const auto two = found_of(100);
  ASSERT_EQ(two.size(), 2u);
  EXPECT_EQ(two[0].found, "8.0 % of the samples have a stack without a begin: a stack longer than its copy");
  EXPECT_NE(two[0].remedy.find("--callchain --stacks always"), std::string::npos);
  EXPECT_EQ(two[1].found, "4.0 % of the samples have a stack without a begin: no rule for the address");
  EXPECT_NE(two[1].remedy.find("-fasynchronous-unwind-tables"), std::string::npos);
  EXPECT_TRUE(std::ranges::all_of(
      two, [](const Finding& each) { return each.state == Finding::State::kNote && !each.remedy.empty(); }));
  const auto one = found_of(500);
  ASSERT_EQ(one.size(), 1u) << "no rule: less than one in a hundred";
  EXPECT_EQ(one[0].found, "1.6 % of the samples have a stack without a begin: a stack longer than its copy");
  const auto fine = found_of(2000);
  ASSERT_EQ(fine.size(), 1u);
  EXPECT_EQ(fine[0].state, Finding::State::kOk);
  EXPECT_EQ(fine[0].found, "0.6 % of the samples have a stack without a begin");
  EXPECT_TRUE(findings_of("stacks", [](profile::ProfileSink& sink) { test::give_profile(sink, 1); }).empty())
      << "no stack was unwound";
}

TEST(Doctor, TellsExecutionsWithoutOperatorsFromNoEngine) {
  const auto plans = [](const auto& give) {
    const auto found = findings_of("plans", give);
    return found.size() == 1 ? found[0].found : "";
  };
  const auto give_sample = [](profile::ProfileSink& sink) {
    sink.on_samples(
        std::vector{test::unattributed_sample(test::kSampleStart, profile::Reason::kUnknownUserCode)});
  };
  EXPECT_EQ(plans([&](profile::ProfileSink& sink) {
              test::give_context(sink);
              give_sample(sink);
            }),
            "executions were recorded, but no sample has an operator of their plans");
  EXPECT_EQ(plans([&](profile::ProfileSink& sink) {
              profile::RecordingInfo info;
              info.start = test::kSampleStart;
              info.sources.push_back({0, "cpu-clock", profile::Unit::kNsOnCpu, 1'000'000, false});
              sink.on_recording(info);
              give_sample(sink);
            }),
            "no query plan was recorded");
  EXPECT_NE(
      plans([](profile::ProfileSink& sink) { test::give_profile(sink, 1); }).find("in operators of 1 plan"),
      std::string::npos);
}

std::vector<Finding> names_of(const std::function<void(profile::ProfileSink&)>& give) {
  query::LoadOptions options;
  options.functions = true;
  const auto report = query::function_report(test::load(test::profile_bytes(give), options), {});
  EXPECT_TRUE(report);
  return look_at_names(*report);
}

// Of four samples three are in a library that is not there, and one is in generated code that has a name.
TEST(Doctor, SaysWhyFunctionsHaveNoNames) {
  const auto found = names_of(test::give_called);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].found,
            "75.0 % of the samples are in functions without a name: the file is gone (libx.so 75.0 %)");
  EXPECT_EQ(found[0].state, Finding::State::kProblem);
  EXPECT_NE(found[0].remedy.find("build id"), std::string::npos);
}

TEST(Doctor, TellsReasonsWhyFunctionsHaveNoNamesApart) {
  query::FunctionReport report;
  const auto add = [&](query::Function::Kind kind, const char* object, const char* why, double share) {
    query::FunctionRow row;
    row.function = {kind, "", object, why};
    row.cost.share = share;
    report.functions.push_back(row);
  };
  using Kind = query::Function::Kind;
  add(Kind::kUser, "liba.so", query::kNoSymbol, 0.02);
  add(Kind::kUser, "libb.so", query::kNoSymbol, 0.01);
  add(Kind::kUnknown, "", "anonymous memory, no perf map", 0.3);
  add(Kind::kKernel, "[kernel]", "the kernel had another layout", 0.009);  // too little to be told
  query::FunctionRow named;
  named.function = {Kind::kUser, "main", "a.out"};
  named.cost.share = 0.661;
  report.functions.push_back(named);
  const auto found = look_at_names(report);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].found,
            "30.0 % of the samples are in functions without a name: anonymous memory, no perf map (no file "
            "30.0 %)");
  EXPECT_NE(found[0].remedy.find("perf map"), std::string::npos);
  EXPECT_EQ(
      found[1].found,
      "3.0 % of the samples are in functions without a name: no symbol of the file reaches here (liba.so "
      "2.0 %, libb.so 1.0 %)");
  EXPECT_EQ(found[1].state, Finding::State::kNote);
  EXPECT_NE(found[1].remedy.find("debug symbols"), std::string::npos);
  report.functions[0].function.why += "; debuginfod has no file for its build id";
  report.functions.erase(report.functions.begin() + 1, report.functions.begin() + 3);
  const auto asked = look_at_names(report);
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_NE(asked[0].found.find("debuginfod has no file"), std::string::npos);
  EXPECT_NE(asked[0].remedy.find("debug symbols"), std::string::npos);
  report.functions.erase(report.functions.begin());
  const auto fine = look_at_names(report);
  ASSERT_EQ(fine.size(), 1u);
  EXPECT_EQ(fine[0].state, Finding::State::kOk);
}

}  // namespace
}  // namespace tailor::cli
