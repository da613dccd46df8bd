#include "compiler/weft/tool/measured_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace tailor::weft {
namespace {

using testing::HasSubstr;

std::string cost(double samples) {
  return nlohmann::json{{"samples", samples},
                        {"weight", samples * 1e6},
                        {"share", samples / 10},
                        {"share_low", samples / 20},
                        {"share_high", 1},
                        {"kernel_weight", 0},
                        {"inferred_weight", samples * 1e5},
                        {"shared_weight", 0}}
      .dump();
}

// A report on 10 samples: operator 2 has 6, `scan` another 1, loading 2; 1 is unattributed.
std::string report() {
  auto row = [](const std::string& name, double samples) {
    auto json = nlohmann::json::parse(cost(samples));
    json["name"] = json["key"] = name;
    return json;
  };
  auto operator_row = [&](int id, double samples) {
    auto json = row("operator", samples);
    json["id"] = id;
    return json;
  };
  nlohmann::json report;
  report["all"] = nlohmann::json::parse(cost(10));
  report["engine_components"] = nlohmann::json::parse(cost(2));
  report["unattributed"] = nlohmann::json::parse(cost(1));
  report["component_rows"] = {row("load", 2)};
  report["unattributed_rows"] = {row("unknown", 1)};
  report["accounting"] = {{"lost_share", 0.25}, {"lost_ring", 2}, {"lost_hardware", 1}};
  report["plans"] = {{{"operators", {operator_row(2, 6), operator_row(1, 1), operator_row(99, 4)}}}};
  return report.dump();
}

// Output over a limit, two executions.
MeasuredPlan measured() {
  Plan plan;
  auto limit = std::make_unique<Limit>();
  limit->id = 2;
  limit->limit = 7;
  limit->estimated_rows = 7;
  plan.root = std::make_unique<Output>();
  plan.root->id = 1;
  plan.root->estimated_rows = 7;
  plan.root->inputs.push_back(std::move(limit));
  plan.operator_count = 2;
  MeasuredPlan out = describe_plan(plan, {0, 10, 14});
  out.executions = 2;
  out.wall_ns = 8'000'000;
  out.cpu_ns = 12'000'000;
  out.result_rows = 5;
  return out;
}

TEST(MeasuredPlan, CostsComeToTheOperatorsOfTheirIds) {
  MeasuredPlan plan = measured();
  ASSERT_TRUE(add_report(report(), plan).ok());
  ASSERT_EQ(plan.operators.size(), 2u);
  EXPECT_EQ(plan.operators[0].cost.samples, 1);
  EXPECT_EQ(plan.operators[1].cost.samples, 6);
  EXPECT_EQ(plan.operators[1].rows, 14u);
  EXPECT_EQ(plan.engine.samples, 2);
  EXPECT_EQ(plan.lost_samples, 3u);
  EXPECT_DOUBLE_EQ(plan.inferred_share, 0.1);
}

TEST(MeasuredPlan, TextShowsMeasuredBesideEstimated) {
  MeasuredPlan plan = measured();
  ASSERT_TRUE(add_report(report(), plan).ok());
  std::string text = to_text(plan);
  // Times and rows of one execution: 6 ms of samples over two.
  EXPECT_THAT(text,
              HasSubstr("     3.000    60.0 %  30.0-100.0       6           7           7  `- Limit 7\n"));
  EXPECT_THAT(text, HasSubstr("engine: load"));
  EXPECT_THAT(text, HasSubstr("unattributed: unknown"));
  EXPECT_THAT(text, HasSubstr("2 executions, each 5 rows, 4.000 ms of wall time and 6.000 ms of CPU time"));
  EXPECT_THAT(text, HasSubstr("lost in the daemon's whole recording 25.0 % (3 samples)"));
  EXPECT_THAT(text, HasSubstr("10 samples say little"));
}

TEST(MeasuredPlan, JsonHasTheSameNumbers) {
  MeasuredPlan plan = measured();
  ASSERT_TRUE(add_report(report(), plan).ok());
  auto json = nlohmann::json::parse(to_json(plan));
  EXPECT_EQ(json["executions"], 2);
  EXPECT_EQ(json["operators"][1]["rows"], 14);
  EXPECT_EQ(json["operators"][1]["samples"], 6);
  EXPECT_EQ(json["operators"][1]["estimated_rows"], 7);
  EXPECT_EQ(json["engine_parts"][0]["name"], "load");
}

TEST(MeasuredPlan, WithoutSamplesThePlanIsShownAllTheSame) {
  std::string text = to_text(measured());
  EXPECT_THAT(text, HasSubstr("Limit 7"));
  EXPECT_THAT(text, HasSubstr("0 samples say little"));
}

TEST(MeasuredPlan, OtherReportsAreErrors) {
  MeasuredPlan plan = measured();
  for (const char* text : {"", "{}", "[]", "not json", R"({"all": 3})"}) {
    Status read = add_report(text, plan);
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_THAT(read.error().message, HasSubstr("is the daemon of another version?"));
  }
}

}  // namespace
}  // namespace tailor::weft
