// Real recordings decode to what perf itself prints of them. TAILOR_PERF_DATA_SAMPLES names a directory with
// perf.data files; without it, or without perf, the test skips.
#include <gtest/gtest.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "daemon/formats/perf_data.h"

namespace tailor::capture {
namespace {

struct Line {
  std::int32_t pid, tid;
  TimeNs time;
  std::uint64_t period, ip;
  std::string event;
  auto operator<=>(const Line&) const = default;
};

std::string show(const Line& line) {
  std::ostringstream out;
  out << line.pid << '/' << line.tid << ' ' << line.time << ' ' << line.period << ' ' << line.event << ' '
      << std::hex << line.ip;
  return out.str();
}

std::vector<std::filesystem::path> recordings() {
  std::vector<std::filesystem::path> files;
  const char* directory = std::getenv("TAILOR_PERF_DATA_SAMPLES");
  if (directory == nullptr) return files;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.path().filename().string().starts_with("perf.data")) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

// "pid/tid seconds.nanoseconds: period event: ip"
std::vector<Line> perf_script(const std::filesystem::path& file) {
  std::string command =
      "perf script --ns -G -F pid,tid,time,period,event,ip -i '" + file.string() + "' 2>/dev/null";
  std::vector<Line> lines;
  std::FILE* pipe = ::popen(command.c_str(), "r");
  char buffer[512];
  while (std::fgets(buffer, sizeof buffer, pipe) != nullptr) {
    Line line;
    long long seconds, nanoseconds;
    char event[128];
    int got = std::sscanf(buffer, " %d/%d %lld.%lld: %" SCNu64 " %127s %" SCNx64, &line.pid, &line.tid,
                          &seconds, &nanoseconds, &line.period, event, &line.ip);
    if (got != 7) continue;
    line.time = seconds * 1'000'000'000 + nanoseconds;
    line.event = std::string(event).substr(0, std::string(event).find(':'));
    lines.push_back(line);
  }
  ::pclose(pipe);
  return lines;
}

std::vector<std::byte> content_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::vector<char> chars((std::istreambuf_iterator<char>(in)), {});
  auto bytes = std::as_bytes(std::span(chars));
  return {bytes.begin(), bytes.end()};
}

std::vector<Line> decoded(const formats::PerfData& data) {
  std::vector<Line> lines;
  for (const Event& event : data.batch.events) {
    if (event.kind != Kind::kSample) continue;
    const std::string& name = data.events[event.source].name;
    lines.push_back(
        {event.pid, event.tid, event.time, event.weight, event.ip, name.substr(0, name.find(':'))});
  }
  return lines;
}

TEST(PerfScript, RealRecordingsDecodeToWhatPerfPrints) {
  auto files = recordings();
  if (files.empty()) GTEST_SKIP() << "TAILOR_PERF_DATA_SAMPLES names no directory with perf.data files";
  if (std::system("perf --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "perf is not installed";
  for (const auto& file : files) {
    SCOPED_TRACE(file.filename().string());
    auto data = formats::read_perf_data(content_of(file));
    ASSERT_TRUE(data.ok()) << data.error().message;
    EXPECT_EQ(data->counts.malformed, 0u);
    EXPECT_EQ(data->counts.unknown_id, 0u);
    EXPECT_EQ(data->counts.cut_bytes, 0u);
    auto expected = perf_script(file);
    auto ours = decoded(*data);
    std::ranges::sort(expected);
    std::ranges::sort(ours);
    ASSERT_FALSE(expected.empty());
    EXPECT_EQ(ours.size(), expected.size());
    for (std::size_t i = 0; i < std::min(ours.size(), expected.size()); ++i) {
      ASSERT_EQ(show(ours[i]), show(expected[i])) << "sample " << i << " in the order of its fields";
    }
  }
}

TEST(PerfScript, ARecordingMadeHereDecodesToWhatPerfPrints) {
  auto file = std::filesystem::temp_directory_path() / ("tailor_perf_data_" + std::to_string(::getpid()));
  std::string command = "perf record -q -e cpu-clock,page-faults -c 200000 -g --user-regs=r15 -o '" +
                        file.string() +
                        "' -- sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done' >/dev/null 2>&1";
  if (std::system(command.c_str()) != 0) GTEST_SKIP() << "perf record does not work here";
  auto data = formats::read_perf_data(content_of(file));
  ASSERT_TRUE(data.ok()) << data.error().message;
  EXPECT_EQ(data->counts.malformed + data->counts.unknown_id + data->counts.cut_bytes, 0u);
  auto expected = perf_script(file);
  auto ours = decoded(*data);
  std::filesystem::remove(file);
  std::ranges::sort(expected);
  std::ranges::sort(ours);
  EXPECT_GT(expected.size(), 10u);
  EXPECT_TRUE(ours == expected);
}

}  // namespace
}  // namespace tailor::capture
