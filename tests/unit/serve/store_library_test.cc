// Requests to a store: what its lists hold, for whom, and what overviews add up.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "daemon/query/reports/plan_report.h"
#include "daemon/query/sums/keys.h"
#include "daemon/query/time/wall_time.h"
#include "daemon/serve/fingerprint.h"
#include "daemon/serve/history.h"
#include "daemon/serve/service.h"
#include "daemon/store/block_reader.h"
#include "daemon/store/file_io.h"
#include "daemon/store/store_writer.h"
#include "tests/support/added_runs.h"
#include "tests/support/sample_profile.h"
#include "tests/support/worker_profile.h"

namespace tailor::serve {
namespace {

constexpr std::uint32_t kAda = 1001, kBob = 1002;

profile::ExecutionRecord execution(std::uint32_t uid, std::uint8_t id, ExecutionHandle handle) {
  profile::ExecutionRecord record;
  record.process = {static_cast<std::int32_t>(uid), 1};
  record.handle = handle;
  record.id.bytes.fill(id);
  record.plan = test::kSamplePlan;
  record.begin = test::kSampleStart + static_cast<TimeNs>(handle);
  record.uid = uid;
  return record;
}

class StoreLibraryTest : public testing::Test {
 protected:
  StoreLibraryTest() { std::filesystem::remove_all(directory_); }
  ~StoreLibraryTest() override { std::filesystem::remove_all(directory_); }

  void give(const std::function<void(profile::ProfileSink&)>& more) {
    auto writer = store::StoreWriter::open(directory_, {}, 1'700'000'000'000'000'000);
    ASSERT_TRUE(writer);
    test::give_profile(**writer, 2);
    more(**writer);
    ASSERT_TRUE((*writer)->finish());
    library_ = open_store_library(directory_, {});
    service_ = std::make_unique<Service>(*library_, ServiceOptions{"test", {}});
  }
  Json ask(const Request& request, const Access& access = Access::everything()) {
    auto answer = service_->answer(request, access, stop_);
    EXPECT_TRUE(answer) << (answer ? "" : answer.error().message);
    return answer ? std::move(*answer) : Json();
  }
  static Access user(std::uint32_t uid) {
    Access access;
    access.see_all = false;
    access.uids = {uid};
    return access;
  }

  std::string directory_ = testing::TempDir() + "/store_library_test." + std::to_string(::getpid());
  std::unique_ptr<Library> library_;
  std::unique_ptr<Service> service_;
  Stop stop_;
};

// Flips a bit in each block of samples.
void spoil_samples(const std::string& directory) {
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.path().extension() != ".data") continue;
    auto input = store::open_file(entry.path().string());
    ASSERT_TRUE(input);
    store::ReadReport report;
    store::BlockReader reader(**input, report);
    ASSERT_TRUE(reader.open());
    for (auto block = reader.next(); block && *block; block = reader.next()) {
      if ((*block)->header.type != store::BlockType::kSamples) continue;
      const auto at = static_cast<std::streamoff>((*block)->offset + store::kBlockHeaderSize);
      std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
      file.seekg(at);
      const auto byte = static_cast<char>(file.get() ^ 1);
      file.seekp(at);
      file.put(byte);
    }
  }
}

