// Compaction: what a store tells of every query, operator and hour is the same before and after its samples
// went. What is compared with is made of single samples by reports, which know nothing of summaries.
#include "daemon/serve/summarise.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "daemon/query/load/damage.h"
#include "daemon/query/reports/plan_report.h"
#include "daemon/serve/service.h"
#include "daemon/serve/stored_sums.h"
#include "daemon/store/store_directory.h"
#include "daemon/store/summary_codec.h"
#include "tests/unit/serve/compaction_fixture.h"

namespace tailor::serve {
namespace {

struct LineSum {
  double samples = 0, weight = 0;
};
using Lines = std::map<std::string, LineSum>;

std::string line(store::Hour hour, const std::string& fingerprint, const std::string& what) {
  return fmt::format("{} {} {}", hour, fingerprint, what);
}

Lines lines_of(const store::Summary& summary) {
  constexpr const char* kClasses[] = {"operator", "component", "unattributed"};
  Lines out;
  for (const auto& [key, sum] : summary.costs) {
    const std::string name =
        fmt::format("{} {} {} {}", kClasses[static_cast<int>(key.what)], key.id, key.name, key.source);
    LineSum& to = out[line(key.hour, key.fingerprint, name)];
    to.samples += store::to_number(sum.samples);
    to.weight += store::to_number(sum.weight);
  }
  return out;
}

// The same of samples, by reports on one execution and hour at a time.
Lines lines_of(const query::Profile& profile) {
  Lines out;
  const auto hour_of = [&](TimeNs time) {
    return static_cast<store::Hour>(profile.recording().wall_of(time) / store::kHourNs);
  };
  std::set<store::Hour> hours;
  for (const query::TimedSample& sample : profile.samples()) hours.insert(hour_of(sample.time));
  for (const store::Hour hour : hours) {
    for (const ExecutionHandle execution : {test::kSampleExecution, kOther, ExecutionHandle{0}}) {
      const query::Profile one = profile.only(
          [&](const query::TimedSample& s) {
            return hour_of(s.time) == hour && s.key->execution == execution;
          },
          "one");
      const auto report = query::plan_report(one, {});
      if (!report) continue;
      const std::string fingerprint = execution == kOther ? kOtherFingerprint : execution == 0 ? "" : "first";
      const auto put = [&](const std::string& what, const query::Share95& cost) {
        if (cost.amount.samples == 0) return;
        LineSum& to = out[line(hour, fingerprint, what + " cpu-clock")];
        to.samples += cost.amount.samples;
        to.weight += cost.amount.weight;
      };
      for (const query::PlanPart& part : report->plans) {
        for (const query::OperatorRow& row : part.operators)
          put(fmt::format("operator {} {}", row.id, row.name), row.cost);
      }
      for (const query::NamedRow& row : report->component_rows) put("component 0 " + row.name, row.cost);
      for (const query::NamedRow& row : report->unattributed_rows) put("unattributed 0 " + row.key, row.cost);
    }
  }
  return out;
}

// What differs, as text.
std::vector<std::string> differences(const Lines& want, const Lines& have) {
  std::vector<std::string> out;
  const auto near = [](double a, double b) { return std::fabs(a - b) <= 1e-9 * std::max(a, b); };
  for (const auto& [name, sum] : want) {
    const auto at = have.find(name);
    if (at == have.end()) {
      out.push_back("missing: " + name);
    } else if (!near(sum.samples, at->second.samples) || !near(sum.weight, at->second.weight)) {
      out.push_back(fmt::format("{}: {} instead of {}", name, at->second.weight, sum.weight));
    }
  }
  for (const auto& [name, sum] : have) {
    if (!want.contains(name)) out.push_back("too much: " + name);
  }
  return out;
}

class SummariseTest : public CompactionTest {
 protected:
  static constexpr int kMinutes = 180;

  // Everything in the store, of its samples, by reports.
  Lines of_samples() {
    auto catalogue = store::Catalogue::open(store::catalogue_path(directory_), store::Catalogue::Mode::kRead);
    EXPECT_TRUE(catalogue);
    auto profile = query::Profile::load_store(directory_, *catalogue, 1, {.keep_samples = true});
    EXPECT_TRUE(profile) << profile.error().message;
    return lines_of(*profile);
  }

