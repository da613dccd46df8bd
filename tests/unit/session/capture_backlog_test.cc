#include "daemon/session/capture_backlog.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "daemon/capture/decode/mapping_record.h"
#include "daemon/unwind/mapping_ids.h"
#include "tests/support/fake_os.h"
#include "tests/support/record_encoder.h"
#include "tests/unit/unwind/later_work.h"

namespace tailor::session {
namespace {

constexpr TimeNs kPatience = 300'000'000;
const std::string kId = "0123456789abcdef0123456789abcdef01234567";

capture::RingChunk mapping_of(const std::string& path) {
  const auto pid = static_cast<std::uint32_t>(::getpid());
  test::RecordBytes record(PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER);
  record.u32(pid).u32(pid).u64(0x1000).u64(0x2000).u64(0);
  record.u32(8).u32(1).u64(77).u64(5);
  record.u32(PROT_READ | PROT_EXEC).u32(MAP_PRIVATE).text(path);
  return {1, record.done()};
}

// What waits for a file holds up all that was captured behind it, and what is taken then has the file's id.
class CaptureBacklogTest : public testing::Test {
 protected:
  CaptureBacklogTest() {
    queue.on_chunk(mapping_of("/bin/main"));
    queue.on_chunk({2, {}});  // samples in it
    queue.on_round(12345);
    os.time = 1'000'000'000;
  }
  bool take(CaptureMessage& message, unwind::Patience* patience) {
    if (const auto* round = std::get_if<RoundRead>(&message)) horizon = round->horizon;
    auto* const chunk = std::get_if<capture::RingChunk>(&message);
    if (chunk == nullptr) return true;
    if (!ids.take(*chunk, patience)) return false;
    rings.push_back(chunk->ring);
    if (const auto told = capture::read_executable_mapping(chunk->bytes)) id = told->build_id;
    return true;
  }
  void step(bool last = false) {
    backlog.take(last,
                 [this](CaptureMessage& each, unwind::Patience* patience) { return take(each, patience); });
  }

  test::FakeOs os;
  test::LaterWork later;
  CaptureQueue queue{[] {}};
  CaptureBacklog backlog{os, queue, {.of_a_message = kPatience, .of_a_user = kPatience, .here = 0}};
  unwind::MappingIds ids{os, later.run(), [](const unwind::MappedFile&) { return kId; }};
  std::vector<capture::RingIndex> rings;
  std::optional<TimeNs> horizon;
  std::string id;
};

TEST_F(CaptureBacklogTest, NothingPassesAMappingThatWaits) {
  step();
  EXPECT_TRUE(backlog.waits());
  EXPECT_TRUE(rings.empty());
  EXPECT_EQ(horizon, std::nullopt) << "else samples would be attributed before their code is known";
  later.do_all();
  step();
  EXPECT_FALSE(backlog.waits());
  EXPECT_EQ(rings, (std::vector<capture::RingIndex>{1, 2}));
  EXPECT_EQ(horizon, 12345);
  EXPECT_EQ(id, kId);
}

TEST_F(CaptureBacklogTest, WhatComesMeanwhileStaysBehindIt) {
  step();
  queue.on_chunk({3, {}});
  step();
  EXPECT_TRUE(rings.empty());
  later.do_all();
  step();
  step();
  EXPECT_EQ(rings, (std::vector<capture::RingIndex>{1, 2, 3}));
}

TEST_F(CaptureBacklogTest, ItGoesOnWithoutTheIdInTime) {
  step();
  os.time += kPatience;
  step();
  EXPECT_EQ(rings, (std::vector<capture::RingIndex>{1, 2}));
  EXPECT_EQ(horizon, 12345);
  EXPECT_EQ(id, "");
  EXPECT_EQ(ids.counts().unread, 1u);
}

TEST_F(CaptureBacklogTest, TheLastRoundWaitsForNothing) {
  step(true);
  EXPECT_FALSE(backlog.waits());
  EXPECT_EQ(rings, (std::vector<capture::RingIndex>{1, 2}));
}

}  // namespace
}  // namespace tailor::session
