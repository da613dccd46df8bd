// Builds the example engine against an installed tree, in every way the agent offers, and runs it.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <sstream>

#include "tests/integration/agent/subprocess.h"
#include "tests/unit/registration/recording_sink.h"

namespace tailor::registration::testing {
namespace {

// Output of a shell command; a failure of the test if it fails.
std::string shell(const std::string& command) {
  std::string output;
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  std::array<char, 4096> bytes;
  while (std::size_t size = std::fread(bytes.data(), 1, bytes.size(), pipe))
    output.append(bytes.data(), size);
  EXPECT_EQ(::pclose(pipe), 0) << command << "\n" << output;
  return output;
}

class InstalledAgentTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/tailor-install-XXXXXX";
    root_ = ::mkdtemp(name);
    for (const char* component : {"agent", "agent_dev"}) {
      shell("cmake --install " TAILOR_TEST_BUILD_DIR " --component " + std::string(component) + " --prefix " +
            root_ + "/usr");
    }
    std::istringstream found(shell("find " + root_ + "/usr -name 'libtailor_agent.so'"));
    std::string library;
    std::getline(found, library);
    libdir_ = std::filesystem::path(library).parent_path();
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void runs_with_and_without_adaemon(const std::string& program) {
    shell("TAILOR_SOCKET=/nonexistent LD_LIBRARY_PATH=" + libdir_ + " " + program);
    shell("TAILOR_DISABLE=1 LD_LIBRARY_PATH=" + libdir_ + " " + program);
    TestServer server;
    Subprocess engine(
        {"env", "TAILOR_SOCKET=" + server.path(), "LD_LIBRARY_PATH=" + libdir_, program, "5000"});
    ASSERT_TRUE(server.until([&] { return engine.ended(); }));
    EXPECT_EQ(engine.exit_code(), 0);
    ASSERT_TRUE(server.until([&] { return !server.sink.gone.empty(); }));
    EXPECT_EQ(server.sink.gone[0].reason, GoneReason::kGoodbye);
    EXPECT_EQ(server.sink.count(v1::AgentMessage::kPlanLoad), 1u);
    EXPECT_EQ(server.sink.records(TAILOR_LOG_MORSEL_END), 1u);
    EXPECT_TRUE(server.sink.rejected.empty());
  }

  std::string root_;
  std::string libdir_;
};

TEST_F(InstalledAgentTest, ThroughCMake) {
  std::string build = root_ + "/build";
  shell("cmake -S " TAILOR_TEST_EXAMPLE_DIR " -B " + build + " -DCMAKE_PREFIX_PATH=" + root_ + "/usr");
  shell("cmake --build " + build);
  runs_with_and_without_adaemon(build + "/example_engine");
  runs_with_and_without_adaemon(build + "/example_engine_static");
}

TEST_F(InstalledAgentTest, ThroughPkgConfig) {
  std::string compile =
      "cc -std=c11 -Wall -Wextra -Werror -pedantic " TAILOR_TEST_EXAMPLE_DIR "/example_engine.c -o " + root_ +
      "/engine $(PKG_CONFIG_PATH=" + libdir_ + "/pkgconfig pkg-config --cflags --libs tailor-agent)";
  shell(compile);
  runs_with_and_without_adaemon(root_ + "/engine");
}

TEST_F(InstalledAgentTest, ShowsNothingButItsInterface) {
  // A function that goes away, or comes without being listed, changes the ABI: then its version must change
  // too.
  std::string symbols = "nm -D --defined-only " + libdir_ + "/libtailor_agent.so | sed s/@.*//";
  EXPECT_EQ(shell(symbols + " | awk '$2 == \"T\" {print $3}' | LC_ALL=C sort"),
            shell("cat " TAILOR_TEST_EXAMPLE_DIR "/abi_2.txt"));
  EXPECT_EQ(shell(symbols + " | awk '$2 != \"T\" && $3 !~ /^TAILOR_/'"), "");
  // It stands on the C library alone: no version of libstdc++ or protobuf is forced upon an engine.
  std::string needed = shell("readelf -d " + libdir_ + "/libtailor_agent.so | grep NEEDED");
  EXPECT_EQ(needed.find("stdc++"), std::string::npos) << needed;
  EXPECT_EQ(needed.find("protobuf"), std::string::npos) << needed;
}

TEST_F(InstalledAgentTest, HeadersAreCAndCxx) {
  std::string include = " -I" + root_ + "/usr/include ";
  std::string all = "for h in " + root_ + "/usr/include/tailor/*.h; do ";
  shell(all + "cc -std=c11 -Wall -Wextra -Werror -pedantic -x c -fsyntax-only" + include +
        "$h || exit 1; done");
  shell(all + "c++ -std=c++11 -Wall -Wextra -Werror -Wshadow -pedantic -x c++ -fsyntax-only" + include +
        "$h || exit 1; done");
}

}  // namespace
}  // namespace tailor::registration::testing
