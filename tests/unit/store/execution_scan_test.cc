#include "daemon/store/execution_scan.h"

#include <gtest/gtest.h>

#include <random>

#include "daemon/store/block.h"
#include "daemon/store/file_io.h"
#include "daemon/store/meta_codec.h"
#include "daemon/store/profile_reader.h"
#include "tests/support/collecting_sink.h"

namespace tailor::store {
namespace {

v1::Execution random_execution(std::mt19937_64& random) {
  const auto wild = [&] { return random() >> (random() % 64); };
  profile::ExecutionRecord record;
  record.process = {static_cast<std::int32_t>(wild()), wild()};
  record.handle = wild();
  for (std::uint8_t& byte : record.id.bytes) byte = static_cast<std::uint8_t>(random());
  record.plan = wild();
  record.begin = static_cast<TimeNs>(wild());
  if (random() % 2) record.end = static_cast<TimeNs>(wild());
  record.heard = static_cast<TimeNs>(wild());
  record.rows = wild();
  record.rows_known = random() % 2;
  if (random() % 3 == 0) record.error = "cancelled after \xC3\xA9tape " + std::to_string(random() % 3);
  const char* const keys[] = {"", "user", "query"};
  for (std::uint64_t labels = random() % 4; labels > 0; --labels)
    record.labels.emplace_back(keys[random() % 3], random() % 2 ? "value" : "");
  if (random() % 2) record.uid = static_cast<std::uint32_t>(wild());
  record.wall_begin_ns = wild();
  v1::Execution message;
  encode(record, message);
  return message;
}

void expect_same(const profile::ExecutionRecord& a, const profile::ExecutionRecord& b) {
  EXPECT_EQ(a.process, b.process);
  EXPECT_EQ(a.handle, b.handle);
  EXPECT_EQ(a.id, b.id);
  EXPECT_EQ(a.plan, b.plan);
  EXPECT_EQ(a.begin, b.begin);
  EXPECT_EQ(a.end, b.end);
  EXPECT_EQ(a.heard, b.heard);
  EXPECT_EQ(a.rows, b.rows);
  EXPECT_EQ(a.rows_known, b.rows_known);
  EXPECT_EQ(a.error, b.error);
  EXPECT_EQ(a.labels, b.labels);
  EXPECT_EQ(a.uid, b.uid);
  EXPECT_EQ(a.wall_begin_ns, b.wall_begin_ns);
}

TEST(ExecutionScan, SaysWhatProtobufSays) {
  std::mt19937_64 random(5);
  ExecutionScanner scanner;
  for (int i = 0; i < 20'000; ++i) {
    const v1::Execution message = random_execution(random);
    const profile::ExecutionRecord* scanned = scanner.scan(message.SerializeAsString());
    ASSERT_NE(scanned, nullptr) << message.ShortDebugString();
    expect_same(*scanned, *decode(message));
  }
}

// Damaged bytes: either protobuf has to judge them, or both say the same.
TEST(ExecutionScan, NeverSaysOtherwise) {
  std::mt19937_64 random(6);
  ExecutionScanner scanner;
  int scanned_all = 0;
  for (int i = 0; i < 50'000; ++i) {
    std::string bytes = random_execution(random).SerializeAsString();
    for (std::uint64_t changes = 1 + random() % 3; changes > 0; --changes)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    if (random() % 4 == 0) bytes.resize(random() % (bytes.size() + 1));
    const profile::ExecutionRecord* scanned = scanner.scan(bytes);
    if (scanned == nullptr) continue;
    ++scanned_all;
    v1::Execution message;
    ASSERT_TRUE(message.ParseFromString(bytes));
    const auto decoded = decode(message);
    ASSERT_TRUE(decoded) << decoded.error().message;
    expect_same(*scanned, *decoded);
  }
  EXPECT_GT(scanned_all, 1'000) << "the test has something to compare";
}

// Of a META block with these records.
std::vector<std::string> read_back(const std::string& payload, ReadReport& report) {
  std::string file;
  const auto header = encode(FileHeader{});
  file.assign(reinterpret_cast<const char*>(header.data()), header.size());
  file += make_block(BlockType::kMeta, 0, payload);
  class Order : public test::CollectingSink {
   public:
    void on_execution(const profile::ExecutionRecord& v) override {
      order.push_back("execution " + std::to_string(v.handle));
    }
    void on_watermark(TimeNs v) override { order.push_back("watermark " + std::to_string(v)); }
    void on_component(ProcessId, std::uint32_t, const std::string& name) override { order.push_back(name); }
    std::vector<std::string> order;
  } sink;
  SaidLoss loss;
  MemoryInput input(file);
  EXPECT_TRUE(read_profile(input, sink, report, loss));
  return sink.order;
}

TEST(ExecutionScan, RecordsKeepTheirOrderAndBadOnesHideNoOthers) {
  const auto add = [](v1::MetaBlock& block, std::uint64_t handle) -> v1::Execution& {
    v1::Execution& execution = *block.add_records()->mutable_execution();
    execution.set_handle(handle);
    execution.set_id(std::string(16, 'i'));
    return execution;
  };
  v1::MetaBlock block;
  add(block, 1);
  block.add_records()->set_watermark(5);
  add(block, 2).set_id("short");
  block.add_records();  // of a newer version, as it seems
  add(block, 3);
  block.add_records()->mutable_component()->set_name("compile");
  ReadReport report;
  EXPECT_EQ(read_back(block.SerializeAsString(), report),
            (std::vector<std::string>{"execution 1", "watermark 5", "execution 3", "compile"}));
  EXPECT_EQ(report.malformed_blocks, 1u);
  EXPECT_NE(report.first_problem.find("16 bytes"), std::string::npos) << report.first_problem;

  // A field that is not known here.
  std::string newer = block.records(0).SerializeAsString();
  newer[1] = static_cast<char>(newer[1] + 3);
  newer += std::string("\x98\x06\x01", 3);
  const std::string whole = std::string("\x0a") + static_cast<char>(newer.size()) + newer;
  ReadReport of_newer;
  EXPECT_EQ(read_back(whole, of_newer), std::vector<std::string>{"execution 1"});
  EXPECT_EQ(of_newer.malformed_blocks, 0u);
}

}  // namespace
}  // namespace tailor::store
