#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <utility>

#include "daemon/serve/library.h"
#include "daemon/serve/service.h"
#include "daemon/serve/views.h"
#include "tests/support/profile_bytes.h"
#include "tests/support/sample_profile.h"

namespace tailor::serve {
namespace {

// A reader that needs the sums only has them while another waits for the samples.
TEST(FileLibrary, TheSummaryDoesNotWaitForTheSamples) {
  const std::string bytes =
      test::profile_bytes([](profile::ProfileSink& sink) { test::give_profile(sink, 2); });
  std::promise<void> asked, allowed;
  const auto library =
      open_file_library("a.tailor", [&](const std::string&, const query::LoadOptions& options) {
        if (options.keep_samples) {
          asked.set_value();
          allowed.get_future().wait();
        }
        store::MemoryInput input(bytes);
        return query::Profile::load(input, options);
      });
  const auto load = [&](Detail detail) {
    return library->load({Target::What::kAll}, detail, Stop(), {}).ok();
  };
  ASSERT_TRUE(load(Detail::kSums));
  auto samples = std::async(std::launch::async, load, Detail::kSamples);
  asked.get_future().wait();
  auto summary = std::async(std::launch::async, load, Detail::kSums);
  EXPECT_EQ(summary.wait_for(std::chrono::seconds(60)), std::future_status::ready);
  allowed.set_value();
  EXPECT_TRUE(summary.get());
  EXPECT_TRUE(samples.get());
}

// Two million may be too short for a sample: the user learns which one has some.
TEST(FileLibrary, OfALastExecutionWithoutSamplesTheUserHearsWhichHasSome) {
  const std::string bytes = test::profile_bytes([](profile::ProfileSink& sink) {
    test::give_profile(sink, 2);
    profile::ExecutionRecord execution;
    execution.process = test::kSampleProcess;
    execution.plan = test::kSamplePlan;
    for (std::uint8_t i = 1; i <= 2; ++i) {
      execution.handle = test::kSampleExecution + i;
      execution.id.bytes.fill(i);
      execution.begin = test::kSampleStart + i;
      sink.on_execution(execution);
    }
  });
  const auto library =
      open_file_library("a.tailor", [&](const std::string&, const query::LoadOptions& options) {
        store::MemoryInput input(bytes);
        return query::Profile::load(input, options);
      });
  const auto notes = [&](const Target& target) {
    auto loaded = library->load(target, Detail::kSums, Stop(), {});
    EXPECT_TRUE(loaded);
    return loaded ? loaded->notes : std::vector<std::string>{"not loaded"};
  };
  EXPECT_EQ(
      notes({Target::What::kNewest, 1}),
      std::vector<std::string>{"the last execution has no sample; 1 of 3 executions has samples, and the "
                               "last of these is shown with -x e1e1e1e1e1e1"});
  EXPECT_EQ(notes({Target::What::kNewest, 2}).front().substr(0, 40),
            "the last 2 executions have no sample; 1 ");
  EXPECT_EQ(notes({Target::What::kNewest, 3}), std::vector<std::string>{});
  EXPECT_EQ(notes({Target::What::kLast, 1}), std::vector<std::string>{}) << "it is the last one with samples";
  EXPECT_EQ(notes({Target::What::kAll}), std::vector<std::string>{});
}

TEST(FileLibrary, ExecutionsAreChosenByTheCgroupOfTheirProcess) {
  const std::string container = "2227daf62df6694645fee5df53c1f91271546a9560e8600a525690ae252b7f63";
  const std::string bytes = test::profile_bytes([&](profile::ProfileSink& sink) {
    test::give_profile(sink, 2);
    profile::ProcessRecord process;
    process.process = test::kSampleProcess;
    process.comm = "weft";
    process.cgroup = "/system.slice/docker-" + container + ".scope";
    sink.on_process(process);
  });
  const auto library =
      open_file_library("a.tailor", [&](const std::string&, const query::LoadOptions& options) {
        store::MemoryInput input(bytes);
        return query::Profile::load(input, options);
      });
  const auto rows = [&](const std::string& cgroup) {
    ExecutionFilter filter;
    filter.cgroup = cgroup;
    auto list = library->executions(filter, Stop());
    EXPECT_TRUE(list);
    return list ? std::move(list->rows) : std::vector<store::ExecutionRow>();
  };
  for (const char* cgroup : {"", "/system.slice", "*docker*", "2227daf6"})
    EXPECT_EQ(rows(cgroup).size(), 1u) << cgroup;
  for (const char* cgroup : {"/user.slice", "*podman*", "2227daf7"})
    EXPECT_EQ(rows(cgroup).size(), 0u) << cgroup;
  const Json json = executions_json(rows(""))["executions"][0];
  EXPECT_EQ(json["container"], container);
  EXPECT_EQ(json["pod"], "");
  Target target{Target::What::kFiltered};
  target.filter.cgroup = "/user.slice";
  const auto nothing = library->load(target, Detail::kSums, Stop(), {});
  ASSERT_FALSE(nothing);
  EXPECT_NE(nothing.error().message.find("is in a cgroup \"/user.slice\""), std::string::npos)
      << nothing.error().message;
}

TEST(FileLibrary, OfVeryManySamplesThoseOfATimeAreReadAlone) {
  const std::string bytes =
      test::profile_bytes([](profile::ProfileSink& sink) { test::give_profile(sink, 20); });
  ViewRequest request{{Target::What::kAll}, {}, SamplesView{}};
  request.filters.source = "cpu-clock";
  request.filters.from_ns = 100'300'000;
  request.filters.to_ns = 150'700'000;
  // The answer, and how many samples were in memory for it.
  const auto answer = [&](std::uint64_t most_kept) {
    std::size_t in_memory = 0;
    const auto load = [&](const std::string&, const query::LoadOptions& options) {
      store::MemoryInput input(bytes);
      auto profile = query::Profile::load(input, options);
      if (profile) in_memory = std::max(in_memory, profile->samples().size());
      return profile;
    };
    const auto library = open_file_library("a.tailor", load, most_kept);
    Service service(*library, {});
    auto json = service.answer(request, Access::everything(), Stop());
    EXPECT_TRUE(json) << (json ? "" : json.error().message);
    return std::pair(json ? std::move(*json) : Json(), in_memory);
  };
  const std::size_t all = 20 * test::kSamplesOfRound;
  const auto [whole, of_whole] = answer(all);
  const auto [part, of_part] = answer(all - 1);
  EXPECT_EQ(of_whole, all);
  const std::size_t count = whole["count"];
  EXPECT_GT(count, 0u);
  EXPECT_EQ(of_part, count);
  for (const char* column : {"time_ns", "tid", "weight", "total", "count"})
    EXPECT_EQ(part[column], whole[column]) << column;
  EXPECT_EQ(part["view"]["weight"], whole["view"]["weight"]);
  for (std::size_t i = 0; i < count; ++i) {
    const auto cell_of = [i](const Json& json) { return json["cells"][json["cell"][i].get<std::size_t>()]; };
    EXPECT_EQ(cell_of(part), cell_of(whole)) << i;
  }
  // What an operator has a part of follows from all of them.
  request.filters.op = 1;
  EXPECT_EQ(answer(all - 1).second, all);
}

TEST(FileLibrary, ExecutionsSayThatTheirProcessHadAnotherRate) {
  const auto row_with = [](std::vector<profile::RateSpan> rates) {
    const std::string bytes = test::profile_bytes([&](profile::ProfileSink& sink) {
      test::give_profile(sink, 2);
      profile::RecordingInfo info;
      info.start = test::kSampleStart;
      info.sources.push_back({0, "cpu-clock", profile::Unit::kNsOnCpu, 1'000'000, false});
      info.rates = std::move(rates);
      sink.on_recording(info);
    });
    return rows_of(test::load(bytes)).at(0);
  };
  constexpr TimeNs kBegin = test::kSampleStart;
  const ProcessId other{1, 1};
  const auto raised = row_with({{other, kBegin, kTimeMax, 11, "tailor rate"},
                                {test::kSampleProcess, kBegin, kTimeMax, 997, "trigger slow"}});
  EXPECT_EQ(raised.frequency, 997u);
  const Json json = execution_json(raised, nullptr);
  EXPECT_EQ(json["rate"]["hz"], 997);
  EXPECT_EQ(json["rate"]["why"], "trigger slow");
  const auto before = row_with({{test::kSampleProcess, kBegin - 20, kBegin - 10, 997, "trigger slow"}});
  EXPECT_EQ(before.frequency, 0u);
  EXPECT_FALSE(execution_json(before, nullptr).contains("rate"));
}

}  // namespace
}  // namespace tailor::serve
