// Records of mappings as a kernel wrote them (tests/fixtures/kernel_mappings): neighbours that are merged, a
// page that is writable for a while, a library that is replaced, and text that moves.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "daemon/capture/decode/mapping_record.h"
#include "daemon/capture/decode/record_scan.h"
#include "daemon/query/code/code_timelines.h"
#include "tests/unit/pipeline/fixture.h"

namespace tailor::pipeline {
namespace {

constexpr std::uint64_t kPage = 0x1000, kGenerated = 0x7e0000000000, kLibrary = 0x7e1000000000;
constexpr CodeId kFirstCode = 5, kSecondCode = 6;

class RecordedTimeline : public test::CollectingSink {
 public:
  void on_mapping(const profile::MappingRecord& mapping) override {
    process = mapping.process;
    told.push_back(mapping.path + " " + std::to_string(mapping.size / kPage));
    timelines.on_mapping(mapping);
  }
  ProcessId process;
  std::vector<std::string> told;
  query::CodeTimelines timelines;
};

class KernelRecords : public testing::Test {
 protected:
  void SetUp() override {
    const std::string folder = TAILOR_KERNEL_MAPPINGS;
    std::ifstream moments(folder + "/moments");
    std::string step;
    for (TimeNs time = 0; moments >> step >> time;) after[step] = time;
    std::ifstream file(folder + "/records", std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    bytes.resize(text.size());
    std::memcpy(bytes.data(), text.data(), text.size());
    ASSERT_EQ(after.size(), 9u);
    ASSERT_GT(bytes.size(), 1000u);
  }
  std::int32_t pid() const {
    std::int32_t out;
    std::memcpy(&out, bytes.data() + sizeof(perf_event_header), sizeof out);
    return out;
  }
  // All of them through the pipeline.
  void play() {
    Pipeline pipeline(sink);
    test::ScriptedInput script(pipeline);
    script.open(pid());
    script.bytes(bytes);
    script.read();
    pipeline.flush(after["moved"] + 1'000'000'000);
    timelines = &sink.timelines;
    process = sink.process;
  }
  // Each record as it is, also those that the pipeline leaves out.
  void tell_all() {
    process = {pid(), 1};
    capture::for_each_record(bytes, [&](const perf_event_header& header, std::span<const std::byte> record) {
      if (header.type != PERF_RECORD_MMAP2) return;
      const auto mapping = capture::read_executable_mapping(record);
      ASSERT_TRUE(mapping);
      all.on_mapping({process, time_of(record), mapping->begin, mapping->size, mapping->file_offset,
                      std::string(mapping->path)});
    });
    timelines = &all;
  }
  // One piece of code on each page.
  void load() {
    timelines->on_code(process, after["generated"], kFirstCode, kGenerated, kPage);
    timelines->on_code(process, after["merged"], kSecondCode, kGenerated + kPage, kPage);
  }
  CodeId code_at(std::uint64_t address, const std::string& step) {
    return timelines->find(process, address, after[step]).state.code;
  }
  std::string file_at(std::uint64_t address, const std::string& step) {
    const query::MappedCode mapped = timelines->find(process, address, after[step]).state.mapped;
    return mapped.kind == query::MappedCode::Kind::kFile ? timelines->files()[mapped.file].path : "";
  }
  void expect_the_truth() {
    load();
    for (const char* step : {"merged", "writable", "executable", "library", "replaced", "moved"}) {
      EXPECT_EQ(code_at(kGenerated + 8, step), kFirstCode) << step;
      EXPECT_EQ(code_at(kGenerated + kPage + 8, step), kSecondCode) << step;
    }
    EXPECT_EQ(file_at(kLibrary + 8, "executable"), "");
    EXPECT_EQ(file_at(kLibrary + 8, "library"), "/usr/bin/true");
    EXPECT_EQ(file_at(kLibrary + 8, "replaced"), "");
    const std::uint64_t text = static_cast<std::uint64_t>(after["text_at"]) + 8;
    const std::string program = file_at(text, "begin");
    EXPECT_TRUE(program.ends_with("/record")) << program;
    EXPECT_EQ(file_at(text, "moved"), program) << "text that moved is still the program's";
  }

  std::map<std::string, TimeNs> after;  // by step; text_at is an address
  std::vector<std::byte> bytes;
  RecordedTimeline sink;
  query::CodeTimelines all;
  query::CodeTimelines* timelines = nullptr;
  ProcessId process;

 private:
  // Of the sample id at the end: thread, time, CPU.
  static TimeNs time_of(std::span<const std::byte> record) {
    TimeNs out;
    std::memcpy(&out, record.data() + record.size() - 16, sizeof out);
    return out;
  }
};

TEST_F(KernelRecords, ThePipelineTellsFilesAndWhatTakesTheirPlace) {
  play();
  EXPECT_EQ(std::ranges::count(sink.told, "/usr/bin/true 2"), 1);
  EXPECT_EQ(std::ranges::count(sink.told, "//anon 2"), 1) << "of the library, and none of generated code";
  EXPECT_EQ(std::ranges::count(sink.told, "//anon 1"), 1) << "of the text that moved";
}

TEST_F(KernelRecords, APageThatIsWritableForAWhileKeepsItsCode) {
  play();
  expect_the_truth();
}

// An import tells the timeline more than a recording does.
TEST_F(KernelRecords, MergedNeighboursEndNoCode) {
  all.on_mapping({{pid(), 1}, 1, 0, UINT64_MAX, 0, ""});  // it executes the program
  tell_all();
  expect_the_truth();
}

// The twin: the range that the kernel reports for one page is that of both.
TEST_F(KernelRecords, TheFlipOfOnePageIsReportedAsTheWholeRange) {
  std::size_t whole = 0;
  capture::for_each_record(bytes, [&](const perf_event_header& header, std::span<const std::byte> record) {
    const auto mapping =
        header.type == PERF_RECORD_MMAP2 ? capture::read_executable_mapping(record) : std::nullopt;
    whole += mapping && mapping->begin == kGenerated && mapping->size == 2 * kPage;
  });
  EXPECT_EQ(whole, 2u);
}

}  // namespace
}  // namespace tailor::pipeline
