// The tables of `tailor sql`: functions are those of the report, and are filled only for statements that read
// them.
#include "viewer/cli/sql_tables.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/profile/added_runs.h"
#include "daemon/query/reports/function_report.h"
#include "daemon/store/elapsed_buckets.h"
#include "tests/support/called_profile.h"
#include "tests/support/profile_bytes.h"

namespace tailor::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

serve::View called_view(const serve::Filters& filters = {}) {
  query::LoadOptions options;
  options.keep_samples = options.keep_activity = options.functions = true;
  auto profile = test::load(test::profile_bytes(test::give_called), options);
  auto view = serve::make_view({std::make_shared<const query::Profile>(std::move(profile)), {}}, filters);
  EXPECT_TRUE(view);
  return std::move(*view);
}

std::string text_of(const SqlTables::Value& value) {
  using Kind = SqlTables::Value::Kind;
  if (value.kind == Kind::kText) return value.text;
  if (value.kind == Kind::kInteger) return std::to_string(value.integer);
  return value.kind == Kind::kReal ? fmt::format("{:g}", value.real) : "NULL";
}

// Each row as a text, its values with blanks in between.
std::vector<std::string> rows_of(const SqlTables& tables, const std::string& sql) {
  std::vector<std::string> out;
  const Status done = tables.query(sql, {[](const auto&) {},
                                         [&](const std::vector<SqlTables::Value>& values) {
                                           std::string& row = out.emplace_back();
                                           for (const auto& value : values)
                                             row += (row.empty() ? "" : " ") + text_of(value);
                                         }});
  EXPECT_TRUE(done.ok()) << done.error().message;
  return out;
}

std::vector<std::string> rows_of(const std::string& sql, bool functions = true,
                                 const serve::Filters& filters = {}) {
  const auto tables = SqlTables::make(called_view(filters), functions);
  EXPECT_TRUE(tables);
  return rows_of(*tables, sql);
}

bool reads_functions(const std::string& sql) {
  const auto reads = SqlTables::reads(sql);
  EXPECT_TRUE(reads) << sql;
  return reads && reads->functions;
}

TEST(SqlTables, FunctionsAreThoseOfTheReport) {
  const serve::View view = called_view();
  const auto report = query::function_report(view.profile, view.selection);
  ASSERT_TRUE(report);
  std::vector<std::string> wanted;
  for (const query::FunctionRow& row : report->functions)
    wanted.push_back(fmt::format("{} {} {:.0f} {:.0f} {:.0f} {:.0f} {}", row.name,
                                 row.function.object.empty() ? "NULL" : row.function.object,
                                 row.cost.amount.samples, row.cost.amount.weight, row.total.amount.samples,
                                 row.total.amount.weight,
                                 row.function.why.empty() ? "NULL" : row.function.why));
  EXPECT_GE(wanted.size(), 2u);
  EXPECT_THAT(
      rows_of("SELECT name, library, self_samples, self_weight, total_samples, total_weight, why FROM "
              "functions WHERE unit = 'ns_on_cpu'"),
      testing::UnorderedElementsAreArray(wanted));
}

TEST(SqlTables, ProcessesHaveTheirPodAndContainer) {
  const std::string container = "2227daf62df6694645fee5df53c1f91271546a9560e8600a525690ae252b7f63";
  const auto tables_in = [](const std::string& cgroup) {
    query::LoadOptions options;
    options.keep_samples = options.keep_activity = true;
    const std::string bytes = test::profile_bytes([&](profile::ProfileSink& sink) {
      test::give_profile(sink, 2);
      profile::ProcessRecord process;
      process.process = test::kSampleProcess;
      process.comm = "weft";
      process.cgroup = cgroup;
      sink.on_process(process);
    });
    auto profile = test::load(bytes, options);
    auto view = serve::make_view({std::make_shared<const query::Profile>(std::move(profile)), {}}, {});
    EXPECT_TRUE(view);
    auto tables = SqlTables::make(*view, false);
    EXPECT_TRUE(tables);
    return std::move(*tables);
  };
  const SqlTables known = tables_in("/docker/" + container), unknown = tables_in("");
  constexpr const char* kProcesses = "SELECT pid, name, cgroup, pod, container FROM processes";
  EXPECT_THAT(rows_of(known, kProcesses),
              ElementsAre("4242 weft /docker/" + container + " NULL " + container));
  EXPECT_THAT(rows_of(unknown, kProcesses), ElementsAre("4242 weft NULL NULL NULL"));
  EXPECT_THAT(rows_of(known, "SELECT DISTINCT cgroup FROM executions"), ElementsAre("/docker/" + container));
}

TEST(SqlTables, RecursionCountsOnceInATotal) {
  // The library is the caller of the generated code that calls it.
  EXPECT_THAT(rows_of("SELECT self_samples, total_samples FROM functions WHERE library = 'libx.so'"),
              ElementsAre("3 3"));
}