TEST_F(StoreLibraryTest, WhateverReadsWhatIsDamagedSaysSo) {
  give([](profile::ProfileSink&) {});
  for (const bool damaged : {false, true}) {
    if (damaged) spoil_samples(directory_);
    std::vector<std::string> told;
    const auto library =
        open_store_library(directory_, {}, [&](const std::string& text) { told.push_back(text); });
    const auto was_told = [&] { return !std::exchange(told, {}).empty(); };
    ASSERT_TRUE(library->load({Target::What::kProcess}, Detail::kSums, stop_, {}));
    EXPECT_EQ(was_told(), damaged) << "a recording";
    ASSERT_TRUE(library->load({Target::What::kNewest}, Detail::kSamples, stop_, {}));
    EXPECT_EQ(was_told(), damaged) << "an execution";
    ASSERT_TRUE(library->visit_slices({}, stop_, [](const query::Profile&) {}));
    EXPECT_EQ(was_told(), damaged) << "slices";
    query::StoreDamage found;
    ASSERT_TRUE(library->sums({}, stop_, found));
    EXPECT_EQ(was_told(), damaged) << "sums by the hour";
    EXPECT_EQ(found.read.damaged_spots > 0, damaged);
    ASSERT_TRUE(library->check({}, UINT64_MAX, stop_));
    ASSERT_EQ(told.size(), damaged ? 1u : 0u) << "checksums";
    if (damaged) {
      EXPECT_NE(told[0].find("1 spot is unreadable"), std::string::npos) << told[0];
    }
    told.clear();
    // The catalogue has their rows, and a service looks at the samples behind them.
    Service service(*library, ServiceOptions{"test", {}});
    auto listed = service.answer(ExecutionsRequest{}, Access::everything(), stop_);
    ASSERT_TRUE(listed);
    EXPECT_EQ((*listed)["file"]["damaged_spots"].get<int>() > 0, damaged);
    EXPECT_EQ((*listed)["file"]["finished"], !damaged);
    EXPECT_EQ(was_told(), damaged) << "a list";
    auto hours = service.answer(HistoryRequest{}, Access::everything(), stop_);
    ASSERT_TRUE(hours);
    EXPECT_EQ((*hours)["file"]["damaged_spots"].get<int>() > 0, damaged);
    EXPECT_EQ(was_told(), damaged) << "hours";
    auto range = service.file_state_of_time({}, UINT64_MAX, Access::everything(), stop_);
    ASSERT_TRUE(range);
    EXPECT_EQ((*range)["damaged_spots"].get<int>() > 0, damaged);
    EXPECT_FALSE(range->contains("unreadable"));
    EXPECT_EQ(was_told(), damaged) << "a range of time";
    // Nobody reads samples for the rows themselves.
    ASSERT_TRUE(library->executions({}, stop_));
    EXPECT_TRUE(told.empty());
  }
}

TEST_F(StoreLibraryTest, ASegmentThatCannotBeReadIsNamed) {
  give([](profile::ProfileSink&) {});
  std::filesystem::path whole;
  for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
    if (entry.path().extension() == ".data") whole = entry.path();
  }
  std::fstream(whole, std::ios::in | std::ios::out | std::ios::binary).put('x');
  const auto library = open_store_library(directory_, {});
  const auto checked = library->check({}, UINT64_MAX, stop_);
  ASSERT_TRUE(checked);
  EXPECT_NE(checked->unreadable.find(whole.filename().string()), std::string::npos);
  EXPECT_FALSE(checked->read.finished);
  Service service(*library, ServiceOptions{"test", {}});
  const auto range = service.file_state_of_time({}, UINT64_MAX, Access::everything(), stop_);
  ASSERT_TRUE(range);
  EXPECT_EQ(range->value("unreadable", ""), checked->unreadable);
  EXPECT_TRUE(library->executions({}, stop_)) << "a list needs no samples";
}

TEST_F(StoreLibraryTest, WhoeverSeesEverythingSeesAllFingerprints) {
  give([](profile::ProfileSink&) {});
  const Json all = ask(FingerprintsRequest{});
  ASSERT_EQ(all["fingerprints"].size(), 1u);
  EXPECT_EQ(all["fingerprints"][0]["executions"], 1);
  EXPECT_GT(all["total_cpu_ns"].get<double>(), 0);
  EXPECT_EQ(all["total_cpu_ns"], all["fingerprints"][0]["cpu_ns"]);
}

double sum_of(const Json& series) {
  double sum = 0;
  for (const Json& ns : series["cpu_ns"]) sum += ns.get<double>();
  return sum;
}

constexpr std::uint64_t kWall = 1'700'000'000'000'000'000;  // of the store

// The series by kind are the same samples as a report's, each once.
TEST_F(StoreLibraryTest, CostByKindIsTheReports) {
  give([](profile::ProfileSink&) {});
  HostRequest request;
  request.since_ns = kWall - 3'600'000'000'000;
  request.until_ns = kWall + 3'600'000'000'000;
  std::map<std::string, double> kinds;
  const Json answer = ask(request);
  for (const Json& series : answer["by_kind"]) kinds[series["key"]] = sum_of(series);
  auto loaded = library_->load({Target::What::kProcess}, Detail::kSums, stop_, {});
  ASSERT_TRUE(loaded) << loaded.error().message;
  auto report = query::plan_report(*loaded->profile, loaded->selection);
  ASSERT_TRUE(report);
  std::map<std::string, double> expected = {{"component", report->components.amount.weight},
                                            {"unattributed", report->unattributed.amount.weight}};
  for (const query::OperatorRow& row : report->plans.at(0).operators)
    expected["kind:" + row.kind] += row.cost.amount.weight;
  ASSERT_EQ(kinds.size(), expected.size());
  double all = 0;
  for (const auto& [key, weight] : expected) {
    EXPECT_NEAR(kinds[key], weight, 1) << key;
    all += kinds[key];
  }
  EXPECT_NEAR(all, report->total.weight, 1);
}

