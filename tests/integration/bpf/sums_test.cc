// Samples that are added up in the kernel: none is lost, none is counted twice, none is late.
#include <gtest/gtest.h>

#include "daemon/bpf/opener.h"
#include "daemon/bpf/sample_encoder.h"
#include "daemon/capture/host/capture_reader.h"
#include "tests/support/child_process.h"
#include "tests/support/chunk_collector.h"
#include "tests/support/host_allows.h"

namespace tailor::bpf {
namespace {

constexpr TimeNs kAggregate = 100'000'000;

struct Taken {
  std::string denied;
  std::uint64_t weight = 0, records = 0, period = 0;
  capture::CaptureCounts counts;
  std::uint64_t late = 0;
};

// Two busy threads, 0.4 s each.
Taken take(TimeNs aggregate, capture::SampledBy by = capture::SampledBy::kBpf) {
  Taken taken;
  test::ChildProcess child({std::string(TAILOR_TARGETS) + "/busy_threads", "2", "400"});
  test::ChunkCollector sink;
  Opener opener;
  capture::CaptureReader reader(
      os::real(), sink,
      [&](capture::RecordingNumber, const capture::CaptureCounts& counts) { taken.counts = counts; },
      [&](os::Os& os, pid_t pid, const capture::CaptureOptions& options) {
        return opener.open(os, pid, options);
      });
  EXPECT_TRUE(reader.start().ok());
  capture::CaptureOptions options;
  options.sampled_by = by;
  options.events = {capture::cpu_clock(4000)};
  options.aggregate = aggregate;
  options.jitter = false;  // so that weights are numbers of samples
  auto attached = reader.attach(child.pid(), options);
  if (!attached) {
    taken.denied = test::skip_if_denied(options, attached.error().message);
    return taken;
  }
  taken.period = attached->sources.front().period;
  child.read_all();
  child.wait();
  reader.stop();
  sink.settle();
  taken.late = sink.late.events.size();
  for (const capture::Event& event : sink.events.events) {
    if (event.kind != capture::Kind::kSample) continue;
    taken.weight += event.weight;
    ++taken.records;
  }
  return taken;
}

TEST(Sums, EverySampleIsInOneSum) {
  const Taken taken = take(kAggregate);
  if (!taken.denied.empty()) GTEST_SKIP() << taken.denied;
  EXPECT_GT(taken.counts.samples, 0u);
  EXPECT_EQ(taken.weight, taken.counts.samples * taken.period);
  EXPECT_EQ(taken.counts.summed, taken.counts.samples);
  EXPECT_LT(taken.records, taken.counts.samples / 2) << "they are added up";
  EXPECT_EQ(taken.late, 0u);
  EXPECT_EQ(taken.counts.lost, 0u);
}

// The maps are too small on purpose: what finds no room comes by itself.
TEST(Sums, WithoutRoomASampleComesByItself) {
  test::ChildProcess child({std::string(TAILOR_TARGETS) + "/busy_threads", "2", "300"});
  SamplerOptions options;
  options.events = {capture::cpu_clock(4000)};
  options.ring_bytes = std::size_t{512} << 10;
  options.aggregate = kAggregate;
  options.sums = 2;
  options.jitter = false;
  auto sampler = Sampler::start(os::real(), options);
  if (!sampler) GTEST_SKIP() << test::skip_if_denied(test::bpf_denied(), sampler.error().message);
  const capture::RingLayout layout = layout_of(options.events, false, false);
  auto recording = (*sampler)->add(child.pid(), 0, layout);
  ASSERT_TRUE(recording.ok());
  child.read_all();
  child.wait();
  (*sampler)->stop(*recording);
  const std::vector<std::byte> records = (*sampler)->fetch(*recording, true);
  const tailor_bpf_counts counts = (*sampler)->counts(*recording);
  EXPECT_GT(counts.summed, 0u);
  EXPECT_LT(counts.summed, counts.taken);
  auto decoder = capture::RecordDecoder::create(layout);
  ASSERT_TRUE(decoder.ok());
  capture::Batch batch;
  decoder->decode(records, batch);
  std::uint64_t weight = 0;
  for (const capture::Event& event : batch.events) weight += event.weight;
  EXPECT_EQ(weight, counts.taken * options.events.front().period);
  EXPECT_EQ(counts.lost, 0u);
}

// The broken twin: without sums there is a record per sample.
TEST(Sums, WithoutThemThereIsARecordPerSample) {
  const Taken taken = take(0);
  if (!taken.denied.empty()) GTEST_SKIP() << taken.denied;
  EXPECT_EQ(taken.counts.summed, 0u);
  EXPECT_EQ(taken.records, taken.counts.samples);
  EXPECT_EQ(taken.weight, taken.counts.samples * taken.period);
}

TEST(Sums, PerfTakesARecordPerSample) {
  const Taken taken = take(kAggregate, capture::SampledBy::kPerf);
  if (!taken.denied.empty()) GTEST_SKIP() << taken.denied;
  EXPECT_EQ(taken.weight, taken.records * taken.period);
  EXPECT_GT(taken.records, 0u);
}

}  // namespace
}  // namespace tailor::bpf