TEST(SqlTables, SamplesHaveTheirAddressInTheFile) {
  EXPECT_THAT(
      rows_of("SELECT printf('%x', code_address), path, build_id, count(*) FROM samples JOIN stacks USING "
              "(stack) JOIN places USING (place, code_address) WHERE path IS NOT NULL GROUP BY 1"),
      ElementsAre("10 /nowhere/libx.so b1 3"));
}

TEST(SqlTables, StacksLeadToTheOutermostFrame) {
  EXPECT_THAT(
      rows_of(
          "WITH RECURSIVE up(stack, depth) AS (SELECT stack, 0 FROM samples WHERE time_ns = 1 UNION SELECT "
          "caller, depth + 1 FROM up JOIN stacks USING (stack) WHERE caller IS NOT NULL) SELECT depth, name, "
          "printf('%x', code_address) FROM up JOIN stacks USING (stack) JOIN places USING (place) JOIN "
          "function_names USING (function) ORDER BY 1"),
      ElementsAre("0 [unknown] 10", "1 main 7f0000001007", "2 [unknown] 8fff"));
}

TEST(SqlTables, FunctionsOfOperatorsAndOfWhatIsNone) {
  EXPECT_THAT(
      rows_of("SELECT coalesce(operator_name, component), library, sum(weight) FROM function_samples GROUP "
              "BY 1, 2 ORDER BY 1"),
      ElementsAre("Hash join libx.so 3e+06", testing::StartsWith("compile ")));
  EXPECT_THAT(rows_of("SELECT sum(weight) = (SELECT sum(weight) FROM samples) FROM function_samples"),
              ElementsAre("1"));
}

TEST(SqlTables, AFilterHoldsForFunctionsToo) {
  serve::Filters filters;
  filters.from_ns = 2;
  filters.to_ns = 3;
  EXPECT_THAT(rows_of("SELECT name, self_samples, total_samples FROM functions", true, filters),
              ElementsAre("[unknown] 1 1"));
  EXPECT_THAT(rows_of("SELECT name FROM function_names", true, filters), ElementsAre("[unknown]"));
}

TEST(SqlTables, ExecutionsSayHowManyRunsTheyAre) {
  query::LoadOptions options;
  options.keep_samples = options.keep_activity = true;
  const std::string bytes = test::profile_bytes([](profile::ProfileSink& sink) {
    test::give_called(sink);
    profile::ExecutionRecord sum;
    sum.process = test::kSampleProcess;
    sum.plan = test::kSamplePlan;
    sum.begin = test::kSampleStart;
    sum.end = test::kSampleStart + 90;
    sum.labels.emplace_back(profile::kRunsLabel, profile::kRunsLabelValue);
    sum.handle = 50;
    sum.id.bytes.fill(50);
    sink.on_execution(sum);
    profile::AddedRuns added;
    added.runs = 3;
    added.elapsed_sum = 60;
    added.elapsed_min = added.elapsed_max = 20;
    added.buckets = {{store::ElapsedBuckets::bucket_of(20), 3}};
    sum.added = std::make_shared<const profile::AddedRuns>(added);
    sum.handle = 51;
    sum.id.bytes.fill(51);
    sink.on_execution(sum);
  });
  auto profile = test::load(bytes, options);
  const auto view = serve::make_view({std::make_shared<const query::Profile>(std::move(profile)), {}}, {});
  ASSERT_TRUE(view);
  const auto tables = SqlTables::make(*view, false);
  ASSERT_TRUE(tables);
  EXPECT_THAT(rows_of(*tables, "SELECT execution, elapsed_ns, runs FROM executions ORDER BY execution"),
              ElementsAre("3 NULL 1", "50 90 NULL", "51 90 3"));
}

TEST(SqlTables, OnlyStatementsThatReadFunctionsNeedThem) {
  for (const char* sql : {"SELECT * FROM functions", "SELECT count(*) FROM function_costs",
                          "SELECT function FROM samples", "SELECT * FROM samples",
                          "SELECT 1 FROM samples WHERE code_address > 5", "SELECT tid FROM function_samples",
                          "SELECT 1 WHERE EXISTS (SELECT 1 FROM stacks)", "SELECT path FROM places"})
    EXPECT_TRUE(reads_functions(sql)) << sql;
  for (const char* sql : {"SELECT tid, sum(weight) FROM samples GROUP BY 1", "SELECT * FROM operator_samples",
                          "SELECT * FROM executions", "SELECT address FROM samples", "SELECT 1"})
    EXPECT_FALSE(reads_functions(sql)) << sql;
}

TEST(SqlTables, WithoutFunctionsTheRestIsTheSame) {
  EXPECT_THAT(rows_of("SELECT count(*), count(function) FROM samples", false), ElementsAre("4 0"));
  EXPECT_THAT(rows_of("SELECT * FROM functions", false), IsEmpty());
  constexpr const char* kAll = "SELECT time_ns, tid, cell, weight, address, latency FROM samples";
  EXPECT_EQ(rows_of(kAll, false), rows_of(kAll, true));
}

