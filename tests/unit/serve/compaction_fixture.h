// A store with some hours of samples of two executions, and its compaction.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "daemon/serve/summarise.h"
#include "daemon/store/store_writer.h"
#include "daemon/store/summary.h"
#include "daemon/store/summary_files.h"
#include "tests/support/sample_profile.h"

namespace tailor::serve {

// The second of them.
inline constexpr ExecutionHandle kOther = 4;
inline constexpr const char* kOtherFingerprint = "abcdef";

class CompactionTest : public testing::Test {
 protected:
  static constexpr std::uint64_t kWall = 1'700'000'000'000'000'000;
  static constexpr TimeNs kMinute = 60'000'000'000;

  void SetUp() override;
  void TearDown() override;

  static store::StoreOptions options();
  std::unique_ptr<store::StoreWriter> open(const store::StoreOptions& options);
  // Two executions, one of which ends in the middle; a round of samples a minute; some samples are lost.
  static void give_hours(profile::ProfileSink& sink, int minutes);
  store::Summary sums() const;
  // Sums up and removes all that retention may.
  void compact(store::StoreWriter& writer, store::SummaryWriter& summaries) const;

  std::string directory_;
  store::SummaryRetention retention_{.keep_bytes = 0, .keep_ns = 0, .merge_bytes = 2000};
};

}  // namespace tailor::serve
