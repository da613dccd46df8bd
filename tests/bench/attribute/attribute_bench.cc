// Attributions a second on one core, by the way a sample takes. The process has a hundred live code objects
// of three thousand rows each, and threads whose logs change twice a millisecond.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <random>
#include <vector>

#include "daemon/attribute/attribute.h"
#include "tailor/tag.h"
#include "tests/support/engine_messages.h"

namespace tailor::attribute {
namespace {

constexpr std::uint64_t kKey = 0x5eed;
constexpr std::uint64_t kBase = 0x10000000;
constexpr std::uint32_t kObjects = 100, kRows = 3000, kRowBytes = 5;
constexpr std::uint64_t kStride = 1 << 20;
constexpr std::uint64_t kLibrary = 0x7f0000000000;
constexpr TimeNs kEnd = 100'000'000;

process::ProcessState make_process() {
  process::ProcessState state{{42, 1}, {}};
  state.start_agent(1, kKey, 0);
  std::vector<test::RowWord> rows;
  for (std::uint32_t row = 0; row < kRows; ++row) rows.push_back({row * kRowBytes, (row % 6 + 1) << 1});
  for (std::uint32_t i = 0; i < kObjects; ++i) {
    (void)state.load_plan(test::small_plan(i + 1, i, 1), 0);
    (void)state.load_code(test::small_code(i + 1, i + 1, kBase + i * kStride, kRows * kRowBytes, rows), 0);
    state.generated().add(kBase + i * kStride, kRows * kRowBytes);
  }
  state.generated().add_file(kLibrary, kStride);
  for (std::int32_t tid = 1; tid <= 2; ++tid) {
    for (TimeNs time = 0; time < kEnd; time += 1'000'000) {
      tailor_log_record record{};
      record.kind = TAILOR_LOG_EXECUTION_BEGIN;
      record.a = static_cast<std::uint64_t>(time + 1);
      (void)state.add_activity(tid, record, time);
      record.kind = TAILOR_LOG_EXECUTION_END;
      (void)state.add_activity(tid, record, time + 500'000);
    }
  }
  return state;
}

enum Way { kByCode, kByTag, kUnknown };

std::vector<capture::Event> make_samples(Way way) {
  std::mt19937_64 random(7);
  std::vector<capture::Event> samples(4096);
  TimeNs time = 0;
  for (capture::Event& sample : samples) {
    const std::uint32_t object = static_cast<std::uint32_t>(random() % kObjects);
    sample.time = time += kEnd / 4097;
    sample.tid = static_cast<std::int32_t>(random() % 2 + 1);
    sample.ip = way == kByCode ? kBase + object * kStride + random() % (kRows * kRowBytes) : kLibrary;
    sample.has_tag = true;
    sample.tag = way == kByTag ? tailor_tag_make(kKey, object, 1, 2, 3) : random();
  }
  return samples;
}

void attribution(benchmark::State& bench) {
  const process::ProcessState state = make_process();
  const std::vector<capture::Event> samples = make_samples(static_cast<Way>(bench.range(0)));
  std::size_t next = 0;
  for (auto _ : bench) {
    benchmark::DoNotOptimize(attribute(samples[next++ % samples.size()], {}, &state));
  }
  bench.SetItemsProcessed(bench.iterations());
}
BENCHMARK(attribution)->ArgName("way")->Arg(kByCode)->Arg(kByTag)->Arg(kUnknown);

}  // namespace
}  // namespace tailor::attribute
