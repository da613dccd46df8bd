#include "daemon/session/agent_drops.h"

#include <gtest/gtest.h>
#include <tailor/thread_area.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "tests/support/collecting_sink.h"
#include "tests/support/fake_os.h"
#include "tests/support/scripted_input.h"

namespace tailor::session {
namespace {

constexpr ProcessId kEngine{42, 7};
constexpr TimeNs kUptime = 1'000'000'000;

// The first arena of an agent, in plain memory.
class PlainArena {
 public:
  PlainArena() : memory_(std::make_shared<std::vector<std::uint64_t>>(kBytes / sizeof(std::uint64_t))) {
    header().magic = TAILOR_ARENA_MAGIC;
    header().version = TAILOR_ARENA_VERSION;
    header().area_count = 1;
    header().area_size = kAreaBytes;
    header().log_capacity = kRecords;
  }
  tailor_arena_header& header() { return *reinterpret_cast<tailor_arena_header*>(memory_->data()); }
  void says(std::uint64_t queued, std::uint64_t settled, std::uint64_t taken) {
    header().messages_queued = queued;
    header().messages_settled = settled;
    header().messages_taken = taken;
  }
  std::shared_ptr<const registration::ArenaView> view() const {
    std::shared_ptr<const std::byte> bytes(memory_, reinterpret_cast<const std::byte*>(memory_->data()));
    auto view = registration::ArenaView::open(std::move(bytes), kBytes);
    return view.ok() ? *view : nullptr;
  }

 private:
  static constexpr std::uint32_t kRecords = 16;
  static constexpr std::uint32_t kAreaBytes = TAILOR_AREA_LOG_OFFSET + kRecords * TAILOR_LOG_RECORD_SIZE;
  static constexpr std::size_t kBytes = sizeof(tailor_arena_header) + kAreaBytes;
  std::shared_ptr<std::vector<std::uint64_t>> memory_;
};

class AgentDropsTest : public testing::Test {
 protected:
  AgentDropsTest() {
    os_.time = kUptime;
    script_.open();
    connect(1);
  }
  void connect(std::uint64_t connection) {
    script_.hello(kEngine, connection, 1000);
    drops_.mapped({kEngine, 0, arena_.view()});
  }
  const profile::Accounting& account() { return pipeline_.processes().find(kEngine)->accounting; }

  test::FakeOs os_;
  test::CollectingSink sink_;
  pipeline::Pipeline pipeline_{sink_};
  test::ScriptedInput script_{pipeline_};
  PlainArena arena_;
  AgentDrops drops_{os_, pipeline_, pipeline_};
};

TEST_F(AgentDropsTest, WhatIsInTheQueueWhenTheConnectionEndsWasNotSent) {
  arena_.says(8000, 1575, 1575);
  arena_.header().messages_dropped = 3;
  drops_.tell();
  EXPECT_EQ(account().agent_dropped, 3u);
  EXPECT_EQ(account().agent_unsent, 0u) << "it may send it yet";
  drops_.gone(kEngine);
  EXPECT_EQ(account().agent_unsent, 6425u);
}

// `messages_settled` is 0 while a new connection is told what is live.
TEST_F(AgentDropsTest, WhatWasSentOnAnEarlierConnectionIsNotCounted) {
  arena_.says(8000, 0, 7990);
  drops_.gone(kEngine);
  EXPECT_EQ(account().agent_unsent, 10u);
}

TEST_F(AgentDropsTest, OlderAgentsSayItByWhatTheyHaveSettled) {
  arena_.says(8000, 7900, 0);
  drops_.tell();
  arena_.says(8000, 0, 0);
  drops_.gone(kEngine);
  EXPECT_EQ(account().agent_unsent, 100u);
}

TEST_F(AgentDropsTest, AnAgentThatHasSentAllHasNothingLeft) {
  arena_.says(50, 50, 50);
  drops_.gone(kEngine);
  EXPECT_EQ(account().agent_unsent, 0u);
  arena_.says(50, 60, 70);
  connect(2);
  drops_.gone(kEngine);
  EXPECT_EQ(account().agent_unsent, 0u) << "what contradicts itself";
}

TEST_F(AgentDropsTest, ImpossibleClaimsAreNotBelieved) {
  arena_.says(UINT64_MAX, 0, 0);
  arena_.header().messages_dropped = UINT64_MAX;
  drops_.gone(kEngine);
  EXPECT_EQ(account().agent_unsent, 0u);
  EXPECT_EQ(account().agent_dropped, 0u);
}

TEST_F(AgentDropsTest, TheEndOfARecordingCountsThoseThatAreNotHeardOut) {
  arena_.says(300, 100, 100);
  script_.settle(kEngine, 5000);
  EXPECT_TRUE(drops_.end(5000).empty()) << "what is said later is another recording's";
  EXPECT_EQ(account().agent_unsent, 0u);
  EXPECT_EQ(drops_.end(5001), std::vector<ProcessId>{kEngine});
  EXPECT_EQ(account().agent_unsent, 200u);
}

}  // namespace
}  // namespace tailor::session
