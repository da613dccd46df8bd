// Timers run where the recorded threads run, and go where those go.
#include <gtest/gtest.h>
#include <sched.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>

#include "daemon/bpf/sample_encoder.h"
#include "daemon/bpf/sampler.h"
#include "daemon/capture/decode/record_decoder.h"
#include "daemon/os/host_files.h"
#include "tests/support/child_process.h"
#include "tests/support/host_allows.h"

namespace tailor::bpf {
namespace {

class Placed : public testing::Test {
 protected:
  void SetUp() override {
    auto cpus = os::online_cpus(os::real());
    if (!cpus || cpus->size() < 2) GTEST_SKIP() << "one CPU only";
    first_ = (*cpus)[0];
    second_ = (*cpus)[1];
    options_.events = {capture::cpu_clock(997)};
    options_.ring_bytes = std::size_t{512} << 10;
    layout_ = layout_of(options_.events, false, false);
    auto sampler = Sampler::start(os::real(), options_);
    if (!sampler) GTEST_SKIP() << test::skip_if_denied(test::bpf_denied(), sampler.error().message);
    sampler_ = *sampler;
  }
  void pin(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<std::size_t>(cpu), &set);
    ASSERT_EQ(::sched_setaffinity(child_.pid(), sizeof set, &set), 0);
  }
  // Reads what was taken, and looks again, until `done`; how long that takes is not asked.
  bool until(const std::function<bool()>& done) {
    for (int i = 0; i < 3000; ++i) {
      read();
      if (done()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return false;
  }
  void read() {
    auto decoder = capture::RecordDecoder::create(layout_);
    capture::Batch batch;
    decoder->decode(sampler_->fetch(recording_), batch);
    for (const capture::Event& event : batch.events) {
      ++samples_[event.cpu];
      weights_.insert(event.weight);
    }
  }

  int first_ = 0, second_ = 0;
  SamplerOptions options_;
  capture::RingLayout layout_;
  std::shared_ptr<Sampler> sampler_;
  test::ChildProcess child_{{std::string(TAILOR_TARGETS) + "/busy_threads", "1", "600000", "wait"}};
  std::uint32_t recording_ = 0;
  std::map<std::uint32_t, std::uint64_t> samples_;  // by CPU
  std::set<std::uint64_t> weights_;
};

TEST_F(Placed, TimersFollowTheThreads) {
  EXPECT_EQ(sampler_->running_cpus(), 0u) << "nobody is recorded";
  pin(first_);
  child_.send("\n");
  auto recording = sampler_->add(child_.pid(), 0, layout_);
  ASSERT_TRUE(recording.ok()) << recording.error().message;
  recording_ = *recording;
  const auto cpu = static_cast<std::uint32_t>(first_), next = static_cast<std::uint32_t>(second_);
  ASSERT_TRUE(until([&] { return samples_[cpu] > 100; }));
  EXPECT_TRUE(until([&] { return sampler_->running_cpus() == 1; }));
  EXPECT_EQ(samples_[next], 0u);
  pin(second_);
  ASSERT_TRUE(until([&] { return samples_[next] > 100; }));
  EXPECT_TRUE(until([&] { return sampler_->running_cpus() == 1; })) << "the first is left";
  // Other periods are drawn meanwhile, and each sample has its own.
  EXPECT_TRUE(until([&] { return weights_.size() > 4; }));
  for (std::uint64_t weight : weights_) {
    EXPECT_GE(weight, options_.events[0].period / 2);
    EXPECT_LE(weight, capture::longest_period(options_.events[0]));
  }
  sampler_->stop(recording_);
  EXPECT_TRUE(until([&] { return sampler_->running_cpus() == 0; })) << "nobody is recorded any more";
}

}  // namespace
}  // namespace tailor::bpf
