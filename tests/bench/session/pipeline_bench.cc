// Ring bytes to a finished profile on one core: decoded, sorted, attributed, and then left, added up, or
// encoded and compressed. A profile that is not the expected one is an error.
#include <benchmark/benchmark.h>

#include <optional>
#include <string>

#include "daemon/pipeline/pipeline.h"
#include "daemon/query/load/profile.h"
#include "daemon/query/load/profile_loader.h"
#include "daemon/store/file_io.h"
#include "daemon/store/file_writer.h"
#include "tests/bench/session/ring_load.h"
#include "tests/support/collecting_sink.h"
#include "tests/support/memory_output.h"

namespace tailor::session {
namespace {

constexpr int kSamples = 1'000'000;

const bench::RingLoad& load() {
  static const bench::RingLoad made(kSamples);
  return made;
}

const bench::RingLoad& load(bench::Saying saying) {
  static const bench::RingLoad slots(kSamples, bench::Saying::kSlots);
  static const bench::RingLoad restless(kSamples, bench::Saying::kRestless);
  if (saying == bench::Saying::kLogs) return load();
  return saying == bench::Saying::kSlots ? slots : restless;
}

// Keeps nothing.
class NoSink : public test::CollectingSink {
 public:
  std::size_t count = 0;
  void on_samples(std::span<const profile::SampleRecord> v) override {
    count += v.size();
    benchmark::DoNotOptimize(v.data());
  }
  void on_activity(std::span<const profile::ActivityRecord> v) override {
    benchmark::DoNotOptimize(v.data());
  }
};

// Every sample belongs to whom it should.
void check(benchmark::State& bench, const query::Profile& profile, const bench::RingLoad& made) {
  bench::RingLoad::Owners owners;
  for (const auto& [key, cell] : profile.cells()) {
    owners[{key.execution, key.plan, key.level, key.link, key.how}] += cell.samples;
  }
  if (owners != made.expected()) bench.SkipWithError("samples belong to others than they should");
}

void attributed(benchmark::State& bench) {
  load();
  for (auto _ : bench) {
    NoSink sink;
    pipeline::Pipeline pipeline(sink);
    load().feed(pipeline);
    if (sink.count != kSamples) bench.SkipWithError("samples are missing");
  }
  bench.SetItemsProcessed(bench.iterations() * kSamples);
}
BENCHMARK(attributed)->Unit(benchmark::kMillisecond);

// Added up as a report does it: by execution, component and everything else that it shows by itself.
void aggregated(benchmark::State& bench) {
  load();
  std::optional<query::Profile> profile;
  for (auto _ : bench) {
    query::ProfileLoader sums({});
    pipeline::Pipeline pipeline(sums);
    load().feed(pipeline);
    profile = sums.finish();
  }
  check(bench, *profile, load());
  bench.SetItemsProcessed(bench.iterations() * kSamples);
}
BENCHMARK(aggregated)->Unit(benchmark::kMillisecond);

// The same where samples bring the state of the thread's slot: one that stays for many samples, and one that
// is another one at each.
void aggregated_states(benchmark::State& bench) {
  const bench::RingLoad& made = load(static_cast<bench::Saying>(bench.range(0)));
  std::optional<query::Profile> profile;
  for (auto _ : bench) {
    query::ProfileLoader sums({});
    pipeline::Pipeline pipeline(sums);
    made.feed(pipeline);
    profile = sums.finish();
  }
  check(bench, *profile, made);
  bench.SetItemsProcessed(bench.iterations() * kSamples);
}
BENCHMARK(aggregated_states)
    ->ArgName("saying")
    ->Arg(static_cast<int>(bench::Saying::kSlots))
    ->Arg(static_cast<int>(bench::Saying::kRestless))
    ->Unit(benchmark::kMillisecond);

void written(benchmark::State& bench) {
  load();
  std::string bytes;
  for (auto _ : bench) {
    bytes.clear();
    auto file = store::FileWriter::on(std::make_unique<test::MemoryOutput>(bytes));
    pipeline::Pipeline pipeline(*file);
    load().feed(pipeline);
    (void)file->finish();
  }
  store::MemoryInput file(bytes);
  auto profile = query::Profile::load(file);
  if (profile.ok()) check(bench, *profile, load());
  if (!profile.ok()) bench.SkipWithError(profile.error().message.c_str());
  bench.SetItemsProcessed(bench.iterations() * kSamples);
}
BENCHMARK(written)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tailor::session
