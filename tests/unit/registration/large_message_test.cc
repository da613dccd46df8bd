// Messages that are read on another thread: what is said before and behind them stays in order, and they hold
// up nobody but their own process.
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <thread>

#include "daemon/registration/message_reader.h"
#include "tests/unit/registration/server_fixture.h"

namespace tailor::registration::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::size_t kLarge = 2 * kReadAtOnceBytes;

std::string large_plan(std::uint64_t id, std::size_t bytes = kLarge) {
  Body message = plan(id);
  message.mutable_plan_load()->mutable_levels(0)->set_component_count(1);
  v1::Attachment& text = *message.mutable_plan_load()->add_attachments();
  text.set_kind("sql");
  text.set_sha256(std::string(32, 'h'));
  text.set_content(std::string(bytes, 't'));
  return message.SerializeAsString();
}

void send_large(RawAgent& agent, const std::string& bytes) {
  Body envelope;
  envelope.set_payload_bytes(bytes.size());
  ASSERT_TRUE(agent.send(envelope, {memfd(bytes, kPayloadSeals).get()}));
}

class LargeMessageTest : public ServerFixture {
 protected:
  std::vector<std::uint64_t> plans() {
    std::vector<std::uint64_t> ids;
    for (const PeerMessage& each : sink().messages) ids.push_back(each.said().plan_load().id());
    return ids;
  }
};

