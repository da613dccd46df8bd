// What a report file holds: everything that its page offers.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "daemon/query/sums/keys.h"
#include "daemon/serve/service.h"
#include "tests/support/profile_bytes.h"
#include "tests/support/sample_profile.h"

namespace tailor::serve {
namespace {

constexpr ExecutionHandle kFirst = 100;

// Executions of one plan, each with samples of two events.
void give_executions(profile::ProfileSink& sink, int executions) {
  test::give_context(sink);
  profile::RecordingInfo info;
  info.start = test::kSampleStart;
  info.sources.push_back({0, "cpu-clock", profile::Unit::kNsOnCpu, 1'000'000, false});
  info.sources.push_back({1, "page-faults", profile::Unit::kEvents, 1, true});
  sink.on_recording(info);
  TimeNs time = test::kSampleStart;
  for (int i = 0; i < executions; ++i) {
    profile::ExecutionRecord execution;
    execution.process = test::kSampleProcess;
    execution.handle = kFirst + static_cast<ExecutionHandle>(i);
    execution.id.bytes.fill(static_cast<std::uint8_t>(i + 1));
    execution.plan = test::kSamplePlan;
    execution.begin = time;
    std::vector<profile::SampleRecord> samples;
    for (std::uint32_t ir = 1; ir <= 6; ++ir) {
      for (std::uint16_t source : {0, 1}) {
        profile::SampleRecord sample = test::ir_sample(time += 1'000'000, ir);
        sample.source = source;
        sample.attribution.execution = execution.handle;
        samples.push_back(sample);
      }
    }
    execution.end = time;
    sink.on_execution(execution);
    sink.on_samples(samples);
  }
  sink.on_watermark(time);
}

// The answers of a report file of this many executions.
Json responses_of(int executions) {
  const std::string path = testing::TempDir() + "/serve_bundle_test.tailor";
  std::ofstream(path) << test::profile_bytes(
      [&](profile::ProfileSink& sink) { give_executions(sink, executions); });
  const auto library = open_file_library(path);
  Service service(*library, ServiceOptions{"test", {}});
  auto bundle = service.bundle({Target::What::kAll, 1, {}}, Access::everything(), Stop());
  std::remove(path.c_str());
  EXPECT_TRUE(bundle) << (bundle ? "" : bundle.error().message);
  return bundle ? (*bundle)["responses"] : Json::object();
}

std::vector<std::string> ids_of(const Json& responses) {
  std::vector<std::string> ids;
  for (const Json& row : responses["executions"]["executions"])
    if (row["samples"] > 0) ids.push_back(row["id"]);
  return ids;
}

TEST(Bundle, EveryEventThatAnExecutionListsIsThere) {
  const Json responses = responses_of(2);
  auto names = ids_of(responses);
  ASSERT_EQ(names.size(), 2u);
  names.push_back("all");
  for (const std::string& name : names) {
    const std::string root = "executions/" + name;
    const Json& sources = responses[root + "/sources"]["sources"];
    ASSERT_EQ(sources.size(), 2u) << name;
    for (const Json& source : sources) {
      const std::string only =
          source["default"] == true ? "" : "?source=" + source["name"].get<std::string>();
      for (const char* view :
           {"/profile", "/flame", "/functions", "/timeline", "/threads", "/memory", "/listing"})
        EXPECT_TRUE(responses.contains(std::string(root).append(view).append(only))) << root << view << only;
      EXPECT_EQ(responses[std::string(root).append("/profile").append(only)]["source"]["name"],
                source["name"]);
    }
  }
}

TEST(Bundle, ComparesEachTwoOfTheNewest) {
  const Json responses = responses_of(3);
  const auto ids = ids_of(responses);
  ASSERT_EQ(ids.size(), 3u);
  for (const std::string& a : ids) {
    for (const std::string& b : ids) {
      const std::string key = std::string("compare?a=").append(a).append("&b=").append(b);
      ASSERT_EQ(responses.contains(key), a != b) << key;
      if (a == b) continue;
      EXPECT_EQ(responses[key]["a"]["id"], a);
      EXPECT_EQ(responses[key]["b"]["id"], b);
    }
  }
}

TEST(Bundle, ManyExecutionsDoNotMakeManyMoreComparisons) {
  const Json responses = responses_of(40);
  std::size_t comparisons = 0, views = 0;
  for (const auto& [key, answer] : responses.items()) {
    comparisons += key.starts_with("compare?");
    views += key.ends_with("/profile");
  }
  EXPECT_EQ(comparisons, 10u * 9);
  EXPECT_EQ(views, 31u);  // of thirty executions, and of all
}

}  // namespace
}  // namespace tailor::serve
