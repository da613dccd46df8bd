#include "daemon/config/sampling_settings.h"

#include <gtest/gtest.h>

#include <set>

namespace tailor::config {
namespace {

TEST(SamplingSettings, EveryOneIsAFlagAndAKeyOfTheSameName) {
  CLI::App app;
  SamplingOptions options;
  const auto declared = declare(app, sampling_settings(), options);
  ASSERT_EQ(declared.size(), sampling_settings().size());
  std::set<std::string> keys;
  for (std::size_t i = 0; i < declared.size(); ++i) {
    const auto& setting = sampling_settings()[i];
    EXPECT_TRUE(declared[i]->check_lname(setting.key)) << setting.key;
    EXPECT_FALSE(declared[i]->get_description().empty()) << setting.key;
    EXPECT_TRUE(keys.insert(setting.key).second) << setting.key;
  }
}

// The fields of the struct and the entries of the table: a field that the table forgets is found here.
TEST(SamplingSettings, ReadEveryFieldAndSeeItsChange) {
  CLI::App app;
  SamplingOptions options;
  declare(app, sampling_settings(), options);
  std::vector<std::string> arguments = {"--marks=all",
                                        "--memory",
                                        "--callchain",
                                        "--stacks=none",
                                        "--sampler=perf",
                                        "--event=cycles,faults",
                                        "--frequency=99",
                                        "--max-overhead=1%",
                                        "--sample-executions=1/8",
                                        "--untagged-executions=2%"};
  app.parse(arguments);
  EXPECT_EQ(options.frequency, 99U);
  EXPECT_EQ(options.events, (std::vector<std::string>{"cycles", "faults"}));
  EXPECT_EQ(options.sampled_by, capture::SampledBy::kPerf);
  EXPECT_EQ(options.stacks, capture::Stacks::kNone);
  EXPECT_DOUBLE_EQ(options.max_overhead, 0.01);
  EXPECT_EQ(options.sampled_executions, 125'000u);
  EXPECT_EQ(options.untagged_executions, 20'000u);
  EXPECT_TRUE(options.callchain && options.memory && options.all_marks);
  std::set<std::string> changed;
  for (const auto& each : sampling_settings()) {
    if (each.same(options, SamplingOptions())) continue;
    changed.insert(each.key);
    SamplingOptions taken;
    each.take(taken, options);
    EXPECT_TRUE(each.same(taken, options)) << each.key;
  }
  EXPECT_EQ(changed.size(), sampling_settings().size() - 1) << "all but aggregate, which excludes others";
}

TEST(SamplingSettings, RefuseWhatExcludesEachOther) {
  CLI::App app;
  SamplingOptions options;
  declare(app, sampling_settings(), options);
  std::vector<std::string> arguments = {"--aggregate=1", "--memory"};
  EXPECT_THROW(app.parse(arguments), CLI::ParseError);
}

TEST(SamplingSettings, SharesOfExecutionsAreSharesAndNotNone) {
  for (const char* wrong : {"--sample-executions=0", "--sample-executions=2", "--untagged-executions=1/0"}) {
    CLI::App app;
    SamplingOptions options;
    declare(app, sampling_settings(), options);
    std::vector<std::string> arguments = {wrong};
    EXPECT_THROW(app.parse(arguments), CLI::ParseError) << wrong;
  }
}

}  // namespace
}  // namespace tailor::config