TEST_F(StoreLibraryTest, CostByKindIsOfTheTimeAndOfWhatOneMaySee) {
  give([](profile::ProfileSink& sink) { sink.on_execution(execution(kBob, 0x11, 77)); });
  HostRequest request;
  request.since_ns = kWall + 3'600'000'000'000;
  request.until_ns = *request.since_ns + 1;
  EXPECT_EQ(ask(request)["by_kind"], Json::array());
  request.since_ns = kWall - 3'600'000'000'000;
  // Bob runs something, and has no sample.
  const Json his = ask(request, user(kBob));
  EXPECT_EQ(his["running"].size(), 1u);
  EXPECT_EQ(his["by_kind"], Json::array());
}

TEST_F(StoreLibraryTest, OfALastExecutionWithoutSamplesTheUserHearsWhatShowsOneWith) {
  give([](profile::ProfileSink& sink) { sink.on_execution(execution(kBob, 0x11, 77)); });
  const auto notes = [&](const Target& target) {
    auto loaded = library_->load(target, Detail::kSamples, stop_, {});
    EXPECT_TRUE(loaded);
    return loaded ? loaded->notes : std::vector<std::string>{"not loaded"};
  };
  EXPECT_EQ(
      notes({Target::What::kNewest, 1}),
      std::vector<std::string>{"the last execution has no sample; without --last, the newest one that has "
                               "samples is shown"});
  EXPECT_EQ(notes({Target::What::kNewest, 2}), std::vector<std::string>{});
  EXPECT_EQ(notes({Target::What::kDefault}), std::vector<std::string>{});
}

// Further runs of the sample's query, too short for a sample but for the last one, which has one.
void give_runs(profile::ProfileSink& sink, int count) {
  for (int i = 1; i <= count; ++i) {
    profile::ExecutionRecord record;
    record.process = test::kSampleProcess;
    record.handle = test::kSampleExecution + static_cast<ExecutionHandle>(i);
    record.id.bytes.fill(static_cast<std::uint8_t>(0x20 + i));
    record.plan = test::kSamplePlan;
    record.begin = test::kSampleStart + i;
    record.end = record.begin + 1;
    record.labels = {{"user", "ada"}, {"query", "select 1"}};
    sink.on_execution(record);
  }
  profile::SampleRecord sample = test::ir_sample(test::kSampleStart + count, 3);
  sample.attribution.execution = test::kSampleExecution + static_cast<ExecutionHandle>(count);
  sink.on_samples({&sample, 1});
}

TEST_F(StoreLibraryTest, AQueryIsAllOfItsRuns) {
  give([](profile::ProfileSink&) {});
  const std::string fingerprint = ask(FingerprintsRequest{})["fingerprints"][0]["fingerprint"];
  const Json alone = ask(FingerprintRequest{fingerprint, {}});
  EXPECT_EQ(alone["runs"]["executions"], 1);
  EXPECT_EQ(alone["runs"]["operators"], alone["operators"]) << "of one run both are the same";
  std::filesystem::remove_all(directory_);
  give([](profile::ProfileSink& sink) { give_runs(sink, 7); });
  const Json answer = ask(FingerprintRequest{fingerprint, {}});
  EXPECT_EQ(answer["executions"], 8);
  const Json& runs = answer["runs"];
  EXPECT_EQ(runs["executions"], 8);
  EXPECT_EQ(runs["sampled"], 2);
  EXPECT_EQ(runs["left_out"], 0);
  EXPECT_EQ(runs["plans"], 1);
  EXPECT_EQ(runs["samples"], alone["runs"]["samples"].get<int>() + 1);
  // The newest run alone would be 100 % of one operator.
  EXPECT_EQ(answer["operators_of"], answer["last_sampled"]);
  EXPECT_NE(answer["first_sampled"], answer["last_sampled"]);
  const auto with_samples = [](const Json& operators) {
    return std::count_if(operators.begin(), operators.end(),
                         [](const Json& row) { return row["samples"] > 0; });
  };
  EXPECT_EQ(with_samples(answer["operators"]), 1);
  EXPECT_EQ(with_samples(runs["operators"]), with_samples(alone["operators"]));
}

