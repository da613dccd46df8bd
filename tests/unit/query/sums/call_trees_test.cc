// Functions and their call trees, small enough for a page: nothing is lost, whatever is left out.
#include "daemon/query/sums/call_trees.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "daemon/query/load/profile_loader.h"
#include "daemon/query/reports/plan_report.h"
#include "daemon/query/sums/keys.h"
#include "tests/support/called_profile.h"
#include "tests/support/profile_bytes.h"
#include "tests/support/sample_profile.h"

namespace tailor::query {
namespace {

const ProcessId kStacked{7, 1};
constexpr std::uint16_t kOffCpuSource = 1;

// Functions are code objects: their names need no file.
class CallTreesTest : public testing::Test {
 protected:
  CallTreesTest() {
    profile::RecordingInfo info;
    info.sources.push_back({0, "cpu-clock", profile::Unit::kNsOnCpu, 100, false});
    info.sources.push_back({kOffCpuSource, "off-cpu", profile::Unit::kNsOffCpu, 1, false});
    loader_.on_recording(info);
    profile::ProcessRecord process;
    process.process = kStacked;
    process.first_seen = 1;
    loader_.on_process(process);
    for (const auto& [name, base] :
         {std::pair{"main", 0x1000}, {"probe", 0x2000}, {"hash", 0x3000}, {"parse", 0x4000}}) {
      v1::CodeObject code;
      code.set_id(static_cast<CodeId>(base));
      code.set_base(static_cast<std::uint64_t>(base));
      code.set_size(0x100);
      code.set_name(name);
      loader_.on_code(kStacked, 0, code);
    }
  }

  static constexpr std::uint64_t kMain = 0x1010, kProbe = 0x2010, kHash = 0x3010, kParse = 0x4010;

  // Innermost first.
  void sample(const std::vector<std::uint64_t>& stack, std::uint64_t weight = 100,
              const std::function<void(profile::SampleRecord&)>& change = {}) {
    std::vector<profile::StackFrame> frames(stack.size());
    profile::SampleRecord record;
    record.process = kStacked;
    record.time = ++time_;
    record.weight = weight;
    record.ip = record.user_ip = stack.front();
    for (std::size_t i = 1; i < stack.size(); ++i) {
      frames[i].address = stack[i];
      frames[i].caller = i + 1 < stack.size() ? &frames[i + 1] : nullptr;
    }
    if (stack.size() > 1) record.stack = &frames[1];
    if (change) change(record);
    loader_.on_samples(std::span(&record, 1));
  }

  void give_usual() {
    for (int i = 0; i < 5; ++i) sample({kHash, kProbe, kMain});
    for (int i = 0; i < 3; ++i) sample({kProbe, kMain});
    sample({kHash, kParse, kMain});
    sample({kMain});
  }

  CallTrees trees(const CallTreeOptions& options = {}, const Selection& selection = {}) {
    if (!profile_) profile_.emplace(loader_.finish());
    const NamedFunctions names(*profile_);
    auto out = call_trees(*profile_, names, selection, options);
    EXPECT_TRUE(out) << (out ? "" : out.error().message);
    return out ? std::move(*out) : CallTrees{};
  }

