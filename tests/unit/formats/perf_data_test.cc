// Files built here byte by byte, whole and damaged; real recordings are in tests/integration.
#include "daemon/formats/perf_data.h"

#include <gtest/gtest.h>
#include <zstd.h>

#include <cstring>
#include <random>
#include <utility>

#include "tests/support/record_encoder.h"

namespace tailor::formats {
namespace {

using test::RecordBytes;

perf_event_attr attr_of(std::uint64_t config) {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = PERF_TYPE_HARDWARE;
  attr.config = config;
  attr.sample_period = 1000;
  attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID;
  attr.sample_id_all = 1;
  attr.precise_ip = 2;
  return attr;
}

std::string_view bytes_of(const perf_event_attr& attr) {
  return {reinterpret_cast<const char*>(&attr), sizeof attr};
}

std::vector<std::byte> sample_of(std::uint64_t id, std::uint64_t ip) {
  capture::EventFormat format;
  format.sample_type = attr_of(0).sample_type;
  test::SampleFields fields;
  fields.id = id;
  fields.ip = ip;
  fields.time = ip + 5;
  return test::encode_sample(format, fields);
}

void put(std::vector<std::byte>& file, std::initializer_list<std::uint64_t> words) {
  for (std::uint64_t word : words) test::append(file, std::as_bytes(std::span(&word, 1)));
}

// Pipe mode: a header, two events, then records of both.
std::vector<std::byte> pipe_file() {
  std::vector<std::byte> file;
  put(file, {0x32454C4946524550, 16});
  test::append(file, RecordBytes(64, 0).raw(bytes_of(attr_of(0))).u64(7).u64(8).done());
  test::append(file, RecordBytes(64, 0).raw(bytes_of(attr_of(1))).u64(9).done());
  test::append(file, sample_of(8, 0x100));
  test::append(file, RecordBytes(68, 0).done());
  test::append(file, sample_of(9, 0x200));
  return file;
}

// File mode: header, ids, table of events, records.
std::vector<std::byte> plain_file() {
  constexpr std::uint64_t kIds = 104, kAttrs = kIds + 16, kEntry = sizeof(perf_event_attr) + 16;
  std::vector<std::byte> records = sample_of(8, 0x100);
  test::append(records, sample_of(9, 0x200));
  std::vector<std::byte> file;
  put(file, {0x32454C4946524550, 104, kEntry, kAttrs, 2 * kEntry, kAttrs + 2 * kEntry, records.size(), 0, 0,
             0, 0, 0, 0});
  put(file, {8, 9});
  for (std::uint64_t i = 0; i < 2; ++i) {
    auto attr = attr_of(i);
    test::append(file, std::as_bytes(std::span(&attr, 1)));
    put(file, {kIds + 8 * i, 8});
  }
  test::append(file, records);
  return file;
}

void expect_two_samples(const PerfData& data) {
  ASSERT_EQ(data.batch.events.size(), 2u);
  EXPECT_EQ(data.batch.events[0].source, 0);
  EXPECT_EQ(data.batch.events[0].ip, 0x100u);
  EXPECT_EQ(data.batch.events[0].weight, 1000u);
  EXPECT_EQ(data.batch.events[1].source, 1);
  EXPECT_EQ(data.batch.events[1].time, 0x205);
  EXPECT_EQ(data.events[1].name, "instructions:pp");
  EXPECT_TRUE(data.sources[1].precise);
}

TEST(PerfData, PipeMode) {
  auto data = read_perf_data(pipe_file());
  ASSERT_TRUE(data.ok()) << data.error().message;
  expect_two_samples(*data);
  EXPECT_EQ(data->tool_records, 3u);
}

TEST(PerfData, FileMode) {
  auto data = read_perf_data(plain_file());
  ASSERT_TRUE(data.ok()) << data.error().message;
  expect_two_samples(*data);
}

// Records of two compressed ones: the first ends in the middle of a sample.
std::vector<std::byte> compressed_file(std::uint32_t type) {
  std::vector<std::byte> inner = sample_of(8, 0x100);
  test::append(inner, sample_of(9, 0x200));
  std::vector<std::byte> file = pipe_file();
  file.resize(file.size() - 2 * sample_of(8, 0x100).size() - 8);  // only the events are outside
  ZSTD_CStream* stream = ZSTD_createCStream();
  const std::size_t cut = inner.size() / 2 - 4;
  for (auto [from, to] : {std::pair{std::size_t{0}, cut}, std::pair{cut, inner.size()}}) {
    std::vector<char> packed(ZSTD_compressBound(inner.size()) + 64);
    ZSTD_inBuffer in{inner.data() + from, to - from, 0};
    ZSTD_outBuffer out{packed.data(), packed.size(), 0};
    EXPECT_EQ(ZSTD_compressStream2(stream, &out, &in, ZSTD_e_flush), 0u);
    RecordBytes record(type, 0);
    if (type == 83) record.u64(out.pos);
    record.raw({packed.data(), out.pos});
    while (type == 83 && record.size() % 8 != 0) record.u8(0);
    test::append(file, record.done());
  }
  ZSTD_freeCStream(stream);
  return file;
}

TEST(PerfData, CompressedRecordsAreOneStream) {
  for (std::uint32_t type : {81u, 83u}) {
    auto data = read_perf_data(compressed_file(type));
    ASSERT_TRUE(data.ok()) << data.error().message;
    expect_two_samples(*data);
    EXPECT_EQ(data->counts.cut_bytes, 0u);
  }
}

TEST(PerfData, AStreamThatIsCutLosesItsEndOnly) {
  auto file = compressed_file(81);
  const std::size_t whole = file.size();
  for (std::size_t size = whole - 1; size > whole - 60; --size) {
    auto data = read_perf_data(std::span(file).first(size));
    EXPECT_TRUE(!data.ok() || data->batch.events.size() <= 2);
  }
}

// Records of simpleperf itself are passed over, those of more than 64 KiB too; its features are in none of
// perf's places.
TEST(PerfData, FilesOfSimpleperfAreRead) {
  const auto own = [](std::uint32_t type, std::uint32_t size) {
    std::vector<std::byte> record(size, std::byte{9});  // as a kernel record it would be a sample
    const std::uint16_t halves[] = {static_cast<std::uint16_t>(size >> 16), static_cast<std::uint16_t>(size)};
    std::memcpy(record.data(), &type, sizeof type);
    std::memcpy(record.data() + 4, halves, sizeof halves);
    return record;
  };
  for (const std::uint32_t size : {8u, 24u, 65528u, 65536u, 65544u, 5u << 20}) {
    auto file = pipe_file();
    std::vector<std::byte> made(file.begin(),
                                file.end() - static_cast<std::ptrdiff_t>(sample_of(9, 0x200).size()));
    test::append(made, own(32769, size));  // the kernel's symbols
    test::append(made, own(32774, 40));    // ids of events
    test::append(made, sample_of(9, 0x200));
    auto data = read_perf_data(made);
    ASSERT_TRUE(data.ok()) << data.error().message;
    expect_two_samples(*data);
    EXPECT_EQ(data->counts.cut_bytes, 0u) << size;
    EXPECT_EQ(data->tool_records, read_perf_data(file)->tool_records + 2);
  }
  auto features = plain_file();
  features[72 + 16] = std::byte{6};  // the features 129 and 130: its files, and what it says of the recording
  auto data = read_perf_data(features);
  ASSERT_TRUE(data.ok()) << data.error().message;
  expect_two_samples(*data);
}

// The header of a file whose recorder was killed: no size of records, no features.
TEST(PerfData, ARecorderThatWasKilledLeavesItsRecords) {
  auto file = plain_file();
  for (std::size_t at = 48; at < 56; ++at) file[at] = std::byte{0};
  file[72] = std::byte{0xff};  // features that it never wrote
  auto data = read_perf_data(file);
  ASSERT_TRUE(data.ok()) << data.error().message;
  expect_two_samples(*data);
  EXPECT_TRUE(data->unfinished);
  auto cut = read_perf_data(std::span(file).first(file.size() - 8));
  ASSERT_TRUE(cut.ok()) << cut.error().message;
  EXPECT_EQ(cut->batch.events.size(), 1u);
  EXPECT_EQ(cut->counts.cut_bytes, sample_of(9, 0x200).size() - 8);
}

TEST(PerfData, OfAFileThatWasCutIsSaidHowMuchIsMissing) {
  const auto file = plain_file();
  const std::size_t sample = sample_of(9, 0x200).size();
  for (std::size_t missing = 1; missing < 2 * sample; ++missing) {
    auto data = read_perf_data(std::span(file).first(file.size() - missing));
    ASSERT_TRUE(data.ok()) << data.error().message;
    EXPECT_EQ(data->missing_bytes, missing);
    EXPECT_EQ(data->batch.events.size(), missing <= sample ? 1u : 0u);
  }
}

// 40 KiB of zstd for a gigabyte of zeros.
TEST(PerfData, CompressedRecordsThatGrowWithoutEndAreRefused) {
  std::vector<std::byte> file = pipe_file();
  ZSTD_CStream* stream = ZSTD_createCStream();
  // Records that the kernel does not know, without end.
  const std::vector<std::byte> inner(std::size_t{1} << 20, std::byte{8});
  std::vector<char> packed(ZSTD_compressBound(inner.size()) + 64);
  for (int i = 0; i < 1024; ++i) {
    ZSTD_inBuffer in{inner.data(), inner.size(), 0};
    ZSTD_outBuffer out{packed.data(), packed.size(), 0};
    ASSERT_EQ(ZSTD_compressStream2(stream, &out, &in, ZSTD_e_flush), 0u);
    test::append(file, RecordBytes(81, 0).raw({packed.data(), out.pos}).done());
  }
  ZSTD_freeCStream(stream);
  ASSERT_LT(file.size(), 1u << 20);
  auto data = read_perf_data(file);
  ASSERT_FALSE(data.ok());
  EXPECT_EQ(data.error().kind, ErrorKind::kExhausted);
  EXPECT_NE(data.error().message.find("before byte"), std::string::npos) << data.error().message;
}

TEST(PerfData, OtherFilesAreRefusedWithAReason) {
  std::vector<std::byte> file;
  EXPECT_FALSE(read_perf_data(file).ok());
  auto compressed = pipe_file();
  test::append(compressed, RecordBytes(81, 0).u64(1).done());
  auto refused = read_perf_data(compressed);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("damaged"), std::string::npos);
}

TEST(PerfData, EveryTruncationGivesAnErrorOrFewerRecords) {
  for (const auto& whole : {pipe_file(), plain_file()}) {
    for (std::size_t size = 0; size < whole.size(); ++size) {
      auto data = read_perf_data(std::span(whole).first(size));
      EXPECT_TRUE(!data.ok() || data->batch.events.size() <= 2);
    }
  }
}

// Events that come between records, and names: the table of ids is made once for all that come together.
TEST(PerfData, NamesOfEventsComeAtAnyTime) {
  auto file = pipe_file();
  test::append(file, RecordBytes(78, 0).u64(2).u64(9).raw(std::string("late") + std::string(4, '\0')).done());
  auto data = read_perf_data(file);
  ASSERT_TRUE(data.ok()) << data.error().message;
  EXPECT_EQ(data->events[1].name, "late");
  EXPECT_EQ(data->sources[1].name, "late");
}

// On another architecture the eighth register is no instruction pointer.
TEST(PerfData, RegistersOfAnotherArchitectureMeanNothing) {
  for (const std::string arch : {"x86_64", "aarch64"}) {
    perf_event_attr attr{};
    attr.size = sizeof attr;
    attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_REGS_USER;
    attr.sample_regs_user = 1u << 8;
    std::vector<std::byte> file;
    put(file, {0x32454C4946524550, 16});
    test::append(file, RecordBytes(64, 0).raw(bytes_of(attr)).u64(7).done());
    RecordBytes feature(80, 0);
    feature.u64(6).u32(16).raw(arch).raw(std::string(16 - arch.size(), '\0'));
    test::append(file, feature.done());
    test::append(file, RecordBytes(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL)
                           .u64(0xffffffff81000000)
                           .u32(7)
                           .u32(7)
                           .u64(1)
                           .u64(2)
                           .u64(0x4000)
                           .done());
    auto data = read_perf_data(file);
    ASSERT_TRUE(data.ok()) << data.error().message;
    ASSERT_EQ(data->batch.events.size(), 1u);
    EXPECT_EQ(data->batch.events[0].user_ip, arch == "x86_64" ? 0x4000u : 0u);
  }
}

TEST(PerfData, DamagedFilesNeverCrash) {
  std::mt19937 random(17);
  for (int round = 0; round < 4000; ++round) {
    auto file = round % 2 ? pipe_file() : plain_file();
    for (int i = 0; i < 3; ++i) file[random() % file.size()] = static_cast<std::byte>(random());
    (void)read_perf_data(file).ok();
  }
}

// Every event may name the same large section as its ids.
TEST(PerfData, IdsOfAllEventsTogetherAreBounded) {
  constexpr std::uint64_t kIds = std::uint64_t{1} << 16, kEvents = 100, kEntry = sizeof(perf_event_attr) + 16;
  std::vector<std::byte> file;
  const std::uint64_t attrs = 104 + 8 * kIds;
  put(file, {0x32454C4946524550, 104, kEntry, attrs, kEvents * kEntry, attrs + kEvents * kEntry, 0, 0, 0, 0,
             0, 0, 0});
  for (std::uint64_t i = 0; i < kIds; ++i) put(file, {i});
  for (std::uint64_t i = 0; i < kEvents; ++i) {
    auto attr = attr_of(i);
    test::append(file, std::as_bytes(std::span(&attr, 1)));
    put(file, {104, 8 * kIds});
  }
  auto data = read_perf_data(file);
  ASSERT_FALSE(data);
  EXPECT_EQ(data.error().kind, ErrorKind::kExhausted) << data.error().message;
}

}  // namespace
}  // namespace tailor::formats
