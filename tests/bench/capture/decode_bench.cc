// Samples a second through the pieces between ring and pipeline, one core.
#include <asm/perf_regs.h>
#include <benchmark/benchmark.h>

#include "daemon/capture/decode/event_sorter.h"
#include "daemon/capture/decode/record_decoder.h"
#include "daemon/capture/select/event_spec.h"
#include "tests/support/record_encoder.h"

namespace tailor::capture {
namespace {

constexpr std::size_t kSamples = 4096;

RingLayout layout_for_timer() {
  CaptureOptions options;
  options.events = {cpu_clock(10'000)};
  perf_event_attr attr = make_attr(options.events[0], true, options, true);
  RingLayout layout;
  layout.formats = {format_of(attr, options.events[0], 0, PERF_REG_X86_R15)};
  return layout;
}

// As two CPUs deliver them: each in order, both at the same times.
std::vector<std::byte> ring_bytes(const RingLayout& layout, std::uint64_t first_time) {
  std::vector<std::byte> bytes;
  test::SampleFields fields;
  fields.pid = 1000;
  for (std::size_t i = 0; i < kSamples; ++i) {
    fields.tid = static_cast<std::int32_t>(1000 + i % 3);
    fields.ip = 0x7F0000000000 + i * 16;
    fields.time = first_time + i * 100;
    fields.user_registers = {fields.ip, 13, i};
    test::append(bytes, test::encode_sample(layout.formats[0], fields));
  }
  return bytes;
}

void decode(benchmark::State& state) {
  RingLayout layout = layout_for_timer();
  auto bytes = ring_bytes(layout, 0);
  auto decoder = RecordDecoder::create(layout);
  Batch batch;
  for (auto _ : state) {
    batch.clear();
    decoder->decode(bytes, batch);
    benchmark::DoNotOptimize(batch.events.data());
  }
  state.SetItemsProcessed(state.iterations() * kSamples);
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes.size()));
}
BENCHMARK(decode);

void decode_and_sort_two_rings(benchmark::State& state) {
  RingLayout layout = layout_for_timer();
  auto bytes = ring_bytes(layout, 0);
  auto decoder = RecordDecoder::create(layout);
  EventSorter sorter;
  Batch batch, late;
  TimeNs shift = 0;
  for (auto _ : state) {
    for (int ring = 0; ring < 2; ++ring) {
      batch.clear();  // NOLINT(bugprone-use-after-move): the sorter leaves it with memory for the next one
      decoder->decode(bytes, batch);
      for (Event& event : batch.events) event.time += shift + ring * 50;
      sorter.add(std::move(batch), late);
    }
    shift += static_cast<TimeNs>(kSamples * 100);
    sorter.advance(shift - 1000,
                   [](const Batch&, const Event& event) { benchmark::DoNotOptimize(event.time); });
  }
  state.SetItemsProcessed(state.iterations() * 2 * kSamples);
}
BENCHMARK(decode_and_sort_two_rings);

}  // namespace
}  // namespace tailor::capture
