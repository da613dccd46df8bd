// The program is loaded on a thread of its own, and waits for whoever asked for it.
#include "daemon/bpf/sampler_loader.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "proto/base/errors.h"
#include "tests/support/fake_os.h"

namespace tailor::bpf {
namespace {

constexpr TimeNs kSecond = 1'000'000'000;

SamplerOptions every(std::uint64_t period) {
  SamplerOptions options;
  options.events = {capture::cpu_clock(period)};
  return options;
}

class SamplerLoaderTest : public testing::Test {
 protected:
  ~SamplerLoaderTest() override { go_ = true; }

  // Until the thread has done what it was asked for.
  void wait_until_ready(const SamplerOptions& options) {
    while (!loader_.is_ready(os_, options, 0)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  test::FakeOs os_;
  std::atomic<bool> go_ = false;
  std::atomic<int> loads_ = 0;
  std::thread::id loaded_by_;
  SamplerLoader loader_{[this](os::Os&, const SamplerOptions&) -> SamplerLoader::Started {
    while (!go_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    loaded_by_ = std::this_thread::get_id();
    ++loads_;
    return unavailable("the kernel does not want it");
  }};
};

TEST_F(SamplerLoaderTest, ItIsReadyOnceItIsLoadedElsewhere) {
  EXPECT_FALSE(loader_.is_ready(os_, every(1000), 0));
  EXPECT_FALSE(loader_.is_ready(os_, every(1000), 0));
  EXPECT_FALSE(loader_.take(every(1000)).has_value());
  go_ = true;
  wait_until_ready(every(1000));
  EXPECT_NE(loaded_by_, std::this_thread::get_id());
  EXPECT_FALSE(loader_.take(every(2000)).has_value());
  const auto taken = loader_.take(every(1000));
  ASSERT_TRUE(taken.has_value());
  EXPECT_EQ(taken->error().message, "the kernel does not want it");
  EXPECT_FALSE(loader_.take(every(1000)).has_value());
  EXPECT_EQ(loads_, 1);
}

TEST_F(SamplerLoaderTest, OthersGetTheirsInTheEnd) {
  go_ = true;
  wait_until_ready(every(1000));
  wait_until_ready(every(2000));
  EXPECT_FALSE(loader_.take(every(1000)).has_value());
  EXPECT_TRUE(loader_.take(every(2000)).has_value());
}

TEST_F(SamplerLoaderTest, WhatNobodyTakesIsGivenUp) {
  go_ = true;
  wait_until_ready(every(1000));
  loader_.give_up(kSecond);
  EXPECT_TRUE(loader_.is_ready(os_, every(1000), kSecond));
  loader_.give_up(2 * kSecond);
  EXPECT_TRUE(loader_.is_ready(os_, every(1000), kSecond));  // it was asked for
  loader_.give_up(5 * kSecond);
  EXPECT_FALSE(loader_.is_ready(os_, every(1000), 5 * kSecond));
  wait_until_ready(every(1000));
  EXPECT_EQ(loads_, 2);
}

}  // namespace
}  // namespace tailor::bpf
