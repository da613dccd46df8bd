// Who uses what, in the status.
#include "viewer/cli/user_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/cli/plain_terminal.h"

namespace tailor::cli {
namespace {

TEST(UserLines, SayWhatIsUsedAndLeaveOutTheRest) {
  v1::DaemonStatus status;
  v1::UserStatus& one = *status.add_users();
  one.set_uid(1000);
  one.set_users(1);
  one.set_processes(2);
  one.set_memory_bytes(3'140'000);
  one.set_catalogue_executions(12'345);
  one.set_catalogue_bytes(4'000'000);
  EXPECT_EQ(render_users(status, plain(80)),
            "Users:\n"
            "  1000      2 processes, 3.1 MB of memory, 12,345 executions, 4.0 MB of the catalogue\n");
}

TEST(UserLines, SayWhatWasRemoved) {
  v1::DaemonStatus status;
  v1::UserStatus& one = *status.add_users();
  one.set_users(1);
  one.set_removed_executions(1000);
  one.set_removed_names(7);
  one.set_removed_since_ns(1'700'000'000'000'000'000);
  status.mutable_other_users()->set_users(3);
  const std::string text = render_users(status, plain(80));
  EXPECT_THAT(text, testing::HasSubstr("  not known 0 processes\n"));
  EXPECT_THAT(text, testing::HasSubstr("1,000 executions and 7 names were removed since "));
  EXPECT_THAT(text, testing::HasSubstr("  3 others  0 processes\n"));
}

TEST(UserLines, NobodyIsNoLine) {
  EXPECT_EQ(render_users(v1::DaemonStatus(), plain(80)), "");
}

}  // namespace
}  // namespace tailor::cli