// The profile of a query, or of a store, is that of its runs.
TEST_F(StoreLibraryTest, AViewOfAllIsOfTheRunsThatAreChosen) {
  give([](profile::ProfileSink& sink) {
    give_runs(sink, 7);
    sink.on_execution(execution(kBob, 0x11, 77));
  });
  const std::string fingerprint = ask(ExecutionRequest{prefix_target("e1e1")})["fingerprint"];
  const Json runs = ask(FingerprintRequest{fingerprint, {}})["runs"];
  Target of_query{Target::What::kFiltered, 0, {}, {}};
  of_query.filter.fingerprint = fingerprint;
  const Json profile = ask(ViewRequest{of_query, {}, ProfileView{}});
  EXPECT_EQ(profile["view"]["id"], "all");
  EXPECT_EQ(profile["view"]["runs"], Json({{"executions", 8}, {"sampled", 2}, {"left_out", 0}}));
  EXPECT_EQ(profile["view"]["samples"], runs["samples"]);
  EXPECT_EQ(profile["plans"][0]["operators"], runs["operators"]);
  const Target all{Target::What::kAll};
  const Json whole = ask(ViewRequest{all, {}, ProfileView{}});
  EXPECT_EQ(whole["view"]["runs"]["executions"], 9);
  EXPECT_EQ(whole["view"]["samples"], runs["samples"]) << "the other one has none";
  // Everybody has their own.
  const auto his = service_->answer(ViewRequest{all, {}, ProfileView{}}, user(kBob), stop_);
  EXPECT_FALSE(his) << "it has no samples";
  of_query.filter.fingerprint = "0123";
  const auto none = service_->answer(ViewRequest{of_query, {}, ProfileView{}}, Access::everything(), stop_);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::kNotFound);
  EXPECT_NE(none.error().message.find("the store holds no execution that has the fingerprint 0123"),
            std::string::npos)
      << none.error().message;
}

Target runs_of(const std::string& fingerprint, std::optional<std::uint64_t> since_ns = {},
               std::optional<std::uint64_t> until_ns = {}) {
  Target target{Target::What::kFiltered, 0, {}, {}};
  target.filter.fingerprint = fingerprint;
  target.filter.since_ns = since_ns;
  target.filter.until_ns = until_ns;
  return target;
}

// The first run has nearly all samples, the last one has one, and six have none.
TEST_F(StoreLibraryTest, TwoTimesOfAQueryAreCompared) {
  give([](profile::ProfileSink& sink) { give_runs(sink, 7); });
  const std::string fingerprint = ask(ExecutionRequest{prefix_target("e1e1")})["fingerprint"];
  const Json all = ask(CompareRequest{runs_of(fingerprint), runs_of(fingerprint), ""});
  EXPECT_EQ(all["same_plan"], true);
  EXPECT_EQ(all["executions"], Json({{"a", 8}, {"b", 8}}));
  EXPECT_EQ(all["runs"]["a"], Json({{"executions", 8},
                                    {"sampled", 2},
                                    {"left_out", 0},
                                    {"other_plans", 0},
                                    {"runs_unknown", 0},
                                    {"notes", Json::array()}}));
  for (const Json& row : all["operators"]) EXPECT_EQ(row["weight_change"], 0) << row["name"];
  // Where the first run ends, the others begin.
  const std::uint64_t began = ask(ExecutionRequest{prefix_target("e1e1")})["began_wall_ns"];
  const Json parts =
      ask(CompareRequest{runs_of(fingerprint, {}, began + 1), runs_of(fingerprint, began + 1), ""});
  EXPECT_EQ(parts["executions"], Json({{"a", 1}, {"b", 7}}));
  EXPECT_EQ(parts["runs"]["b"]["sampled"], 1);
  double weight = 0, whole = 0;
  for (const char* rows : {"operators", "rest"}) {
    for (const Json& row : parts[rows]) {
      for (const char* side : {"a", "b"})
        if (row[side].is_object()) weight += row[side]["weight"].get<double>();
    }
    for (const Json& row : all[rows]) {
      if (row["a"].is_object()) whole += row["a"]["weight"].get<double>();
    }
  }
  EXPECT_NEAR(weight, whole, 1e-6 * whole) << "each run is on one side";
  // An execution beside its query.
  const Json beside = ask(CompareRequest{prefix_target("e1e1"), runs_of(fingerprint), ""});
  EXPECT_TRUE(beside["runs"]["a"].is_null());
  EXPECT_EQ(beside["executions"]["a"], 1);
  const CompareRequest later{runs_of(fingerprint), runs_of(fingerprint, began + 1'000'000'000'000), ""};
  const auto none = service_->answer(later, Access::everything(), stop_);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(none.error().message.find("b: "), 0u) << none.error().message;
  // What one may not see is not compared with.
  const CompareRequest same{runs_of(fingerprint), runs_of(fingerprint), ""};
  EXPECT_FALSE(service_->answer(same, user(kBob), stop_));
}

