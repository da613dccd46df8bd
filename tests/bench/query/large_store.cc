// Writes the store of a daemon that ran for long: large_store SEGMENTS DIRECTORY. Each data segment covers
// ten minutes, as tailord's do, and has twenty executions. store_size.py reads it.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "daemon/store/store_writer.h"
#include "tests/support/forwarding_files.h"

namespace tailor {
namespace {

constexpr ProcessId kProcess{4711, 7};
constexpr TimeNs kSecond = 1'000'000'000, kStart = 1000 * kSecond;
constexpr TimeNs kSegment = 600 * kSecond;
constexpr std::uint64_t kWall = 1'700'000'000'000'000'000;
constexpr std::uint64_t kPlans = 16, kOfASegment = 20, kSamples = 30;

// What is made and read at once need not survive a power failure.
class UnsyncedFiles : public test::ForwardingFiles {
 public:
  Status sync(int /*fd*/) override { return Ok{}; }
  Status sync_directory(const std::string& /*path*/) override { return Ok{}; }
};

void write_context(profile::ProfileSink& out) {
  profile::RecordingInfo recording;
  recording.command = "tailord";
  recording.start = kStart;
  recording.wall_clock_ns = kWall;
  recording.sources.push_back({0, "cpu-clock", profile::Unit::kNsOnCpu, 10'000'000, false});
  out.on_recording(recording);
  profile::ProcessRecord process;
  process.process = kProcess;
  process.comm = process.engine_name = "engine";
  process.registered = process.first_seen = kStart;
  out.on_process(process);
  for (PlanId id = 1; id <= kPlans; ++id) {
    v1::Plan plan;
    plan.set_id(id);
    plan.set_name("query " + std::to_string(id));
    v1::Level& operators = *plan.add_levels();
    operators.set_name("operator");
    operators.set_component_count(4);
    out.on_plan(kProcess, kStart, plan);
  }
}

void write_execution(profile::ProfileSink& out, ExecutionHandle handle, TimeNs begin,
                     std::mt19937_64& random) {
  profile::ExecutionRecord execution;
  execution.process = kProcess;
  execution.handle = handle;
  std::ranges::generate(execution.id.bytes, [&] { return static_cast<std::uint8_t>(random()); });
  execution.plan = 1 + random() % kPlans;
  execution.begin = execution.heard = begin;
  execution.labels = {{"user", "ana"}, {"query", "query " + std::to_string(execution.plan)}};
  execution.uid = 1000;
  execution.wall_begin_ns = kWall + static_cast<std::uint64_t>(begin - kStart);
  out.on_execution(execution);
  std::vector<profile::SampleRecord> samples(kSamples);
  for (std::size_t i = 0; i < kSamples; ++i) {
    profile::SampleRecord& sample = samples[i];
    sample.time = begin + static_cast<TimeNs>(i + 1) * 10'000'000;
    sample.process = kProcess;
    sample.tid = 100;
    sample.weight = 10'000'000;
    sample.ip = 0x10000 + random() % 4096;
    sample.attribution.how = profile::How::kTag;
    sample.attribution.plan = execution.plan;
    sample.attribution.execution = handle;
    sample.attribution.link = static_cast<std::uint32_t>(1 + random() % 4) << 1;
  }
  out.on_samples(samples);
  execution.end = samples.back().time;
  out.on_execution(execution);
}

int write_store(std::uint64_t segments, const char* directory) {
  UnsyncedFiles files;
  store::StoreOptions options;
  options.segment_time = kSegment;
  options.keep_bytes = options.keep_ns = 0;
  options.files = &files;
  auto store = store::StoreWriter::open(directory, options, kWall);
  if (!store) {
    std::fprintf(stderr, "large_store: %s\n", store.error().message.c_str());
    return 1;
  }
  std::mt19937_64 random(1);
  write_context(**store);
  (*store)->on_watermark(kStart);
  for (std::uint64_t i = 0; i < segments * kOfASegment; ++i) {
    const TimeNs begin = kStart + static_cast<TimeNs>(i) * (kSegment / TimeNs{kOfASegment});
    write_execution(**store, 1 + i, begin, random);
    if ((i + 1) % kOfASegment == 0)
      (*store)->on_watermark(kStart + static_cast<TimeNs>(i + 1) * (kSegment / TimeNs{kOfASegment}));
  }
  return (*store)->finish() ? 0 : 1;
}

}  // namespace
}  // namespace tailor

int main(int argc, char** argv) {
  if (argc == 3) return tailor::write_store(std::strtoull(argv[1], nullptr, 10), argv[2]);
  std::fprintf(stderr, "usage: large_store SEGMENTS DIRECTORY\n");
  return 2;
}
