// One user fills the catalogue: it stays within its budget, and what others have stays.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "daemon/store/catalogue_budget.h"
#include "daemon/store/catalogue_notes.h"
#include "daemon/store/catalogue_terms.h"
#include "daemon/store/checked_pages.h"
#include "tests/support/sample_profile.h"
#include "tests/unit/store/store_fixture.h"

namespace tailor::store {
namespace {

constexpr std::uint32_t kVictim = 1000, kGreedy = 1001;
constexpr std::uint64_t kMegabyte = 1u << 20;

class CatalogueShareTest : public StoreTest {
 protected:
  static constexpr TimeNs kBegin = 10'000'000'000;

  StoreOptions options(std::uint64_t catalogue_bytes) {
    StoreOptions options;
    options.catalogue_bytes = catalogue_bytes;
    options.on_removed = [this](const std::string& what) { told_.push_back(what); };
    return options;
  }
  void start(std::uint64_t catalogue_bytes) {
    writer_ = open(options(catalogue_bytes));
    ASSERT_NE(writer_, nullptr);
    profile::RecordingInfo info;
    info.wall_clock_ns = kWall;
    info.sources = {{0, "cycles", profile::Unit::kNsOnCpu}};
    writer_->on_recording(info);
    now_ = kBegin;
    writer_->on_watermark(now_);
  }
  void second() {
    now_ += kSecond;
    writer_->on_watermark(now_);
  }
  static ProcessId process_of(std::optional<std::uint32_t> uid) {
    return {static_cast<std::int32_t>(uid.value_or(7)), 1};
  }
  profile::ExecutionRecord execution(std::optional<std::uint32_t> uid, ExecutionHandle handle) const {
    profile::ExecutionRecord e;
    e.process = process_of(uid);
    e.handle = handle;
    e.uid = uid;
    e.begin = now_;
    e.end = now_ + 1;
    // As random as those of agents.
    for (std::size_t i = 0; i < e.id.bytes.size(); ++i)
      e.id.bytes[i] =
          static_cast<std::uint8_t>((handle * 0x9E37'79B9'7F4A'7C15ull + *uid * 31) >> (i % 8 * 8));
    return e;
  }
  void run(std::uint32_t uid, int count) {
    for (int i = 0; i < count; ++i) writer_->on_execution(execution(uid, ++handles_[uid]));
  }
  // Executions of which no end comes.
  void begin(std::uint32_t uid, int count) {
    for (int i = 0; i < count; ++i) {
      profile::ExecutionRecord e = execution(uid, ++handles_[uid]);
      e.end = kTimeMax;
      writer_->on_execution(e);
    }
  }
  void sample(std::uint32_t uid, ExecutionHandle handle) {
    profile::SampleRecord s;
    s.process = process_of(uid);
    s.time = now_;
    s.weight = 1000;
    s.attribution.execution = handle;
    writer_->on_samples(std::span(&s, 1));
  }
  void fill(std::uint32_t uid, int seconds, int a_second) {
    for (int i = 0; i < seconds; ++i) {
      run(uid, a_second);
      second();
    }
  }

  Catalogue reading() const {
    auto catalogue = Catalogue::open(catalogue_path(directory_), Catalogue::Mode::kRead);
    EXPECT_TRUE(catalogue);
    return std::move(*catalogue);
  }
  // Handles of the executions that are there.
  std::vector<ExecutionHandle> left_of(std::uint32_t uid) const {
    std::vector<ExecutionHandle> out;
    const auto rows = reading().executions(1'000'000);
    EXPECT_TRUE(rows);
    for (const ExecutionRow& row : *rows) {
      if (row.record.uid == uid) out.push_back(row.record.handle);
    }
    std::ranges::sort(out);
    return out;
  }
  UserUse use_of(std::uint32_t uid) const {
    const auto uses = reading().uses();
    const auto found = std::ranges::find(*uses, std::optional(uid), &UserUse::uid);
    return found == uses->end() ? UserUse{} : *found;
  }
  RemovedOfUser removed_of(std::uint32_t uid) const {
    const auto removed = reading().removed();
    const auto found = std::ranges::find(*removed, std::optional(uid), &RemovedOfUser::uid);
    return found == removed->end() ? RemovedOfUser{} : *found;
  }
  std::uint64_t file_bytes() const { return std::filesystem::file_size(catalogue_path(directory_)); }
  void sql(const std::string& text) const {
    sqlite3* db = nullptr;
    const std::string path = catalogue_path(directory_);
    ASSERT_EQ(sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READWRITE, checked_pages()), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db, text.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
    sqlite3_close(db);
  }

  // As an older program left it.
  void without_shares() const {
    for (const char* trigger : {"execution_put", "execution_changed", "execution_gone", "cost_put",
                                "cost_gone", "name_put", "name_changed", "name_gone", "owner_put"})
      sql(fmt::format("DROP TRIGGER {}", trigger));
    sql("DROP INDEX execution_by_share; DROP TABLE share; DROP TABLE owner; DROP TABLE removed;"
        "ALTER TABLE execution DROP COLUMN uid; ALTER TABLE execution DROP COLUMN sampled;"
        "PRAGMA auto_vacuum=NONE; VACUUM");
  }

  std::unique_ptr<StoreWriter> writer_;
  std::map<std::uint32_t, ExecutionHandle> handles_;
  std::vector<std::string> told_;
  TimeNs now_ = 0;
};

TEST_F(CatalogueShareTest, WhoFillsItLosesHisOwn) {
  start(kMegabyte);
  run(kVictim, 500);
  fill(kGreedy, 8, 1000);
  run(kVictim, 1);
  second();
  EXPECT_EQ(left_of(kVictim).size(), 501u);
  const std::vector<ExecutionHandle> left = left_of(kGreedy);
  ASSERT_FALSE(left.empty());
  EXPECT_EQ(left.back(), 8000u) << "the newest stays";
  EXPECT_EQ(left.front(), 8001u - left.size()) << "the oldest go first";
  EXPECT_EQ(removed_of(kGreedy).executions, 8000u - left.size());
  EXPECT_EQ(removed_of(kVictim).executions, 0u);
  EXPECT_GE(removed_of(kGreedy).first_ns, kWall);
  EXPECT_LE(removed_of(kGreedy).first_ns, removed_of(kGreedy).last_ns);
  EXPECT_LE(reading().size()->used, kMegabyte);
  // A second's worth came before as much went.
  EXPECT_LE(file_bytes(), 2 * kMegabyte);
}

// Without a budget, and without users: both must break what the test above finds.
TEST_F(CatalogueShareTest, BrokenWithoutABudget) {
  start(0);
  fill(kGreedy, 8, 1000);
  EXPECT_GT(file_bytes(), 2 * kMegabyte);
  EXPECT_EQ(left_of(kGreedy).size(), 8000u);
}

TEST_F(CatalogueShareTest, BrokenWhereAllAreOneUser) {
  start(kMegabyte);
  run(kGreedy, 500);
  fill(kGreedy, 8, 1000);
  EXPECT_GT(left_of(kGreedy).front(), 500u);
}

TEST_F(CatalogueShareTest, OnesThatNeverEndGoToo) {
  start(kMegabyte);
  run(kVictim, 100);
  for (int i = 0; i < 10; ++i) {
    begin(kGreedy, 1000);
    second();
  }
  EXPECT_EQ(left_of(kVictim).size(), 100u);
  EXPECT_LT(left_of(kGreedy).size(), 10'000u);
  EXPECT_LE(reading().size()->used, kMegabyte);
}

TEST_F(CatalogueShareTest, OnesWithoutSamplesGoBeforeThoseWith) {
  start(kMegabyte);
  for (ExecutionHandle handle = 1; handle <= 100; ++handle) {
    run(kGreedy, 1);
    sample(kGreedy, handle);
  }
  fill(kGreedy, 8, 1000);
  const std::vector<ExecutionHandle> left = left_of(kGreedy);
  ASSERT_GT(left.size(), 100u);
  EXPECT_EQ(left[99], 100u);
  EXPECT_GT(left[100], 3000u);
  const auto rows = reading().executions(1'000'000);
  EXPECT_EQ(rows->back().cost.samples, 1u);
}

TEST_F(CatalogueShareTest, TheCostOfAnExecutionGoesWithIt) {
  start(kMegabyte);
  for (int i = 0; i < 10; ++i) {
    run(kGreedy, 1000);
    for (ExecutionHandle handle = handles_[kGreedy] - 999; handle <= handles_[kGreedy]; ++handle)
      sample(kGreedy, handle);
    second();
  }
  const std::vector<ExecutionHandle> left = left_of(kGreedy);
  EXPECT_LT(left.size(), 10'000u);
  EXPECT_LE(reading().size()->used, kMegabyte);
  ASSERT_TRUE(writer_->finish());
  writer_.reset();
  sql("CREATE TABLE orphans(n INTEGER); INSERT INTO orphans SELECT count(*) FROM cost WHERE NOT EXISTS "
      "(SELECT 1 "
      "FROM execution e WHERE e.recording=cost.recording AND e.handle=cost.handle); "
      "CREATE TABLE none(n INTEGER CHECK(n=0)); INSERT INTO none SELECT n FROM orphans");
}

TEST_F(CatalogueShareTest, NamesHaveAShareToo) {
  start(kMegabyte);
  const auto register_process = [&](std::uint32_t uid) {
    profile::ProcessRecord process;
    process.process = process_of(uid);
    process.comm = "engine";
    process.uid = uid;
    writer_->on_process(process);
  };
  const auto load = [&](std::uint32_t uid, PlanId first, int count) {
    for (int i = 0; i < count; ++i) {
      v1::Plan plan;
      plan.set_id(first + static_cast<PlanId>(i));
      plan.set_name(std::string(2000, 'n'));
      writer_->on_plan(process_of(uid), now_, plan);
    }
    second();
  };
  register_process(kVictim);
  register_process(kGreedy);
  load(kVictim, 1, 50);
  run(kVictim, 100);
  for (int i = 0; i < 10; ++i) load(kGreedy, 1 + static_cast<PlanId>(i) * 200, 200);
  EXPECT_EQ(left_of(kVictim).size(), 100u);
  EXPECT_EQ(use_of(kVictim).names, 51u);
  EXPECT_LT(use_of(kGreedy).names, 2001u);
  EXPECT_EQ(use_of(kGreedy).names + removed_of(kGreedy).names, 2001u);
  EXPECT_LE(reading().size()->used, kMegabyte);
  const auto oldest = reading().segments_of(writer_->recording(), {process_of(kGreedy), EntryKind::kPlan, 1});
  EXPECT_TRUE(oldest->empty()) << "the first goes first";
  const auto itself =
      reading().segments_of(writer_->recording(), {process_of(kGreedy), EntryKind::kProcess, 0});
  EXPECT_FALSE(itself->empty()) << "the name of the process is the last to go";
}

TEST_F(CatalogueShareTest, WhatIsCountedIsWhatIsThere) {
  start(kMegabyte);
  run(kVictim, 30);
  sample(kVictim, 7);
  second();
  fill(kGreedy, 6, 1000);
  ASSERT_TRUE(writer_->finish());
  const UserUse greedy = use_of(kGreedy), victim = use_of(kVictim);
  EXPECT_EQ(greedy.executions, left_of(kGreedy).size());
  EXPECT_EQ(victim.executions, 30u);
  writer_.reset();
  without_shares();
  // Then opening counts.
  ASSERT_TRUE(Catalogue::open(catalogue_path(directory_), Catalogue::Mode::kWrite));
  EXPECT_EQ(use_of(kGreedy).execution_bytes, greedy.execution_bytes);
  EXPECT_EQ(use_of(kVictim).execution_bytes, victim.execution_bytes);
}

TEST_F(CatalogueShareTest, TheFileBecomesSmallerAsTheBudgetDoes) {
  start(0);
  fill(kGreedy, 8, 1000);
  const std::uint64_t before = file_bytes();
  writer_->set_retention(0, 0, kMegabyte);
  for (int i = 0; i < 25; ++i) second();
  EXPECT_LE(file_bytes(), kMegabyte + kMegabyte / 4);
  EXPECT_GT(before, 2 * kMegabyte);
}

// Zeros end no text here.
TEST_F(CatalogueShareTest, LongTextsCountWhateverIsInThem) {
  start(0);
  profile::ExecutionRecord e = execution(kGreedy, 1);
  e.labels = {{"query", std::string(1, '\0') + std::string(100'000, 'q')}};
  writer_->on_execution(e);
  second();
  EXPECT_GT(use_of(kGreedy).execution_bytes, 100'000u);
  EXPECT_LT(use_of(kGreedy).execution_bytes, 101'000u);
}

TEST_F(CatalogueShareTest, NamesOfAUserWhoIsHeardOfLateAreHis) {
  std::filesystem::create_directories(directory_);
  auto catalogue = Catalogue::open(catalogue_path(directory_), Catalogue::Mode::kWrite);
  ASSERT_TRUE(catalogue);
  const ProcessId process = process_of(kVictim);
  ASSERT_TRUE(catalogue->put_entry(1, {process, EntryKind::kPlan, 1}, 3, "before"));
  EXPECT_EQ(use_of(kVictim).names, 0u);
  ASSERT_TRUE(catalogue->put_owner(1, process, kVictim));
  ASSERT_TRUE(catalogue->put_owner(1, process, kGreedy));
  ASSERT_TRUE(catalogue->put_entry(1, {process, EntryKind::kPlan, 2}, 3, "after"));
  EXPECT_EQ(use_of(kVictim).names, 2u);
  EXPECT_EQ(catalogue->uses()->size(), 1u) << "nobody else has any";
  EXPECT_EQ(*catalogue->owner(1, process), std::optional(kVictim)) << "what was said first counts";
  EXPECT_EQ(*catalogue->remove_names(kVictim, 10), 2u);
  EXPECT_TRUE(catalogue->uses()->empty());
}

// The log says it, and not once a second.
TEST_F(CatalogueShareTest, WhatWentIsTold) {
  start(kMegabyte);
  fill(kGreedy, 45, 500);
  const auto lines = std::ranges::count_if(
      told_, [](const std::string& line) { return line.find("of user 1001") != std::string::npos; });
  EXPECT_GE(lines, 1);
  EXPECT_LE(lines, 3);
}

// A catalogue of a program that knew no users, larger than it may be now.
TEST_F(CatalogueShareTest, AnOlderCatalogueIsBroughtWithinTheBudget) {
  start(0);
  run(kVictim, 200);
  sample(kVictim, 5);
  fill(kGreedy, 8, 1000);
  ASSERT_TRUE(writer_->finish());
  writer_.reset();
  const std::uint64_t before = file_bytes();
  without_shares();
  EXPECT_EQ(left_of(kVictim).size(), 200u) << "a reader does without";
  EXPECT_TRUE(reading().uses()->empty());
  EXPECT_TRUE(reading().removed()->empty());
  writer_ = open(options(kMegabyte), kWall + 1);
  ASSERT_NE(writer_, nullptr);
  EXPECT_EQ(left_of(kVictim).size(), 200u);
  EXPECT_LT(left_of(kGreedy).size(), 8000u);
  EXPECT_GT(before, 2 * kMegabyte);
  EXPECT_LE(file_bytes(), kMegabyte + kMegabyte / 4);
}

// An older program writes rows without users; they are counted, as of nobody who is known.
TEST_F(CatalogueShareTest, AnOlderProgramMayWriteIt) {
  start(kMegabyte);
  run(kVictim, 1);
  ASSERT_TRUE(writer_->finish());
  writer_.reset();
  sql("INSERT INTO execution(recording,pid,start,handle,id,begin,ended,wall_begin_ns,plan,record) "
      "VALUES(1,2,3,4,'aa',5,6,7,8,x'00')");
  sql("INSERT INTO entry VALUES(1,2,3,2,1,1,'plan')");
  const auto uses = reading().uses();
  ASSERT_EQ(uses->size(), 2u);
  const auto nobody = std::ranges::find(*uses, std::optional<std::uint32_t>(), &UserUse::uid);
  ASSERT_NE(nobody, uses->end());
  EXPECT_EQ(nobody->executions, 1u);
  EXPECT_EQ(nobody->names, 1u);
}

TEST_F(CatalogueShareTest, OneThatIsMadeAgainStaysWithinTheBudget) {
  start(kMegabyte);
  run(kVictim, 500);
  fill(kGreedy, 8, 1000);
  ASSERT_TRUE(writer_->finish());
  writer_.reset();
  std::filesystem::remove(catalogue_path(directory_));
  writer_ = open(options(kMegabyte), kWall + 1);
  ASSERT_NE(writer_, nullptr);
  EXPECT_EQ(left_of(kVictim).size(), 500u);
  EXPECT_LT(left_of(kGreedy).size(), 8000u);
  EXPECT_EQ(left_of(kGreedy).size() + removed_of(kGreedy).executions, 8000u);
  EXPECT_LE(reading().size()->used, kMegabyte);
}

// Where a step may not remove enough, the new ones of whoever has most are not entered, and are counted.
TEST_F(CatalogueShareTest, WhatWouldComeTooFastIsNotEntered) {
  std::filesystem::create_directories(directory_);
  auto catalogue = Catalogue::open(catalogue_path(directory_), Catalogue::Mode::kWrite);
  ASSERT_TRUE(catalogue);
  CatalogueBudget budget(kMegabyte / 2);
  CatalogueNotes notes;
  const auto write = [&](std::uint64_t rows) {
    ASSERT_TRUE(catalogue->begin());
    ASSERT_TRUE(notes.write(*catalogue, {1, 2, 3, budget.full_of(), kWall}));
    ASSERT_TRUE(budget.make_room(*catalogue, rows, kWall));
    ASSERT_TRUE(catalogue->commit());
    notes.forget();
  };
  for (ExecutionHandle handle = 1; handle <= 4000; ++handle) notes.execution(execution(kGreedy, handle));
  notes.execution(execution(kVictim, 1));
  write(10);
  ASSERT_TRUE(budget.full_of());
  EXPECT_EQ(*budget.full_of(), std::optional(kGreedy));
  EXPECT_EQ(left_of(kGreedy).size(), 3990u);
  // One that is there is changed, though.
  profile::ExecutionRecord known = execution(kGreedy, 4000);
  known.error = "cancelled";
  notes.execution(known);
  notes.execution(execution(kGreedy, 4001));
  notes.execution(execution(kVictim, 2));
  write(10);
  EXPECT_EQ(left_of(kVictim).size(), 2u);
  EXPECT_EQ(left_of(kGreedy).back(), 4000u);
  EXPECT_EQ(removed_of(kGreedy).executions, 21u);
  const auto rows = reading().find_executions(id_text(known.id));
  ASSERT_EQ(rows->size(), 1u);
  EXPECT_EQ(rows->front().record.error, "cancelled");
  write(100'000);
  EXPECT_FALSE(budget.full_of());
}

TEST_F(CatalogueShareTest, OldOnesWithoutSamplesGoByAge) {
  StoreOptions with = options(0);
  with.keep_ns = 100 * kSecond;
  writer_ = open(with);
  now_ = kBegin;
  writer_->on_watermark(now_);
  run(kVictim, 3);
  begin(kVictim, 1);
  for (int i = 0; i < 60; ++i) second();
  run(kVictim, 2);
  for (int i = 0; i < 60; ++i) second();
  EXPECT_EQ(left_of(kVictim), (std::vector<ExecutionHandle>{4, 5, 6})) << "4 runs still";
}

// Removals of a time of which nothing is left are of no interest.
TEST_F(CatalogueShareTest, RemovalsAreForgottenWithTheirTime) {
  start(kMegabyte);
  fill(kGreedy, 6, 1000);
  EXPECT_GT(removed_of(kGreedy).executions, 0u);
  auto catalogue = Catalogue::open(catalogue_path(directory_), Catalogue::Mode::kWrite);
  ASSERT_TRUE(catalogue);
  EXPECT_TRUE(catalogue->forget_removed(removed_of(kGreedy).last_ns));
  EXPECT_GT(removed_of(kGreedy).executions, 0u);
  EXPECT_TRUE(catalogue->forget_removed(removed_of(kGreedy).last_ns + 1));
  EXPECT_EQ(removed_of(kGreedy).executions, 0u);
}

TEST(CatalogueBudgetSize, FollowsWhatIsKept) {
  EXPECT_EQ(catalogue_budget(0), 0u) << "for ever";
  EXPECT_EQ(catalogue_budget(30 * kMegabyte), 64 * kMegabyte);
  EXPECT_EQ(catalogue_budget(4096 * kMegabyte), 512 * kMegabyte);
}

}  // namespace
}  // namespace tailor::store