  // The name that the first execution's query has here.
  static Lines named(Lines lines, const store::Summary& summary) {
    std::string own;
    for (const auto& [key, names] : summary.queries) {
      if (key.fingerprint != kOtherFingerprint) own = key.fingerprint;
    }
    Lines out;
    for (const auto& [name, sum] : lines) {
      const std::size_t at = name.find(" first ");
      out.emplace(at == std::string::npos ? name : name.substr(0, at) + " " + own + name.substr(at + 6), sum);
    }
    return out;
  }
};

TEST_F(SummariseTest, NothingChangesWhenSamplesGo) {
  auto writer = open(options());
  give_hours(*writer, kMinutes);
  ASSERT_TRUE(writer->flush());
  const store::Summary before = sums();
  const Lines want = named(of_samples(), before);
  ASSERT_GT(want.size(), 30u);
  EXPECT_THAT(differences(want, lines_of(before)), testing::IsEmpty());
  const std::uint64_t files = store::list_segments(directory_)->size();

  writer->set_retention(1, 0, 0);
  store::SummaryWriter summaries(directory_);
  compact(*writer, summaries);
  EXPECT_LE(store::list_segments(directory_)->size(), 3u) << "of " << files;
  EXPECT_FALSE(store::list_summaries(directory_)->empty());
  const store::Summary after = sums();
  EXPECT_THAT(differences(want, lines_of(after)), testing::IsEmpty());

  // Who was lost, and which executions ended.
  std::uint64_t lost = 0, late = 0, runs = 0;
  for (const auto& [hour, loss] : after.losses) lost += loss.lost_ring, late += loss.late;
  EXPECT_EQ(lost, 3u * kMinutes);
  EXPECT_EQ(late, kMinutes / 2u);
  for (const auto& [key, run] : after.runs) runs += run.executions;
  ASSERT_EQ(runs, 1u);
  EXPECT_EQ(after.runs.begin()->first.fingerprint, kOtherFingerprint);
  EXPECT_EQ(after.runs.begin()->first.uid, 1000u);
  EXPECT_EQ(encode(bounded(after))->size(), encode(bounded(before))->size());

  // Nor when another daemon comes.
  writer.reset();
  writer = open(options());
  EXPECT_THAT(differences(want, lines_of(sums())), testing::IsEmpty());
}

// What rows of a summary are compared by, to the last bit.
using ExactRows = std::map<std::tuple<store::Hour, store::CostOf, std::uint32_t>, store::CostSum>;

ExactRows exact_rows(const store::Summary& summary) {
  ExactRows rows;
  for (const auto& [key, sum] : summary.costs) rows[{key.hour, key.what, key.id}].add(sum);
  return rows;
}

// Random samples of every kind, counted one by one: who owns them is that of sample_profile.h, by hand.
class RandomRecording {
 public:
  static constexpr int kSamples = 1'000'000;
  static constexpr TimeNs kApart = 10'800'000;  // three hours in all

  void give(profile::ProfileSink& sink) {
    constexpr std::size_t kAtOnce = 1000;
    std::vector<profile::SampleRecord> samples;
    for (int i = 0; i < kSamples; ++i) {
      samples.push_back(next(test::kSampleStart + i * kApart));
      if (samples.size() < kAtOnce) continue;
      sink.on_samples(samples);
      sink.on_watermark(samples.back().time);
      samples.clear();
    }
  }

  ExactRows hours, days;

 private:
  using Owner = std::pair<store::CostOf, std::uint32_t>;

  static std::vector<Owner> owners_of(std::uint64_t kind) {
    constexpr std::uint32_t kOperatorOf[] = {0, 4, 3, 2, 5, 2, 1, 1, 0, 2, 0, 0, 1};
    const auto is_operator = store::CostOf::kOperator;
    if (kind == 8) return {{is_operator, 1}, {is_operator, 2}};
    if (kind == 11) return {{is_operator, 1}, {is_operator, 5}};
    if (kind == 13) return {{store::CostOf::kComponent, 0}};
    if (kind > 13 || kOperatorOf[kind] == 0) return {{store::CostOf::kUnattributed, 0}};
    return {{is_operator, kOperatorOf[kind]}};
  }

  static profile::SampleRecord sample_of(std::uint64_t kind, TimeNs time) {
    if (kind == 11) return test::shared_sample(time);
    if (kind == 12) return test::tag_sample(time, 6);
    if (kind == 13) return test::component_sample(time, 1);
    if (kind > 13) return test::unattributed_sample(time, profile::Reason::kUnknownKernel);
    return test::ir_sample(time, static_cast<std::uint32_t>(kind));
  }

