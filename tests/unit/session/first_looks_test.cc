// What a process had mapped is read elsewhere: attribution waits for it, but not for ever.
#include "daemon/session/first_looks.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/fake_os.h"

namespace tailor::session {
namespace {

constexpr ProcessId kLooked{42, 7};
constexpr TimeNs kLookedAt = 1'000'000'000'000;

class FirstLooksTest : public testing::Test {
 protected:
  FirstLooksTest() {
    os_.time = kLookedAt;
    is_there(7);
    os_.proc_files().write("42/comm", "engine\n");
    os_.proc_files().write("42/maps", "00011000-00013000 r-xp 00001000 08:01 5  /nonexistent/engine\n");
  }
  void is_there(int start) {
    std::string fields;
    for (int field = 4; field < 22; ++field) fields += " 0";
    os_.proc_files().write("42/stat", "42 (engine) S" + fields + " " + std::to_string(start) + " 0 0\n");
  }
  void take() {
    looks_.take([this](const pipeline::KnownProcess& each) { told_.push_back(each); },
                [this](ProcessId each) { given_up_.push_back(each); });
  }
  void read_files() {
    for (auto& each : std::exchange(asked_, {})) each();
  }

  test::FakeOs os_;
  std::vector<unwind::FileWork::Work> asked_;
  FirstLooks looks_{
      os_, [this](std::uint32_t, unwind::FileWork::Work work) { asked_.push_back(std::move(work)); }};
  std::vector<pipeline::KnownProcess> told_;
  std::vector<ProcessId> given_up_;
};

TEST_F(FirstLooksTest, TheCallerReadsNothing) {
  looks_.begin(kLooked, os_.time, false);
  take();
  EXPECT_TRUE(told_.empty());
  EXPECT_TRUE(looks_.is_awaited(os_.time));
  read_files();
  take();
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_EQ(told_[0].comm, "engine");
  ASSERT_EQ(told_[0].mappings.size(), 1u);
  EXPECT_EQ(told_[0].mappings[0].path, "/nonexistent/engine");
  EXPECT_TRUE(told_[0].memory.empty());
  EXPECT_FALSE(looks_.is_awaited(os_.time));
}

TEST_F(FirstLooksTest, AllMemoryWhereItIsAskedFor) {
  looks_.begin(kLooked, os_.time, true);
  take();
  read_files();
  take();
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_EQ(told_[0].memory.size(), 1u);
}

TEST_F(FirstLooksTest, AttributionWaitsUntilThenButNotForEver) {
  EXPECT_EQ(looks_.known_until(kLookedAt), kLookedAt);
  looks_.begin(kLooked, os_.time, false);
  take();
  os_.time = kLookedAt + 100'000'000;
  EXPECT_EQ(looks_.known_until(os_.time), kLookedAt);
  os_.time = kLookedAt + 1'000'000'000;
  EXPECT_EQ(looks_.known_until(os_.time), os_.time - FirstLooks::kMostHeldBack);
  EXPECT_FALSE(looks_.is_awaited(os_.time));
  read_files();
  take();
  ASSERT_EQ(told_.size(), 1u);  // late, and still of use
  EXPECT_EQ(told_[0].since, kLookedAt);
  EXPECT_EQ(looks_.known_until(os_.time), os_.time);
}

TEST_F(FirstLooksTest, FilesThatNeverAnswerAreGivenUp) {
  looks_.begin(kLooked, os_.time, false);
  take();
  os_.time = kLookedAt + FirstLooks::kGivenUpAfter + 1;
  take();
  EXPECT_EQ(given_up_, std::vector{kLooked});
  take();
  EXPECT_EQ(given_up_.size(), 1u);
  EXPECT_EQ(looks_.known_until(os_.time), os_.time);
}

TEST_F(FirstLooksTest, AnotherProcessOfThatNumberIsNotTaken) {
  looks_.begin(kLooked, os_.time, false);
  take();
  is_there(8);
  read_files();
  take();
  EXPECT_TRUE(told_.empty());
  EXPECT_EQ(looks_.known_until(os_.time + 1), os_.time + 1);
}

TEST_F(FirstLooksTest, OneThatIsGoneIsNotTold) {
  looks_.begin({43, 1}, os_.time, false);
  take();
  read_files();
  take();
  EXPECT_TRUE(told_.empty());
}

// A process may have mapped as much as it likes. It is told in parts, which end where the process does.
TEST_F(FirstLooksTest, MuchIsToldInParts) {
  constexpr std::size_t kMappings = 1200;
  std::string maps;
  for (std::size_t i = 1; i <= kMappings; ++i)
    maps += fmt::format("{0:x}000-{0:x}800 r-xp 00000000 08:01 5  /nonexistent/engine\n", i);
  os_.proc_files().write("42/maps", maps);
  looks_.begin(kLooked, os_.time, false);
  take();
  read_files();
  std::size_t all = 0;
  for (int rounds = 0; rounds < 3; ++rounds) {
    EXPECT_EQ(looks_.known_until(os_.time + 1), os_.time) << "what is missing is awaited";
    told_.clear();
    take();
    ASSERT_EQ(told_.size(), 1u);
    EXPECT_LE(told_[0].mappings.size(), FirstLooks::kMostOfUser);
    all += told_[0].mappings.size();
    EXPECT_EQ(told_[0].more, rounds < 2);
  }
  EXPECT_EQ(all, kMappings);
  EXPECT_EQ(looks_.known_until(os_.time + 1), os_.time + 1);
}

TEST_F(FirstLooksTest, LostRecordsAreMadeUpForOnceASecond) {
  EXPECT_TRUE(looks_.again(kLooked, os_.time - 5, false));
  EXPECT_FALSE(looks_.again(kLooked, os_.time, false)) << "it waits already";
  take();
  read_files();
  take();
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_EQ(told_[0].since, kLookedAt - 5);
  os_.time += 1000;
  EXPECT_TRUE(looks_.again(kLooked, os_.time, false));
  take();
  read_files();
  take();
  EXPECT_EQ(told_.size(), 1u) << "too soon";
  EXPECT_FALSE(looks_.is_awaited(os_.time)) << "nobody waits for what may not begin yet";
  os_.time += FirstLooks::kApart;
  take();
  read_files();
  take();
  EXPECT_EQ(told_.size(), 2u);
}

// Beyond what a user may ask for at once, looks wait for their turn: none is left out.
TEST_F(FirstLooksTest, ManyAtOnceAllHaveTheirTurn) {
  constexpr std::size_t kMany = 1000;
  for (std::size_t i = 0; i < kMany; ++i) looks_.begin(kLooked, os_.time, false);
  for (int rounds = 0; rounds < 100; ++rounds) {
    take();
    EXPECT_LE(asked_.size(), 64u);
    read_files();
    os_.time += 1'000'000'000;
  }
  take();
  EXPECT_EQ(told_.size() + given_up_.size(), kMany);
  EXPECT_TRUE(given_up_.empty());
}

}  // namespace
}  // namespace tailor::session
