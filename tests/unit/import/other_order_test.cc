// Recordings of machines of the other byte order, from the file to the sink.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/formats/perf_data.h"
#include "daemon/import/perf_import.h"
#include "daemon/profile/ignoring_sink.h"
#include "daemon/store/file_io.h"
#include "tests/support/both_orders.h"

namespace tailor::importer {
namespace {

using test::BothOrders;

constexpr std::uint32_t kPid = 4711, kTid = 4712;

// What was told, as text.
class TellingSink : public profile::IgnoringSink {
 public:
  void on_recording(const profile::RecordingInfo& info) override { recording = info; }
  void on_process(const profile::ProcessRecord& process) override {
    told.push_back(fmt::format("process {} {}", process.process.pid, process.comm));
  }
  void on_mapping(const profile::MappingRecord& mapping) override {
    told.push_back(fmt::format("mapping {} {:x} {:x} {} {}", mapping.process.pid, mapping.begin, mapping.size,
                               mapping.path, mapping.build_id));
  }
  void on_samples(std::span<const profile::SampleRecord> samples) override {
    for (const profile::SampleRecord& each : samples)
      told.push_back(fmt::format("sample {} {} {} {} {:x} {}", each.time, each.process.pid, each.tid,
                                 each.cpu, each.ip, each.weight));
  }
  profile::RecordingInfo recording;
  std::vector<std::string> told;
};

void put_sample(BothOrders& out, std::uint64_t time) {
  out.begin(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER).u64(0x1000 + time).u32(kPid).u32(kTid).u64(time);
  out.u32(3).u32(0).u64(700 + time).u64(2).u64(PERF_CONTEXT_USER).u64(0x1000 + time).end();
}

// `arch`: of the machine, "": not said.
BothOrders pipe_file(std::string_view arch) {
  BothOrders out;
  out.u64(0x32454C4946524550).u64(16);
  constexpr std::uint64_t kType = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
                                  PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN;
  out.begin(64).u32(PERF_TYPE_SOFTWARE).u32(64).u64(PERF_COUNT_SW_CPU_CLOCK).u64(1000).u64(kType).u64(0);
  out.bits({{18, 1, 1}}).u32(0).u32(0).u64(0).u64(1).end();  // sample_id_all
  if (!arch.empty())
    out.begin(80).u64(6).u32(8).raw(std::string(arch) + std::string(8 - arch.size(), '\0')).end();
  const auto trailer = [&out](std::uint64_t time) { out.u32(kPid).u32(kTid).u64(time).u32(3).u32(0).end(); };
  out.begin(PERF_RECORD_COMM).u32(kPid).u32(kPid).text("engine");
  trailer(5);
  out.begin(PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER).u32(kPid).u32(kPid).u64(0x1000).u64(0x9000).u64(0);
  out.u32(8).u32(1).u64(99).u64(2).u32(5).u32(2).text("/opt/engine");
  trailer(6);
  out.begin(67, 0).u32(UINT32_MAX).raw("abcdefghijklmnopqrst").u32(0).text("/opt/engine").end();
  for (const std::uint64_t time : {10, 20, 30}) put_sample(out, time);
  return out;
}

struct Told {
  std::vector<std::string> told, notes;
  std::string machine;
  std::uint64_t undecoded = 0;
};

Told told_of(const std::vector<std::byte>& file, const std::vector<std::byte>& part = {}) {
  const auto input_of = [](const std::vector<std::byte>& bytes) {
    return store::MemoryInput({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
  };
  store::MemoryInput input = input_of(file), beside = input_of(part);
  TellingSink sink;
  PerfImportOptions options;
  options.find_names = false;
  if (!part.empty()) options.parts = {{&beside, "data.0"}};
  auto done = import_perf_data(input, sink, options);
  EXPECT_TRUE(done.ok()) << done.error().message;
  if (!done.ok()) return {};
  return {sink.told, done->notes, sink.recording.machine, done->total.undecoded};
}

TEST(OtherOrder, GivesTheSameProfile) {
  const BothOrders file = pipe_file("s390x");
  const Told big = told_of(file.big), little = told_of(file.little);
  EXPECT_EQ(big.told, little.told);
  EXPECT_EQ(big.notes, little.notes);
  EXPECT_EQ(big.machine, "s390x");
  EXPECT_EQ(big.undecoded, 0u);
  const auto has = [&big](const std::string& line) { return std::ranges::count(big.told, line) == 1; };
  EXPECT_TRUE(has("sample 20 4711 4712 3 1014 720")) << fmt::format("{}", fmt::join(big.told, "\n"));
}

// Files of a directory (perf record --threads) have the order of its main file.
TEST(OtherOrder, FilesBesideHaveItToo) {
  const BothOrders file = pipe_file("s390x");
  BothOrders part;
  for (const std::uint64_t time : {12, 22}) put_sample(part, time);
  const Told big = told_of(file.big, part.big), little = told_of(file.little, part.little);
  EXPECT_EQ(big.told, little.told);
  EXPECT_EQ(
      std::ranges::count_if(big.told, [](const std::string& line) { return line.starts_with("sample"); }), 5);
}

// Files of this machine would name its code by chance, and its registers are others.
TEST(OtherOrder, AMachineThatIsNotSaidIsNotThisOne) {
  const BothOrders file = pipe_file("");
  EXPECT_EQ(told_of(file.little).machine, "");
  const Told big = told_of(file.big);
  EXPECT_EQ(big.machine, formats::kOtherOrderArch);
  EXPECT_TRUE(std::ranges::any_of(
      big.notes, [](const std::string& note) { return note.find("another architecture") != note.npos; }));
}

}  // namespace
}  // namespace tailor::importer
