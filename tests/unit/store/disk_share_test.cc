// One user fills the disk: what others have in the same segments stays, and the store says what went.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <future>
#include <map>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "daemon/os/files.h"
#include "daemon/store/disk_shares.h"
#include "tests/support/forwarding_files.h"
#include "tests/support/sample_profile.h"
#include "tests/unit/store/store_fixture.h"

namespace tailor::store {
namespace {

// Not those of whoever runs the tests.
constexpr std::uint32_t kModest = 40'001, kWriter = 40'002;
constexpr std::uint64_t kKeep = 512u << 10, kSegmentSize = 64u << 10;

class CountingSink : public test::TextSink {
 public:
  void on_samples(std::span<const profile::SampleRecord> all) override {
    for (const profile::SampleRecord& s : all) ++of[s.process];
  }
  std::size_t plans_of(ProcessId process) const {
    const std::string begin = fmt::format("plan {} ", process.pid);
    return static_cast<std::size_t>(
        std::ranges::count_if(records, [&](const std::string& record) { return record.starts_with(begin); }));
  }
  std::map<ProcessId, std::uint64_t> of;
};

class DiskShareTest : public StoreTest {
 protected:
  static constexpr TimeNs kBegin = 10'000'000'000;
  static constexpr int kSeconds = 60, kFew = 40, kMany = 2000;

  static StoreOptions options(bool shares) {
    StoreOptions options;
    options.segment_bytes = options.dictionary_bytes = kSegmentSize;
    options.keep_bytes = kKeep;
    options.disk_shares = shares;
    return options;
  }
  void start(StoreOptions options) {
    options.on_removed = [this](const std::string& what) { told_.push_back(what); };
    writer_ = open(options);
    ASSERT_NE(writer_, nullptr);
    profile::RecordingInfo info;
    info.start = now_;
    info.wall_clock_ns = kWall;
    info.sources = {{0, "cycles", profile::Unit::kNsOnCpu}};
    writer_->on_recording(info);
    writer_->on_watermark(now_);
  }
  static ProcessId process_of(std::uint32_t uid) { return {static_cast<std::int32_t>(uid), 1}; }
  // The process may belong to another user.
  void add_process(std::uint32_t named_after, std::uint32_t uid) {
    profile::ProcessRecord process;
    process.process = process_of(named_after);
    process.comm = "engine";
    process.uid = uid;
    writer_->on_process(process);
  }
  void sample(std::uint32_t uid, int count, PlanId plan = 1) {
    std::vector<profile::SampleRecord> samples;
    for (int i = 0; i < count; ++i) {
      samples.push_back(test::tag_sample(now_ + i, 6));
      profile::SampleRecord& s = samples.back();
      s.process = process_of(uid);
      // So that blocks stay large.
      s.ip = random_();
      s.tag = random_();
      s.attribution.execution = 0;
      s.attribution.plan = plan;
    }
    writer_->on_samples(samples);
  }
  void load_plan(std::uint32_t uid, PlanId id) {
    v1::Plan plan;
    plan.set_id(id);
    std::string content;
    for (int i = 0; i < 1000; ++i) content += static_cast<char>(random_() & 0xFF);
    plan.add_attachments()->set_content(content);
    writer_->on_plan(process_of(uid), now_, plan);
  }
  void second() {
    now_ += kSecond;
    writer_->on_watermark(now_);
  }
  // Of both, all the time.
  void fill() {
    for (int i = 0; i < kSeconds; ++i) {
      sample(kModest, kFew);
      sample(kWriter, kMany);
      second();
    }
  }

  struct All {
    CountingSink sink;
    ReadReport report;
    SaidLoss loss;
  };
  All read_all() const {
    All all;
    auto catalogue = Catalogue::open(catalogue_path(directory_), Catalogue::Mode::kRead);
    EXPECT_TRUE(catalogue);
    StoreSelection selection;
    selection.recording = writer_->recording();
    const auto rows = catalogue->segments();
    for (const SegmentRow& row : *rows) {
      if (!row.given_up()) selection.segments.insert(row.number);
    }
    const Status ok = read_store(directory_, *catalogue, selection, all.sink, all.report, all.loss);
    EXPECT_TRUE(ok) << ok.error().message;
    EXPECT_TRUE(all.report.clean()) << all.report.first_problem;
    return all;
  }
  std::uint64_t bytes_on_disk() const {
    std::uint64_t bytes = 0;
    const auto files = list_segments(directory_);
    for (const SegmentFile& file : *files) bytes += file.bytes;
    return bytes;
  }
  std::uint64_t use_of(std::uint32_t uid) const {
    const auto uses = writer_->disk_uses();
    const auto found = std::ranges::find(*uses, std::optional(uid), &DiskUse::uid);
    return found == uses->end() ? 0 : found->bytes;
  }