  ProfileLoader loader_{LoadOptions{.keep_samples = true, .functions = true}};
  std::optional<Profile> profile_;
  TimeNs time_ = 1;
};

std::string name_of(const CallTrees& trees, const CallTreeNode& node) {
  if (node.function == CallTreeNode::kRoot) return "root";
  return node.function == CallTreeNode::kRest ? "rest" : trees.functions.at(node.function).function.name;
}

// "main/probe" > samples of the node.
std::map<std::string, double> by_path(const CallTrees& trees, const CallTree& tree) {
  std::map<std::string, double> out;
  std::vector<std::string> paths;
  for (const CallTreeNode& node : tree) {
    const std::string& above = paths.empty() ? std::string() : paths.at(node.parent);
    paths.push_back(paths.empty() ? "" : above + "/" + name_of(trees, node));
    if (paths.size() > 1) out[paths.back()] += node.total.samples;
  }
  return out;
}

// Whether each node is its self and what is right below it.
bool adds_up(const CallTree& tree) {
  std::vector<CallCost> below(tree.size());
  for (std::size_t i = 1; i < tree.size(); ++i) {
    if (tree[i].parent >= i) return false;
    below[tree[i].parent].add(tree[i].total);
  }
  for (std::size_t i = 0; i < tree.size(); ++i) {
    if (std::abs(tree[i].total.samples - tree[i].self.samples - below[i].samples) > 1e-6) return false;
    if (std::abs(tree[i].total.weight - tree[i].self.weight - below[i].weight) > 1e-3) return false;
  }
  return !tree.empty();
}

const CalledFunction& function_of(const CallTrees& trees, const std::string& name) {
  for (const CalledFunction& each : trees.functions) {
    if (each.function.name == name) return each;
  }
  ADD_FAILURE() << "no " << name;
  static const CalledFunction kNone{};
  return kNone;
}

TEST_F(CallTreesTest, FromTheOutermostDownAndFromTheInnermostUp) {
  give_usual();
  const CallTrees all = trees();
  EXPECT_EQ(by_path(all, all.callees), (std::map<std::string, double>{{"/main", 10},
                                                                      {"/main/probe", 8},
                                                                      {"/main/probe/hash", 5},
                                                                      {"/main/parse", 1},
                                                                      {"/main/parse/hash", 1}}));
  EXPECT_EQ(by_path(all, all.callers), (std::map<std::string, double>{{"/hash", 6},
                                                                      {"/hash/probe", 5},
                                                                      {"/hash/probe/main", 5},
                                                                      {"/hash/parse", 1},
                                                                      {"/hash/parse/main", 1},
                                                                      {"/probe", 3},
                                                                      {"/probe/main", 3},
                                                                      {"/main", 1}}));
  EXPECT_TRUE(adds_up(all.callees));
  EXPECT_TRUE(adds_up(all.callers));
  EXPECT_EQ(all.total.samples, 10);
  EXPECT_EQ(all.total.weight, 1000);
  EXPECT_EQ(all.effective_samples, 10);
  EXPECT_EQ(all.with_chain.samples, 9);
}

// A check that sees nothing would pass above.
TEST_F(CallTreesTest, ATreeThatLostSomethingDoesNotAddUp) {
  give_usual();
  CallTree tree = trees().callees;
  tree.pop_back();
  EXPECT_FALSE(adds_up(tree));
}

TEST_F(CallTreesTest, FunctionsHaveTheirOwnCodeAndWhatTheyCalled) {
  give_usual();
  const CallTrees all = trees();
  EXPECT_EQ(all.functions.front().function.name, "hash") << "the dearest own code first";
  EXPECT_EQ(function_of(all, "hash").self.samples, 6);
  EXPECT_EQ(function_of(all, "hash").total.samples, 6);
  EXPECT_EQ(function_of(all, "main").self.samples, 1);
  EXPECT_EQ(function_of(all, "main").total.samples, 10);
  ASSERT_EQ(all.libraries.size(), 1u);
  EXPECT_EQ(all.libraries.front().name, "[jit]");
  EXPECT_EQ(all.libraries.front().self.samples, 10);
  EXPECT_TRUE(all.owners.empty()) << "one owner is no table";
}

TEST_F(CallTreesTest, RecursionCountsOnceInAFunctionAndEachTimeInTheTree) {
  sample({kHash, kProbe, kProbe, kProbe, kMain});
  const CallTrees all = trees();
  EXPECT_EQ(function_of(all, "probe").total.samples, 1);
  EXPECT_EQ(by_path(all, all.callees).at("/main/probe/probe/probe/hash"), 1);
}

TEST_F(CallTreesTest, WhatIsLeftOutIsThereAsASum) {
  give_usual();
  for (std::size_t nodes = 1; nodes < 8; ++nodes) {
    CallTreeOptions options;
    options.nodes = nodes;
    const CallTrees some = trees(options);
    EXPECT_TRUE(adds_up(some.callees)) << nodes;
    EXPECT_TRUE(adds_up(some.callers)) << nodes;
    EXPECT_LE(some.callees.size(), 2 * nodes);
    EXPECT_EQ(some.callees.front().total.samples, 10);
  }
  CallTreeOptions options;
  options.nodes = 3;
  const CallTrees some = trees(options);
  EXPECT_EQ(by_path(some, some.callees),
            (std::map<std::string, double>{
                {"/main", 10}, {"/main/probe", 8}, {"/main/rest", 1}, {"/main/probe/rest", 5}}));
  EXPECT_EQ(some.callees.back().merged, 1u);
}

TEST_F(CallTreesTest, FunctionsBeyondTheLimitAreThereAsASum) {
  give_usual();
  CallTreeOptions options;
  options.nodes = options.functions = 1;
  const CallTrees some = trees(options);
  double samples = some.rest.samples;
  for (const CalledFunction& each : some.functions) samples += each.self.samples;
  EXPECT_EQ(samples, 10);
  EXPECT_EQ(some.functions.size() + some.more_functions, 4u);
  EXPECT_GT(some.more_functions, 0u);
}

TEST_F(CallTreesTest, OfSomeSamples) {
  give_usual();
  CallTreeOptions options;
  options.keep = [](const TimedSample& sample) { return sample.time <= 3; };
  EXPECT_EQ(trees(options).total.samples, 2);
  options.keep = [](const TimedSample&) { return false; };
  const NamedFunctions names(*profile_);
  const auto none = call_trees(*profile_, names, {}, options);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::kNotFound);
}

TEST_F(CallTreesTest, UnequalWeightsAreWorthFewerSamples) {
  sample({kMain}, 300);
  sample({kMain}, 100);
  EXPECT_DOUBLE_EQ(trees().effective_samples, 400.0 * 400.0 / (300.0 * 300.0 + 100.0 * 100.0));
}

// The engine did not wait for Tailor's own thread.
TEST_F(CallTreesTest, WaitsOfTheAgentAreLeftOutAndSaid) {
  const auto waits = [](std::uint32_t component) {
    return [component](profile::SampleRecord& record) {
      record.source = kOffCpuSource;
      record.attribution.engine_component = component;
      record.attribution.how = profile::How::kComponentCode;
    };
  };
  sample({kMain}, 70, waits(UINT32_MAX));
  sample({kProbe, kMain}, 30, waits(2));
  Selection selection;
  selection.source = kOffCpuSource;
  const CallTrees all = trees({}, selection);
  EXPECT_EQ(all.total.weight, 30);
  EXPECT_EQ(all.left_out.weight, 70);
}

Profile sampled(int rounds) {
  return test::load(
      test::profile_bytes([rounds](profile::ProfileSink& sink) { test::give_profile(sink, rounds); }),
      {.keep_samples = true, .functions = true});
}

// Code that two operators share counts for each in part.
TEST(CallTrees, AnOperatorHasTheCostThatTheReportSays) {
  const Profile profile = sampled(3);
  const NamedFunctions names(profile);
  const auto report = plan_report(profile, {});
  ASSERT_TRUE(report);
  ASSERT_FALSE(report->plans.empty());
  int compared = 0;
  for (const OperatorRow& row : report->plans.front().operators) {
    if (row.cost.amount.samples == 0) continue;
    CallTreeOptions options;
    options.is_wanted = [key = operator_key(test::kSampleProcess, test::kSamplePlan, row.id)](
                            const Owner& owner) { return owner.key == key; };
    const auto own = call_trees(profile, names, {}, options);
    ASSERT_TRUE(own) << row.name;
    EXPECT_NEAR(own->total.weight, row.cost.amount.weight, 1e-6 * row.cost.amount.weight) << row.name;
    ++compared;
  }
  EXPECT_GT(compared, 2);
}

TEST(CallTrees, OwnersOfAFunctionAddUpToIt) {
  const Profile profile = sampled(3);
  const NamedFunctions names(profile);
  CallTreeOptions options;
  options.owners = 100;
  const auto all = call_trees(profile, names, {}, options);
  ASSERT_TRUE(all);
  ASSERT_GT(all->owners.size(), 2u);
  for (const CalledFunction& each : all->functions) {
    double total = 0, self = 0;
    for (const FunctionOfOwner& of : each.owners) {
      ASSERT_LT(of.owner, all->owners.size());
      total += of.total.weight;
      self += of.self.weight;
    }
    EXPECT_NEAR(total, each.total.weight, 1e-6 * each.total.weight) << each.function.name;
    EXPECT_NEAR(self, each.self.weight, 1e-6 * each.total.weight) << each.function.name;
  }
}

// The owner of a process chooses the files that it names.
TEST(CallTrees, NamesOfTheProfileAloneOpenNoFile) {
  const Profile profile =
      test::load(test::profile_bytes(test::give_called), {.keep_samples = true, .functions = true});
  const auto why = [&](NamesFrom from) {
    const NamedFunctions names(profile, {}, from);
    const auto all = call_trees(profile, names, {}, {});
    for (const CalledFunction& each : all->functions) {
      if (each.function.object == "libx.so") return each.function.why;
    }
    return std::string();
  };
  EXPECT_EQ(why(NamesFrom::kFilesToo), "the file is gone");
  EXPECT_EQ(why(NamesFrom::kProfile), "the profile does not name it");
}

}  // namespace
}  // namespace tailor::query
