#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

#include "daemon/query/sums/keys.h"
#include "daemon/serve/service.h"
#include "daemon/serve/views.h"
#include "tests/support/profile_bytes.h"
#include "tests/support/sample_profile.h"
#include "tests/support/worker_profile.h"

namespace tailor::serve {
namespace {

View sample_view(const Filters& filters = {}, int rounds = 20) {
  query::LoadOptions options;
  options.keep_samples = options.keep_activity = true;
  auto profile = std::make_shared<const query::Profile>(test::load(
      test::profile_bytes([&](profile::ProfileSink& sink) { test::give_profile(sink, rounds); }), options));
  auto view = make_view({profile, {}}, filters);
  EXPECT_TRUE(view) << (view ? "" : view.error().message);
  return std::move(*view);
}

double sum(const Json& numbers) {
  double all = 0;
  for (const Json& number : numbers) all += number.get<double>();
  return all;
}

// key > weight of all series of a lane.
std::map<std::string, double> by_key(const Json& lane) {
  std::map<std::string, double> sums;
  for (const Json& series : lane["series"]) sums[series["key"]] += sum(series["weights"]);
  return sums;
}

double total(const std::map<std::string, double>& sums) {
  double all = 0;
  for (const auto& [key, value] : sums) all += value;
  return all;
}

// What the plan report says of each owner, by its key.
std::map<std::string, double> expected(const View& view) {
  const auto profile = profile_json(view);
  EXPECT_TRUE(profile);
  std::map<std::string, double> sums;
  for (const Json& plan : (*profile)["plans"]) {
    for (const Json& row : plan["operators"]) sums[row["key"]] += row["weight"].get<double>();
  }
  for (const char* rows : {"component_rows", "unattributed_rows"}) {
    for (const Json& row : (*profile)[rows]) sums[row["owner"]] += row["weight"].get<double>();
  }
  std::erase_if(sums, [](const auto& each) { return each.second == 0; });
  return sums;
}

void expect_same(const std::map<std::string, double>& a, const std::map<std::string, double>& b) {
  EXPECT_EQ(a.size(), b.size());
  for (const auto& [key, value] : a) {
    const auto other = b.find(key);
    ASSERT_NE(other, b.end()) << key;
    EXPECT_NEAR(other->second, value, 1e-6 * value) << key;
  }
}

TEST(Timeline, HasTheCostsOfTheReportInEveryKindOfLane) {
  const View view = sample_view();
  for (query::Lanes lanes : {query::Lanes::kAll, query::Lanes::kPipeline, query::Lanes::kThread}) {
    for (std::uint32_t buckets : {1u, 7u, 2000u}) {
      const auto line = timeline_json(view, {buckets, lanes, query::OwnedBy::kOperator});
      ASSERT_TRUE(line);
      expect_same(expected(view), by_key((*line)["lanes"][0]));
      double others = 0;
      for (std::size_t i = 1; i < (*line)["lanes"].size(); ++i) others += total(by_key((*line)["lanes"][i]));
      if (lanes != query::Lanes::kAll) {
        EXPECT_NEAR(others, (*line)["view"]["weight"].get<double>(), 1e-3);
      }
    }
  }
}

// Pipelines of the time line are those of the report.
TEST(Timeline, PipelineLanesHaveTheCostsOfTheReportsPipelines) {
  const View view = sample_view();
  const auto profile = profile_json(view);
  std::map<std::string, double> lanes, pipelines;
  const auto line = timeline_json(view, {});
  for (std::size_t i = 1; i < (*line)["lanes"].size(); ++i) {
    const Json& lane = (*line)["lanes"][i];
    // Work outside of plans is in no pipeline of a plan.
    if (lane["name"] != "outside of plans") lanes[lane["key"]] = lane["weight"];
  }
  for (const Json& row : (*profile)["plans"][0]["pipelines"]) {
    if (row["weight"].get<double>() > 0) pipelines[row["key"]] = row["weight"];
  }
  expect_same(pipelines, lanes);
}

TEST(Timeline, PartsOfTheTimeAddUp) {
  const View whole = sample_view();
  const auto [from, to] = query::time_span(*whole.whole, whole.selection);
  const TimeNs middle = (to - from) / 3;
  Filters first, second;
  first.to_ns = second.from_ns = middle + from - whole.origin;
  const auto left = timeline_json(sample_view(first), {}), right = timeline_json(sample_view(second), {});
  ASSERT_TRUE(left && right);
  EXPECT_GT((*left)["view"]["samples"].get<double>(), 0);
  EXPECT_EQ((*left)["view"]["samples"].get<double>() + (*right)["view"]["samples"].get<double>(),
            static_cast<double>(whole.whole->samples().size()));
}

// The edges lie within what samples stand for.
TEST(Timeline, WhoWorkedInAPartOfTheTimeIsKnownFromSamplesBehindItToo) {
  const View whole = sample_view();
  const auto [begin, end] = query::time_span(*whole.whole, whole.selection);
  const TimeNs from = begin - whole.origin + (end - begin) / 4, each = (end - begin) / 40 + 300'000;
  Filters all, part;
  all.from_ns = part.from_ns = from;
  all.to_ns = from + 10 * each;
  part.to_ns = from + 5 * each;
  const auto of_all = timeline_json(sample_view(all), {10, query::Lanes::kAll});
  const auto of_part = timeline_json(sample_view(part), {5, query::Lanes::kAll});
  ASSERT_TRUE(of_all && of_part);
  for (std::size_t i = 0; i < 5; ++i) {
    const double wanted = (*of_all)["workers"]["working"][i];
    EXPECT_NEAR((*of_part)["workers"]["working"][i].get<double>(), wanted, 1e-6) << i;
  }
}

TEST(Filters, OfAThreadAndATimeAreKeptApart) {
  Filters filters;
  filters.tid = 4243;
  filters.to_ns = 1;
  const View view = sample_view(filters);
  query::TimedSample late = view.whole->samples().back();
  EXPECT_FALSE(view.keep(late));
  EXPECT_TRUE(view.keep_of_any_time(late));
  late.tid = 4244;
  EXPECT_FALSE(view.keep_of_any_time(late)) << "of another thread";
}

void add_self(const Json& node, std::map<std::string, double>& sums, const std::string& owner) {
  const std::string kind = node["kind"];
  const bool owns = kind == "operator" || kind == "component" || kind == "unattributed";
  const std::string own = owns ? node["key"].get<std::string>() : owner;
  double children = 0;
  for (const Json& child : node["children"]) {
    children += child["weight"].get<double>();
    add_self(child, sums, own);
  }
  EXPECT_LE(children, node["weight"].get<double>() * (1 + 1e-9));
  sums[own] += node["weight"].get<double>() - children;
}

TEST(Flame, HasTheCostsOfTheReportInEveryOrder) {
  const View view = sample_view();
  for (const char* order :
       {"plan,pipeline,operator,task,line", "line,task,operator", "operator", "task,plan,operator"}) {
    const auto flame = flame_json(view, *query::parse_flame_order(order));
    ASSERT_TRUE(flame);
    EXPECT_NEAR((*flame)["root"]["weight"].get<double>(), (*flame)["view"]["weight"].get<double>(), 1e-3);
    if (!std::string(order).starts_with("line") && !std::string(order).starts_with("task")) {
      std::map<std::string, double> sums;
      add_self((*flame)["root"], sums, "");
      std::erase_if(sums, [](const auto& each) { return std::abs(each.second) < 1e-3; });
      expect_same(expected(view), sums);
    }
  }
  EXPECT_FALSE(query::parse_flame_order("plan,plan"));
  EXPECT_FALSE(query::parse_flame_order(""));
}

// What a page makes of the columns.
std::map<std::string, double> by_owner(const Json& samples) {
  std::map<std::string, double> sums;
  for (std::size_t i = 0; i < samples["cell"].size(); ++i) {
    const Json& cell = samples["cells"][samples["cell"][i].get<std::size_t>()];
    const double weight = samples["weight"][i];
    if (cell["owner"] != "plan") {
      sums[cell["key"]] += weight;
      continue;
    }
    for (const Json& part : cell["levels"]["operator"]) {
      const std::string key = part[0] == 0 ? cell["key"].get<std::string>()
                                           : "operator:" + cell["plan_key"].get<std::string>() + ":" +
                                                 std::to_string(part[0].get<int>());
      sums[key] += weight * part[1].get<double>();
    }
  }
  return sums;
}

View sliced_view(std::size_t rows) {
  query::LoadOptions options;
  options.slices = rows;
  auto profile = std::make_shared<const query::Profile>(test::load(
      test::profile_bytes([&](profile::ProfileSink& sink) { test::give_profile(sink, 20); }), options));
  return std::move(*make_view({profile, {}}, {}));
}

// A page that adds up the samples itself comes to the report's costs.
TEST(Samples, AddUpToTheReport) {
  const View view = sample_view();
  const auto samples = samples_json(view, 1'000'000);
  ASSERT_TRUE(samples);
  expect_same(expected(view), by_owner(*samples));
  const auto too_many = samples_json(view, 3);
  ASSERT_FALSE(too_many);
  EXPECT_EQ(too_many.error().kind, ErrorKind::kExhausted);
}

// So does one that gets sums over slices of time, however long these are.
TEST(Slices, AddUpToTheReport) {
  const View whole = sample_view();
  const auto samples = samples_json(whole, 1'000'000);
  std::size_t longest = 0;
  for (const std::size_t rows : {std::size_t{1'000'000}, std::size_t{60}, std::size_t{1}}) {
    const View view = sliced_view(rows);
    const auto slices = slices_json(view, 50);
    ASSERT_TRUE(slices) << slices.error().message;
    EXPECT_LE((*slices)["count"], 50);
    EXPECT_GE((*slices)["slice_ns"], longest);
    longest = (*slices)["slice_ns"];
    expect_same(expected(whole), by_owner(*slices));
    EXPECT_EQ(sum((*slices)["samples"]), (*samples)["total"].get<double>());
    EXPECT_EQ((*slices)["total"], (*samples)["total"]);
    EXPECT_EQ((*slices)["view"]["weight"], (*samples)["view"]["weight"]);
  }
  const auto too_few = slices_json(sliced_view(100), 1);
  ASSERT_FALSE(too_few);
  EXPECT_EQ(too_few.error().kind, ErrorKind::kExhausted);
}

// Each sample is in the slice of its time.
TEST(Slices, HoldTheSamplesOfTheirTime) {
  const auto slices = slices_json(sliced_view(1'000'000), 50);
  const auto samples = samples_json(sample_view(), 1'000'000);
  const TimeNs length = (*slices)["slice_ns"];
  const TimeNs first = (*slices)["time_ns"][0];
  std::map<TimeNs, double> wanted, found;
  for (std::size_t i = 0; i < (*samples)["cell"].size(); ++i) {
    const TimeNs since = (*samples)["time_ns"][i].get<TimeNs>() - first;
    wanted[first + since / length * length] += (*samples)["weight"][i].get<double>();
  }
  for (std::size_t i = 0; i < (*slices)["cell"].size(); ++i)
    found[(*slices)["time_ns"][i]] += (*slices)["weight"][i].get<double>();
  EXPECT_GT(found.size(), 1u);
  EXPECT_EQ(found, wanted);
}

TEST(Filters, OfAnOperatorKeepEverySampleOfWhichItHasAPart) {
  Filters filters;
  filters.op = 2;
  const auto profile = profile_json(sample_view(filters));
  ASSERT_TRUE(profile);
  const View whole = sample_view();
  EXPECT_DOUBLE_EQ(by_key((*timeline_json(whole, {}))["lanes"][0]).at("operator:4242.777.1:2"),
                   (*profile)["plans"][0]["operators"][1]["weight"].get<double>());
  EXPECT_EQ((*profile)["only"], "operator 2");
  // Where unattributed samples were is known of all samples together only.
  EXPECT_TRUE((*profile)["unattributed_places"].empty());
}

TEST(Filters, ThatLetNothingThroughSaySo) {
  Filters filters;
  filters.tid = 1;
  const auto profile = profile_json(sample_view(filters));
  ASSERT_FALSE(profile);
  EXPECT_EQ(profile.error().kind, ErrorKind::kNotFound);
}

// One thread, which always works.
TEST(Profile, OfElapsedTimeItIsDivided) {
  const auto profile = profile_json(sample_view(), SharesOf::kElapsed);
  ASSERT_TRUE(profile) << profile.error().message;
  EXPECT_EQ((*profile)["elapsed"]["executions"], 1);
  EXPECT_NEAR((*profile)["elapsed"]["idle_share"].get<double>(), 0, 1e-3);
  EXPECT_NEAR((*profile)["all"]["threads"].get<double>(), 1, 1e-9);
  EXPECT_EQ((*profile)["samples"], (*profile_json(sample_view()))["samples"]);
  Filters half;
  half.to_ns = 160'000'000;
  const auto part = profile_json(sample_view(half), SharesOf::kElapsed);
  ASSERT_TRUE(part) << part.error().message;
  EXPECT_DOUBLE_EQ((*part)["elapsed"]["ns"], 160e6);
}

TEST(Flame, OfElapsedTimeItIsDivided) {
  Filters half;
  half.to_ns = 160'000'000;
  const View view = sample_view(half);
  const auto flame = flame_json(view, query::default_flame_order(), SharesOf::kElapsed);
  ASSERT_TRUE(flame) << flame.error().message;
  EXPECT_EQ((*flame)["of"], "elapsed");
  EXPECT_NEAR((*flame)["root"]["weight"].get<double>(), 160e6, 1e-3);
  const auto functions = flame_json(view, *query::parse_flame_order("operator,function"), SharesOf::kElapsed);
  ASSERT_FALSE(functions);
  EXPECT_EQ(functions.error().kind, ErrorKind::kInvalid);
  EXPECT_FALSE((*flame_json(view, query::default_flame_order())).contains("of"));
}

// What the views of the sample execution show, whose worker had two samples.
class WorkerViewTest : public testing::Test {
 protected:
  static View view_of(const Filters& filters = {}) {
    query::LoadOptions options;
    options.keep_samples = options.keep_activity = true;
    auto profile =
        std::make_shared<const query::Profile>(test::load(test::profile_bytes([](profile::ProfileSink& sink) {
                                                            test::give_profile(sink, 5);
                                                            test::give_worker(sink, test::sample_leader());
                                                          }),
                                                          options));
    query::Selection leader;
    leader.executions.insert({test::kSampleProcess, test::kSampleExecution});
    auto view = make_view({profile, leader}, filters);
    EXPECT_TRUE(view) << (view ? "" : view.error().message);
    return std::move(*view);
  }
};

TEST_F(WorkerViewTest, EveryViewHasTheSameWeight) {
  const View view = view_of();
  const auto profile = profile_json(view);
  ASSERT_TRUE(profile);
  const double weight = (*profile)["view"]["weight"];
  EXPECT_EQ((*profile)["view"]["samples"].get<double>(), 5 * 16 + 2);
  for (const auto& other :
       {flame_json(view, query::default_flame_order()), threads_json(view), samples_json(view, 1000)}) {
    ASSERT_TRUE(other);
    EXPECT_DOUBLE_EQ((*other)["view"]["weight"].get<double>(), weight) << (*other)["view"];
  }
  // The last sample is at the very end of the execution: the time line ends there.
  const auto line = timeline_json(view, {});
  ASSERT_TRUE(line);
  EXPECT_DOUBLE_EQ((*line)["view"]["weight"].get<double>(), weight - 1'000'000);
}

TEST_F(WorkerViewTest, ThreadsOfWorkersHaveTheirSamplesAndMarks) {
  const auto threads = threads_json(view_of());
  ASSERT_TRUE(threads);
  bool found = false;
  for (const Json& lane : (*threads)["threads"]) {
    if (lane["tid"] != test::kWorkerThread) continue;
    found = true;
    EXPECT_EQ(lane["samples"], 2);
    EXPECT_EQ(lane["marks_total"], 1);
  }
  EXPECT_TRUE(found);
}

TEST_F(WorkerViewTest, LanesArePipelinesOfTheLeader) {
  const auto line = timeline_json(view_of(), {});
  ASSERT_TRUE(line);
  for (const Json& lane : (*line)["lanes"])
    EXPECT_EQ(lane["key"].get<std::string>().find("5000.1"), std::string::npos) << lane["key"];
  const auto samples = samples_json(view_of(), 1000);
  ASSERT_TRUE(samples);
  for (const Json& cell : (*samples)["cells"]) EXPECT_NE(cell["plan_key"], "5000.1.1");
}

TEST_F(WorkerViewTest, AnOperatorHasItsSamplesInWorkers) {
  Filters filters;
  filters.op = 1;
  const auto all = profile_json(view_of()), one = profile_json(view_of(filters));
  ASSERT_TRUE(all && one);
  EXPECT_EQ((*one)["plans"][0]["operators"][0]["weight"], (*all)["plans"][0]["operators"][0]["weight"]);
}

std::vector<std::string> keys_of(const Json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  std::ranges::sort(keys);
  return keys;
}

// The keys that docs/report-json.md promises: programs read them.
TEST(List, HasItsKeysWhateverIsKnown) {
  ExecutionList list;
  store::ExecutionRow running, ended;
  running.record.end = kTimeMax;
  running.record.rows_known = false;
  ended.record.begin = 5;
  ended.record.end = 12;
  ended.record.rows = 3;
  ended.record.rows_known = true;
  ended.record.labels = {{"user", "ada"}};
  ended.wall_begin_ns = 1'764'860'000'000'000'000;
  ended.comm = "weft";
  list.rows = {running, ended};
  GoneList gone;
  gone.rows.push_back({.hour = 7, .fingerprint = "f", .names = {}, .runs = {}, .cpu = {}});
  gone.rows.push_back(gone.rows[0]);
  gone.rows[1].runs = {.executions = 2, .failed = 1, .elapsed_sum = 30, .elapsed_min = 10, .elapsed_max = 20};
  gone.more = true;

  const Json json = list_json(list, gone, {}, Json::object());
  EXPECT_EQ(keys_of(json), (std::vector<std::string>{"executions", "file", "gone", "gone_more", "more"}));
  std::vector<std::string> keys = {
      "began",     "began_ms", "began_wall_ns", "cgroup", "comm",   "container", "cpu_ns",  "drawn",
      "engine",    "error",    "fingerprint",   "id",     "labels", "pid",       "plan",    "plan_key",
      "plan_name", "pod",      "process_start", "rate",   "rows",   "running",   "samples", "tags"};
  EXPECT_EQ(keys_of(json["executions"][0]), keys);
  keys.push_back("elapsed_ns");
  std::ranges::sort(keys);
  const Json& last = json["executions"][1];
  EXPECT_EQ(keys_of(last), keys);
  EXPECT_TRUE(json["executions"][0]["began"].is_null());
  EXPECT_TRUE(json["executions"][0]["rows"].is_null());
  EXPECT_EQ(last["elapsed_ns"], 7);
  EXPECT_EQ(last["rows"], 3);
  EXPECT_EQ(last["comm"], "weft");
  EXPECT_EQ(last["labels"], Json({{"user", "ada"}}));
  EXPECT_TRUE(last["began"].is_string());
  EXPECT_EQ(json["more"], false);
  EXPECT_EQ(json["gone_more"], true);
  ASSERT_EQ(json["gone"].size(), 2u);
  EXPECT_EQ(keys_of(json["gone"][0]),
            (std::vector<std::string>{"cpu_ns", "drawn", "elapsed_ns", "executions", "failed", "fingerprint",
                                      "hour", "hour_wall_ns", "hours", "plan_name", "samples", "text"}));
  EXPECT_EQ(
      json["gone"][0]["elapsed_ns"],
      Json({{"min", 0}, {"mean", 0}, {"max", 0}, {"p50", nullptr}, {"p95", nullptr}, {"p99", nullptr}}));
  EXPECT_EQ(
      json["gone"][1]["elapsed_ns"],
      Json({{"min", 10}, {"mean", 15}, {"max", 20}, {"p50", nullptr}, {"p95", nullptr}, {"p99", nullptr}}))
      << "older sums do not say how long each took";
}

// What is missing is said in lists of both transports, by the same keys.
TEST(List, SaysWhatIsMissing) {
  ExecutionList list;
  list.rows.resize(1);
  const std::vector<store::RemovedOfUser> removed = {
      {.uid = 1000, .executions = 2, .first_ns = 0, .last_ns = 0}};
  const View view = sample_view();
  const Json whole = list_json(list, {}, removed, query::damage_json(*view.whole));
  EXPECT_EQ(keys_of(whole),
            (std::vector<std::string>{"executions", "file", "gone", "gone_more", "more", "removed"}));
  EXPECT_EQ(whole["file"], query::damage_json(*view.whole));
  const GoneList gone;
  const Json page = executions_page_json(list, removed, &gone);
  EXPECT_EQ(keys_of(page), (std::vector<std::string>{"executions", "gone", "gone_more", "removed"}));
  EXPECT_EQ(page["removed"], whole["removed"]);
}

TEST(List, APageThatIsNotTheLastNamesWhereTheNextBegins) {
  ExecutionList list;
  list.rows.resize(2);
  list.rows[1].record.id.bytes.fill(0xab);
  list.more = true;
  const Json page = executions_page_json(list, {}, nullptr);
  EXPECT_EQ(keys_of(page), (std::vector<std::string>{"executions", "next"}));
  EXPECT_EQ(page["next"], page["executions"][1]["id"]);
}

TEST(List, OfPlanChangesHasItsKeys) {
  PlanChangeList list;
  list.changes.push_back({.fingerprint = "f", .before = {}, .after = {}});
  list.executions = 3;
  const Json json = plan_changes_json(list);
  EXPECT_EQ(keys_of(json),
            (std::vector<std::string>{"cut", "executions", "more", "plan_changes", "without_plan"}));
  ASSERT_EQ(json["plan_changes"].size(), 1u);
  EXPECT_EQ(keys_of(json["plan_changes"][0]), (std::vector<std::string>{"after", "before", "fingerprint"}));
  EXPECT_EQ(json["executions"], 3);
}

TEST(Samples, WeightsOfDifferentUnitsAreNotAddedUp) {
  query::LoadOptions options;
  options.keep_samples = true;
  auto profile = std::make_shared<const query::Profile>(
      test::load(test::profile_bytes([](profile::ProfileSink& sink) {
                   profile::RecordingInfo info;
                   info.sources.push_back({0, "off-cpu", profile::Unit::kNsOffCpu, 0, false});
                   info.sources.push_back({1, "cpu-clock", profile::Unit::kNsOnCpu, 0, false});
                   sink.on_recording(info);
                   profile::SampleRecord waited, ran;
                   waited.weight = 5'000'000;
                   waited.time = 1;
                   ran.source = 1;
                   ran.weight = 300;
                   ran.time = 2;
                   sink.on_samples(std::vector{waited, ran});
                 }),
                 options));
  const auto view = make_view({profile, {}}, {});
  ASSERT_TRUE(view);
  const auto samples = samples_json(*view, 10);
  ASSERT_TRUE(samples);
  EXPECT_EQ((*samples)["view"]["source"]["name"], "cpu-clock");
  EXPECT_EQ((*samples)["view"]["weight"], 300);
  EXPECT_EQ((*samples)["view"]["samples"], 1);
  EXPECT_EQ((*samples)["total"], 2);
}

class ServiceTest : public testing::Test {
 protected:
  ServiceTest() {
    std::ofstream(path_) << test::profile_bytes(
        [](profile::ProfileSink& sink) { test::give_profile(sink, 5); });
    library_ = open_file_library(path_);
    service_ = std::make_unique<Service>(*library_, ServiceOptions{"test", {}});
  }
  ~ServiceTest() override { std::remove(path_.c_str()); }

