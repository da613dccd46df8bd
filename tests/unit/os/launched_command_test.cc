#include "daemon/os/launched_command.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <cerrno>

namespace tailor::os {
namespace {

// A shell hands on the last of two entries of one name, so there must be one only.
TEST(LaunchedCommandTest, AGivenVariableTakesThePlaceOfOurs) {
  ASSERT_EQ(::setenv("TAILOR_TEST_VARIABLE", "ours", 1), 0);
  auto command = LaunchedCommand::launch(
      {"sh", "-c",
       "test \"$(env | grep ^TAILOR_TEST_VARIABLE)\" = TAILOR_TEST_VARIABLE=given && test \"$PATH\""},
      {"TAILOR_TEST_VARIABLE=given"});
  ASSERT_TRUE(command.ok());
  const pid_t pid = command->pid();
  ASSERT_TRUE(command->start().ok());
  int status = -1;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_EQ(status, 0);
}

TEST(LaunchedCommandTest, ACommandThatCannotBeExecutedIsNamed) {
  auto command = LaunchedCommand::launch({"/no/such/program", "argument"});
  ASSERT_TRUE(command.ok());
  const Status started = command->start();
  ASSERT_FALSE(started.ok());
  EXPECT_EQ(started.error().message,
            "the command /no/such/program cannot be executed: No such file or directory");
  EXPECT_EQ(started.error().code, ENOENT);
}

}  // namespace
}  // namespace tailor::os
