// Real recordings decode to what perf itself prints of them. TAILOR_PERF_DATA_SAMPLES names a directory with
// perf.data files; without it, or without perf, the test skips.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "daemon/formats/perf_data.h"
#include "tests/support/record_encoder.h"

namespace tailor::capture {
namespace {

struct Line {
  std::int32_t pid, tid;
  TimeNs time;
  std::uint64_t period = 0, ip = 0, address = 0, data_source = 0, latency = 0;
  std::string event;
  std::vector<std::uint64_t> callers;  // innermost first
  auto operator<=>(const Line&) const = default;
};

std::string show(const Line& line) {
  std::ostringstream out;
  out << line.pid << '/' << line.tid << ' ' << line.time << ' ' << line.period << ' ' << line.event << ' '
      << std::hex << line.ip << " address " << line.address << " from " << line.data_source << " latency "
      << line.latency << " called by";
  for (const std::uint64_t caller : line.callers) out << ' ' << caller;
  return out.str();
}

// What all events of a recording have; perf refuses to print others.
struct Fields {
  bool address = false, data_source = false, latency = false, time = false;
};

Fields fields_of(const formats::PerfData& data) {
  std::uint64_t all = ~std::uint64_t{0};
  for (const formats::PerfDataEvent& event : data.events) all &= event.attr.sample_type;
  return {(all & PERF_SAMPLE_ADDR) != 0, (all & PERF_SAMPLE_DATA_SRC) != 0, (all & PERF_SAMPLE_WEIGHT) != 0,
          (all & PERF_SAMPLE_TIME) != 0};
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

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

// "address source |what it means| latency ip"
void take_words(const std::vector<std::string>& words, const Fields& fields, Line& line) {
  std::size_t first = 0, last = words.size();
  if (first < last) line.ip = std::stoull(words[--last], nullptr, 16);
  if (fields.address && first < last) line.address = std::stoull(words[first++], nullptr, 16);
  if (fields.data_source && first < last) line.data_source = std::stoull(words[first++], nullptr, 16);
  if (fields.latency && first < last) line.latency = std::stoull(words[--last]);
}

// The lines of `perf script` with these options.
std::vector<std::string> perf_lines(const std::filesystem::path& file, const std::string& options) {
  const std::string command = "perf script --ns " + options + " -i '" + file.string() + "' 2>/dev/null";
  std::vector<std::string> lines;
  std::FILE* pipe = ::popen(command.c_str(), "r");
  char buffer[4096];
  while (std::fgets(buffer, sizeof buffer, pipe) != nullptr) lines.emplace_back(buffer);
  ::pclose(pipe);
  return lines;
}

// A call chain has a line for each frame; the first one is the sample's own. Of code in files perf prints
// offsets in the file: only the place in its page is the same.
constexpr std::uint64_t kWholeAddress = ~std::uint64_t{0}, kPlaceInPage = 0xfff;

std::vector<Line> perf_script(const std::filesystem::path& file, const Fields& fields,
                              std::uint64_t of_callers) {
  std::vector<Line> lines;
  const std::string more = std::string(fields.address ? ",addr" : "") +
                           (fields.data_source ? ",data_src" : "") + (fields.latency ? ",weight" : "");
  const std::string time = fields.time ? "time," : "";
  const std::string options = fmt::format("-G -F pid,tid,{}period,event,ip{}", time, more);
  for (const std::string& text : perf_lines(file, options)) {
    Line line{};
    long long seconds = 0, nanoseconds = 0;
    char event[128];
    int length = 0;
    const int got = fields.time
                        ? std::sscanf(text.c_str(), " %d/%d %lld.%lld: %" SCNu64 " %127s%n", &line.pid,
                                      &line.tid, &seconds, &nanoseconds, &line.period, event, &length)
                        : 2 + std::sscanf(text.c_str(), " %d/%d %" SCNu64 " %127s%n", &line.pid, &line.tid,
                                          &line.period, event, &length);
    if (got != 6) continue;
    line.time = seconds * 1'000'000'000 + nanoseconds;
    line.event = std::string(event).substr(0, std::string(event).find(':'));
    take_words(words_of(text.substr(static_cast<std::size_t>(length))), fields, line);
    lines.push_back(line);
  }
  std::size_t samples = 0, frames = 0;
  for (const std::string& text : perf_lines(file, "-F pid,tid," + time + "ip")) {
    if (text.find('/') != text.npos) {
      ++samples;
      frames = 0;
    } else if (text.front() == '\t' && samples > 0 && samples <= lines.size() && ++frames > 1) {
      lines[samples - 1].callers.push_back(std::strtoull(text.c_str(), nullptr, 16) & of_callers);
    }
  }
  EXPECT_EQ(samples, lines.size());
  return lines;
}

std::vector<std::byte> content_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::vector<char> chars((std::istreambuf_iterator<char>(in)), {});
  auto bytes = std::as_bytes(std::span(chars));
  return {bytes.begin(), bytes.end()};
}

// As perf shows it: kernel frames, then those of user code; the first of all is the IP.
std::vector<std::uint64_t> callers_of(const Event& event, const capture::Batch& batch,
                                      std::uint64_t of_callers) {
  const auto user = batch.words.begin() + event.chain_offset;
  std::vector<std::uint64_t> all(user - event.kernel_chain_size, user);
  if (!all.empty()) all.erase(all.begin());
  const bool has_chain = event.kernel_chain_size + event.chain_size > 0;
  if (has_chain && event.mode != profile::Mode::kUser && event.user_ip != 0) all.push_back(event.user_ip);
  all.insert(all.end(), user, user + event.chain_size);
  for (std::uint64_t& caller : all) caller &= of_callers;
  return all;
}

std::vector<Line> decoded(const formats::PerfData& data, const Fields& fields, std::uint64_t of_callers) {
  std::vector<Line> lines;
  for (const Event& event : data.batch.events) {
    if (event.kind != Kind::kSample) continue;
    const std::string& name = data.events[event.source].name;
    lines.push_back({event.pid, event.tid, fields.time ? event.time : 0, event.weight, event.ip,
                     fields.address ? event.address : 0, event.data_source, event.latency,
                     name.substr(0, name.find(':')), callers_of(event, data.batch, of_callers)});
  }
  return lines;
}

void expect_what_perf_prints(const std::filesystem::path& file, std::size_t least) {
  auto data = formats::read_perf_data(content_of(file));
  ASSERT_TRUE(data.ok()) << data.error().message;
  EXPECT_EQ(data->counts.malformed, 0u);
  EXPECT_EQ(data->counts.unknown_id, 0u);
  EXPECT_EQ(data->counts.cut_bytes, 0u);
  const Fields fields = fields_of(*data);
  const bool mapped =
      std::ranges::any_of(data->batch.events, [](const Event& event) { return event.kind == Kind::kMmap; });
  const std::uint64_t of_callers = mapped ? kPlaceInPage : kWholeAddress;
  auto expected = perf_script(file, fields, of_callers);
  auto ours = decoded(*data, fields, of_callers);
  std::ranges::sort(expected);
  std::ranges::sort(ours);
  EXPECT_GE(expected.size(), least);
  EXPECT_EQ(ours.size(), expected.size());
  for (std::size_t i = 0; i < std::min(ours.size(), expected.size()); ++i) {
    ASSERT_EQ(show(ours[i]), show(expected[i])) << "sample " << i << " in the order of its fields";
  }
}

// What a machine with PEBS writes: a file of one event with addresses, weights, data sources, call chains and
// branch stacks.
std::vector<std::byte> precise_recording(int samples) {
  constexpr std::uint32_t kAttrSize = 128, kHeader = 104;
  perf_event_attr attr{};
  attr.type = PERF_TYPE_HARDWARE;
  attr.size = kAttrSize;
  attr.config = PERF_COUNT_HW_CPU_CYCLES;
  attr.sample_period = 1000;
  attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |
                     PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_BRANCH_STACK |
                     PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC;
  attr.sample_id_all = 1;
  attr.precise_ip = 2;
  attr.branch_sample_type = PERF_SAMPLE_BRANCH_ANY;
  std::vector<std::byte> records;
  for (int i = 0; i < samples; ++i) {
    const auto n = static_cast<std::uint64_t>(i);
    const std::uint64_t kernel = 0xffffffff81000000 + n, user = 0x401000 + n;
    const bool in_kernel = i % 3 == 0;
    test::RecordBytes record(PERF_RECORD_SAMPLE, in_kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER);
    std::vector<std::uint64_t> chain;
    if (in_kernel) chain = {static_cast<std::uint64_t>(PERF_CONTEXT_KERNEL), kernel, kernel + 0x100};
    for (const std::uint64_t word : {static_cast<std::uint64_t>(PERF_CONTEXT_USER), user,
                                     std::uint64_t{0x400500}, std::uint64_t{0x400100} + n})
      chain.push_back(word);
    record.u64(in_kernel ? kernel : user).u32(42).u32(43).u64(1'000'000'100 + n).u64(0x7f0000001000 + 8 * n);
    record.u32(0).u32(0).u64(1000 + n).u64(chain.size()).u64s(chain);
    record.u64(2).u64s({0x401000, 0x402000, 0, 0x402010, 0x403000, 1});
    record.u64(30 + n).u64(i % 2 == 0 ? 0x68100142 : 0);
    test::append(records, record.done());
  }
  std::vector<std::byte> out;
  const auto put = [&out](std::initializer_list<std::uint64_t> words) {
    for (const std::uint64_t word : words) test::append(out, std::as_bytes(std::span(&word, 1)));
  };
  const std::uint64_t entry = kAttrSize + 16, begin = kHeader + entry;
  put({0x32454C4946524550, kHeader, entry, kHeader, entry, begin, records.size(), 0, 0, 0, 0, 0, 0});
  test::append(out, std::as_bytes(std::span(&attr, 1)).first(kAttrSize));
  put({0, 0});  // one event needs no ids
  test::append(out, records);
  return out;
}

std::filesystem::path temporary_file() {
  return std::filesystem::temp_directory_path() / ("tailor_perf_data_" + std::to_string(::getpid()));
}

TEST(PerfScript, RealRecordingsDecodeToWhatPerfPrints) {
  auto files = recordings();
  if (files.empty()) GTEST_SKIP() << "TAILOR_PERF_DATA_SAMPLES names no directory with perf.data files";
  if (std::system("perf --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "perf is not installed";
  for (const auto& file : files) {
    SCOPED_TRACE(file.filename().string());
    expect_what_perf_prints(file, 1);
  }
}

TEST(PerfScript, AddressesWeightsDataSourcesAndCallChainsAreThoseThatPerfPrints) {
  if (std::system("perf --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "perf is not installed";
  const auto file = temporary_file();
  constexpr int kSamples = 100;
  const auto bytes = precise_recording(kSamples);
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  expect_what_perf_prints(file, kSamples);
  std::filesystem::remove(file);
}

TEST(PerfScript, ARecordingMadeHereDecodesToWhatPerfPrints) {
  const auto file = temporary_file();
  std::string command =
      "perf record -q -e cpu-clock,page-faults -c 200000 -g -d --weight --user-regs=r15 -o '" +
      file.string() + "' -- sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done' >/dev/null 2>&1";
  if (std::system(command.c_str()) != 0) GTEST_SKIP() << "perf record does not work here";
  expect_what_perf_prints(file, 10);
  std::filesystem::remove(file);
}

// Each event of a group has samples of its own, and records without time are read all the same.
TEST(PerfScript, GroupsAndRecordsWithoutTimeDecodeToWhatPerfPrints) {
  const auto file = temporary_file();
  for (const std::string options :
       {"-e '{cpu-clock,task-clock,page-faults}:S' -c 200000", "-g -e '{task-clock,cpu-clock}:S' -F 4999",
        "--per-thread -e cpu-clock -c 200000", "--per-thread -g -e cpu-clock,page-faults -c 200000"}) {
    SCOPED_TRACE(options);
    std::string command = "perf record -q " + options + " -o '" + file.string() +
                          "' -- sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done' >/dev/null 2>&1";
    if (std::system(command.c_str()) != 0) GTEST_SKIP() << "perf record does not work here";
    expect_what_perf_prints(file, 10);
    std::filesystem::remove(file);
  }
}

}  // namespace
}  // namespace tailor::capture