  std::string path_ = testing::TempDir() + "/serve_view_test.tailor";
  std::unique_ptr<Library> library_;
  std::unique_ptr<Service> service_;
  Stop stop_;
};

TEST_F(ServiceTest, ABundleHasEveryViewUnderItsRequest) {
  const auto bundle = service_->bundle({Target::What::kAll, 1, {}}, Access::everything(), stop_);
  ASSERT_TRUE(bundle) << bundle.error().message;
  const Json& responses = (*bundle)["responses"];
  for (const char* path :
       {"status", "executions", "executions/all/profile", "executions/all/timeline",
        "executions/all/timeline?lanes=thread", "executions/all/flame", "executions/all/functions",
        "executions/all/listing", "executions/all/memory", "executions/all/threads",
        "executions/all/iterations", "executions/all/sources", "executions/all/samples"})
    EXPECT_TRUE(responses.contains(path)) << path;
  EXPECT_TRUE(responses["executions/all/profile"].contains("plans"));
  // No memory was recorded: the view says so.
  EXPECT_EQ(responses["executions/all/memory"]["error"]["kind"], "not_found");
  const std::string id = responses["executions"]["executions"][0]["id"];
  EXPECT_TRUE(responses.contains("executions/" + id + "/profile"));
}

TEST_F(ServiceTest, WhoMayNotSeeAnExecutionIsToldNothingOfIt) {
  Access access;
  access.see_all = false;
  access.uids = {4711};
  const auto list = service_->answer(ExecutionsRequest{}, access, stop_);
  ASSERT_TRUE(list);
  EXPECT_TRUE((*list)["executions"].empty());
  for (const Target::What what : {Target::What::kAll, Target::What::kLast}) {
    const auto profile = service_->answer(ViewRequest{{what, 1, {}}, {}, ProfileView{}}, access, stop_);
    ASSERT_FALSE(profile);
    EXPECT_EQ(profile.error().kind, what == Target::What::kAll ? ErrorKind::kDenied : ErrorKind::kNotFound);
  }
}

TEST_F(ServiceTest, ElapsedTimeIsAskedForWithoutSamplesInMemory) {
  const ViewRequest request{{Target::What::kAll, 1, {}}, {}, ProfileView{SharesOf::kElapsed}};
  const auto profile = service_->answer(request, Access::everything(), stop_);
  ASSERT_TRUE(profile) << profile.error().message;
  EXPECT_EQ((*profile)["elapsed"]["executions"], 1);
}

TEST_F(ServiceTest, ACancelledRequestLoadsNothing) {
  stop_.cancel();
  const auto answer = service_->answer(ViewRequest{{}, {}, ProfileView{}}, Access::everything(), stop_);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind, ErrorKind::kUnavailable);
}

}  // namespace
}  // namespace tailor::serve