TEST_F(StoreLibraryTest, AQueryWithoutSamplesHasNoOperators) {
  give([](profile::ProfileSink& sink) { sink.on_execution(execution(kBob, 0x11, 77)); });
  const Json all = ask(FingerprintsRequest{});
  for (const Json& row : all["fingerprints"]) {
    if (row["samples"] != 0) continue;
    const Json answer = ask(FingerprintRequest{row["fingerprint"], {}});
    EXPECT_EQ(answer["runs"]["executions"], 1);
    EXPECT_EQ(answer["runs"]["sampled"], 0);
    EXPECT_EQ(answer["runs"]["operators"], Json::array());
    EXPECT_EQ(answer["last_sampled"], "");
    return;
  }
  FAIL() << "there is a query without samples";
}

TEST_F(StoreLibraryTest, WorkersAreARunWithTheirLeader) {
  give([](profile::ProfileSink&) {});
  const Json alone = ask(ExecutionsRequest{});
  std::filesystem::remove_all(directory_);
  give([](profile::ProfileSink& sink) { test::give_worker(sink, test::sample_leader()); });
  const Json list = ask(ExecutionsRequest{});
  ASSERT_EQ(list["executions"].size(), 1u);
  EXPECT_EQ(list["executions"][0]["id"], test::sample_leader());
  EXPECT_EQ(list["executions"][0]["samples"], alone["executions"][0]["samples"].get<int>() + 2);
  const Json sums = ask(FingerprintsRequest{});
  ASSERT_EQ(sums["fingerprints"].size(), 1u);
  EXPECT_EQ(sums["fingerprints"][0]["executions"], 1);
  EXPECT_EQ(sums["total_cpu_ns"], list["executions"][0]["cpu_ns"]);
  // By the worker's identity it is the leader too, and so is the last one.
  for (const Target& target : {prefix_target("b2b2"), Target{Target::What::kLast, 1, {}}}) {
    const Json profile = ask(ViewRequest{target, {}, ProfileView{}});
    EXPECT_EQ(profile["view"]["id"], test::sample_leader());
    EXPECT_EQ(profile["view"]["samples"], list["executions"][0]["samples"]);
  }
}

TEST_F(StoreLibraryTest, AWorkerWithoutItsLeaderStandsForItself) {
  give([](profile::ProfileSink& sink) { test::give_worker(sink, std::string(32, '0')); });
  EXPECT_EQ(ask(ExecutionsRequest{})["executions"].size(), 2u);
}

TEST_F(StoreLibraryTest, NobodyWorksForAnotherUsersExecution) {
  give([](profile::ProfileSink& sink) {
    profile::ExecutionRecord worker = test::worker_execution(test::sample_leader());
    worker.uid = kBob;
    sink.on_execution(worker);
  });
  EXPECT_EQ(ask(ExecutionsRequest{})["executions"].size(), 2u);
}

