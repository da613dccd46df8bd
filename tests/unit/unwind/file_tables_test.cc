// Files that are slow to read, or too many, or too large.
#include "daemon/unwind/file_tables.h"

#include <gtest/gtest.h>
#include <time.h>

#include <string>

#include "tests/unit/unwind/later_work.h"

namespace tailor::unwind {
namespace {

constexpr std::uint32_t kHonest = 1, kHostile = 2;
constexpr const char* kOwnProgram = "/proc/self/exe";

FileTables::Paths at(const std::string& path) {
  return [path] { return std::vector<std::string>{path}; };
}

class SlowFiles : public testing::Test {
 protected:
  std::optional<FileTables::Found> get(std::uint32_t user, const std::string& file = "08:01:1") {
    tables.files().begin_walk(now);
    return tables.get(file, user, at(kOwnProgram));
  }
  bool lacks() { return tables.files().lacks(); }
  bool is_awaited() { return tables.files().missing() != nullptr; }

  test::LaterWork later;
  FileTables tables{later.run()};
  TimeNs now = 0;
};

TEST_F(SlowFiles, NobodyWaitsUntilAFileIsRead) {
  int asked = 0;
  const FileTables::Paths slow = [&asked] {
    ++asked;
    return std::vector<std::string>{kOwnProgram};
  };
  tables.files().begin_walk(0);
  EXPECT_FALSE(tables.get("08:01:1", kHonest, slow));
  EXPECT_EQ(asked, 0) << "where it lies is asked where it is read";
  EXPECT_TRUE(lacks());
  EXPECT_TRUE(is_awaited());
  EXPECT_FALSE(get(kHonest));
  EXPECT_EQ(later.waiting(), 1u) << "it is read once";
  later.do_all();
  const auto found = get(kHonest);
  ASSERT_TRUE(found);
  EXPECT_NE(found->table, nullptr);
  EXPECT_FALSE(lacks());
  EXPECT_EQ(asked, 1);
}

// The twin: whoever reads files himself waits for them.
TEST(FileTables, WithoutAnybodyElseItIsReadAtOnce) {
  FileTables tables;
  int asked = 0;
  const auto found = tables.get("08:01:1", kHonest, [&asked] {
    ++asked;
    return std::vector<std::string>{kOwnProgram};
  });
  EXPECT_EQ(asked, 1);
  ASSERT_TRUE(found);
  EXPECT_NE(found->table, nullptr);
  EXPECT_FALSE(tables.files().lacks());
}

TEST_F(SlowFiles, OneThatNeverComesIsItsUsersAlone) {
  EXPECT_FALSE(get(kHostile));
  EXPECT_FALSE(get(kHonest)) << "even if it says that it is the same file";
  later.do_one(kHonest);
  EXPECT_TRUE(get(kHonest));
  EXPECT_FALSE(get(kHostile));
}

TEST_F(SlowFiles, WhoAsksForTooManyIsNotWaitedFor) {
  const std::size_t most = WorkLimits().waiting;
  for (std::size_t i = 0; i < most; ++i) {
    EXPECT_FALSE(get(kHostile, std::to_string(i)));
    EXPECT_TRUE(is_awaited());
  }
  EXPECT_FALSE(get(kHostile, "one more"));
  EXPECT_TRUE(lacks());
  EXPECT_FALSE(is_awaited());
  EXPECT_EQ(later.waiting(kHostile), most);
  EXPECT_FALSE(get(kHonest, "one more"));
  EXPECT_TRUE(is_awaited());
  later.do_one(kHostile);
  EXPECT_FALSE(get(kHostile, "one more"));
  EXPECT_TRUE(is_awaited()) << "later it is read after all";
}

TEST_F(SlowFiles, OneThatIsNotFoundIsAskedForAgain) {
  const auto gone = [this] { return tables.get("08:01:1", kHonest, at("/nonexistent")); };
  EXPECT_FALSE(gone());
  later.do_all();
  const auto found = gone();
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->opened);
  EXPECT_FALSE(get(kHonest));
  later.do_all();
  EXPECT_TRUE(get(kHonest)->opened) << "another process shows it";
}

TEST_F(SlowFiles, OneWithoutATableIsNotReadAgain) {
  const auto maps = [this] { return tables.get("08:01:1", kHonest, at("/proc/self/status")); };
  EXPECT_FALSE(maps());
  later.do_all();
  for (int i = 0; i < 2; ++i) {
    const auto found = maps();
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->opened);
    EXPECT_EQ(found->table, nullptr);
  }
  EXPECT_EQ(later.waiting(), 0u);
}