TEST_F(LargeMessageTest, OrderIsKept) {
  RawAgent agent(server_.path());
  ASSERT_TRUE(open(agent));
  agent.send(plan(1));
  send_large(agent, large_plan(2));
  agent.send(plan(3));
  send_large(agent, large_plan(4));
  agent.send(plan(5));
  ASSERT_TRUE(server_.until([&] { return sink().messages.size() == 5; }));
  EXPECT_THAT(plans(), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_EQ(sink().messages[1].message.plan_load().attachments(0).content().size(), kLarge);
  EXPECT_EQ(counters().messages, 5u);
}

TEST_F(LargeMessageTest, ItIsPreparedOnTheOtherThread) {
  struct Name : Prepared {
    std::thread::id thread;
  };
  sink().keeps_large = true;
  sink().prepare = [](Body& message) {
    message.mutable_plan_load()->set_name("prepared");
    auto made = std::make_unique<Name>();
    made->thread = std::this_thread::get_id();
    return made;
  };
  RawAgent agent(server_.path());
  ASSERT_TRUE(open(agent));
  agent.send(plan(1));
  send_large(agent, large_plan(2));
  ASSERT_TRUE(server_.until([&] { return sink().messages.size() == 2; }));
  EXPECT_EQ(sink().messages[0].large, nullptr);
  const LargeMessage& large = *sink().messages[1].large;
  EXPECT_EQ(large.message().plan_load().name(), "prepared");
  const auto* prepared = dynamic_cast<const Name*>(large.prepared.get());
  ASSERT_NE(prepared, nullptr);
  EXPECT_NE(prepared->thread, std::this_thread::get_id());
  EXPECT_GT(large.dictionary_bytes, kLarge);
}

// What it said is not where it belongs, as long as somebody works at a large message.
TEST_F(LargeMessageTest, NothingBehindItIsReadOrSettledBeforeItIsGone) {
  sink().keeps_large = true;
  RawAgent agent(server_.path());
  ASSERT_TRUE(open(agent));
  FakeArena arena(1, 16);
  UniqueFd file = arena_file(arena);
  agent.arena(file, arena.bytes());
  ASSERT_TRUE(server_.until([&] { return !sink().settled.empty(); }));
  send_large(agent, large_plan(1));
  agent.send(plan(2));
  ASSERT_TRUE(server_.until([&] { return !sink().messages.empty(); }));
  server_.poll(3);  // a mark from before may be settled still
  const std::size_t settled = sink().settled.size();
  server_.poll(10);
  EXPECT_THAT(plans(), ElementsAre(1));
  EXPECT_EQ(sink().settled.size(), settled);
  sink().messages.clear();
  ASSERT_TRUE(server_.until([&] { return !sink().messages.empty(); }));
  EXPECT_THAT(plans(), ElementsAre(2));
  EXPECT_TRUE(server_.until([&] { return sink().settled.size() > settled; }));
}

TEST_F(LargeMessageTest, NothingIsSettledWhileItIsRead) {
  std::atomic<bool> go = false;
  sink().prepare = [&go](Body&) -> std::unique_ptr<Prepared> {
    while (!go) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return nullptr;
  };
  RawAgent agent(server_.path());
  ASSERT_TRUE(open(agent));
  FakeArena arena(1, 16);
  UniqueFd file = arena_file(arena);
  agent.arena(file, arena.bytes());
  ASSERT_TRUE(server_.until([&] { return !sink().settled.empty(); }));
  const std::uint64_t before = ordered_tsc();
  send_large(agent, large_plan(1));
  agent.send(plan(2));
  const std::uint64_t two = 2;
  for (const std::size_t counter :
       {offsetof(tailor_arena_header, messages_queued), offsetof(tailor_arena_header, messages_settled)})
    ASSERT_EQ(::pwrite(file.get(), &two, sizeof two, static_cast<off_t>(counter)), 8);
  const std::uint64_t sent = ordered_tsc();
  server_.poll(20);
  EXPECT_TRUE(sink().messages.empty());
  EXPECT_LT(sink().settled.back().tsc, sent);
  go = true;
  ASSERT_TRUE(server_.until([&] { return sink().settled.back().tsc > sent; }));
  ASSERT_THAT(plans(), ElementsAre(1, 2));
  EXPECT_GT(sink().messages[0].received_tsc, before);
}

TEST_F(LargeMessageTest, APeerThatGoesAwayIsHeardToTheEnd) {
  {
    RawAgent agent(server_.path());
    ASSERT_TRUE(open(agent));
    (void)agent.receive();  // who leaves an answer unread is not heard to the end
    send_large(agent, large_plan(1));
    agent.send(plan(2));
  }
  ASSERT_TRUE(server_.until([&] { return !sink().gone.empty(); }));
  EXPECT_THAT(plans(), ElementsAre(1, 2));
  EXPECT_EQ(sink().order.substr(sink().order.size() - 3), "mmG");
}

TEST_F(LargeMessageTest, WhatIsWrongWithItIsSaidAndTheConnectionGoesOn) {
  RawAgent agent(server_.path());
  ASSERT_TRUE(open(agent));
  send_large(agent, std::string(kLarge, '\xFF'));
  Body nothing = plan(0);
  nothing.mutable_plan_load()->set_name(std::string(kLarge, 'n'));
  send_large(agent, nothing.SerializeAsString());
  Body envelope;
  envelope.set_payload_bytes(kLarge);
  agent.send(envelope);  // no descriptor
  agent.send(plan(1));
  ASSERT_TRUE(server_.until([&] { return !sink().messages.empty(); }));
  ASSERT_EQ(sink().rejected.size(), 3u);
  EXPECT_THAT(sink().rejected[1].what, HasSubstr("plan without an id"));
  EXPECT_THAT(sink().rejected[2].what, HasSubstr("no descriptor"));
  EXPECT_EQ(counters().rejected, 3u);
}

TEST_F(LargeMessageTest, NobodyReadsOneOfAStranger) {
  RawAgent agent(server_.path());
  send_large(agent, large_plan(1));
  ASSERT_TRUE(server_.until([&] { return counters().protocol_errors == 1; }));
  EXPECT_TRUE(sink().messages.empty());
}

class MessageReaderTest : public ::testing::Test {
 protected:
  std::shared_ptr<MessageReader::Reading> begin(std::uint32_t uid, std::size_t bytes) {
    const std::string content = large_plan(1, bytes);
    UniqueFd file = memfd(content, kPayloadSeals);
    return reader_.begin(uid, file, content.size(), {});
  }
  static void wait(const MessageReader::Reading& reading) {
    while (!reading.is_done()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  std::shared_ptr<const Wakeup> wakeup_ = std::make_shared<const Wakeup>();
  MessageReader reader_{4 * kLarge, wakeup_};
};

TEST_F(MessageReaderTest, AUserHasSoManyBytesUntilTheyAreGone) {
  auto first = begin(1, 3 * kLarge);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(begin(1, 3 * kLarge), nullptr);
  auto other = begin(2, 3 * kLarge);
  ASSERT_NE(other, nullptr);
  wait(*first);
  auto message = first->take();
  ASSERT_TRUE(message.ok()) << message.error().message;
  first.reset();
  EXPECT_EQ(begin(1, 3 * kLarge), nullptr);  // somebody has it still
  message->reset();
  std::shared_ptr<MessageReader::Reading> next;
  while (!next) next = begin(1, 3 * kLarge);
  wait(*next);
}

TEST_F(MessageReaderTest, WhatWasGivenUpIsFree) {
  for (int i = 0; i < 100; ++i) {
    std::shared_ptr<MessageReader::Reading> reading;
    while (!reading) reading = begin(1, 3 * kLarge);
  }
}

}  // namespace
}  // namespace tailor::registration::testing
