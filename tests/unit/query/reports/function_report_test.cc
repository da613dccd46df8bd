// Functions by self and total cost, and operators by rules, on stacks that are known.
#include "daemon/query/reports/function_report.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "daemon/query/load/profile_loader.h"
#include "daemon/query/reports/stack_rules.h"
#include "daemon/query/reports/thread_begins.h"
#include "daemon/query/symbols/name_pattern.h"
#include "tests/support/worker_profile.h"

namespace tailor::query {
namespace {

const ProcessId kProcess{7, 1};

// Functions are code objects: their names need no file.
class FunctionReportTest : public testing::Test {
 protected:
  FunctionReportTest() {
    profile::RecordingInfo info;
    info.sources.push_back({0, "cpu-clock", profile::Unit::kNsOnCpu, 100, false});
    loader.on_recording(info);
    profile::ProcessRecord process;
    process.process = kProcess;
    process.first_seen = 1;
    loader.on_process(process);
    add_function("main", 0x1000);
    add_function("engine::Hash::probe", 0x2000);
    add_function("engine::hash", 0x3000);
    add_function("engine::Parser::parse", 0x4000);
    add_function("main_recursive", 0x5000);
  }
  void add_function(const std::string& name, std::uint64_t base, ProcessId process = kProcess) {
    v1::CodeObject code;
    code.set_id(base);
    code.set_base(base);
    code.set_size(0x100);
    code.set_name(name);
    loader.on_code(process, 0, code);
  }
  // Innermost first.
  void sample(const std::vector<std::uint64_t>& stack, ProcessId process = kProcess,
              ExecutionHandle execution = 0, std::uint16_t source = 0) {
    std::vector<profile::StackFrame> frames(stack.size());
    profile::SampleRecord record;
    record.process = process;
    record.attribution.execution = execution;
    record.source = source;
    record.time = ++time;
    record.weight = 100;
    record.ip = record.user_ip = stack.front();
    for (std::size_t i = 1; i < stack.size(); ++i) {
      frames[i].address = stack[i];
      frames[i].caller = i + 1 < stack.size() ? &frames[i + 1] : nullptr;
    }
    if (stack.size() > 1) record.stack = &frames[1];
    loader.on_samples(std::span(&record, 1));
  }