// The first file fills what its user may have.
TEST(FileTables, KeepSoMuchOfAUserAndForgetWhatNobodyMaps) {
  test::LaterWork later;
  FileTables tables(later.run(), {.bytes = 1});
  TimeNs now = 0;
  const auto get = [&](const std::string& file, std::uint32_t user = kHostile) {
    tables.files().begin_walk(now);
    return tables.get(file, user, at(kOwnProgram));
  };
  EXPECT_FALSE(get("first"));
  EXPECT_FALSE(get("second")) << "nothing is there yet";
  later.do_all();
  auto mapped = get("first");
  ASSERT_TRUE(mapped);
  EXPECT_FALSE(get("second")) << "there was no room any more when its turn came";
  EXPECT_EQ(tables.files().missing(), nullptr);
  EXPECT_FALSE(get("third"));
  EXPECT_EQ(later.waiting(), 0u);
  EXPECT_FALSE(get("third", kHonest));
  EXPECT_EQ(later.waiting(kHonest), 1u) << "others have room of their own";
  mapped.reset();
  now += 1'000'000'000;
  EXPECT_FALSE(get("third"));
  EXPECT_EQ(later.waiting(kHostile), 1u) << "nobody maps the first one any more";
  later.do_all();
  EXPECT_TRUE(get("third"));
}

TEST(FileTables, MoreFilesThanAUserMayHaveAreForgotten) {
  FileTables tables;
  std::vector<FileTables::Found> mapped;
  TimeNs now = 0;
  const auto get = [&](std::size_t number) {
    tables.files().begin_walk(now);
    return tables.get(std::to_string(number), kHostile, at("/proc/self/status"));
  };
  for (std::size_t i = 0; i < FileTables::kMostOfAUser + 10; ++i) EXPECT_TRUE(get(i)) << i;
  EXPECT_FALSE(tables.files().lacks());
}

TEST(FileWork, WhoUsesTooMuchTimeHasToWait) {
  test::LaterWork later;
  FileWork work(later.run(), {.time = 1'000'000});
  struct Nothing {
    std::size_t bytes() const { return 0; }
  };
  const auto burn = [] {
    const auto spent = [] {
      timespec time{};
      ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
      return time.tv_sec * 1'000'000'000 + time.tv_nsec;
    };
    for (const auto end = spent() + 1'000'000; spent() < end;) {
    }
    return Nothing();
  };
  work.begin_walk(0);
  ASSERT_NE(work.begin<Nothing>(kHostile, burn), nullptr);
  ASSERT_NE(work.begin<Nothing>(kHostile, burn), nullptr) << "nothing was used yet";
  later.do_all();
  EXPECT_EQ(work.begin<Nothing>(kHostile, burn), nullptr);
  EXPECT_NE(work.begin<Nothing>(kHonest, burn), nullptr);
  work.begin_walk(kWorkWindow);
  EXPECT_NE(work.begin<Nothing>(kHostile, burn), nullptr);
}

TEST(FileWork, AWalkLacksTheFirstThing) {
  FileWork work;
  const auto first = std::make_shared<const Progress>(kHonest),
             second = std::make_shared<const Progress>(kHonest);
  work.begin_walk(0);
  work.lack(first);
  work.lack(second);
  EXPECT_EQ(work.missing(), first);
  work.begin_walk(0);
  EXPECT_FALSE(work.lacks());
  EXPECT_EQ(work.missing(), nullptr);
}

}  // namespace
}  // namespace tailor::unwind
