// perf.data built here record by record: what becomes of it in a profile.
#include "daemon/import/perf_import.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "daemon/query/function_report.h"
#include "tests/support/record_encoder.h"

namespace tailor::importer {
namespace {

using test::RecordBytes;

constexpr std::int32_t kPid = 4711;
constexpr std::uint64_t kCode = 0x7000;

class PerfImportTest : public testing::Test {
 protected:
  PerfImportTest() : folder(testing::TempDir() + "/perf_import_" + std::to_string(::getpid()) + "/") {
    std::filesystem::create_directories(folder);
    perf_event_attr attr{};
    attr.size = sizeof attr;
    attr.type = PERF_TYPE_SOFTWARE;
    attr.config = PERF_COUNT_SW_CPU_CLOCK;
    attr.sample_period = 1000;
    attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN;
    attr.sample_id_all = 1;
    format.sample_type = attr.sample_type;
    put({0x32454C4946524550, 16});
    add(RecordBytes(64, 0).raw({reinterpret_cast<const char*>(&attr), sizeof attr}).u64(1));
  }
  ~PerfImportTest() override { std::filesystem::remove_all(folder); }

  void put(std::initializer_list<std::uint64_t> words) {
    for (std::uint64_t word : words) test::append(file, std::as_bytes(std::span(&word, 1)));
  }
  void add(RecordBytes record) { test::append(file, record.done()); }
  void sample(std::uint64_t time, std::uint64_t ip, std::vector<std::uint64_t> chain,
              std::uint16_t misc = PERF_RECORD_MISC_USER) {
    test::SampleFields fields;
    fields.misc = misc;
    fields.ip = ip;
    fields.pid = fields.tid = kPid;
    fields.time = time;
    fields.chain = std::move(chain);
    test::append(file, test::encode_sample(format, fields));
  }
  void round() { add(RecordBytes(68, 0)); }

  Result<query::Profile> load() {
    return query::Profile::load_from(
        [] {
          query::LoadOptions options;
          options.functions = true;
          return options;
        }(),
        [this](query::ProfileLoader& loader) -> Status {
          store::MemoryInput input({reinterpret_cast<const std::uint8_t*>(file.data()), file.size()});
          PerfImportOptions options;
          options.directory = folder;
          options.written_ns = 1;
          auto done = import_perf_data(input, loader, options);
          if (!done) return done.error();
          imported = *std::move(done);
          return Ok{};
        });
  }
  std::map<std::string, query::FunctionRow> functions() {
    std::map<std::string, query::FunctionRow> out;
    auto profile = load();
    EXPECT_TRUE(profile.ok()) << profile.error().message;
    if (!profile.ok()) return out;
    auto report = query::function_report(*profile, {});
    EXPECT_TRUE(report.ok()) << report.error().message;
    if (!report.ok()) return out;
    unattributed = report->summary.unattributed_rows;
    for (query::FunctionRow& row : report->functions) out[row.name] = row;
    return out;
  }