  ProfileLoader loader{[] {
    LoadOptions options;
    options.functions = options.keep_samples = true;
    return options;
  }()};
  TimeNs time = 1;
};

TEST_F(FunctionReportTest, EachFunctionOfACodeObjectHasItsOwnName) {
  v1::CodeObject code;
  code.set_id(9);
  code.set_base(0x9000);
  code.set_size(0x100);
  code.set_name("less_2");
  const auto symbol = [&](std::uint32_t offset, std::uint32_t size, const char* name) {
    v1::CodeSymbol& out = *code.add_symbols();
    out.set_offset(offset);
    out.set_size(size);
    out.set_name(name);
  };
  symbol(0x40, 0x40, "pipeline_1");
  symbol(0, 0x20, "less_2");
  loader.on_code(kProcess, 0, code);
  sample({0x9010, 0x1001});
  sample({0x9050, 0x9011});
  sample({0x9090, 0x9011});  // no function is there
  const Profile profile = loader.finish();
  const auto report = function_report(profile, {});
  ASSERT_TRUE(report.ok()) << report.error().message;
  std::map<std::string, double> self;
  for (const FunctionRow& row : report->functions) self[row.name] += row.cost.amount.weight;
  EXPECT_EQ(self, (std::map<std::string, double>{
                      {"less_2", 100}, {"pipeline_1", 100}, {"[unknown]", 100}, {"main", 0}}));
}

TEST_F(FunctionReportTest, SelfAndTotalAndCalls) {
  for (int i = 0; i < 6; ++i) sample({0x3010, 0x2020, 0x1030});
  for (int i = 0; i < 3; ++i) sample({0x2010, 0x1030});
  sample({0x1010});
  const Profile profile = loader.finish();
  const auto report = function_report(profile, {});
  ASSERT_TRUE(report.ok()) << report.error().message;
  std::map<std::string, std::pair<double, double>> shares;
  for (const FunctionRow& row : report->functions) shares[row.name] = {row.cost.share, row.total.share};
  EXPECT_EQ(shares["engine::hash"], std::make_pair(0.6, 0.6));
  EXPECT_EQ(shares["engine::Hash::probe"], std::make_pair(0.3, 0.9));
  EXPECT_EQ(shares["main"], std::make_pair(0.1, 1.0));
  EXPECT_EQ(report->functions.front().name, "engine::hash");
  ASSERT_EQ(report->calls.size(), 3u);
  EXPECT_EQ(report->calls[1].name, "engine::Hash::probe");
  EXPECT_EQ(report->calls[1].depth, 1u);
  EXPECT_DOUBLE_EQ(report->calls[1].total.share, 0.9);
  EXPECT_DOUBLE_EQ(report->with_chain, 0.9);
  EXPECT_DOUBLE_EQ(report->whole_chain, 1);
}

// Samples of two events: how many the other one has in the report.
class TwoEventsTest : public FunctionReportTest {
 protected:
  using Events = std::map<std::string, std::uint64_t>;
  Profile recorded(const std::string& notes) {
    profile::RecordingInfo info;
    info.sources = {{0, "cpu-clock", profile::Unit::kNsOnCpu, 100, false},
                    {1, "page-faults", profile::Unit::kEvents, 1, false}};
    info.sampling_notes = notes;
    loader.on_recording(info);
    for (int i = 0; i < 3; ++i) sample({0x3010, 0x1030});
    sample({0x2010, 0x1030}, kProcess, 0, 1);
    return loader.finish();
  }
  static Events others(const Profile& profile, const Selection& selection) {
    Events out;
    const auto report = function_report(profile, selection);
    const auto of_others = other_events(profile, selection, *report);
    for (const FunctionReport& each : *of_others) out[each.summary.source.name] = each.summary.total.samples;
    return out;
  }
};

TEST_F(TwoEventsTest, OfAPerfDataAreBothShown) {
  const Profile profile = recorded("imported from perf.data");
  EXPECT_EQ(others(profile, {}), (Events{{"page-faults", 1}}));
  Selection chosen;
  chosen.source = 0;
  EXPECT_EQ(others(profile, chosen), Events{});
  const auto report = function_report(profile, {});
  EXPECT_EQ(report->summary.source.name, "cpu-clock");
  EXPECT_EQ(report->summary.total.samples, 3u);
}

TEST_F(TwoEventsTest, OfARecordingOfTailorOneIsChosen) {
  EXPECT_EQ(others(recorded("BPF"), {}), Events{});
}

TEST_F(FunctionReportTest, AChainThatEndsEarlyIsNotWhole) {
  for (int i = 0; i < 3; ++i) sample({0x3010, 0x2020, 0x1030});
  sample({0x3010, 0x2020});
  const Profile profile = loader.finish();
  const auto report = function_report(profile, {});
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_DOUBLE_EQ(report->with_chain, 1);
  EXPECT_DOUBLE_EQ(report->whole_chain, 0.75);
}

TEST(ThreadBegins, ByNames) {
  for (const char* name : {"_start", "main", "__libc_start_main@@GLIBC_2.34", "clone3", "start_thread",
                           "runtime.goexit.abi0", "ret_from_fork_asm"})
    EXPECT_TRUE(begins_thread(name)) << name;
  for (const char* name : {"", "[unknown]", "main.main", "remain", "runtime.systemstack.abi0", "start"})
    EXPECT_FALSE(begins_thread(name)) << name;
}

// Where a library has no symbols there are addresses, beside the row that adds them up.
TEST_F(FunctionReportTest, AddressesWithoutANameAreInTheirFile) {
  loader.on_mapping({kProcess, 0, 0x9000, 0x1000, 0x200, "/nowhere/libx.so"});
  for (int i = 0; i < 3; ++i) sample({0x9010, 0x1001});
  for (int i = 0; i < 2; ++i) sample({0x9020, 0x9011});
  sample({0x1010, 0x9031});  // a caller is no place where the sample was
  const Profile profile = loader.finish();
  const auto addresses = [&](std::size_t most) {
    FunctionOptions options;
    options.most_unnamed = most;
    auto report = function_report(profile, {}, options);
    EXPECT_TRUE(report.ok());
    return std::move(*report);
  };
  const FunctionReport all = addresses(100);
  ASSERT_EQ(all.unnamed.size(), 2u);
  EXPECT_EQ(all.unnamed[0].name, "libx.so+0x210");
  EXPECT_EQ(all.unnamed[0].path, "/nowhere/libx.so");
  EXPECT_DOUBLE_EQ(all.unnamed[0].cost.amount.samples, 3);
  EXPECT_EQ(all.unnamed[1].name, "libx.so+0x220");
  EXPECT_DOUBLE_EQ(all.unnamed[1].cost.share, 2.0 / 6);
  EXPECT_EQ(all.more_unnamed, 0u);
  const FunctionReport first = addresses(1);
  EXPECT_EQ(first.unnamed.size(), 1u);
  EXPECT_EQ(first.more_unnamed, 1u);
  EXPECT_DOUBLE_EQ(first.rest_unnamed.amount.samples, 2) << "nothing is hidden";
}

TEST_F(FunctionReportTest, RecursionCountsOnce) {
  for (int i = 0; i < 4; ++i) sample({0x5010, 0x5020, 0x5030, 0x1010});
  const auto report = function_report(loader.finish(), {});
  ASSERT_TRUE(report.ok());
  for (const FunctionRow& row : report->functions) EXPECT_LE(row.total.share, 1.0) << row.name;
  EXPECT_EQ(report->calls.back().depth, 3u);
}

// The address behind a call may already be another function's.
TEST_F(FunctionReportTest, ACallerIsWhereTheCallIs) {
  add_function("last", 0x7000);
  add_function("next", 0x7100);
  sample({0x3010, 0x7100});
  const auto report = function_report(loader.finish(), {});
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->calls.front().name, "last");
}

TEST_F(FunctionReportTest, RulesTakeTheInnermostOperatorAndElseAPhase) {
  for (int i = 0; i < 6; ++i) sample({0x3010, 0x2020, 0x4010, 0x1030});  // probe, below the parser
  for (int i = 0; i < 3; ++i) sample({0x3010, 0x4020, 0x1030});          // the parser
  sample({0x3010, 0x1030});                                              // nobody's
  const auto rules = StackRules::parse(
      "engine = \"test\"\n[[operator]]\nname = \"Join\"\nfunctions = [\"engine::Hash::*\"]\n"
      "[[phase]]\nname = \"parse\"\nfunctions = [\"*Parser*\"]\n");
  ASSERT_TRUE(rules.ok()) << rules.error().message;
  const auto report = rule_report(loader.finish(), {}, *rules);
  ASSERT_TRUE(report.ok());
  ASSERT_EQ(report->operators.size(), 1u);
  EXPECT_DOUBLE_EQ(report->operators[0].cost.share, 0.6);
  ASSERT_EQ(report->phases.size(), 1u);
  EXPECT_DOUBLE_EQ(report->phases[0].cost.share, 0.3);
  EXPECT_DOUBLE_EQ(report->unexplained.share, 0.1);
  ASSERT_EQ(report->unexplained_functions.size(), 1u);
  EXPECT_EQ(report->unexplained_functions[0].name, "engine::hash");
}

// A sort that a window makes for itself is the window's; one below another operator is not.
TEST_F(FunctionReportTest, APartBelongsToTheOperatorThatCallsIt) {
  add_function("engine::Sort::merge", 0x6000);
  add_function("engine::Window::run", 0x7000);
  for (int i = 0; i < 4; ++i) sample({0x3010, 0x6010, 0x6020, 0x4010, 0x7010, 0x1030});  // the window's
  for (int i = 0; i < 2; ++i) sample({0x6010, 0x2010, 0x7010, 0x1030});  // the join's, so a sort
  for (int i = 0; i < 3; ++i) sample({0x6010, 0x4010, 0x1030});          // by itself
  sample({0x7020, 0x1030});
  const Profile profile = loader.finish();
  const std::string with_join =
      "[[operator]]\nname = \"Join\"\nfunctions = [\"engine::Hash::*\"]\n"
      "[[operator]]\nname = \"Window\"\nfunctions = [\"engine::Window::*\"]\n"
      "[[phase]]\nname = \"parse\"\nfunctions = [\"*Parser*\"]\n"
      "[[operator]]\nname = \"Sort\"\nfunctions = [\"engine::Sort::*\"]\n";
  const auto shares = [&](const std::string& text) {
    std::map<std::string, double> out;
    const auto rules = StackRules::parse(text);
    EXPECT_TRUE(rules.ok()) << rules.error().message;
    const auto report = rule_report(profile, {}, *rules);
    EXPECT_TRUE(report.ok());
    for (const NamedRow& row : report->operators) out[row.name] = row.cost.share;
    EXPECT_TRUE(report->phases.empty());
    return out;
  };
  EXPECT_EQ(shares(with_join + "part_of = [\"Window\"]\n"),
            (std::map<std::string, double>{{"Window", 0.5}, {"Sort", 0.5}}));
  EXPECT_EQ(shares(with_join + "part_of = [\"Window\", \"Join\"]\n"),
            (std::map<std::string, double>{{"Window", 0.5}, {"Sort", 0.3}, {"Join", 0.2}}));
  EXPECT_EQ(shares(with_join), (std::map<std::string, double>{{"Window", 0.1}, {"Sort", 0.9}}));
}

// Adding to a page is a phase of a build, and of nothing else that adds to one.
TEST_F(FunctionReportTest, APhaseCountsInsideOfAnother) {
  add_function("engine::Page::add", 0x6000);
  add_function("engine::Build::run", 0x7000);
  add_function("engine::Load::run", 0x8000);
  add_function("engine::Build::read", 0x9000);
  for (int i = 0; i < 4; ++i) sample({0x3010, 0x6010, 0x6020, 0x4010, 0x7010, 0x8010});  // of the build
  for (int i = 0; i < 2; ++i) sample({0x6010, 0x8010, 0x7010});  // of what the build calls
  sample({0x6010, 0x9010, 0x7010});                              // of its reading
  sample({0x6010});                                              // nobody knows
  sample({0x9010, 0x8010});
  sample({0x7020});
  const auto shares = [profile = loader.finish()](const std::string& text) {
    std::map<std::string, double> out;
    const auto rules = StackRules::parse(text);
    EXPECT_TRUE(rules.ok()) << rules.error().message;
    const auto report = rule_report(profile, {}, *rules);
    EXPECT_TRUE(report.ok());
    for (const NamedRow& row : report->phases) out[row.name] = row.cost.share;
    return out;
  };
  const std::string build =
      "[[phase]]\nname = \"Load\"\nfunctions = [\"engine::Load::*\"]\n"
      "[[phase]]\nname = \"Read\"\nfunctions = [\"engine::Build::read\"]\ninside = [\"Build\"]\n"
      "[[phase]]\nname = \"Build\"\nfunctions = [\"engine::Build::*\"]\n"
      "[[phase]]\nname = \"Fill\"\nfunctions = [\"engine::Page::*\"]\n";
  EXPECT_EQ(shares(build + "inside = [\"Build\"]\n"),
            (std::map<std::string, double>{{"Fill", 0.4}, {"Load", 0.3}, {"Read", 0.1}, {"Build", 0.1}}));
  EXPECT_EQ(shares(build), (std::map<std::string, double>{{"Fill", 0.8}, {"Load", 0.1}, {"Build", 0.1}}));
}

StackRules two_rules() {
  auto rules = StackRules::parse(
      "engine = \"test\"\n[[operator]]\nname = \"Join\"\nfunctions = [\"engine::Hash::*\"]\n"
      "[[phase]]\nname = \"parse\"\nfunctions = [\"*Parser*\"]\n");
  EXPECT_TRUE(rules.ok());
  return *rules;
}

// The functions of workers are the leader's, as the heading above them has it.
TEST_F(FunctionReportTest, WorkersCountForTheirLeader) {
  const ProcessId worker{8, 1};
  add_function("engine::Hash::probe", 0x2000, worker);
  profile::ExecutionRecord execution;
  execution.process = kProcess;
  execution.handle = 5;
  execution.id.bytes.fill(0xE1);
  loader.on_execution(execution);
  execution.process = worker;
  execution.id.bytes.fill(0xB2);
  execution.labels = {{"leader_execution", test::sample_leader()}};
  loader.on_execution(execution);
  sample({0x3010}, kProcess, 5);
  for (int i = 0; i < 3; ++i) sample({0x2010}, worker, 5);
  sample({0x1010});  // of no execution
  const Profile profile = loader.finish();
  Selection leader;
  leader.executions.insert({kProcess, 5});
  const auto report = function_report(profile, leader);
  ASSERT_TRUE(report.ok()) << report.error().message;
  double all = 0;
  for (const FunctionRow& row : report->functions) all += row.cost.share;
  EXPECT_DOUBLE_EQ(all, 1);
  EXPECT_EQ(report->functions.front().name, "engine::Hash::probe");
  EXPECT_DOUBLE_EQ(report->functions.front().cost.share, 0.75);
  const auto by_rules = rule_report(profile, leader, two_rules());
  ASSERT_TRUE(by_rules.ok());
  EXPECT_DOUBLE_EQ(by_rules->in_operators.share, 0.75);
  EXPECT_DOUBLE_EQ(by_rules->unexplained.share, 0.25);
}

TEST_F(FunctionReportTest, APartOfTheSamplesHasTheFunctionsOfThatPart) {
  for (int i = 0; i < 9; ++i) sample({0x3010, 0x1010});
  sample({0x2010, 0x1010});
  const TimeNs last = time;
  const Profile part =
      loader.finish().only([last](const TimedSample& each) { return each.time >= last - 1; }, "the last two");
  const auto report = function_report(part, {});
  ASSERT_TRUE(report.ok()) << report.error().message;
  std::map<std::string, double> shares;
  for (const FunctionRow& row : report->functions) shares[row.name] = row.total.share;
  EXPECT_EQ(shares, (std::map<std::string, double>{
                        {"engine::hash", 0.5}, {"engine::Hash::probe", 0.5}, {"main", 1.0}}));
  const auto by_rules = rule_report(part, {}, two_rules());
  ASSERT_TRUE(by_rules.ok());
  EXPECT_DOUBLE_EQ(by_rules->in_operators.share + by_rules->unexplained.share, 1);
}

// Compiled queries that an engine loads one after the other at one address: the time of the sample counts,
// and what is told late is there when the profile is read again.
TEST(FunctionSums, AFileHasTheSamplesOfItsTime) {
  constexpr ProcessId kEngine{7, 1};
  LoadOptions options;
  options.functions = true;
  const auto give = [&](ProfileLoader& loader) {
    const auto map = [&](TimeNs time, const std::string& path) {
      loader.on_mapping({kEngine, time, 0x7000, 0x1000, 0, path});
    };
    map(100, "/tmp/query_0.so");
    map(200, "/tmp/query_1.so");
    std::vector<profile::SampleRecord> samples(5);
    for (std::size_t i = 0; i < samples.size(); ++i) {
      samples[i].process = kEngine;
      samples[i].time = 50 + static_cast<TimeNs>(i) * 100;
      samples[i].weight = 10;
      samples[i].ip = samples[i].user_ip = 0x7010;
    }
    loader.on_samples(samples);
    map(300, "//anon");
    map(400, "/tmp/query_2.so");
    return Status(Ok{});
  };
  std::map<std::string, std::uint64_t> got;
  const auto profile = Profile::load_from(options, give);
  ASSERT_TRUE(profile.ok()) << profile.error().message;
  const FunctionSums& sums = profile->functions();
  for (const auto& [key, cell] : sums.cells) {
    const CodePlace& place = sums.places[sums.nodes[key.node].place];
    const bool in_file = place.kind == CodePlace::Kind::kFile;
    EXPECT_TRUE(!in_file || place.address == 0x10) << place.address;
    got[in_file ? sums.files[place.file].path : "unknown"] += cell.samples;
  }
  EXPECT_EQ(got,
            (std::map<std::string, std::uint64_t>{
                {"/tmp/query_0.so", 1}, {"/tmp/query_1.so", 1}, {"/tmp/query_2.so", 1}, {"unknown", 2}}));
}

// One chain of many frames, shared by samples of many processes: rows of a few bytes.
TEST(FunctionSummer, WhatItKnowsOfAddressesIsBoundedAndCounted) {
  constexpr std::size_t kFrames = 500;
  std::vector<profile::StackFrame> frames(kFrames);
  for (std::size_t i = 0; i < kFrames; ++i) {
    frames[i].address = 0x1000 + 16 * i;
    frames[i].caller = i + 1 < kFrames ? &frames[i + 1] : nullptr;
  }
  CodeTimelines timelines;
  FunctionSummer summer(timelines);
  const auto add = [&](std::int32_t from, std::int32_t to) {
    profile::SampleRecord sample;
    sample.stack = frames.data();
    for (sample.process = {from, 1}; sample.process.pid < to; ++sample.process.pid) summer.add(sample);
  };
  add(1, 2);
  const std::size_t of_one = summer.bytes();
  add(2, 1002);
  // With places and nodes of their own, and what is known of each address beside them.
  const std::size_t of_each = (summer.bytes() - of_one) / 1000;
  EXPECT_GE(of_each, kFrames * (2 * sizeof(CodePlace) + 64 + sizeof(FunctionSums::Node) + 64 + 64));
}

TEST(StackRules, PatternsAreWholeNamesWithStars) {
  EXPECT_TRUE(matches("a*c", "abbc"));
  EXPECT_TRUE(matches("*", ""));
  EXPECT_TRUE(matches("*::run", "x::y::run"));
  EXPECT_FALSE(matches("a", "ab"));
  EXPECT_FALSE(matches("*::run", "x::runs"));
  EXPECT_TRUE(matches("a**b*", "ab"));
}

TEST(StackRules, AFunctionWithoutANameFitsByWhoSetIt) {
  const auto rules = StackRules::parse("[[operator]]\nname = \"Sort\"\nset_by = [\"ExecInitSort\"]\n");
  ASSERT_TRUE(rules.ok()) << rules.error().message;
  EXPECT_EQ(rules->setters, std::vector<std::string>{"ExecInitSort"});
  EXPECT_EQ(rules->match("[set by ExecInitSort]"), 0u);
  EXPECT_FALSE(rules->match("ExecInitSort").has_value());
}

TEST(StackRules, AFileThatIsWrongSaysWhere) {
  const auto problem = [](const char* text) {
    auto rules = StackRules::parse(text);
    return rules.ok() ? std::string() : rules.error().message;
  };
  EXPECT_NE(problem(""), "");
  EXPECT_NE(problem("[[operator]]\nname = \"a\"\n"), "");
  EXPECT_NE(problem("[[operator]]\nname = \"a\"\nfunctions = [1]\n").find("line 3"), std::string::npos);
  EXPECT_NE(problem("[[operator]]\nname = \"a\"\nset_by = [1]\n").find("line 3"), std::string::npos);
  EXPECT_NE(problem("x = 1\n").find("line 1"), std::string::npos);
  const std::string sort = "[[operator]]\nname = \"a\"\nfunctions = [\"f\"]\n";
  EXPECT_EQ(problem((sort + "part_of = [\"b\"]\n[[operator]]\nname = \"b\"\nfunctions = [\"g\"]\n").c_str()),
            "");
  EXPECT_NE(problem((sort + "part_of = [\"b\"]\n").c_str()).find("no operator"), std::string::npos);
  EXPECT_NE(problem((sort + "part_of = [7]\n").c_str()).find("line 4"), std::string::npos);
  EXPECT_NE(problem("[[phase]]\nname = \"a\"\nfunctions = [\"f\"]\npart_of = [\"a\"]\n").find("line 4"),
            std::string::npos);
  const std::string phase = "[[phase]]\nname = \"a\"\nfunctions = [\"f\"]\n";
  EXPECT_EQ(problem((phase + "inside = [\"b\"]\n[[phase]]\nname = \"b\"\nfunctions = [\"g\"]\n").c_str()),
            "");
  EXPECT_NE(problem((phase + "inside = [\"b\"]\n").c_str()).find("no phase"), std::string::npos);
  EXPECT_NE(problem((phase + "inside = [7]\n").c_str()).find("line 4"), std::string::npos);
  EXPECT_NE(problem((sort + "inside = [\"a\"]\n").c_str()).find("line 4"), std::string::npos);
  EXPECT_NE(problem("[[operator]\n").find("line"), std::string::npos);
}

}  // namespace
}  // namespace tailor::query
