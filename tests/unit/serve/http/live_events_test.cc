// The live stream: what is told of executions, however many there are.
#include "daemon/serve/http/live_events.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "daemon/query/time/wall_time.h"

namespace tailor::serve {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

// Executions in memory.
class Executions final : public Library {
 public:
  std::vector<store::ExecutionRow> rows;  // newest first

  void add(std::uint64_t begin_ns, bool runs) {
    store::ExecutionRow row;
    row.record.id.bytes[0] = static_cast<std::uint8_t>(rows.size());
    row.record.id.bytes[1] = static_cast<std::uint8_t>(rows.size() >> 8);
    row.record.handle = rows.size() + 1;
    row.record.end = runs ? kTimeMax : 1000;
    row.wall_begin_ns = begin_ns;
    row.plan_name = "query";
    rows.push_back(row);
  }
  Status visit(const ExecutionFilter& filter, const Stop&,
               const std::function<bool(store::ExecutionRow)>& take) override {
    Sieve sieve(filter);
    for (const store::ExecutionRow& row : rows) {
      if (sieve.passes(row) && !take(row)) break;
    }
    return Ok{};
  }
  Result<Loaded> load(const Target&, Detail, const Stop&, const Visible&) override {
    return not_found("none");
  }
  Result<PlanShapes> plan_shapes(const std::set<PlanKey>&, const Stop&) override { return PlanShapes(); }
  Status visit_slices(const store::WallRange&, const Stop&,
                      const std::function<void(const query::Profile&)>&) override {
    return Ok{};
  }
  const std::string& file() const override { return file_; }

 private:
  std::string file_;
};

// The data of the events of that name.
std::vector<Json> events(const std::string& text, const std::string& name) {
  std::vector<Json> found;
  std::istringstream lines(text);
  for (std::string line, event; std::getline(lines, line);) {
    if (line.starts_with("event: ")) event = line.substr(7);
    if (line.starts_with("data: ") && event == name) found.push_back(Json::parse(line.substr(6)));
  }
  return found;
}

double cost_of(const Json& event) {
  double sum = 0;
  for (const auto& [key, ns] : event["by_fingerprint"].items()) sum += ns.get<double>();
  return sum;
}

TEST(LiveEvents, CostByKindIsWhatWasAddedSinceTheEventBefore) {
  Executions library;
  std::map<std::string, double> kinds = {{"kind:scan", 5e9}, {"component", 1e9}};
  Service service(library, ServiceOptions{.version = "test", .status = {}, .kinds = [&] { return kinds; }});
  LiveEvents all(service, Access::everything());
  Access some = Access::everything();
  some.see_all = false;
  LiveEvents one_user(service, some);
  EXPECT_TRUE(events(all.next(), "cost").empty());
  EXPECT_TRUE(events(one_user.next(), "cost").empty());
  kinds["kind:scan"] += 3e6;
  kinds["unattributed"] = 1e6;
  const std::vector<Json> costs = events(all.next(), "cost");
  ASSERT_EQ(costs.size(), 1u);
  EXPECT_EQ(costs[0]["by_kind"], (Json{{"kind:scan", 3e6}, {"unattributed", 1e6}}));
  // Sums of the whole host are for nobody else.
  const std::vector<Json> theirs = events(one_user.next(), "cost");
  ASSERT_EQ(theirs.size(), 1u);
  EXPECT_EQ(theirs[0]["by_kind"], Json::object());
}

TEST(LiveEvents, CostHasAllExecutionsHoweverMany) {
  constexpr std::size_t kMany = 2500;  // more than a page
  Executions library;
  const std::uint64_t now = query::wall_clock_ns();
  for (std::size_t i = 0; i < kMany; ++i) library.add(now - i * 1000, i % 2 == 0);
  library.add(now - 3600 * kSecond, true);
  library.add(now - 7200 * kSecond, false);
  for (store::ExecutionRow& row : library.rows) row.cost.cpu_ns = 5e9;  // before anybody looked
  Service service(library, {});
  LiveEvents live(service, Access::everything());
  EXPECT_TRUE(events(live.next(), "cost").empty());
  for (store::ExecutionRow& row : library.rows) row.cost.cpu_ns += 1e6;
  const std::vector<Json> costs = events(live.next(), "cost");
  ASSERT_EQ(costs.size(), 1u);
  // The last one has been over for hours: it was not sampled again.
  EXPECT_NEAR(cost_of(costs[0]), (kMany + 1) * 1e6, 1) << "with the one that has run for an hour";
  EXPECT_TRUE(costs[0]["complete"].get<bool>());
  // A new one counts with all that it cost.
  library.rows.insert(library.rows.begin(), library.rows.front());
  library.rows.front().record.id.bytes[5] = 1;
  library.rows.front().wall_begin_ns = query::wall_clock_ns();
  library.rows.front().cost.cpu_ns = 7e6;
  EXPECT_NEAR(cost_of(events(live.next(), "cost").at(0)), 7e6, 1);
}

TEST(LiveEvents, ChangesAreToldWithoutAFlood) {
  Executions library;
  const std::uint64_t now = query::wall_clock_ns();
  for (std::size_t i = 0; i < 120; ++i) library.add(now - i * 1000, true);
  Service service(library, {});
  LiveEvents live(service, Access::everything());
  std::set<std::string> told;
  for (const std::size_t expected : {50u, 100u, 120u}) {
    const std::vector<Json> rows = events(live.next(), "execution");
    EXPECT_LE(rows.size(), 50u);
    for (const Json& row : rows) told.insert(row["id"]);
    EXPECT_EQ(told.size(), expected);
  }
  EXPECT_TRUE(events(live.next(), "execution").empty()) << "nothing is new";
}

TEST(LiveEvents, WhatIsTooMuchIsSaid) {
  Executions library;
  const std::uint64_t now = query::wall_clock_ns();
  for (std::size_t i = 0; i < 10'500; ++i) library.add(now - i * 1000, true);
  Service service(library, {});
  LiveEvents live(service, Access::everything());
  live.next();
  for (store::ExecutionRow& row : library.rows) row.cost.cpu_ns += 1e6;
  const Json cost = events(live.next(), "cost").at(0);
  EXPECT_FALSE(cost["complete"].get<bool>());
  EXPECT_NEAR(cost_of(cost), 9'999 * 1e6, 1) << "nothing counts twice";
}

}  // namespace
}  // namespace tailor::serve