TEST(SqlTables, WhatIsNoQueryFailsBeforeAProfileIsRead) {
  for (const char* sql : {"DELETE FROM samples", "SELECT nothing", "SELECT 1; SELECT 2", "-- none",
                          "ATTACH '/nowhere/x' AS x", "PRAGMA user_version", "CREATE TABLE x (y)"})
    EXPECT_FALSE(SqlTables::reads(sql)) << sql;
  EXPECT_TRUE(SqlTables::reads("SELECT 1;\n "));
}

TEST(SqlTables, SumsOfAStoreAreTables) {
  store::Summary sums;
  sums.days_until = 48;
  const auto key_of_hour = [](store::Hour hour, std::optional<std::uint64_t> plan) {
    store::CostKey key;
    key.hour = hour;
    key.fingerprint = "9c1e";
    key.id = 3;
    key.name = "scan";
    key.source = "cpu-clock";
    key.plan = plan;
    return key;
  };
  store::CostSum& known = sums.costs[key_of_hour(50, 0xABCD)];
  known.samples = store::to_parts(2.5);
  known.weight = store::to_parts(1e6);
  known.kernel = store::to_parts(5e5);
  store::CostSum& older = sums.costs[key_of_hour(24, {})];
  older.weight = older.undetailed = store::to_parts(7);
  store::RunSum& run = sums.runs[{50, 1000, "9c1e"}] = {5, 1, 30, 10, 20};
  run.untimed = 3;
  run.not_drawn = 1;
  store::RunSum& unknown = sums.runs[{50, 1000, "beef"}];
  unknown.executions = unknown.untimed = 1;
  sums.losses[50].late = 4;
  sums.queries[{1000, "beef"}] = {"other", "select ?"};
  const auto all = SqlTables::make(sums, "", {});
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_THAT(rows_of(*all,
                      "SELECT since_s, hours, owner, plan, id, samples, weight, kernel, inferred FROM "
                      "history_costs ORDER BY since_s"),
              ElementsAre("86400 24 operator NULL 3 0 7 NULL NULL",
                          "180000 1 operator 000000000000abcd 3 2.5 1e+06 500000 0"));
  EXPECT_THAT(rows_of(*all,
                      "SELECT uid, executions, failed, drawn, elapsed_sum, elapsed_min, elapsed_max, untimed "
                      "FROM history_runs ORDER BY fingerprint"),
              ElementsAre("1000 5 1 4 30 10 20 3", "1000 1 0 1 0 NULL NULL 1"));
  EXPECT_THAT(rows_of(*all, "SELECT hours, late FROM history_losses"), ElementsAre("1 4"));
  EXPECT_THAT(rows_of(*all, "SELECT name FROM history_queries"), ElementsAre("other"));
  const auto one = SqlTables::make(sums, "beef", {});
  ASSERT_TRUE(one) << one.error().message;
  EXPECT_THAT(rows_of(*one, "SELECT * FROM history_costs"), IsEmpty());
}

TEST(SqlTables, AStatementSaysWhetherItReadsSumsOrSamples) {
  const auto reads = [](const char* sql) { return *SqlTables::reads(sql); };
  EXPECT_TRUE(reads("SELECT sum(weight) FROM history_costs").history);
  EXPECT_FALSE(reads("SELECT sum(weight) FROM history_costs").samples);
  EXPECT_FALSE(reads("SELECT * FROM operator_samples").history);
  EXPECT_TRUE(reads("SELECT * FROM operator_samples").samples);
  EXPECT_TRUE(reads("SELECT name FROM functions").samples);
  const auto both = reads("SELECT h.name FROM history_costs h JOIN operators USING (id)");
  EXPECT_TRUE(both.history && both.samples);
}

TEST(SqlTables, EachTableIsOfSumsOrOfSamples) {
  const std::string schema = SqlTables::schema();
  std::size_t tables = 0;
  for (const std::string_view word : {"CREATE TABLE ", "CREATE VIEW "}) {
    for (std::size_t at = schema.find(word); at != std::string::npos; at = schema.find(word, at + 1)) {
      const std::size_t begin = at + word.size();
      const std::string table = schema.substr(begin, schema.find_first_of(" (", begin) - begin);
      for (const std::string& what : {std::string("*"), std::string("count(*)")}) {
        const auto reads = SqlTables::reads(fmt::format("SELECT {} FROM {}", what, table));
        ASSERT_TRUE(reads) << table;
        if (table == "damage") {
          EXPECT_FALSE(reads->samples || reads->history) << "it is of either";
        } else {
          EXPECT_NE(reads->samples, reads->history) << what << " of " << table;
        }
      }
      ++tables;
    }
  }
  EXPECT_GE(tables, 20u);
}

TEST(SqlTables, TheSchemaIsThatOfTheTables) {
  const std::string schema = SqlTables::schema();
  for (const char* each : {"TABLE samples", "TABLE function_names", "VIEW functions", "VIEW function_samples",
                           "TABLE history_costs"})
    EXPECT_NE(schema.find(each), std::string::npos) << each;
}

}  // namespace
}  // namespace tailor::cli
