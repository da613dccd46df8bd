// Code that the kernel loaded: each segment of samples has what was there when it began, so that it needs no
// other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/sample_profile.h"
#include "tests/unit/store/store_fixture.h"

namespace tailor::store {
namespace {

constexpr std::uint64_t kProgramAt = 0xffffffffc0000000;

class KernelCodeInStore : public StoreTest {
 protected:
  void loaded(StoreWriter& writer, int second, const std::string& path, std::uint64_t at) const {
    writer.on_mapping({{}, test::kSampleStart + second * kSecond, at, 0x40, 0, path});
  }
  // Ten samples in that second, and its end.
  static void passes(StoreWriter& writer, int second) {
    const TimeNs begin = test::kSampleStart + second * kSecond;
    for (int i = 1; i <= 10; ++i) {
      const profile::SampleRecord sample = test::ir_sample(begin + i * kSecond / 10, 1);
      writer.on_samples(std::span(&sample, 1));
    }
    writer.on_watermark(begin + kSecond);
  }
  std::vector<std::string> mappings(RecordingNumber recording, int from, int to) {
    const Read all = read(recording, {.from = test::kSampleStart + from * kSecond + 1,
                                      .to = test::kSampleStart + to * kSecond});
    std::vector<std::string> out;
    for (const std::string& each : all.sink.records)
      if (each.starts_with("mapping ")) out.push_back(each);
    return out;
  }
};

TEST_F(KernelCodeInStore, EachSegmentHasWhatWasThere) {
  using testing::Contains;
  using testing::HasSubstr;
  using testing::Not;
  auto writer = open({.segment_time = kSecond});
  test::give_context(*writer);
  writer->on_watermark(test::kSampleStart);
  loaded(*writer, 0, "[bpf] bpf_prog_1_one", kProgramAt);
  loaded(*writer, 0, "[bpf] bpf_prog_2_two", kProgramAt + 0x40);
  for (int second = 0; second < 4; ++second) passes(*writer, second);
  loaded(*writer, 4, "", kProgramAt);
  for (int second = 4; second < 8; ++second) passes(*writer, second);
  const RecordingNumber recording = writer->recording();
  ASSERT_TRUE(writer->finish());
  const auto before = mappings(recording, 3, 4), after = mappings(recording, 7, 8);
  EXPECT_THAT(before, Contains(HasSubstr("bpf_prog_1_one")));
  EXPECT_THAT(before, Contains(HasSubstr("bpf_prog_2_two")));
  EXPECT_THAT(after, Not(Contains(HasSubstr("bpf_prog_1_one"))));
  EXPECT_THAT(after, Contains(HasSubstr("bpf_prog_2_two")));
}

// It is of no process: no process is entered for it, also where the catalogue is made again.
TEST_F(KernelCodeInStore, ItIsOfNoProcess) {
  auto writer = open();
  test::give_context(*writer);
  loaded(*writer, 0, "[bpf] bpf_prog_1_one", kProgramAt);
  passes(*writer, 0);
  const RecordingNumber recording = writer->recording();
  ASSERT_TRUE(writer->finish());
  writer.reset();
  for (const bool again : {false, true}) {
    if (again) std::filesystem::remove(catalogue_path(directory_));
    auto made = open();
    ASSERT_NE(made, nullptr);
    auto catalogue = Catalogue::open(catalogue_path(directory_), Catalogue::Mode::kRead);
    ASSERT_TRUE(catalogue);
    const auto nobody = catalogue->segments_of(recording, {ProcessId{}, EntryKind::kProcess, 0});
    ASSERT_TRUE(nobody);
    EXPECT_TRUE(nobody->empty()) << again;
  }
}

}  // namespace
}  // namespace tailor::store
