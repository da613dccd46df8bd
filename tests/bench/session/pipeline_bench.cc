// Ring bytes to a finished profile on one core: decoded, sorted, attributed, encoded, compressed.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "daemon/query/profile.h"
#include "daemon/session/pipeline.h"
#include "daemon/store/file_writer.h"
#include "tests/support/collecting_sink.h"
#include "tests/support/engine_words.h"
#include "tests/support/memory_output.h"
#include "tests/support/scripted_input.h"

namespace tailor::session {
namespace {

constexpr int kSamples = 1'000'000, kSamplesARead = 1000;
constexpr TimeNs kStart = 1'000'000, kStep = 50'000, kEnd = 100'000'000'000;

// Keeps nothing.
class NoSink : public test::CollectingSink {
 public:
  void on_samples(std::span<const store::SampleRecord> v) override { benchmark::DoNotOptimize(v.data()); }
};

// Two threads, a sample every 50 us, read twenty times a second.
const std::vector<capture::RingChunk>& chunks() {
  static const std::vector<capture::RingChunk> made = [] {
    NoSink sink;
    Pipeline unused(sink);
    test::ScriptedInput script(unused);
    std::vector<capture::RingChunk> all;
    for (int i = 0; i < kSamples; ++i) {
      script.sample(42, 44 + i % 2, kStart + i * kStep, 0x10010 + static_cast<std::uint64_t>(i * 7) % 48);
      if (i % kSamplesARead == kSamplesARead - 1) all.push_back(script.take());
    }
    return all;
  }();
  return made;
}

void feed(Pipeline& pipeline) {
  test::ScriptedInput script(pipeline);
  script.open();
  const ProcessId process{42, 7};
  script.hello(process, 1, 1);
  script.load(process, 2, test::small_plan(1));
  script.load(process, 2, test::small_code(11, 1, 0x10000));
  script.settle(process, kEnd);
  TimeNs now = kStart;
  for (const capture::RingChunk& chunk : chunks()) {
    pipeline.on_chunk(chunk);
    pipeline.on_round(now);
    pipeline.advance(now += kSamplesARead * kStep);
  }
  pipeline.flush(kEnd);
}

void attributed(benchmark::State& bench) {
  chunks();
  for (auto _ : bench) {
    NoSink sink;
    Pipeline pipeline(sink);
    feed(pipeline);
  }
  bench.SetItemsProcessed(bench.iterations() * kSamples);
}
BENCHMARK(attributed)->Unit(benchmark::kMillisecond);

// Added up as a report does it: by execution, component and everything else it tells apart.
void aggregated(benchmark::State& bench) {
  chunks();
  for (auto _ : bench) {
    query::ProfileLoader sums({});
    Pipeline pipeline(sums);
    feed(pipeline);
    benchmark::DoNotOptimize(sums.finish().cells().size());
  }
  bench.SetItemsProcessed(bench.iterations() * kSamples);
}
BENCHMARK(aggregated)->Unit(benchmark::kMillisecond);

void written(benchmark::State& bench) {
  chunks();
  for (auto _ : bench) {
    std::string profile;
    auto file = store::FileWriter::on(std::make_unique<test::MemoryOutput>(profile));
    Pipeline pipeline(*file);
    feed(pipeline);
    (void)file->finish();
  }
  bench.SetItemsProcessed(bench.iterations() * kSamples);
}
BENCHMARK(written)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tailor::session
