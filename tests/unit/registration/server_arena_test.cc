// Areas and logs that agents hand over.
#include <sys/stat.h>

#include "daemon/registration/limits.h"
#include "tests/unit/registration/server_fixture.h"

namespace tailor::registration::testing {
namespace {

using ::testing::HasSubstr;

class ServerArenaTest : public ServerFixture {};

TEST_F(ServerArenaTest, ArenasAreMappedAndDrained) {
  RawAgent agent(server_.path());
  ASSERT_TRUE(open(agent));
  FakeArena arena(2, 16);
  arena.begin_thread(static_cast<std::uint32_t>(::gettid()));
  arena.append(TAILOR_LOG_PIPELINE_BEGIN, 4);
  UniqueFd file = arena_file(arena);
  agent.arena(file, arena.bytes());
  ASSERT_TRUE(server_.until([&] { return sink().activity.size() == 1 && !sink().settled.empty(); }));
  EXPECT_EQ(sink().activity[0].tid, ::gettid());
  EXPECT_EQ(sink().activity[0].records.size(), 1u);
  EXPECT_EQ(sink().arenas[0].arena->read_slot(0).tid, static_cast<std::uint32_t>(::gettid()));
}

TEST_F(ServerArenaTest, ArenasThatCouldHurtAreRefused) {
  RawAgent agent(server_.path());
  ASSERT_TRUE(open(agent));
  FakeArena arena(2, 16);
  FakeArena foreign(2, 16);
  foreign.header().magic = 0;
  agent.arena(arena_file(arena, F_SEAL_GROW), arena.bytes());  // could shrink under the mapping
  agent.arena(UniqueFd(), arena.bytes());
  agent.arena(arena_file(arena), arena.bytes() * 2);
  agent.arena(arena_file(arena), 0);
  agent.arena(arena_file(foreign), foreign.bytes());
  ASSERT_TRUE(server_.until([&] { return sink().rejected.size() == 5; }));
  EXPECT_TRUE(sink().arenas.empty());
  agent.arena(arena_file(arena), arena.bytes());
  agent.arena(arena_file(arena), arena.bytes());
  ASSERT_TRUE(server_.until([&] { return sink().rejected.size() == 6; }));
  EXPECT_EQ(sink().arenas.size(), 1u);
}

// Heads cost their writer nothing: one that claims full logs all the time gets its turn, and no more than
// that.
TEST_F(ServerArenaTest, LogsThatAreAlwaysFullHoldNobodyUp) {
  RawAgent agent(server_.path());
  ASSERT_TRUE(open(agent));
  constexpr std::uint32_t kAreas = 100, kRecords = 1u << 15;
  FakeArena arena(kAreas, kRecords);
  for (std::uint32_t area = 0; area < kAreas; ++area) {
    arena.begin_thread(area + 1, area);
    arena.head(area) = kRecords;
  }
  UniqueFd file = arena_file(arena);
  agent.arena(file, arena.bytes());
  std::size_t most = 0, before = 0;
  ASSERT_TRUE(server_.until([&] {
    std::size_t now = counters().log_malformed;  // the records are zeroes: none has a known kind
    most = std::max(most, now - before);
    before = now;
    return now >= std::size_t{kAreas} * (kRecords - 2);
  }));
  EXPECT_LT(most, 2'000'000u);
}

TEST_F(ServerArenaTest, LogRecordsFromTheFutureAreSetToTheArrival) {
  RawAgent agent(server_.path());
  ASSERT_TRUE(open(agent));
  FakeArena arena(1, 16);
  arena.begin_thread(static_cast<std::uint32_t>(::gettid()));
  arena.append(TAILOR_LOG_PIPELINE_BEGIN, 1);
  UniqueFd file = arena_file(arena);
  const std::uint64_t future = ~std::uint64_t{0} / 2;
  ASSERT_EQ(::pwrite(file.get(), &future, 8,
                     sizeof(tailor_arena_header) + TAILOR_AREA_LOG_OFFSET + TAILOR_LOG_RECORD_SIZE),
            8);
  agent.arena(file, arena.bytes());
  ASSERT_TRUE(server_.until([&] { return !sink().activity.empty(); }));
  EXPECT_LE(sink().activity[0].records.at(0).tsc, __rdtsc());
  EXPECT_EQ(counters().future_times, 1u);
}

TEST_F(ServerArenaTest, MoreLogsThanAProcessMayHaveAreRefused) {
  RawAgent agent(server_.path());
  ASSERT_TRUE(open(agent));
  (void)agent.receive();
  FakeArena arena(4096, 16);
  UniqueFd file = arena_file(arena);
  for (std::uint32_t index = 0; index < 5; ++index) agent.arena(file, arena.bytes(), index);
  expect_gone(GoneReason::kRefused, "areas for logs");
  EXPECT_THAT(agent.receive().refusal().reason(), HasSubstr("areas for logs"));
}

std::uint64_t blocks_of(const UniqueFd& file) {
  struct stat info{};
  return ::fstat(file.get(), &info) == 0 ? static_cast<std::uint64_t>(info.st_blocks) : 0;
}

// Reading a hole would fill it, and on the daemon's account.
TEST_F(ServerArenaTest, LogsThatWereNeverWrittenTakeNoMemory) {
  RawAgent agent(server_.path());
  ASSERT_TRUE(open(agent));
  constexpr std::uint32_t kAreas = 1000, kRecords = 1024;
  FakeArena layout(kAreas, kRecords);
  UniqueFd file(::memfd_create("arena", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::ftruncate(file.get(), static_cast<off_t>(layout.bytes())), 0);
  ::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
  ASSERT_EQ(::pwrite(file.get(), &layout.header(), sizeof(tailor_arena_header), 0),
            static_cast<ssize_t>(sizeof(tailor_arena_header)));
  const auto area = [&](std::uint64_t number) {
    return static_cast<off_t>(sizeof(tailor_arena_header) +
                              number * (TAILOR_AREA_LOG_OFFSET + kRecords * TAILOR_LOG_RECORD_SIZE));
  };
  // One thread that says something, in the middle; and one whose head lies.
  layout.begin_thread(static_cast<std::uint32_t>(::gettid()), 500);
  layout.append(TAILOR_LOG_PIPELINE_BEGIN, 4, 0, 500);
  ASSERT_GT(::pwrite(file.get(), &layout.slot(500), 1024, area(500)), 0);
  const std::uint64_t lie = 1'000'000;
  ASSERT_EQ(::pwrite(file.get(), &lie, 8, area(700) + static_cast<off_t>(sizeof(tailor_slot))), 8);
  const std::uint64_t before = blocks_of(file);
  agent.arena(file, layout.bytes());
  ASSERT_TRUE(server_.until([&] { return sink().activity.size() == 1 && sink().settled.size() > 3; }));
  EXPECT_EQ(sink().activity[0].records.size(), 1u);
  EXPECT_GT(counters().log_malformed, 0u);
  EXPECT_EQ(sink().lost(), 0u);
  EXPECT_EQ(blocks_of(file), before);
}

TEST_F(ServerArenaTest, AReconnectedAgentsLogGoesOnWhereItWas) {
  FakeArena arena(1, 16);
  arena.begin_thread(5);
  arena.append(TAILOR_LOG_PIPELINE_BEGIN, 1);
  UniqueFd file = arena_file(arena);
  for (int round = 0; round < 2; ++round) {
    RawAgent agent(server_.path());
    agent.hello();
    agent.arena(file, arena.bytes());
    ASSERT_TRUE(server_.until([&] { return sink().arenas.size() == static_cast<std::size_t>(round) + 1; }));
    server_.poll();
    agent.close();
    ASSERT_TRUE(server_.until([&] { return sink().gone.size() == static_cast<std::size_t>(round) + 1; }));
  }
  EXPECT_EQ(sink().records(TAILOR_LOG_PIPELINE_BEGIN), 1u);
}

}  // namespace
}  // namespace tailor::registration::testing
