#include "daemon/tailord/log.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

namespace tailor::tailord {
namespace {

TEST(Log, InTheJournalEveryLineHasItsPriority) {
  EXPECT_EQ(as_errors("one\ntwo\n", true), "<3>one\n<3>two\n");
  EXPECT_EQ(as_errors("one\n\ntwo", false), "one\ntwo\n");
  EXPECT_EQ(as_errors("", true), "");
}

TEST(Log, TheJournalIsWhereStandardErrorLeads) {
  struct stat info{};
  ASSERT_EQ(::fstat(STDERR_FILENO, &info), 0);
  ::setenv("JOURNAL_STREAM", fmt::format("{}:{}", info.st_dev, info.st_ino).c_str(), 1);
  EXPECT_TRUE(logs_to_journal());
  ::setenv("JOURNAL_STREAM", "1:1", 1);
  EXPECT_FALSE(logs_to_journal())
      << "the variable is of whoever started us, and standard error leads elsewhere";
  ::unsetenv("JOURNAL_STREAM");
  EXPECT_FALSE(logs_to_journal());
}

}  // namespace
}  // namespace tailor::tailord
