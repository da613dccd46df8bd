// The recorded conversation of every tagged version, said again to this version's server: all of it is
// understood.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>

#include "tests/unit/registration/raw_agent.h"
#include "tests/unit/registration/recording_sink.h"

namespace tailor::registration::testing {
namespace {

using Body = v1::AgentMessage;

// One packet of a conversation (tests/fixtures/record_version.py has the format).
struct RecordedPacket {
  char sender = 0;
  std::string bytes;
  std::string memory;  // of the attached memory file, empty if there was none
};

class Conversation {
 public:
  explicit Conversation(const std::filesystem::path& path) : file_(path, std::ios::binary) {
    std::string line;
    std::getline(file_, line);
    if (line != "tailor conversation 1") file_.setstate(std::ios::failbit);
  }
  std::optional<RecordedPacket> next() {
    RecordedPacket packet;
    if (!file_.get(packet.sender)) return std::nullopt;
    std::uint32_t bytes = number(), memory = number(), chunks = number();
    packet.bytes = take(bytes);
    packet.memory.resize(memory);
    for (std::uint32_t i = 0; i < chunks; ++i) {
      std::uint32_t offset = number();
      std::string chunk = take(number());
      packet.memory.replace(offset, chunk.size(), chunk);
    }
    return packet;
  }

 private:
  std::uint32_t number() {
    std::uint32_t number = 0;
    file_.read(reinterpret_cast<char*>(&number), sizeof(number));
    return number;
  }
  std::string take(std::size_t count) {
    std::string bytes(count, '\0');
    file_.read(bytes.data(), static_cast<std::streamsize>(count));
    return bytes;
  }
  std::ifstream file_;
};

class OlderAgents : public ::testing::TestWithParam<std::filesystem::path> {
 protected:
  // Says what the agent said, from this process. Returns how many messages that were, without Hello and
  // arenas.
  std::size_t replay(RawAgent& agent) {
    constexpr int kArenaSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    Conversation conversation(GetParam());
    std::size_t messages = 0;
    while (auto packet = conversation.next()) {
      if (packet->sender != 'A') continue;
      Body message;
      EXPECT_TRUE(message.ParseFromString(packet->bytes));
      bool payload = message.payload_bytes() > 0;
      std::vector<UniqueFd> attached;
      if (!packet->memory.empty()) {
        attached.push_back(memfd(packet->memory, payload ? kArenaSeals | F_SEAL_WRITE : kArenaSeals));
      }
      EXPECT_TRUE(agent.send_bytes(
          packet->bytes, attached.empty() ? std::vector<int>{} : std::vector<int>{attached[0].get()}));
      messages += !message.has_hello() && !message.has_arena_add();
      server_->poll(0);
    }
    return messages;
  }

  TestServer server_;
};

TEST_P(OlderAgents, AreUnderstood) {
  RawAgent agent(server_.path());
  ASSERT_TRUE(agent.connected());
  std::size_t said = replay(agent);
  const RecordingSink& sink = server_.sink;
  ASSERT_TRUE(server_.until([&] { return !sink.gone.empty(); }));
  EXPECT_EQ(sink.gone[0].reason, GoneReason::kGoodbye) << sink.gone[0].detail;
  for (const PeerRejected& rejected : sink.rejected) ADD_FAILURE() << rejected.what;
  EXPECT_EQ(server_->counters().protocol_errors, 0u);
  EXPECT_EQ(server_->counters().log_malformed, 0u);
  EXPECT_EQ(sink.messages.size(), said);
  EXPECT_EQ(sink.connected[0].hello.engine_name(), "conversation");
  EXPECT_EQ(sink.count(Body::kPlanLoad), 1u);
  EXPECT_EQ(sink.count(Body::kCodeLoad), 2u);
  EXPECT_EQ(sink.count(Body::kExecutionBegin), 2u);
  EXPECT_EQ(sink.records(TAILOR_LOG_MORSEL_BEGIN), 6u);
  EXPECT_EQ(sink.records(TAILOR_LOG_ITERATION), 6u);
  EXPECT_EQ(sink.records(TAILOR_LOG_REGION_ADD), 1u);
  EXPECT_EQ(sink.lost(), 0u);
  for (const PeerMessage& m : sink.messages) {
    if (m.message.has_execution_begin() && m.message.execution_begin().labels_size() > 0) {
      EXPECT_EQ(m.message.execution_begin().labels(0).value(), "caf\xC3\xA9");
      EXPECT_FALSE(m.message.execution_begin().tags_off());
    }
  }
}

std::vector<std::filesystem::path> conversations() {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(TAILOR_TEST_FIXTURES)) {
    if (entry.path().extension() == ".conversation") found.push_back(entry.path());
  }
  return found;
}

std::string name_of(const ::testing::TestParamInfo<std::filesystem::path>& info) {
  std::string version = info.param.parent_path().filename();
  std::replace(version.begin(), version.end(), '.', '_');
  return "version_" + version;
}

INSTANTIATE_TEST_SUITE_P(Versions, OlderAgents, ::testing::ValuesIn(conversations()), name_of);

}  // namespace
}  // namespace tailor::registration::testing