  std::string folder;
  std::vector<std::byte> file;
  capture::EventFormat format;
  PerfImported imported;
  std::vector<query::NamedRow> unattributed;
};

TEST_F(PerfImportTest, SamplesOfAllRoundsInOrder) {
  sample(300, kCode, {});
  sample(100, kCode, {});
  round();
  sample(200, kCode, {});
  round();
  sample(400, kCode, {});
  auto profile = load();
  ASSERT_TRUE(profile.ok()) << profile.error().message;
  EXPECT_EQ(imported.samples, 4u);
  EXPECT_EQ(imported.total.late, 0u);
  EXPECT_EQ(profile->recording().start, 100);
  EXPECT_EQ(profile->recording().sources.at(0).name, "cpu-clock");
}

TEST_F(PerfImportTest, AMapBesideTheFileNamesGeneratedCodeAndItsCallers) {
  std::ofstream(folder + "perf-4711.map") << "7000 100 outer\n7100 100 inner\n7180 20 late\n";
  sample(100, 0x7110, {static_cast<std::uint64_t>(PERF_CONTEXT_USER), 0x7110, 0x7020});
  sample(200, 0x7110, {static_cast<std::uint64_t>(PERF_CONTEXT_USER), 0x7110, 0x7020});
  sample(300, 0x7010, {static_cast<std::uint64_t>(PERF_CONTEXT_USER), 0x7010});
  sample(400, 0x7190, {static_cast<std::uint64_t>(PERF_CONTEXT_USER), 0x7190});
  auto rows = functions();
  EXPECT_EQ(imported.jit_functions, 3u);
  EXPECT_DOUBLE_EQ(rows["inner"].cost.share, 0.5);
  EXPECT_DOUBLE_EQ(rows["outer"].cost.share, 0.25);
  EXPECT_DOUBLE_EQ(rows["outer"].total.share, 0.75);
  EXPECT_DOUBLE_EQ(rows["[two names]"].cost.share, 0.25) << "inner and late overlap";
  ASSERT_EQ(unattributed.size(), 1u);
  EXPECT_EQ(unattributed[0].key, "two_names");
}

TEST_F(PerfImportTest, AKernelSampleLeadsToTheUserCodeThatEnteredIt) {
  std::ofstream(folder + "perf-4711.map") << "7000 100 outer\n";
  sample(100, 0xffffffff81000010,
         {static_cast<std::uint64_t>(PERF_CONTEXT_KERNEL), 0xffffffff81000010, 0xffffffff81000100,
          static_cast<std::uint64_t>(PERF_CONTEXT_USER), 0x7040},
         PERF_RECORD_MISC_KERNEL);
  auto rows = functions();
  EXPECT_DOUBLE_EQ(rows["outer"].total.share, 1);
  EXPECT_DOUBLE_EQ(rows["outer"].cost.share, 0);
}

TEST_F(PerfImportTest, EveryTruncationAndDamageGivesAnErrorOrLess) {
  sample(100, kCode, {static_cast<std::uint64_t>(PERF_CONTEXT_USER), kCode, 0x7020});
  round();
  sample(200, kCode, {});
  const std::vector<std::byte> whole = file;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    file.assign(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    if (load().ok()) {
      EXPECT_LE(imported.samples, 2u);
    }
  }
  for (std::size_t at = 16; at < whole.size(); ++at) {
    file = whole;
    file[at] ^= std::byte{0xff};
    (void)load().ok();
  }
}

TEST_F(PerfImportTest, TheOtherByteOrderIsRefusedClearly) {
  file.clear();
  put({0x50455246494C4532, 16});
  auto profile = load();
  ASSERT_FALSE(profile.ok());
  EXPECT_NE(profile.error().message.find("byte order"), std::string::npos);
}

// Events and names that come one by one are told once, in front of the records they are for.
TEST_F(PerfImportTest, NamesThatComeOneByOneAreToldTogether) {
  for (int i = 0; i < 500; ++i)
    add(RecordBytes(78, 0).u64(2).u64(1).raw("name " + std::to_string(i) + std::string(8, '\0')));
  sample(1, kCode, {});
  round();
  const auto profile = load();
  ASSERT_TRUE(profile.ok()) << profile.error().message;
  EXPECT_LE(imported.layouts, 2u);
}

TEST_F(PerfImportTest, MoreEventsThanARecorderOpensAreRefused) {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.sample_type = format.sample_type;
  for (std::uint64_t i = 0; i < 2000; ++i)
    add(RecordBytes(64, 0).raw({reinterpret_cast<const char*>(&attr), sizeof attr}).u64(i + 2));
  const auto profile = load();
  ASSERT_FALSE(profile.ok());
  EXPECT_NE(profile.error().message.find("more than 1024 events"), std::string::npos);
}

}  // namespace
}  // namespace tailor::importer