// Ids of others are not told: neither by what is ambiguous nor by what is denied.
TEST_F(StoreLibraryTest, WhatOneMayNotSeeDoesNotExist) {
  give([](profile::ProfileSink& sink) {
    profile::ExecutionRecord one = execution(kAda, 0x77, 1), other = execution(kAda, 0x77, 2);
    other.id.bytes[15] = 1;
    sink.on_execution(one);
    sink.on_execution(other);
    sink.on_execution(execution(kBob, 0x11, 3));
  });
  const auto error = [&](const std::string& prefix, std::uint32_t uid) {
    const auto answer =
        service_->answer(ViewRequest{prefix_target(prefix), {}, ProfileView{}}, user(uid), stop_);
    EXPECT_FALSE(answer);
    return answer.ok() ? Error{"none"} : answer.error();
  };
  EXPECT_EQ(error("7777", kAda).kind, ErrorKind::kInvalid) << "hers are ambiguous";
  EXPECT_EQ(error("7777", kBob).kind, ErrorKind::kNotFound);
  EXPECT_EQ(error("7777", kBob).message.find("77777"), std::string::npos);
  EXPECT_EQ(error(std::string(30, '7') + "77", kBob).kind, ErrorKind::kNotFound);
  const auto last = service_->answer(ExecutionRequest{{Target::What::kLast, 1, {}}}, user(kBob), stop_);
  ASSERT_TRUE(last) << last.error().message;
  EXPECT_EQ((*last)["id"], std::string(32, '1'));
}

// A list keeps what it shows, up to a number of bytes.
TEST_F(StoreLibraryTest, LongLabelsMakeAPageShorterAndLoseNothing) {
  constexpr int kExecutions = 40;
  give([](profile::ProfileSink& sink) {
    for (int i = 0; i < kExecutions; ++i) {
      profile::ExecutionRecord one = execution(kAda, 0x20, static_cast<ExecutionHandle>(i + 1));
      one.id.bytes[1] = static_cast<std::uint8_t>(i);
      one.labels = {{"query", std::string(1 << 20, 'x')}};
      sink.on_execution(one);
    }
  });
  ExecutionFilter filter;
  filter.limit = 1000;
  std::set<std::string> ids;
  for (int page = 0; page < kExecutions; ++page) {
    auto list = library_->executions(filter, stop_);
    ASSERT_TRUE(list);
    EXPECT_LE(list->rows.size(), 34u);
    for (const auto& row : list->rows) ids.insert(query::hex(row.record.id));
    if (!list->more) break;
    filter.after = query::hex(list->rows.back().record.id);
  }
  EXPECT_EQ(ids.size(), kExecutions + 1u);
}

// A thousand runs in one record, which is open for half a minute: the longest took 50 ms.
TEST_F(StoreLibraryTest, RunsThatAreAddedUpCountEach) {
  give([](profile::ProfileSink& sink) {
    profile::ExecutionRecord sum = execution(kAda, 0x44, 50);
    sum.end = sum.begin + 30'000'000'000;
    sum.rows = 2000;
    sum.labels = {{"query", "select short from runs"}};
    sum.added = test::thousand_runs();
    sink.on_execution(sum);
  });
  ExecutionFilter filter;
  filter.min_elapsed_ns = 51'000'000;
  EXPECT_TRUE(library_->executions(filter, stop_)->rows.empty()) << "no run took so long";
  filter.min_elapsed_ns = 49'000'000;
  const auto found = library_->executions(filter, stop_);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->rows.size(), 1u);
  const std::string fingerprint = fingerprint_of(found->rows[0]);
  const Json query = ask(FingerprintRequest{fingerprint, {}});
  EXPECT_EQ(query["executions"], 1000);
  EXPECT_EQ(query["drawn"], 1000);
  EXPECT_EQ(query["runs"]["executions"], 1000);
  EXPECT_DOUBLE_EQ(query["elapsed_ns"]["min"].get<double>(), 1e6);
  EXPECT_DOUBLE_EQ(query["elapsed_ns"]["mean"].get<double>(), 1.49e6);
  EXPECT_DOUBLE_EQ(query["elapsed_ns"]["max"].get<double>(), 50e6);
  const Json row = query["executions_list"][0];
  EXPECT_EQ(row["elapsed_ns"], 30'000'000'000);
  EXPECT_EQ(row["added_runs"]["runs"], 1000);
  EXPECT_EQ(row["added_runs"]["failed"], 3);
  EXPECT_DOUBLE_EQ(row["added_runs"]["elapsed_ns"]["p50"].get<double>(), 1e6);
  query::StoreDamage damage;
  const auto sums = library_->sums({}, stop_, damage);
  ASSERT_TRUE(sums);
  store::RunSum of_query;
  for (const auto& [key, runs] : sums->runs) {
    if (key.fingerprint == fingerprint) store::add(of_query, runs);
  }
  EXPECT_EQ(of_query.executions, 1000u);
  EXPECT_EQ(of_query.failed, 3u);
  EXPECT_EQ(of_query.elapsed.count(), 1000u);
  EXPECT_NEAR(of_query.elapsed.quantile(0.999).value_or(0), 50e6, 5e6);
  EXPECT_EQ(of_query.rows_known, 1000u);
  EXPECT_EQ(of_query.rows, 2000u);
}