  void give_up_all() const {
    for (bool more = true; more;) {
      const auto some = writer_->give_up_some();
      ASSERT_TRUE(some) << some.error().message;
      more = *some;
    }
  }

  std::unique_ptr<StoreWriter> writer_;
  std::vector<std::string> told_;
  std::mt19937_64 random_{1};
  TimeNs now_ = kBegin;
};

constexpr std::uint64_t kSamplesOfModest = 60u * 40u, kSamplesOfWriter = 60u * 2000u;

TEST_F(DiskShareTest, WhoWritesMuchLosesHisOwn) {
  start(options(true));
  add_process(kModest, kModest);
  add_process(kWriter, kWriter);
  fill();
  ASSERT_TRUE(writer_->finish());
  All all = read_all();
  EXPECT_EQ(all.sink.of[process_of(kModest)], kSamplesOfModest);
  const std::uint64_t left = all.sink.of[process_of(kWriter)];
  EXPECT_GT(left, 0u);
  EXPECT_GT(all.loss.removed_samples, 0u);
  EXPECT_EQ(left + all.loss.removed_samples, kSamplesOfWriter) << "what went is said";
  EXPECT_EQ(all.loss.samples, 0u);
  EXPECT_LT(bytes_on_disk(), 2 * kKeep);
  const auto cuts = writer_->cuts();
  ASSERT_TRUE(cuts);
  ASSERT_EQ(cuts->size(), 1u);
  EXPECT_EQ(cuts->front().uid, kWriter);
  EXPECT_EQ(cuts->front().samples, all.loss.removed_samples);
  EXPECT_GE(cuts->front().first_ns, kWall);
  EXPECT_THAT(told_, testing::Contains(testing::HasSubstr(fmt::format("of user {} from segment", kWriter))));
  EXPECT_GT(use_of(kModest), 0u);
  EXPECT_GT(use_of(kWriter), use_of(kModest));
  EXPECT_LE(use_of(kWriter), kKeep + 4 * kSegmentSize);
}

// Without shares, and without users: both must break what the test above finds.
TEST_F(DiskShareTest, BrokenWithoutShares) {
  start(options(false));
  add_process(kModest, kModest);
  add_process(kWriter, kWriter);
  fill();
  ASSERT_TRUE(writer_->finish());
  All all = read_all();
  EXPECT_LT(all.sink.of[process_of(kModest)], kSamplesOfModest);
  EXPECT_EQ(all.loss.removed_samples, 0u);
  EXPECT_TRUE(writer_->cuts()->empty());
}

TEST_F(DiskShareTest, BrokenWhereAllAreOneUser) {
  start(options(true));
  add_process(kModest, kWriter);
  add_process(kWriter, kWriter);
  fill();
  ASSERT_TRUE(writer_->finish());
  All all = read_all();
  EXPECT_LT(all.sink.of[process_of(kModest)], kSamplesOfModest);
  EXPECT_TRUE(writer_->cuts()->empty()) << "the oldest segments go as a whole";
}

TEST_F(DiskShareTest, NothingOfRootIsCut) {
  start(options(true));
  add_process(kModest, kModest);
  add_process(kWriter, 0);
  fill();
  ASSERT_TRUE(writer_->finish());
  EXPECT_EQ(read_all().loss.removed_samples, 0u);
  EXPECT_TRUE(writer_->cuts()->empty());
}

TEST_F(DiskShareTest, PlansOfOthersStayToo) {
  start(options(true));
  add_process(kModest, kModest);
  add_process(kWriter, kWriter);
  for (PlanId id = 1; id <= 5; ++id) load_plan(kModest, id);
  PlanId next = 1;
  for (int i = 0; i < kSeconds; ++i) {
    for (PlanId id = 1; id <= 5; ++id) sample(kModest, 1, id);
    for (int each = 0; each < 60; ++each, ++next) {
      load_plan(kWriter, next);
      sample(kWriter, 1, next);
    }
    second();
  }
  ASSERT_TRUE(writer_->finish());
  const All all = read_all();
  EXPECT_EQ(all.sink.plans_of(process_of(kModest)), 5u);
  EXPECT_GT(all.sink.plans_of(process_of(kWriter)), 0u);
  EXPECT_LT(all.sink.plans_of(process_of(kWriter)), 60u * 60u);
  EXPECT_GT(all.loss.removed_records, 0u);
  EXPECT_LT(bytes_on_disk(), 2 * kKeep);
}

TEST_F(DiskShareTest, WhatIsNotSummedUpStays) {
  StoreOptions with_sums = options(true);
  with_sums.summaries = true;
  start(with_sums);
  add_process(kModest, kModest);
  add_process(kWriter, kWriter);
  fill();
  EXPECT_EQ(read_all().loss.removed_samples, 0u);
  const auto due = writer_->due_for_summary();
  ASSERT_TRUE(due);
  ASSERT_FALSE(due->empty());
  std::vector<std::uint64_t> until, numbers;
  const auto files = list_segments(directory_);
  for (const SegmentFile& file : *files) {
    const bool is_data = file.kind == FileKind::kDataSegment;
    if (is_data && file.number <= due->back().number) until.push_back(file.number);
  }
  for (const SegmentRow& row : *due) numbers.push_back(row.number);
  EXPECT_EQ(numbers, until) << "sums end at a number";
  ASSERT_TRUE(writer_->summed_up(due->back().number));
  for (int i = 0; i < kSeconds; ++i) {
    sample(kModest, 1);
    second();
  }
  ASSERT_TRUE(writer_->finish());
  All all = read_all();
  EXPECT_GT(all.loss.removed_samples, 0u);
  EXPECT_EQ(all.sink.of[process_of(kModest)], kSamplesOfModest + static_cast<std::uint64_t>(kSeconds));
  EXPECT_EQ(all.sink.of[process_of(kWriter)] + all.loss.removed_samples, kSamplesOfWriter);
}

// Sums cannot be written: what is due goes without them.
TEST_F(DiskShareTest, WhatCannotBeSummedUpGoesOfTheUserWithMost) {
  StoreOptions with_sums = options(true);
  with_sums.summaries = true;
  start(with_sums);
  add_process(kModest, kModest);
  add_process(kWriter, kWriter);
  fill();
  give_up_all();
  const GivenUp given_up = writer_->given_up();
  ASSERT_TRUE(writer_->finish());
  All all = read_all();
  EXPECT_EQ(all.sink.of[process_of(kModest)], kSamplesOfModest);
  EXPECT_GT(given_up.samples, 0u);
  EXPECT_EQ(given_up.segments, 0u) << "none goes as a whole";
  EXPECT_EQ(all.sink.of[process_of(kWriter)] + given_up.samples, kSamplesOfWriter);
  EXPECT_EQ(all.loss.removed_samples, given_up.samples) << "the segments say it";
  const auto cuts = writer_->cuts();
  ASSERT_EQ(cuts->size(), 1u);
  EXPECT_EQ(cuts->front().uid, kWriter);
  EXPECT_EQ(cuts->front().samples, given_up.samples);
  EXPECT_THAT(told_, testing::Contains(testing::HasSubstr("they could not be summed up")));
}

TEST_F(DiskShareTest, BrokenWithoutSharesWhatCannotBeSummedUpGoesOfAll) {
  StoreOptions with_sums = options(false);
  with_sums.summaries = true;
  start(with_sums);
  add_process(kModest, kModest);
  add_process(kWriter, kWriter);
  fill();
  give_up_all();
  EXPECT_GT(writer_->given_up().segments, 0u);
  ASSERT_TRUE(writer_->finish());
  EXPECT_LT(read_all().sink.of[process_of(kModest)], kSamplesOfModest);
}

// Where nobody else has anything, no room for another file is needed.
TEST_F(DiskShareTest, SegmentsOfOneUserAloneGoAsAWholeWithoutSums) {
  StoreOptions with_sums = options(true);
  with_sums.summaries = true;
  start(with_sums);
  add_process(kModest, kModest);
  add_process(kWriter, kWriter);
  for (int i = 0; i < kSeconds; ++i) {
    sample(kWriter, kMany);
    second();
  }
  sample(kModest, kFew);
  second();
  give_up_all();
  const GivenUp given_up = writer_->given_up();
  EXPECT_GT(given_up.segments, 0u);
  ASSERT_TRUE(writer_->finish());
  All all = read_all();
  EXPECT_EQ(all.sink.of[process_of(kModest)], static_cast<std::uint64_t>(kFew));
  EXPECT_EQ(all.sink.of[process_of(kWriter)] + given_up.samples, kSamplesOfWriter);
}

TEST_F(DiskShareTest, ACutThatIsStoppedDeletesNothing) {
  StoreOptions with_sums = options(true);
  with_sums.summaries = true;
  start(with_sums);
  add_process(kModest, kModest);
  add_process(kWriter, kWriter);
  fill();
  EXPECT_FALSE(writer_->give_up_some([](std::uint64_t) -> Status { return unavailable("it ends"); }));
  EXPECT_EQ(writer_->given_up().samples, 0u);
  ASSERT_TRUE(writer_->finish());
  EXPECT_EQ(read_all().sink.of[process_of(kWriter)], kSamplesOfWriter);
}

// Asks for the state of the store while a segment is written anew. Twin: if the keeper had the catalogue
// then, no answer would come.
class AskingFiles : public test::ForwardingFiles {
 public:
  Result<UniqueFd> create(const std::string& path, mode_t mode) override {
    if (ask && path.ends_with(".new")) {
      std::packaged_task<void()> task(ask);
      auto done = task.get_future();
      asking.emplace_back(std::move(task));
      answered += done.wait_for(std::chrono::seconds(60)) == std::future_status::ready ? 1 : 0;
      if (asking.size() > answered) ask = {};
    }
    return ForwardingFiles::create(path, mode);
  }
  std::function<void()> ask;
  std::vector<std::jthread> asking;
  std::size_t answered = 0;
};

TEST_F(DiskShareTest, WhoAsksDoesNotWaitForASegmentThatIsWrittenAnew) {
  AskingFiles files;
  StoreOptions asked = options(true);
  asked.files = &files;
  start(asked);
  files.ask = [this] { (void)writer_->disk_uses(); };
  add_process(kModest, kModest);
  add_process(kWriter, kWriter);
  fill();
  EXPECT_GT(files.answered, 0u);
  EXPECT_EQ(files.answered, files.asking.size());
  files.asking.clear();
  writer_.reset();
}

// A writer that was killed has told the catalogue a part only.
TEST_F(DiskShareTest, SegmentsAreCountedAnewWhereTheirWriterWasKilled) {
  StoreOptions for_ever = options(true);
  for_ever.keep_bytes = 0;
  start(for_ever);
  add_process(kModest, kModest);
  add_process(kWriter, kWriter);
  fill();
  const std::uint64_t modest = use_of(kModest), much = use_of(kWriter);
  writer_.reset();
  std::filesystem::remove(catalogue_path(directory_));
  writer_ = open(for_ever);
  ASSERT_NE(writer_, nullptr);
  ASSERT_GT(modest, 0u);
  EXPECT_GT(use_of(kWriter), much - much / 10);
  EXPECT_LT(use_of(kWriter), much + much / 10);
  EXPECT_GT(use_of(kModest), modest / 2);
  EXPECT_LT(use_of(kModest), modest * 2);
}

SegmentRow row_of(std::uint64_t number, FileKind kind, std::uint64_t bytes, bool sealed = true) {
  SegmentRow row;
  row.number = number;
  row.kind = kind;
  row.bytes = bytes;
  row.sealed = sealed;
  return row;
}

std::vector<std::uint64_t> numbers_of(const std::vector<UserCut>& cuts) {
  std::vector<std::uint64_t> out;
  for (const UserCut& cut : cuts) out.push_back(cut.row.number);
  return out;
}

constexpr FileKind kData = FileKind::kDataSegment, kDictionary = FileKind::kDictionarySegment;

TEST(CutsOf, GoFromTheOldestDataToTheShare) {
  const std::vector<SegmentRow> rows = {row_of(1, kDictionary, 400), row_of(2, kData, 400),
                                        row_of(3, kData, 400), row_of(4, kData, 400, false)};
  const std::vector<SegmentPart> parts = {{1, kWriter, 300}, {1, kModest, 100}, {2, kWriter, 300},
                                          {2, kModest, 100}, {3, kWriter, 300}, {3, kModest, 100},
                                          {4, kWriter, 400}};
  EXPECT_TRUE(cuts_of(rows, parts, 1600).empty()) << "it is not too large";
  EXPECT_EQ(numbers_of(cuts_of(rows, parts, 1500)), (std::vector<std::uint64_t>{2}));
  EXPECT_EQ(numbers_of(cuts_of(rows, parts, 1200)), (std::vector<std::uint64_t>{2, 3}));
  // Dictionaries last, and nothing of what is being written.
  EXPECT_EQ(numbers_of(cuts_of(rows, parts, 650)), (std::vector<std::uint64_t>{2, 3, 1}));
}

TEST(CutsOf, ConcernWhoHasMoreThanAShare) {
  const std::vector<SegmentRow> rows = {row_of(1, kData, 400), row_of(2, kData, 1000)};
  const std::vector<SegmentPart> parts = {{1, kWriter, 400}, {2, kWriter, 100}, {2, kModest, 900}};
  const auto cuts = cuts_of(rows, parts, 1000);
  ASSERT_EQ(numbers_of(cuts), (std::vector<std::uint64_t>{2})) << "the other one has just a share";
  EXPECT_EQ(cuts.front().uid, kModest);
  EXPECT_FALSE(cuts.front().whole);
}

TEST(CutsOf, StopAtTheShare) {
  const std::vector<SegmentRow> rows = {row_of(1, kData, 400), row_of(2, kData, 400), row_of(3, kData, 400),
                                        row_of(4, kData, 2000, false)};
  const std::vector<SegmentPart> parts = {
      {1, kWriter, 400}, {2, kWriter, 400}, {3, kWriter, 400}, {4, kModest, 2000}};
  EXPECT_EQ(numbers_of(cuts_of(rows, parts, 1800)), (std::vector<std::uint64_t>{1}))
      << "though it is too large still";
}

TEST(CutsOf, TakeTheWholeOfWhatNobodyElseHas) {
  const std::vector<SegmentRow> rows = {row_of(1, kData, 400), row_of(2, kData, 400), row_of(3, kData, 400)};
  const std::vector<SegmentPart> parts = {{1, kModest, 100}, {2, kWriter, 390}, {3, kWriter, 390}};
  const auto cuts = cuts_of(rows, parts, 900);
  ASSERT_EQ(numbers_of(cuts), (std::vector<std::uint64_t>{2}));
  EXPECT_TRUE(cuts.front().whole);
  EXPECT_EQ(cuts.front().bytes, 400u);
}

TEST(CutsOf, TakeNoWholeOfWhichSomebodyElseHasNextToNothing) {
  const std::vector<SegmentRow> rows = {row_of(1, kData, 400), row_of(2, kData, 400)};
  const auto cuts = cuts_of(rows, {{1, kWriter, 400}, {1, kModest, 0}, {2, kWriter, 400}}, 500);
  ASSERT_FALSE(cuts.empty());
  EXPECT_EQ(cuts.front().row.number, 1u);
  EXPECT_FALSE(cuts.front().whole);
}

TEST(PartsOf, LeaveNobodyWithoutAByte) {
  const ProcessId much{1, 1}, little{2, 1};
  BytesOfProcesses sums;
  add_parts_of(10, {{much, 16'384}, {little, 1}, {{}, 100}}, sums);
  EXPECT_EQ(sums[little], 1u);
  EXPECT_EQ(sums[much], 9u);
  EXPECT_EQ(sums.size(), 2u);
}

TEST(CutsOf, AreNotWorthItForALittle) {
  const std::vector<SegmentRow> rows = {row_of(1, kData, 1600), row_of(2, kData, 1600)};
  const std::vector<SegmentPart> parts = {
      {1, kWriter, 90}, {1, kModest, 1}, {2, kWriter, 1500}, {2, kModest, 1}};
  EXPECT_EQ(numbers_of(cuts_of(rows, parts, 3100)), (std::vector<std::uint64_t>{2}));
}

TEST(CutsOf, SpareRootTheDaemonAndWhoeverIsNotKnown) {
  const std::vector<SegmentRow> rows = {row_of(1, kData, 400)};
  for (const std::optional<std::uint32_t> uid :
       {std::optional<std::uint32_t>(0), std::optional<std::uint32_t>(::geteuid()),
        std::optional<std::uint32_t>()}) {
    EXPECT_TRUE(cuts_of(rows, {{1, uid, 300}, {1, kModest, 50}}, 200).empty());
  }
  EXPECT_FALSE(cuts_of(rows, {{1, kWriter, 300}, {1, kModest, 50}}, 200).empty());
}

}  // namespace
}  // namespace tailor::store
