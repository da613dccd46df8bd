#include "compiler/weft/tool/workflow_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

namespace tailor::weft {
namespace {

using testing::HasSubstr;

template <typename T>
workflow::ContextValues context(const std::string& name, workflow::Scalar scalar,
                                const std::vector<std::uint64_t>& shape, const std::vector<T>& values) {
  workflow::ContextValues made{name, scalar, shape, std::vector<std::byte>(values.size() * sizeof(T))};
  std::memcpy(made.bytes.data(), values.data(), made.bytes.size());
  return made;
}

// No double holds this number.
constexpr std::int64_t kOdd = (std::int64_t{1} << 53) + 1;

TEST(WorkflowText, WholeNumbersAreWholeAtAnySize) {
  workflow::RunOutcome outcome;
  outcome.shown.push_back(context<std::int64_t>("hits", workflow::Scalar::kI64, {}, {kOdd}));
  outcome.shown.push_back(context<std::int32_t>("few", workflow::Scalar::kI32, {2}, {-1, 7}));
  EXPECT_THAT(outcome_text(outcome), HasSubstr("hits i64 = 9007199254740993\n"));
  const auto json = nlohmann::json::parse(outcome_json(outcome, "w"));
  EXPECT_EQ(json.at("name"), "w");
  EXPECT_EQ(json.at("contexts").at(0).at("values").at(0).get<std::int64_t>(), kOdd);
  EXPECT_EQ(json.at("contexts").at(1).at("values"), nlohmann::json({-1, 7}));
}

TEST(WorkflowText, WhatIsNoNumberIsNullInJson) {
  workflow::RunOutcome outcome;
  outcome.shown.push_back(context<double>("rates", workflow::Scalar::kF64, {2}, {std::nan(""), 0.5}));
  const auto json = nlohmann::json::parse(outcome_json(outcome, "w"));
  EXPECT_TRUE(json.at("contexts").at(0).at("values").at(0).is_null());
  EXPECT_EQ(json.at("contexts").at(0).at("values").at(1).get<double>(), 0.5);
}

TEST(WorkflowText, LongContextsAndLoopsSayHowMuchIsNotShown) {
  workflow::RunOutcome outcome;
  outcome.shown.push_back(
      context("sums", workflow::Scalar::kF64, {30, 12}, std::vector<double>(30 * 12, 1.5)));
  for (std::uint64_t number = 1; number <= 60; ++number)
    outcome.iterations.push_back({"descent", number, 1'000'000, 2'000'000, 0.25});
  outcome.iterations_not_kept = 3;
  const std::string text = outcome_text(outcome);
  EXPECT_THAT(text, HasSubstr("sums f64[30, 12]\n"));
  EXPECT_THAT(text, HasSubstr("and 2 more\n"));
  EXPECT_THAT(text, HasSubstr("and 10 more rows (--json has all)"));
  EXPECT_THAT(text, HasSubstr("loop descent\n"));
  EXPECT_THAT(text, HasSubstr("and 10 more (--json has them)"));
  EXPECT_THAT(text, HasSubstr("3 later iterations were not kept"));
  const auto json = nlohmann::json::parse(outcome_json(outcome, "w"));
  EXPECT_EQ(json.at("iterations").size(), 60u);
  EXPECT_EQ(json.at("iterations").at(59).at("watched").get<double>(), 0.25);
  EXPECT_EQ(json.at("iterations_not_kept").get<int>(), 3);
}

}  // namespace
}  // namespace tailor::weft