store::ExecutionRow row_of(const std::string& plan, double cpu_ns, std::uint64_t wall_begin_ns) {
  store::ExecutionRow row;
  row.plan_name = plan;
  row.cost.cpu_ns = cpu_ns;
  row.wall_begin_ns = wall_begin_ns;
  row.record.end = 1000;
  return row;
}

TEST(QuerySums, TextsAreCutAndTheTotalIsOfAll) {
  QuerySums sums;
  for (std::size_t i = 0; i < QuerySums::kMostQueries + 7; ++i)
    sums.add(row_of(std::to_string(i) + std::string(2 * QuerySums::kMostText, 'q'), 2, i));
  const Json out = sums.json(1000, FingerprintsRequest::Order::kCpu);
  EXPECT_EQ(out["fingerprints"].size(), 1000u);
  EXPECT_EQ(out["fingerprints"][0]["name"].get<std::string>().size(), QuerySums::kMostText);
  EXPECT_DOUBLE_EQ(out["total_cpu_ns"].get<double>(), 2.0 * (QuerySums::kMostQueries + 7));
  EXPECT_EQ(out["truncated"], true);
}

// Half a minute of runs that an old agent added up is no elapsed time of a run.
TEST(QuerySums, RunsOfUnknownNumberAreInNoElapsedTime) {
  QuerySums sums;
  store::ExecutionRow sum = row_of("q", 5, 1);
  sum.record.end = 30'000'000'000;
  sum.record.labels.emplace_back(profile::kRunsLabel, profile::kRunsLabelValue);
  sums.add(sum);
  sums.add(row_of("q", 5, 1));
  const auto order = FingerprintsRequest::Order::kCpu;
  const Json found = sums.json(10, order);
  ASSERT_EQ(found["fingerprints"].size(), 1u);
  const Json query = found["fingerprints"][0];
  EXPECT_EQ(query["executions"], 2);
  EXPECT_EQ(query["elapsed_ns"]["unknown"], 1);
  EXPECT_EQ(query["elapsed_ns"]["mean"], 1000.0);
  EXPECT_EQ(query["elapsed_ns"]["max"], 1000.0);
}

