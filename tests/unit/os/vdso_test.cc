// The kernel's own code in a process: whose it is, and where its image is found.
#include "daemon/os/vdso.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

namespace tailor::os {
namespace {

namespace fs = std::filesystem;

class VdsoTest : public testing::Test {
 protected:
  void SetUp() override {
    if (own_vdso().build_id.empty()) GTEST_SKIP() << "this kernel gives no vDSO, or one without a build id";
    fs::create_directories(folder_);
  }
  ~VdsoTest() override { fs::remove_all(folder_); }

  std::uint64_t size() const { return own_vdso().image.size(); }
  // A process whose memory has `image` at `begin`.
  void write_memory(const std::vector<char>& image, std::uint64_t begin) const {
    std::ofstream memory(folder_ / "mem", std::ios::binary);
    memory.seekp(static_cast<std::streamoff>(begin));
    memory.write(image.data(), static_cast<std::streamsize>(image.size()));
  }

  const fs::path folder_ = fs::path(testing::TempDir()) / ("vdso_" + std::to_string(::getpid()));
};

TEST_F(VdsoTest, OursIsTheImageOfItsId) {
  const std::vector<char> image = vdso_image(own_vdso().build_id);
  ASSERT_FALSE(image.empty());
  EXPECT_EQ(std::memcmp(image.data(),
                        "\x7f"
                        "ELF",
                        4),
            0);
  std::string other = own_vdso().build_id;
  other.back() = other.back() == '0' ? '1' : '0';
  EXPECT_TRUE(vdso_image(other).empty()) << "another kernel's";
  EXPECT_TRUE(vdso_image("").empty());
  EXPECT_TRUE(vdso_image("../../etc/passwd").empty());
}

TEST_F(VdsoTest, AProcessOf64BitsHasOurs) {
  const std::uint64_t begin = 0x7ffd'0000'0000;
  EXPECT_EQ(vdso_id("/nonexistent", begin, begin + size()), own_vdso().build_id);
  EXPECT_EQ(vdso_id("/nonexistent", begin, begin + size() + 4096), "") << "ours has another size";
  EXPECT_EQ(vdso_id("/nonexistent", begin, begin), "");
}

TEST_F(VdsoTest, OneOf32BitsSaysItByItsMemory) {
  const std::uint64_t begin = 0x10000;
  EXPECT_EQ(vdso_id(folder_, begin, begin + size()), "") << "nothing can be read";
  write_memory(std::vector<char>(size()), begin);
  EXPECT_EQ(vdso_id(folder_, begin, begin + size()), "") << "no ELF file";
  write_memory(own_vdso().image, begin);
  EXPECT_EQ(vdso_id(folder_, begin, begin + size()), own_vdso().build_id);
  EXPECT_EQ(vdso_id(folder_, begin, begin + (std::uint64_t{1} << 40)), "") << "no image is as large";
}

// perf keeps the images that it recorded. A damaged one, and one of another id, is none.
TEST_F(VdsoTest, TheImageThatPerfKeptIsFoundByItsId) {
  std::vector<char> image = own_vdso().image;
  const std::string& id = own_vdso().build_id;
  std::string raw;
  for (std::size_t i = 0; i + 1 < id.size(); i += 2)
    raw.push_back(static_cast<char>(std::stoi(id.substr(i, 2), nullptr, 16)));
  const std::string all(image.begin(), image.end());
  const std::size_t at = all.find(raw);
  ASSERT_NE(at, std::string::npos);
  image[at] = static_cast<char>(image[at] ^ 1);  // of another kernel
  std::string other = id;
  other[1] = "1032547698badcfe"[std::stoi(other.substr(1, 1), nullptr, 16)];
  const char* const set = std::getenv("HOME");
  const std::string home = set == nullptr ? "/" : set;
  ::setenv("HOME", folder_.c_str(), 1);
  EXPECT_TRUE(vdso_image(other).empty());
  const fs::path kept = folder_ / ".debug" / "[vdso]" / other;
  fs::create_directories(kept);
  const auto write = [&kept](const char* bytes, std::size_t count) {
    std::ofstream(kept / "vdso", std::ios::binary).write(bytes, static_cast<std::streamsize>(count));
  };
  write(image.data(), image.size());
  EXPECT_EQ(vdso_image(other), image);
  write(all.data(), all.size());
  EXPECT_TRUE(vdso_image(other).empty()) << "it has another id than its folder";
  ::setenv("HOME", home.c_str(), 1);
}

}  // namespace
}  // namespace tailor::os
