#include <gtest/gtest.h>

#include <chrono>
#include <future>

#include "daemon/serve/library.h"
#include "tests/support/profile_bytes.h"
#include "tests/support/sample_profile.h"

namespace tailor::serve {
namespace {

// Whoever needs the sums only has them while somebody else waits for the samples.
TEST(FileLibrary, TheSummaryDoesNotWaitForTheSamples) {
  const std::string bytes =
      test::profile_bytes([](profile::ProfileSink& sink) { test::give_profile(sink, 2); });
  std::promise<void> asked, allowed;
  const auto library =
      open_file_library("a.tailor", [&](const std::string&, const query::LoadOptions& options) {
        if (options.keep_samples) {
          asked.set_value();
          allowed.get_future().wait();
        }
        store::MemoryInput input(bytes);
        return query::Profile::load(input, options);
      });
  const auto load = [&](Detail detail) {
    return library->load({Target::What::kAll}, detail, Stop(), {}).ok();
  };
  ASSERT_TRUE(load(Detail::kSums));
  auto samples = std::async(std::launch::async, load, Detail::kSamples);
  asked.get_future().wait();
  auto summary = std::async(std::launch::async, load, Detail::kSums);
  EXPECT_EQ(summary.wait_for(std::chrono::seconds(60)), std::future_status::ready);
  allowed.set_value();
  EXPECT_TRUE(summary.get());
  EXPECT_TRUE(samples.get());
}

}  // namespace
}  // namespace tailor::serve
