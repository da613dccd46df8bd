#include "daemon/tailord/reload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tailor::tailord {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Reload, SaysWhatTakesEffectAndWhatDoesNot) {
  Options before;
  Options after = before;
  EXPECT_THAT(changes_of(before, after).at_run_time, IsEmpty());
  EXPECT_THAT(changes_of(before, after).needs_restart, IsEmpty());
  after.keep_days = 1;
  after.log_level = "debug";
  after.processes.ignore.push_back({"backup", "", std::nullopt});
  after.sampling.frequency = 500;
  after.store = "/elsewhere";
  after.sampling.seed = 5;  // drawn anew each time
  const Changes changes = changes_of(before, after);
  EXPECT_THAT(changes.at_run_time, ElementsAre("keep-days", "log-level", "processes.ignore"));
  EXPECT_THAT(changes.needs_restart, ElementsAre("frequency", "store"));
}

TEST(Reload, TakesOverWhatMayChangeAndNothingElse) {
  Options options;
  options.store = "/here";
  Options after = options;
  after.keep_days = 1;
  after.keep_literals = true;
  after.keep_megabytes = 5;
  after.log_level = "debug";
  after.processes.sample.push_back({{"java", "", std::nullopt}, session::NamesFrom::kAuto});
  after.store = "/elsewhere";
  after.sampling.frequency = 500;
  take_changes(options, after);
  EXPECT_THAT(changes_of(options, after).at_run_time, IsEmpty());
  EXPECT_THAT(changes_of(options, after).needs_restart, ElementsAre("frequency", "store"));
}

}  // namespace
}  // namespace tailor::tailord