TEST(QuerySums, ATextIsLookedForBeforeTheLimit) {
  QuerySums sums;
  for (int i = 0; i < 200; ++i) sums.add(row_of("dear " + std::to_string(i), 100, 1));
  sums.add(row_of("Cheap", 1, 1));
  const auto order = FingerprintsRequest::Order::kCpu;
  const Json found = sums.json(100, order, "cHEAP");
  ASSERT_EQ(found["fingerprints"].size(), 1u) << "it is not among the hundred dearest";
  EXPECT_EQ(found["fingerprints"][0]["name"], "Cheap");
  EXPECT_DOUBLE_EQ(found["total_cpu_ns"].get<double>(), 20'001) << "of all";
  EXPECT_EQ(sums.json(100, order, "dear").at("fingerprints").size(), 100u);
  EXPECT_TRUE(sums.json(100, order, "Cheap\ndear").at("fingerprints").empty());
}

TEST(QuerySums, OfWhatBeganBeforeTheTimeThePartWithinItCounts) {
  QuerySums sums(1'000'000);
  store::ExecutionRow row = row_of("long", 100, 600'000);
  row.record.end = 800'000;  // of 800 us the last half lies in the time
  sums.add(row);
  sums.add(row_of("short", 7, 1'000'000));
  const Json out = sums.json(10, FingerprintsRequest::Order::kCpu);
  EXPECT_DOUBLE_EQ(out["fingerprints"][0]["cpu_ns"].get<double>(), 50);
  EXPECT_DOUBLE_EQ(out["fingerprints"][1]["cpu_ns"].get<double>(), 7);
  EXPECT_DOUBLE_EQ(out["total_cpu_ns"].get<double>(), 57);
}

// Of half of the executions nothing is known: they cost as much as the others, and only a part of it in the
// time.
TEST(QuerySums, TheEstimateForAllIsOfTheTimeToo) {
  QuerySums sums(1'000'000);
  store::ExecutionRow row = row_of("long", 100, 600'000);
  row.record.end = 800'000;
  row.cost.samples = 10;
  for (int i = 0; i < 40; ++i) {
    row.record.drawn = i % 2 == 0;
    row.cost.cpu_ns = row.record.drawn ? 100 : 0;
    sums.add(row);
  }
  const Json found = sums.json(10, FingerprintsRequest::Order::kCpu)["fingerprints"][0];
  EXPECT_DOUBLE_EQ(found["cpu_ns"].get<double>(), 1000);
  EXPECT_DOUBLE_EQ(found["cpu_ns_of_all"]["value"].get<double>(), 2000);
  EXPECT_GE(found["cpu_ns_of_all"]["low"].get<double>(), 1000);
}

TEST(QuerySums, WhatRunsIsInNoMean) {
  QuerySums sums;
  store::ExecutionRow row = row_of("query", 1, 1);
  sums.add(row);
  row.record.end = kTimeMax;
  row.wall_begin_ns = query::wall_clock_ns() - 86'000'000'000;
  sums.add(row);
  const Json found = sums.json(10, FingerprintsRequest::Order::kCpu)["fingerprints"][0];
  EXPECT_EQ(found["executions"], 2);
  EXPECT_EQ(found["running"], 1);
  EXPECT_GE(found["running_longest_ns"].get<double>(), 86e9);
  EXPECT_DOUBLE_EQ(found["elapsed_ns"]["mean"].get<double>(), 1000);
}

// Nobody knows yet how many runs it is, and how long each takes.
TEST(QuerySums, OpenSumsOfRunsAreNoLongRun) {
  QuerySums sums;
  store::ExecutionRow row = row_of("query", 1, query::wall_clock_ns() - 20'000'000'000);
  row.record.end = kTimeMax;
  row.record.labels = {{"runs", "short runs of this plan, added up"}};
  sums.add(row);
  Json found = sums.json(10, FingerprintsRequest::Order::kCpu)["fingerprints"][0];
  EXPECT_EQ(found["executions"], 1);
  EXPECT_EQ(found["running_longest_ns"], 0.0);
  row.record.end = 30'000'000'000;
  row.record.added = std::make_shared<const profile::AddedRuns>();  // none of its runs ended
  sums.add(row);
  found = sums.json(10, FingerprintsRequest::Order::kCpu)["fingerprints"][0];
  EXPECT_EQ(found["executions"], 1);
  EXPECT_EQ(found["elapsed_ns"]["max"], 0.0);
}

TEST(HostSums, WhatStillRunsHasUsedNothingInTheFuture) {
  constexpr std::uint64_t kMinute = 60'000'000'000;
  const std::uint64_t now = query::wall_clock_ns();
  HostSums sums(now - 2 * kMinute, now + 2 * kMinute);
  store::ExecutionRow row = row_of("it runs", 1000, now - kMinute);
  row.record.end = kTimeMax;
  sums.add(row);
  const Json buckets = sums.json(4)["by_fingerprint"][0]["cpu_ns"];
  EXPECT_EQ(buckets[0], 0);
  EXPECT_GT(buckets[1].get<double>(), buckets[2].get<double>()) << "the last minute";
  EXPECT_EQ(buckets[3], 0);
}

TEST(HostSums, TheHeaviestHaveTheirOwnSeriesAndTheRestIsOne) {
  HostSums sums(0, 10'000);
  for (int i = 0; i < 100; ++i) sums.add(row_of("plan " + std::to_string(i), i, 1000));
  sums.add(row_of("plan 99", 100, 20'000));  // after the time
  const Json series = sums.json(10)["by_fingerprint"];
  ASSERT_EQ(series.size(), 13u);
  EXPECT_EQ(series[0]["name"], "plan 99");
  EXPECT_DOUBLE_EQ(series[0]["cpu_ns"][1].get<double>(), 99);
  EXPECT_EQ(series[12]["name"], "88 others");
  double all = 0;
  for (const Json& each : series) {
    for (const Json& bucket : each["cpu_ns"]) all += bucket.get<double>();
  }
  EXPECT_DOUBLE_EQ(all, 4950) << "the sum of 1 to 99";
}

}  // namespace
}  // namespace tailor::serve
