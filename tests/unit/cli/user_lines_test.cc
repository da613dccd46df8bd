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
  one.set_store_bytes(70'000'000);
  EXPECT_EQ(render_users(status, plain(80)),
            "Users:\n"
            "  1000      2 processes, 3.1 MB of memory, 12,345 executions, 4.0 MB of the catalogue, 70.0 MB "
            "of the segments\n");
}

TEST(UserLines, SayWhatWasRemoved) {
  v1::DaemonStatus status;
  v1::UserStatus& one = *status.add_users();
  one.set_users(1);
  one.set_removed_executions(1000);
  one.set_removed_names(7);
  one.set_removed_since_ns(1'700'000'000'000'000'000);
  one.set_cut_bytes(5'500'000);
  one.set_cut_samples(12'345);
  one.set_cut_since_ns(1'700'000'000'000'000'000);
  status.mutable_other_users()->set_users(3);
  const std::string text = render_users(status, plain(80));
  EXPECT_THAT(text, testing::HasSubstr("  not known 0 processes\n"));
  EXPECT_THAT(text, testing::HasSubstr("1,000 executions and 7 names were removed since "));
  EXPECT_THAT(text, testing::HasSubstr("5.5 MB with 12,345 samples were removed from segments since "));
  EXPECT_THAT(text, testing::HasSubstr("  3 others  0 processes\n"));
}

TEST(UserLines, SayWhoAsksOverHttp) {
  v1::DaemonStatus status;
  v1::HttpAsker& one = *status.add_http();
  one.set_who("user 1000");
  one.set_askers(1);
  one.set_connections(3);
  one.set_running(2);
  one.set_waiting(14);
  one.set_streams(1);
  one.set_refused(1234);
  status.add_http()->set_who("token t");
  status.mutable_other_http()->set_askers(3);
  EXPECT_EQ(render_http(status, plain(80)),
            "HTTP:\n"
            "  user 1000           3 connections, 2 requests at work, 14 requests waiting, 1 live streams, "
            "1,234 refused\n"
            "  token t             0 connections\n"
            "  3 others            0 connections\n");
}

TEST(UserLines, NobodyIsNoLine) {
  EXPECT_EQ(render_http(v1::DaemonStatus(), plain(80)), "");
  EXPECT_EQ(render_users(v1::DaemonStatus(), plain(80)), "");
}

}  // namespace
}  // namespace tailor::cli
