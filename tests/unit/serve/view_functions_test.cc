// What a page gets of functions: of a part, of an operator, and never too much at once.
#include "daemon/serve/view_functions.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "daemon/query/sums/keys.h"
#include "tests/support/called_profile.h"
#include "tests/support/profile_bytes.h"
#include "tests/support/sample_profile.h"

namespace tailor::serve {
namespace {

std::shared_ptr<const query::Profile> functions_of(const std::function<void(profile::ProfileSink&)>& give) {
  return std::make_shared<const query::Profile>(
      test::load(test::profile_bytes(give), {.keep_samples = true, .functions = true}));
}

Result<Json> answer_of(const std::shared_ptr<const query::Profile>& profile, const Filters& filters = {},
                       const FunctionsRequest& request = {}) {
  auto view = make_view({profile, {}}, filters);
  if (!view) return view.error();
  const query::NamedFunctions names(*profile, {}, query::NamesFrom::kProfile);
  return functions_json(*view, names, request);
}

void give_sampled(profile::ProfileSink& sink) {
  test::give_profile(sink, 4);
}

double sum_of_column(const Json& column) {
  double sum = 0;
  for (const Json& each : column) sum += each.get<double>();
  return sum;
}

// Columns of one length, numbers that exist, parents before children, and every node its parts.
void expect_tree(const Json& answer, const char* name) {
  const Json& tree = answer[name];
  const std::size_t size = tree["function"].size();
  ASSERT_GT(size, 0u);
  for (const auto& [key, column] : tree.items()) EXPECT_EQ(column.size(), size) << key;
  std::vector<double> below(size, 0);
  for (std::size_t i = 1; i < size; ++i) {
    ASSERT_LT(tree["parent"][i].get<std::size_t>(), i);
    below[tree["parent"][i].get<std::size_t>()] += tree["weight"][i].get<double>();
    const auto function = tree["function"][i].get<std::int64_t>();
    EXPECT_TRUE(function == -2 ||
                (function >= 0 && function < static_cast<std::int64_t>(answer["functions"]["name"].size())));
  }
  for (std::size_t i = 0; i < size; ++i)
    EXPECT_NEAR(tree["weight"][i].get<double>(), tree["self_weight"][i].get<double>() + below[i], 1e-3)
        << name << i;
  EXPECT_EQ(tree["function"][0], -1);
  EXPECT_EQ(tree["weight"][0], answer["view"]["weight"]);
}

TEST(ViewFunctions, TreesFunctionsAndLibrariesHaveTheWeightOfTheView) {
  const auto answer = answer_of(functions_of(give_sampled));
  ASSERT_TRUE(answer) << answer.error().message;
  expect_tree(*answer, "callees");
  expect_tree(*answer, "callers");
  const double weight = (*answer)["view"]["weight"];
  EXPECT_NEAR(sum_of_column((*answer)["functions"]["self_weight"]) +
                  (*answer)["more_functions"]["weight"].get<double>(),
              weight, 1e-3);
  EXPECT_NEAR(
      sum_of_column((*answer)["libraries"]["weight"]) + (*answer)["more_libraries"]["weight"].get<double>(),
      weight, 1e-3);
  EXPECT_EQ((*answer)["view"]["samples"], 4 * test::kSamplesOfRound);
  const std::size_t functions = (*answer)["functions"]["name"].size();
  for (const auto& [key, column] : (*answer)["functions"].items()) EXPECT_EQ(column.size(), functions) << key;
  for (const Json& object : (*answer)["functions"]["object"])
    EXPECT_LT(object.get<std::size_t>(), (*answer)["objects"].size());
  EXPECT_TRUE(answer->contains("accounting"));
}

TEST(ViewFunctions, PartsOfTheTimeAddUp) {
  const auto profile = functions_of(test::give_called);
  Filters first, second;
  first.to_ns = second.from_ns = 2;
  const auto whole = answer_of(profile), a = answer_of(profile, first), b = answer_of(profile, second);
  ASSERT_TRUE(whole && a && b);
  EXPECT_EQ((*a)["view"]["samples"].get<double>() + (*b)["view"]["samples"].get<double>(),
            (*whole)["view"]["samples"].get<double>());
  EXPECT_LT((*a)["view"]["samples"].get<double>(), (*whole)["view"]["samples"].get<double>());
}

TEST(ViewFunctions, OfAnOperatorItIsItsPartAlone) {
  const auto profile = functions_of(give_sampled);
  const auto view = make_view({profile, {}}, {});
  ASSERT_TRUE(view);
  const auto report = profile_json(*view);
  ASSERT_TRUE(report);
  for (const Json& row : (*report)["plans"][0]["operators"]) {
    if (row["samples"] == 0) continue;
    Filters filters;
    filters.op = row["id"].get<std::uint32_t>();
    const std::string plan = query::plan_key(test::kSampleProcess, test::kSamplePlan);
    for (const std::string& of : {std::string(), plan}) {
      filters.plan = of;
      const auto own = answer_of(profile, filters);
      ASSERT_TRUE(own) << own.error().message;
      EXPECT_NEAR((*own)["view"]["weight"].get<double>(), row["weight"].get<double>(), 1e-3) << row["name"];
    }
    filters.plan = "1.2.3";
    EXPECT_FALSE(make_view({profile, {}}, filters)) << "no other plan has it";
  }
}

// Very many functions of very long names, all below each other.
void give_hostile(profile::ProfileSink& sink) {
  test::give_context(sink);
  constexpr std::uint64_t kBase = 0x6000'0000, kFunctions = 3000;
  for (std::uint64_t i = 0; i < kFunctions; ++i) {
    v1::CodeObject code;
    code.set_id(1000 + i);
    code.set_base(kBase + i * 0x100);
    code.set_size(0x100);
    code.set_name(fmt::format("{}{}", i, std::string(2000, '"')));
    sink.on_code(test::kSampleProcess, test::kSampleStart, code);
  }
  for (std::uint64_t i = 0; i < kFunctions; ++i) {
    const profile::StackFrame outer{nullptr, kBase + (i * 7 % kFunctions) * 0x100 + 0x10};
    const profile::StackFrame inner{&outer, kBase + (i * 3 % kFunctions) * 0x100 + 0x10};
    profile::SampleRecord sample =
        test::unattributed_sample(test::kSampleStart + 10, profile::Reason::kUnknownUserCode);
    sample.ip = sample.user_ip = kBase + i * 0x100 + 8;
    sample.stack = &inner;
    sink.on_samples(std::span(&sample, 1));
  }
}

TEST(ViewFunctions, HoweverMuchThereIsAnAnswerIsSmallAndNothingIsLost) {
  const auto profile = functions_of(give_hostile);
  for (const std::size_t nodes : {16, 1200, 4000}) {
    const auto answer = answer_of(profile, {}, {nodes});
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_LE(answer->dump().size(), kMostFunctionBytes) << nodes;
    expect_tree(*answer, "callees");
    expect_tree(*answer, "callers");
    EXPECT_EQ((*answer)["view"]["samples"], 3000);
    for (const Json& name : (*answer)["functions"]["name"]) EXPECT_LE(name.get<std::string>().size(), 240u);
  }
}

TEST(ViewFunctions, NamesAreMadeOnceForAProfile) {
  const auto one = functions_of(test::give_called), other = functions_of(give_sampled);
  KnownNames known(query::NamesFrom::kProfile);
  const auto names = known.of(one);
  EXPECT_EQ(known.of(one), names);
  EXPECT_NE(known.of(other), names);
}

}  // namespace
}  // namespace tailor::serve