  profile::SampleRecord next(TimeNs time) {
    const std::uint64_t kind = random_() % 15;
    profile::SampleRecord sample = sample_of(kind, time);
    sample.weight = random_() % 100'000'000 + 1;
    if (kind >= 1 && kind <= 9) {
      if (random_() % 5 == 0) sample.attribution.quality = profile::Quality::kInferred;
      if (random_() % 4 == 0) {
        sample.mode = profile::Mode::kKernel;
        sample.attribution.kernel = true;
        sample.attribution.how = profile::How::kKernelCode;
      }
    }
    count(sample, owners_of(kind));
    return sample;
  }

  void count(const profile::SampleRecord& sample, const std::vector<Owner>& owners) {
    constexpr std::uint64_t kRecordingBegan = 1'700'000'000'000'000'000;
    const std::uint64_t wall = kRecordingBegan + static_cast<std::uint64_t>(sample.time - test::kSampleStart);
    const auto hour = static_cast<store::Hour>(wall / store::kHourNs);
    const store::Wide part = store::kParts / owners.size(), weight = sample.weight;
    for (const auto& [what, id] : owners) {
      for (store::CostSum* to : {&hours[{hour, what, id}], &days[{hour - hour % 24, what, id}]}) {
        to->samples += part;
        to->weight += part * weight;
        to->squares += part * weight * weight;
        if (sample.attribution.kernel) to->kernel += part * weight;
        if (sample.attribution.quality == profile::Quality::kInferred) to->inferred += part * weight;
      }
    }
  }

