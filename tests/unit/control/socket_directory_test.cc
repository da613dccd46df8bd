#include "proto/control/socket_directory.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

namespace tailor::control {
namespace {

class SocketDirectory : public testing::Test {
 protected:
  SocketDirectory() {
    std::string name = testing::TempDir() + "tailor-directory-XXXXXX";
    base = ::mkdtemp(name.data());
  }
  ~SocketDirectory() override { std::filesystem::remove_all(base); }
  mode_t mode_of(const std::string& path) {
    struct stat info{};
    EXPECT_EQ(::stat(path.c_str(), &info), 0);
    return info.st_mode & 07777;
  }
  std::string base;
};

TEST_F(SocketDirectory, IsMadeWithItsOwnModeWhateverTheUmask) {
  for (const mode_t mask : {0000, 0022, 0077}) {
    const mode_t before = ::umask(mask);
    const std::string inner = base + "/a" + std::to_string(mask);
    const Status made = make_socket_directory(inner + "/b/agent.sock");
    ::umask(before);
    ASSERT_TRUE(made.ok()) << made.error().message;
    const mode_t expected = ::geteuid() == 0 ? 0755 : 0700;
    EXPECT_EQ(mode_of(inner), expected);
    EXPECT_EQ(mode_of(inner + "/b"), expected);
  }
}

TEST_F(SocketDirectory, OnlyAPrivateOneIsPrivate) {
  EXPECT_TRUE(check_private_directory(base).ok());
  for (const mode_t mode : {0755, 0770, 01777, 0711}) {
    ASSERT_EQ(::chmod(base.c_str(), mode), 0);
    EXPECT_FALSE(check_private_directory(base).ok()) << mode;
  }
  ASSERT_EQ(::chmod(base.c_str(), 0700), 0);
  std::filesystem::create_directory_symlink(base, base + "/link");
  EXPECT_FALSE(check_private_directory(base + "/link").ok());
  EXPECT_FALSE(check_private_directory(base + "/missing").ok());
  if (::geteuid() != 0) return;
  ASSERT_EQ(::chown(base.c_str(), 12345, 12345), 0);
  const Status others = check_private_directory(base);
  ASSERT_FALSE(others.ok());
  EXPECT_NE(others.error().message.find("user 12345"), std::string::npos) << others.error().message;
}

TEST_F(SocketDirectory, APathThatCannotBeIsAnError) {
  EXPECT_FALSE(make_socket_directory(base + "/" + std::string(300, 'x') + "/agent.sock").ok());
  EXPECT_FALSE(make_socket_directory("/proc/none/agent.sock").ok());
}

}  // namespace
}  // namespace tailor::control
