// Which executions a catalogue finds, and what it says of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "daemon/store/checked_pages.h"
#include "tests/support/sample_profile.h"
#include "tests/unit/store/store_fixture.h"

namespace tailor::store {
namespace {

TEST_F(StoreTest, ExecutionsHaveTheNamesOfTheirProcess) {
  auto writer = open();
  test::give_profile(*writer, 1);
  // A thread of the process is told after it: its name stays.
  ASSERT_TRUE(writer->flush());
  writer->on_thread(read(writer->recording()).executions[0].record.process, 77, "worker");
  ASSERT_TRUE(writer->finish());
  const ExecutionRow before = read(writer->recording()).executions[0];
  EXPECT_FALSE(before.comm.empty());
  EXPECT_FALSE(before.engine.empty());
  // The same of a catalogue that is made anew.
  const RecordingNumber recording = writer->recording();
  writer.reset();
  std::filesystem::remove(catalogue_path(directory_));
  ASSERT_NE(open(), nullptr);
  const ExecutionRow again = read(recording).executions[0];
  EXPECT_EQ(again.comm, before.comm);
  EXPECT_EQ(again.engine, before.engine);
}

TEST_F(StoreTest, ExecutionsHaveTheCgroupOfTheirProcess) {
  auto writer = open();
  test::give_profile(*writer, 1);
  ASSERT_TRUE(writer->flush());
  EXPECT_EQ(read(writer->recording()).executions[0].cgroup, "");
  profile::ProcessRecord process;
  process.process = test::kSampleProcess;
  process.comm = "weft";
  process.cgroup = "/system.slice/weft.service";
  writer->on_process(process);
  ASSERT_TRUE(writer->finish());
  EXPECT_EQ(read(writer->recording()).executions[0].cgroup, process.cgroup);
  // The same of a catalogue that is made anew.
  const RecordingNumber recording = writer->recording();
  writer.reset();
  std::filesystem::remove(catalogue_path(directory_));
  ASSERT_NE(open(), nullptr);
  EXPECT_EQ(read(recording).executions[0].cgroup, process.cgroup);
}

TEST_F(StoreTest, ExecutionsHaveTheRateOfTheirProcess) {
  auto writer = open();
  test::give_profile(*writer, 1);
  ASSERT_TRUE(writer->flush());
  const ExecutionRow as_configured = read(writer->recording()).executions[0];
  EXPECT_EQ(as_configured.frequency, 0u);
  profile::RecordingInfo info;
  info.sources.push_back({0, "cpu-clock", profile::Unit::kNsOnCpu, 1'000'000, false});
  const TimeNs begin = as_configured.record.begin;
  const ProcessId other{1, 1};
  // Before it, of another process, and of it.
  info.rates = {{test::kSampleProcess, begin - 20, begin - 10, 11, "tailor rate"},
                {other, begin, kTimeMax, 13, "tailor rate"},
                {test::kSampleProcess, begin, kTimeMax, 997, "trigger slow: a query ran"}};
  writer->on_recording(info);
  ASSERT_TRUE(writer->flush());
  const auto look = [&](RecordingNumber recording) {
    const ExecutionRow row = read(recording).executions[0];
    EXPECT_EQ(row.frequency, 997u);
    EXPECT_EQ(row.rate_why, "trigger slow: a query ran");
  };
  look(writer->recording());
  // It is over, but it was so while the execution ran.
  info.rates.back().to = begin + 1;
  writer->on_recording(info);
  ASSERT_TRUE(writer->finish());
  look(writer->recording());
  // The same of a catalogue that is made anew.
  const RecordingNumber recording = writer->recording();
  writer.reset();
  std::filesystem::remove(catalogue_path(directory_));
  ASSERT_NE(open(), nullptr);
  look(recording);
}

TEST_F(StoreTest, OfTheRatesOfARecordingTheNewestStay) {
  std::filesystem::create_directories(directory_);
  auto catalogue = Catalogue::open(catalogue_path(directory_), Catalogue::Mode::kWrite);
  ASSERT_TRUE(catalogue);
  constexpr auto kMost = static_cast<TimeNs>(Catalogue::kMostRates);
  profile::ExecutionRecord record;
  record.process = test::kSampleProcess;
  ASSERT_TRUE(catalogue->begin());
  // The rate at 4, 14, ... goes on for 5.
  for (TimeNs i = 0; i <= kMost; ++i)
    ASSERT_TRUE(catalogue->put_rate(1, {record.process, 10 * i + 4, 10 * i + 9, 100, "tailor rate"}));
  ASSERT_TRUE(catalogue->drop_old_rates(1));
  // Of the first one, between two, within one, of all.
  for (const auto& [begin, end] :
       std::vector<std::pair<TimeNs, TimeNs>>{{5, 6}, {11, 12}, {16, 17}, {21, 40}}) {
    ++record.handle;
    record.begin = begin;
    record.end = end;
    ASSERT_TRUE(catalogue->put_execution(1, record, 1));
  }
  ASSERT_TRUE(catalogue->commit());
  const auto rows = catalogue->executions(10);
  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->size(), 4u);
  for (const ExecutionRow& row : *rows)
    EXPECT_EQ(row.frequency, row.record.begin >= 16 ? 100u : 0u) << row.record.begin;
}

TEST_F(StoreTest, FindsExecutionsByWallClock) {
  auto writer = open();
  test::give_profile(*writer, 1);
  ASSERT_TRUE(writer->finish());
  auto catalogue = Catalogue::open(catalogue_path(directory_), Catalogue::Mode::kRead);
  ASSERT_TRUE(catalogue);
  const auto found = [&](std::uint64_t since, std::uint64_t until) {
    return catalogue->executions(10, {since, until})->size();
  };
  EXPECT_EQ(found(kWall, kWall + 1), 1u);
  EXPECT_EQ(found(0, UINT64_MAX), 1u);
  EXPECT_EQ(found(0, kWall), 0u) << "the end is not part of it";
  EXPECT_EQ(found(kWall + 1, UINT64_MAX), 0u);
}

// The newest first by the wall clock, whatever the recording; a catalogue of an older program says the same.
TEST_F(StoreTest, AnOlderCatalogueSaysTheSame) {
  {
    auto first = open();
    test::give_context(*first);
    ASSERT_TRUE(first->flush());  // and is killed
  }
  auto second = open({}, kWall + 5);
  test::give_profile(*second, 1);
  ASSERT_TRUE(second->finish());
  const auto look = [&] {
    auto catalogue = Catalogue::open(catalogue_path(directory_), Catalogue::Mode::kRead);
    const auto rows = catalogue->executions(10, {kWall, kWall + 100});
    const auto killed = catalogue->ended_with_daemon(1);
    const auto of_second = catalogue->ended_with_daemon(second->recording());
    std::vector<RecordingNumber> said;
    for (const ExecutionRow& row : *rows) said.push_back(row.recording);
    said.push_back(0);
    for (const profile::ExecutionRecord& each : *killed) said.push_back(each.handle);
    said.push_back(of_second->size());
    return said;
  };
  const std::vector<RecordingNumber> with = look();
  EXPECT_EQ(with.size(), 5u);
  EXPECT_EQ(with[3], test::kSampleExecution);
  sqlite3* db = nullptr;
  const std::string path = catalogue_path(directory_);
  ASSERT_EQ(sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READWRITE, checked_pages()), SQLITE_OK);
  const char* drop =
      "DROP INDEX execution_by_wall; DROP INDEX execution_killed; DROP INDEX execution_running";
  EXPECT_EQ(sqlite3_exec(db, drop, nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(db);
  EXPECT_EQ(look(), with);
}

TEST_F(StoreTest, FindsExecutionsByTheStartOfTheirId) {
  auto writer = open();
  test::give_profile(*writer, 1);
  ASSERT_TRUE(writer->finish());
  auto catalogue = Catalogue::open(catalogue_path(directory_), Catalogue::Mode::kRead);
  ASSERT_TRUE(catalogue);
  EXPECT_EQ(catalogue->find_executions("e1e1")->size(), 1u);
  EXPECT_EQ(catalogue->find_executions("e1e2")->size(), 0u);
  EXPECT_EQ(catalogue->find_executions("")->size(), 1u);
  EXPECT_EQ(catalogue->find_executions("%")->size(), 0u);
  EXPECT_EQ(catalogue->find_executions("' OR 1=1 --")->size(), 0u);
}

// Those that ran at a time, and not only those that began then.
TEST_F(StoreTest, FindsWhatRanBeforeItsWindow) {
  auto writer = open();
  test::give_profile(*writer, 1);
  ASSERT_TRUE(writer->flush());
  auto catalogue = Catalogue::open(catalogue_path(directory_), Catalogue::Mode::kRead);
  ASSERT_TRUE(catalogue);
  const auto all = catalogue->executions(10, {});
  ASSERT_TRUE(all);
  ASSERT_EQ(all->size(), 1u);
  const ExecutionRow& row = all->front();
  ASSERT_NE(row.record.end, kTimeMax);
  const auto elapsed = static_cast<std::uint64_t>(row.record.end - row.record.begin);
  const auto found = [&](std::uint64_t since, bool ran) {
    return catalogue->executions(10, {since, INT64_MAX, ran})->size();
  };
  EXPECT_EQ(found(row.wall_begin_ns + 1, false), 0u);
  EXPECT_EQ(found(row.wall_begin_ns + 1, true), 1u) << "it had not ended by then";
  EXPECT_EQ(found(row.wall_begin_ns + elapsed + 1, true), 0u) << "it had";
  EXPECT_EQ(found(row.wall_begin_ns, true), 1u) << "once";
}

TEST_F(StoreTest, WhatRunsStillIsFoundWheneverItBegan) {
  auto writer = open();
  test::give_context(*writer);
  ASSERT_TRUE(writer->flush());
  auto catalogue = Catalogue::open(catalogue_path(directory_), Catalogue::Mode::kRead);
  ASSERT_TRUE(catalogue);
  const auto rows = catalogue->executions(10, {kWall + 86'400'000'000'000, INT64_MAX, true});
  ASSERT_TRUE(rows) << rows.error().message;
  ASSERT_EQ(rows->size(), 1u);
  EXPECT_EQ(rows->front().record.end, kTimeMax);
}

}  // namespace
}  // namespace tailor::store
