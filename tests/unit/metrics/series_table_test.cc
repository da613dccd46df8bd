#include "daemon/metrics/series_table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace tailor::metrics {
namespace {

using std::chrono::hours;
using Clock = SeriesTable::Clock;

double sum(const SeriesTable& table) {
  double all = 0;
  for (const auto& [labels, value] : table.read()) all += value;
  return all;
}

double value(const SeriesTable& table, const std::string& label) {
  for (const auto& [labels, value] : table.read()) {
    if (labels.front() == label) return value;
  }
  return -1;
}

TEST(SeriesTable, SumsArePreservedAndSeriesBounded) {
  SeriesTable table(1, {10, 0.001, std::chrono::minutes(60)});
  std::mt19937 random(1);
  double all = 0;
  for (int i = 0; i < 20'000; ++i) {
    // A few heavy ones among very many.
    const std::string label = i % 3 == 0 ? "heavy" + std::to_string(i % 4) : std::to_string(random() % 5000);
    const double amount = i % 3 == 0 ? 10 : 0.1;
    table.add({label}, amount, Clock::time_point{});
    all += amount;
    ASSERT_LE(table.read().size(), 12u);
  }
  EXPECT_NEAR(sum(table), all, 1e-6 * all);
  EXPECT_NEAR(table.sum(), all, 1e-6 * all);
  for (const char* heavy : {"heavy0", "heavy1", "heavy2", "heavy3"}) EXPECT_GT(value(table, heavy), all / 10);
}

TEST(SeriesTable, NoSeriesEverFalls) {
  SeriesTable table(1, {3, 0.01, std::chrono::minutes(1)});
  std::map<LabelValues, double> before;
  Clock::time_point now{};
  std::mt19937 random(2);
  for (int i = 0; i < 3000; ++i) {
    now += std::chrono::seconds(1);
    table.add({std::to_string(random() % (2 + static_cast<unsigned>(i) / 300))}, 1 + random() % 5, now);
    for (const auto& [labels, value] : table.read()) {
      const auto known = before.find(labels);
      // A series that has gone begins anew, as a counter may.
      if (known != before.end() && value != 0 && labels.front() == "other") {
        EXPECT_GE(value, known->second);
      }
      before[labels] = value;
    }
  }
  EXPECT_NEAR(sum(table), table.sum(), 1e-9 * table.sum());
}

TEST(SeriesTable, OneThatNoLongerGrowsGivesItsPlaceUpAndIsKeptInRetired) {
  SeriesTable table(1, {1, 0.001, std::chrono::minutes(60)});
  table.add({"old"}, 5, Clock::time_point{});
  table.add({"new"}, 5, Clock::time_point{} + hours(2));
  EXPECT_EQ(value(table, "old"), -1);
  EXPECT_DOUBLE_EQ(value(table, "new"), 5);
  EXPECT_DOUBLE_EQ(value(table, "retired"), 5);
}

TEST(SeriesTable, NothingAndNotANumberAddNothing) {
  SeriesTable table(1, {});
  table.add({"a"}, 0, {});
  table.add({"a"}, -1, {});
  table.add({"a"}, std::nan(""), {});
  EXPECT_EQ(table.sum(), 0);
}

}  // namespace
}  // namespace tailor::metrics
