// What the processes of one user take of the daemon, and what is left for others.
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <memory>

#include "daemon/registration/dictionary_use.h"
#include "daemon/registration/user_counts.h"
#include "tests/unit/registration/server_fixture.h"

namespace tailor::registration::testing {
namespace {

using ::testing::HasSubstr;

TEST(UserCounts, OneUserLeavesTheOthersTheirShares) {
  UserCounts counts(10);
  EXPECT_TRUE(counts.take(1, 10));
  EXPECT_FALSE(counts.take(1, 1));
  EXPECT_TRUE(counts.take(0, 10));
  counts.give_back(1, 4);
  EXPECT_FALSE(counts.take(1, 5));
  EXPECT_TRUE(counts.take(1, 4));
  EXPECT_FALSE(counts.take(2, SIZE_MAX));
  EXPECT_EQ(counts.taken(2), 0u);
}

TEST(UserCounts, WhatIsHeldComesBackByItself) {
  auto counts = std::make_shared<UserCounts>(3);
  auto held = counts->hold(1, 2);
  EXPECT_TRUE(held);
  EXPECT_FALSE(counts->hold(1, 2));
  held.reset();
  EXPECT_EQ(counts->taken(1), 0u);
  held = counts->hold(1, 3);
  counts.reset();
  held.reset();  // outlives its counts
}

Body component(std::uint32_t id, const std::string& name) {
  Body message;
  message.mutable_component_declare()->set_id(id);
  message.mutable_component_declare()->set_name(name);
  return message;
}

Body unload(PlanId id) {
  Body message;
  message.mutable_plan_unload()->set_plan_id(id);
  return message;
}

Body named_plan(PlanId id, std::size_t name_bytes) {
  Body message = plan(id);
  message.mutable_plan_load()->set_name(std::string(name_bytes, 'x'));
  return message;
}

TEST(DictionaryUse, NamesHaveANumberAndBytes) {
  UserCounts dictionaries(100);
  DictionaryUse use({.names = 3, .name_bytes = 1'000}, dictionaries, 1);
  EXPECT_FALSE(use.take(component(1, std::string(900, 'n'))));
  const auto beyond = use.take(component(2, std::string(101, 'n')));
  ASSERT_TRUE(beyond);
  EXPECT_STREQ(beyond->limit, "process-names");
  EXPECT_THAT(beyond->why, HasSubstr("this one has declared 1 with 900"));
  EXPECT_FALSE(use.take(component(3, "n")));
  EXPECT_FALSE(use.take(component(4, "n")));
  EXPECT_TRUE(use.take(component(5, "")));
}

TEST(DictionaryUse, PlansCountWhileTheyAreLoaded) {
  UserCounts dictionaries(100);
  DictionaryUse use({.plan_bytes = 10'000}, dictionaries, 1);
  EXPECT_FALSE(use.take(named_plan(1, 9'000)));
  EXPECT_FALSE(use.take(named_plan(1, 9'000))) << "it takes its own place";
  const auto beyond = use.take(named_plan(2, 9'000));
  ASSERT_TRUE(beyond);
  EXPECT_STREQ(beyond->limit, "process-plans");
  EXPECT_FALSE(use.take(unload(1)));
  EXPECT_FALSE(use.take(unload(1)));
  EXPECT_FALSE(use.take(named_plan(2, 9'000)));
}

TEST(DictionaryUse, MachineCodeDoesNotCount) {
  UserCounts dictionaries(100);
  DictionaryUse use({.code_bytes = 1'000}, dictionaries, 1);
  Body code;
  code.mutable_code_load()->set_id(1);
  code.mutable_code_load()->set_code(std::string(100'000, 'c'));
  EXPECT_FALSE(use.take(code));
  code.mutable_code_load()->set_id(2);
  code.mutable_code_load()->set_name(std::string(1'000, 'n'));
  const auto beyond = use.take(code);
  ASSERT_TRUE(beyond);
  EXPECT_STREQ(beyond->limit, "process-code");
}

TEST(DictionaryUse, AUserHasSoManyDictionaries) {
  UserCounts dictionaries(2);
  DictionaryUse other({}, dictionaries, 2);
  {
    DictionaryUse one({}, dictionaries, 1), two({}, dictionaries, 1);
    EXPECT_FALSE(one.take(plan(1)));
    EXPECT_FALSE(two.take(plan(1)));
    const auto beyond = two.take(plan(2));
    ASSERT_TRUE(beyond);
    EXPECT_STREQ(beyond->limit, "user-dictionaries");
    EXPECT_FALSE(other.take(plan(1)));
  }
  EXPECT_EQ(dictionaries.taken(1), 0u);
  EXPECT_EQ(dictionaries.taken(2), 1u);
}

class UserSharesTest : public ServerFixture {
 protected:
  void start_with(const std::function<void(ServerOptions&)>& change) {
    server_.stop();
    change(server_.options);
    server_.start();
  }
  // By then all that was said before is processed.
  bool processed(RawAgent& agent) {
    Body barrier;
    barrier.mutable_barrier()->set_sequence(++barriers_);
    agent.send(barrier);
    return server_.until([&] { return sink().count(Body::kBarrier) == barriers_; });
  }

 private:
  std::size_t barriers_ = 0;
};

// Tiny arenas cost whoever sends them nothing.
TEST_F(UserSharesTest, ArenasBeyondTheShareAreNotMapped) {
  constexpr std::size_t kShare = 20, kMapped = kShare - kDescriptorsOfConnection;
  start_with([](ServerOptions& options) { options.user_descriptors = kShare; });
  RawAgent agent(server_.path());
  ASSERT_TRUE(open(agent));
  (void)agent.receive();
  FakeArena arena(1, 16);
  const UniqueFd file = arena_file(arena);
  for (std::uint32_t index = 0; index < kMaxArenas; ++index) agent.arena(file, arena.bytes(), index);
  ASSERT_TRUE(processed(agent));
  EXPECT_EQ(sink().arenas.size(), kMapped);
  EXPECT_EQ(counters().pauses.at("user-open-descriptors"), kMaxArenas - kMapped);
  EXPECT_EQ(agent.receive().limit_reached().limit(), "user-open-descriptors");
  EXPECT_TRUE(sink().gone.empty()) << "the connection goes on";
  // Another process of the user is told why it is turned away.
  RawAgent second(server_.path());
  ASSERT_TRUE(server_.until([&] { return !sink().refused.empty(); }));
  EXPECT_EQ(counters().refusals.at("user-open-descriptors"), 1u);
  EXPECT_THAT(second.receive().refusal().reason(),
              HasSubstr("descriptors of the daemon, which is the limit"));
  // What is let go can be taken again.
  agent.close();
  ASSERT_TRUE(server_.until([&] { return !sink().gone.empty(); }));
  sink().arenas.clear();
  RawAgent third(server_.path());
  third.hello(std::string(16, 't'));
  ASSERT_TRUE(server_.until([&] { return sink().connected.size() == 2; }));
}

// A user at the limit, and an engine of another one.
TEST_F(UserSharesTest, TheEnginesOfOtherUsersAreServed) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  constexpr std::size_t kShare = 10;
  constexpr uid_t kStranger = 65534;
  start_with([](ServerOptions& options) {
    options.user_descriptors = kShare;
    options.socket_mode = 0666;
  });
  std::filesystem::permissions(std::filesystem::path(server_.path()).parent_path(),
                               std::filesystem::perms(0755));
  const pid_t stranger = ::fork();
  if (stranger == 0) {
    if (::setuid(kStranger) != 0) ::_exit(1);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // where a check below fails; another user's is forgotten
    RawAgent agent(server_.path());
    agent.hello();
    FakeArena arena(1, 16);
    const UniqueFd file = arena_file(arena);
    for (std::uint32_t index = 0; index < kMaxArenas; ++index) agent.arena(file, arena.bytes(), index);
    ::pause();
  }
  ASSERT_TRUE(server_.until([&] { return counters().pauses.contains("user-open-descriptors"); }));
  RawAgent agent(server_.path());
  agent.hello(std::string(16, 'r'));
  ASSERT_TRUE(server_.until([&] { return sink().connected.size() == 2; }));
  FakeArena arena(1, 16);
  const std::size_t before = sink().arenas.size();
  agent.arena(arena_file(arena), arena.bytes());
  EXPECT_TRUE(server_.until([&] { return sink().arenas.size() == before + 1; }));
  EXPECT_EQ(sink().arenas.back().process.pid, ::getpid());
  ::kill(stranger, SIGKILL);
  ::waitpid(stranger, nullptr, 0);
}

TEST_F(UserSharesTest, NamesBeyondTheLimitAreNotKeptAndCounted) {
  constexpr std::size_t kNames = 50;
  start_with([](ServerOptions& options) { options.process_dictionaries.names = kNames; });
  RawAgent agent(server_.path());
  ASSERT_TRUE(open(agent));
  for (std::uint32_t id = 1; id <= 1'000; ++id) {
    agent.send(component(id, "name"));
    if (id % 100 == 0) server_.poll();
  }
  ASSERT_TRUE(processed(agent));
  EXPECT_EQ(sink().count(Body::kComponentDeclare), kNames);
  EXPECT_EQ(sink().rejected.size(), 1'000 - kNames) << "each is counted for the process";
  EXPECT_EQ(counters().pauses.at("process-names"), 1'000 - kNames);
  EXPECT_TRUE(sink().gone.empty()) << "the connection goes on";
}

}  // namespace
}  // namespace tailor::registration::testing
