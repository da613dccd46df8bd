#include "compiler/weft/tool/analyze_workflow.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace tailor::weft {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

nlohmann::json task(ComponentId id, double share) {
  return {{"id", id},       {"samples", 1000 * share},   {"weight", 1e6 * share},
          {"share", share}, {"share_low", share - 0.05}, {"share_high", share + 0.05}};
}

// A plan of 1 ms: task 4 has half of it, task 6 a quarter.
std::string profile(const std::string& unit = "ns_on_cpu") {
  nlohmann::json report;
  report["source"]["unit"] = unit;
  nlohmann::json plan, pipeline;
  pipeline["tasks"] = nlohmann::json::array({task(4, 0.5), task(6, 0.25), task(9, 0)});
  plan["pipelines"] = nlohmann::json::array();
  plan["pipelines"].push_back(pipeline);
  report["plans"] = nlohmann::json::array();
  report["plans"].push_back(plan);
  return report.dump();
}

workflow::ExplainedFunction function(const std::string& name, unsigned line, double cycles,
                                     workflow::Bound bound) {
  workflow::ExplainedFunction out;
  out.function = name;
  out.place = {line, 1};
  out.predicted.cycles.low = out.predicted.cycles.high = cycles;
  out.bound.bound = bound;
  return out;
}

// 2 cycles a ns, and 10,000 tuples: 1 % of the plan's time is 2 cycles a tuple. The table's lines.
TEST(MeasuredFunctions, AreHeldAgainstTheirPrediction) {
  workflow::WorkflowExplanation explained;
  using workflow::Bound;
  explained.functions = {
      function("good", 1, 100, Bound::kComputing), function("slow", 2, 30, Bound::kComputing),
      function("behind", 3, 30, Bound::kComputing), function("idle", 4, 1, Bound::kComputing),
      function("never", 5, 1, Bound::kComputing)};
  const std::vector<workflow::UdfUse> uses{{4, "good", {1, 1}, 1, true},
                                           {6, "slow", {2, 1}, 1, true},
                                           {6, "behind", {3, 1}, 1, false},
                                           {7, "idle", {4, 1}, 1, true},
                                           {8, "never", {5, 1}, 2, true}};
  auto text = measured_functions(profile(), explained, uses, {{1, 10'000}}, {2, 4, 0});
  ASSERT_TRUE(text.ok()) << text.error().message;
  EXPECT_THAT(*text, ContainsRegex("good, line 1 +100.00 to 100.00 +90.00 to 110.00 +500  holds\n"));
  EXPECT_THAT(*text,
              ContainsRegex("slow, line 2 +30.00 to 30.00 +40.00 to 60.00 +250  wrong: it takes longer"));
  EXPECT_THAT(*text, ContainsRegex("behind, line 3 .*open: how many tuples reach it was not counted"));
  EXPECT_THAT(*text, ContainsRegex("idle, line 4 .* 0  open: there are too few samples"));
  EXPECT_THAT(*text, ContainsRegex("never, line 5 .*open: nothing was measured"));
}

TEST(MeasuredFunctions, NeedAReportOnTime) {
  auto events = measured_functions(profile("events"), {}, {}, {}, {2, 4, 0});
  ASSERT_FALSE(events.ok());
  EXPECT_THAT(events.error().message, HasSubstr("does not sample CPU time"));
  for (const char* text : {"", "{}", "[1]", "{\"source\": {\"unit\": 3}}"})
    EXPECT_FALSE(measured_functions(text, {}, {}, {}, {2, 4, 0}).ok()) << text;
}

}  // namespace
}  // namespace tailor::weft