  std::mt19937_64 random_{23};
};

TEST_F(SummariseTest, SumsAreThoseOfAMillionSamplesToTheLastBit) {
  auto writer = open(options());
  test::give_context(*writer);
  RandomRecording recording;
  recording.give(*writer);
  ASSERT_TRUE(writer->flush());
  ASSERT_GT(recording.hours.size(), recording.days.size());
  EXPECT_TRUE(exact_rows(sums()) == recording.hours);

  writer->set_retention(1, 0, 0);
  store::SummaryWriter summaries(directory_);
  compact(*writer, summaries);
  EXPECT_FALSE(store::list_summaries(directory_)->empty());
  store::Summary after = sums();
  EXPECT_TRUE(exact_rows(after) == recording.hours);
  // The broken twin: a part of a sample is missing.
  --after.costs.begin()->second.samples;
  EXPECT_FALSE(exact_rows(after) == recording.hours);

  // And after they have become days.
  constexpr std::uint64_t kDayNs = 24 * store::kHourNs;
  ASSERT_TRUE(summaries.retain(retention_, kWall + 40 * kDayNs));
  after = sums();
  EXPECT_GT(after.days_until, 0);
  store::roll_up(after, INT64_MAX);
  EXPECT_TRUE(exact_rows(after) == recording.days);
}

// The broken twins: the comparison sees a segment that counts twice, one that is left out, and an hour that
// is another one.
TEST_F(SummariseTest, TheComparisonSeesWhatIsWrong) {
  auto writer = open(options());
  give_hours(*writer, kMinutes);
  ASSERT_TRUE(writer->flush());
  const store::Summary right = sums();
  const Lines want = named(of_samples(), right);
  writer->set_retention(1, 0, 0);
  const auto found = writer->due_for_summary();
  ASSERT_TRUE(found);
  const std::vector<store::SegmentRow>& due = *found;
  ASSERT_GT(due.size(), 10u);
  const Stop stop;
  auto catalogue = store::Catalogue::open(store::catalogue_path(directory_), store::Catalogue::Mode::kRead);
  ASSERT_TRUE(catalogue);
  const auto one = summarise(directory_, *catalogue, std::span(due).subspan(5, 1), stop);
  ASSERT_TRUE(one);
  ASSERT_FALSE(one->summary.costs.empty());
  store::Summary twice = right, without = right, later;
  store::add(twice, one->summary);
  EXPECT_THAT(differences(want, lines_of(twice)), testing::Not(testing::IsEmpty()));
  for (const auto& [key, sum] : one->summary.costs) without.costs[key].weight -= sum.weight;
  EXPECT_THAT(differences(want, lines_of(without)), testing::Not(testing::IsEmpty()));
  for (const auto& [key, sum] : right.costs) {
    store::CostKey moved = key;
    ++moved.hour;
    later.costs[moved] = sum;
  }
  EXPECT_THAT(differences(want, lines_of(later)), testing::Not(testing::IsEmpty()));
}

// Parts add up to the whole, wherever it is cut.
TEST_F(SummariseTest, PartsAddUpToTheWhole) {
  auto writer = open(options());
  give_hours(*writer, kMinutes);
  ASSERT_TRUE(writer->flush());
  writer->set_retention(1, 0, 0);
  const auto found = writer->due_for_summary();
  ASSERT_TRUE(found);
  const std::vector<store::SegmentRow>& due = *found;
  auto catalogue = store::Catalogue::open(store::catalogue_path(directory_), store::Catalogue::Mode::kRead);
  ASSERT_TRUE(catalogue);
  const Stop stop;
  const auto whole = summarise(directory_, *catalogue, due, stop);
  ASSERT_TRUE(whole);
  store::Summary parts;
  for (std::size_t i = 0; i < due.size(); ++i) {
    const auto part = summarise(directory_, *catalogue, std::span(due).subspan(i, 1), stop);
    ASSERT_TRUE(part);
    store::add(parts, part->summary);
  }
  EXPECT_THAT(differences(lines_of(whole->summary), lines_of(parts)), testing::IsEmpty());
  EXPECT_EQ(*encode(bounded(whole->summary)), *encode(bounded(parts)));
}

// A user who sees the executions of some users sees their sums, and nothing that is of the host; of labels
// sums know nothing.
TEST_F(SummariseTest, SumsAreOfWhatOneMaySee) {
  auto writer = open(options());
  give_hours(*writer, 20);
  ASSERT_TRUE(writer->flush());
  const auto library = open_store_library(directory_, {});
  Service service(*library, {});
  const Stop stop;
  const auto all = service.answer(HistoryRequest{}, Access::everything(), stop);
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_TRUE(all->contains("losses"));
  EXPECT_EQ((*all)["queries"].size(), 3u);
  Access one;
  one.see_all = false;
  one.uids = {1000};
  const auto own = service.answer(HistoryRequest{}, one, stop);
  ASSERT_TRUE(own) << own.error().message;
  EXPECT_FALSE(own->contains("losses"));
  ASSERT_EQ((*own)["queries"].size(), 1u);
  EXPECT_EQ((*own)["queries"][0]["fingerprint"], kOtherFingerprint);
  // As values it is the same.
  using Users = std::set<std::optional<std::uint32_t>>;
  const auto users_of = [&](const Access& access) {
    query::StoreDamage damage;
    const auto found = service.sums({}, access, stop, damage);
    EXPECT_TRUE(found.ok());
    Users users;
    for (const auto& [key, cost] : found->costs) users.insert(key.uid);
    for (const auto& [key, runs] : found->runs) users.insert(key.uid);
    return users;
  };
  EXPECT_GT(users_of(Access::everything()).size(), 1u);
  EXPECT_EQ(users_of(one), (Users{1000}));
  one.uids = {1001};
  EXPECT_EQ(service.answer(HistoryRequest{}, one, stop).error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(users_of(one), Users());
  one.labels = {{"user", "ada"}};
  EXPECT_EQ(service.answer(HistoryRequest{}, one, stop).error().kind, ErrorKind::kDenied);
}

// A list of executions goes on with the sums of those whose samples are gone: all of them, the newest first.
TEST_F(SummariseTest, AListGoesOnWithTheSumsOfWhatIsGone) {
  {
    auto writer = open(options());
    give_hours(*writer, 200);
    ASSERT_TRUE(writer->finish());
  }
  const auto library = open_store_library(directory_, {});
  Service service(*library, {});
  const Stop stop;
  const auto ask = [&](const Access& access, std::size_t limit = 1000, const std::string& fingerprint = "") {
    ExecutionsRequest request;
    request.filter.limit = limit;
    request.filter.fingerprint = fingerprint;
    return *service.answer(request, access, stop);
  };
  EXPECT_TRUE(ask(Access::everything())["gone"].empty()) << "nothing is summed up yet";
  EXPECT_FALSE(service.has_gone({}, Access::everything(), stop));
  double cpu = 0, ended = 0;
  const store::Summary before = sums();
  for (const auto& [key, cost] : before.costs) {
    if (!key.fingerprint.empty() && key.unit == profile::Unit::kNsOnCpu) cpu += store::to_number(cost.weight);
  }
  for (const auto& [key, runs] : before.runs) ended += static_cast<double>(runs.executions);
  store::StoreOptions with = options();
  with.keep_bytes = 1;
  auto writer = open(with);
  store::SummaryWriter summaries(directory_);
  compact(*writer, summaries);

  const auto all = ask(Access::everything());
  EXPECT_TRUE(service.has_gone({}, Access::everything(), stop));
  EXPECT_FALSE(all["gone_more"]);
  double cpu_now = 0, ended_now = 0;
  for (const auto& row : all["gone"]) {
    cpu_now += row["cpu_ns"].get<double>();
    ended_now += row["executions"].get<double>();
  }
  EXPECT_NEAR(cpu_now, cpu, 1e-9 * cpu);
  EXPECT_EQ(ended_now, ended);
  ASSERT_GT(all["gone"].size(), 4u) << "several hours, two queries";
  for (std::size_t i = 1; i < all["gone"].size(); ++i)
    EXPECT_GE(all["gone"][i - 1]["begin_ms"], all["gone"][i]["begin_ms"]);
  // Two of them are the first two; only one query's are its own.
  const auto two = ask(Access::everything(), 2);
  ASSERT_EQ(two["gone"].size(), 2u);
  EXPECT_TRUE(two["gone_more"]);
  EXPECT_EQ(two["gone"][1], all["gone"][1]);
  const auto of_one = ask(Access::everything(), 1000, kOtherFingerprint);
  for (const auto& row : of_one["gone"]) EXPECT_EQ(row["fingerprint"], kOtherFingerprint);
  // A user who sees the executions of another sees their sums, and nobody sees sums by labels.
  Access one;
  one.see_all = false;
  one.uids = {1000};
  const auto own = ask(one);
  EXPECT_FALSE(own["gone"].empty());
  for (const auto& row : own["gone"]) EXPECT_EQ(row["fingerprint"], kOtherFingerprint);
  one.labels = {{"user", "ada"}};
  EXPECT_TRUE(ask(one)["gone"].empty());
  EXPECT_FALSE(service.has_gone({}, one, stop)) << "sums have no labels";
}

// Two times of a query are compared by sums where samples are gone: by those that one may see.
TEST_F(SummariseTest, AComparisonIsOfSumsWhereSamplesAreGone) {
  {
    auto writer = open(options());
    give_hours(*writer, 200);
    ASSERT_TRUE(writer->finish());
  }
  const auto library = open_store_library(directory_, {});
  Service service(*library, {});
  const Stop stop;
  Target side{Target::What::kFiltered, 0, {}, {}};
  side.filter.fingerprint = kOtherFingerprint;
  const CompareRequest request{side, side, ""};
  const auto before = service.answer(request, Access::everything(), stop);
  ASSERT_TRUE(before) << before.error().message;
  EXPECT_FALSE(before->contains("sums"));
  store::StoreOptions with = options();
  with.keep_bytes = 1;
  auto writer = open(with);
  store::SummaryWriter summaries(directory_);
  compact(*writer, summaries);

  const auto after = service.answer(request, Access::everything(), stop);
  ASSERT_TRUE(after) << after.error().message;
  EXPECT_EQ((*after)["sums"], true);
  EXPECT_EQ((*after)["executions"], Json({{"a", 1}, {"b", 1}}));
  EXPECT_EQ((*after)["unwritten"], Json({{"a", 0}, {"b", 0}}));
  std::map<std::string, double> of_samples;
  for (const Json& row : (*before)["operators"]) of_samples[row["name"]] = row["a"]["weight"].get<double>();
  ASSERT_FALSE((*after)["operators"].empty());
  for (const Json& row : (*after)["operators"]) {
    const double weight = row["a"]["weight"];
    // Sums divide a sample of several owners into 2^20 parts.
    EXPECT_NEAR(weight, of_samples[row["name"]], 1e-5 * weight) << row["name"];
    EXPECT_EQ(row["weight_change"], 0) << row["name"];
  }
  Access one;
  one.see_all = false;
  one.uids = {1000};
  const auto own = service.answer(request, one, stop);
  ASSERT_TRUE(own) << own.error().message;
  EXPECT_EQ((*own)["operators"], (*after)["operators"]);
  EXPECT_FALSE(own->contains("unwritten")) << "that is of the whole host";
  one.uids = {1001};
  EXPECT_EQ(service.answer(request, one, stop).error().kind, ErrorKind::kNotFound);
}

}  // namespace
}  // namespace tailor::serve
