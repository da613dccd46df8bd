#include "viewer/cli/blocked_agents.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

namespace tailor::cli {
namespace {

namespace fs = std::filesystem;

// A /proc of our making, and a socket of which only the mode and the owner matter.
class BlockedAgentsTest : public testing::Test {
 protected:
  BlockedAgentsTest() : root_(fs::path(testing::TempDir()) / ("blocked_" + std::to_string(::getpid()))) {
    fs::create_directories(root_ / "proc");
    std::ofstream(socket()) << "";
    ::chmod(socket().c_str(), 0660);
  }
  ~BlockedAgentsTest() override { fs::remove_all(root_); }

  void process(int pid, const std::string& thread, unsigned uid, const std::string& groups) {
    const fs::path directory = root_ / "proc" / std::to_string(pid);
    fs::create_directories(directory / "task" / std::to_string(pid + 1));
    std::ofstream(directory / "comm") << "engine\n";
    std::ofstream(directory / "task" / std::to_string(pid + 1) / "comm") << thread << "\n";
    std::ofstream(directory / "status") << "Name:\tengine\nUid:\t" << uid << "\t" << uid << "\t0\t0\n"
                                        << "Gid:\t77777\t77777\t0\t0\nGroups:\t" << groups << "\n";
  }
  std::string socket() const { return (root_ / "agent.sock").string(); }
  std::vector<BlockedAgent> found(const std::set<std::int32_t>& registered = {}) const {
    return find_blocked_agents(root_ / "proc", socket(), registered);
  }

  fs::path root_;
};

TEST_F(BlockedAgentsTest, AnAgentWhoseUserMayNotWriteIsNamedWithTheRemedy) {
  process(100, "tailor-agent", 77778, "");
  const auto blocked = found();
  ASSERT_EQ(blocked.size(), 1u);
  EXPECT_EQ(blocked[0].pid, 100);
  EXPECT_EQ(blocked[0].comm, "engine");
  EXPECT_NE(blocked[0].why.find("77778"), std::string::npos) << blocked[0].why;
  EXPECT_NE(blocked[0].why.find("0660"), std::string::npos) << blocked[0].why;
  EXPECT_NE(blocked[0].why.find("--socket-group"), std::string::npos) << blocked[0].why;
}

TEST_F(BlockedAgentsTest, OthersAreNot) {
  process(100, "worker", 77778, "");
  process(101, "tailor-agent", ::getuid(), "");
  process(102, "tailor-agent", 77778, "5 " + std::to_string(::getgid()));
  process(103, "tailor-agent", 0, "");
  process(104, "tailor-agent", 77778, "");
  fs::create_directories(root_ / "proc/self");
  fs::create_directories(root_ / "proc/105");  // gone in the meantime
  EXPECT_TRUE(found({104}).empty());
  ::chmod(socket().c_str(), 0666);
  EXPECT_TRUE(found().empty());
}

TEST_F(BlockedAgentsTest, WithoutASocketThereIsNothingToSay) {
  process(100, "tailor-agent", 77778, "");
  fs::remove(socket());
  EXPECT_TRUE(found().empty());
}

}  // namespace
}  // namespace tailor::cli
