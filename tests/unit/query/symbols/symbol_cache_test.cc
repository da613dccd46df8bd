// What is kept of the functions of files: it comes back whole or not at all, is this user's own, and is
// bounded.
#include "daemon/query/symbols/symbol_cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "daemon/query/symbols/symbols.h"
#include "tests/unit/query/symbols/elf_image.h"

namespace tailor::query {
namespace {

namespace fs = std::filesystem;

const std::string kId = "00112233", kOther = "44556677";

ElfFunctions functions(const std::string& name = "hot") {
  ElfFunctions out;
  out.segments = {{0x1000, 0x200, 0x401000}};
  out.functions = {
      {0x401010, 0x401040, name, ""}, {0x401080, 0x4010a0, "local", "a.c"}, {0x900000, 0x900010, "far", ""}};
  return out;
}

class SymbolCacheTest : public testing::Test {
 protected:
  SymbolCacheTest() { fs::create_directories(home_); }
  ~SymbolCacheTest() override {
    use_symbol_cache(std::nullopt);
    fs::remove_all(home_);
  }
  fs::path only_file() const { return fs::directory_iterator(folder_)->path(); }
  static std::string content(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  const fs::path home_ = fs::path(testing::TempDir()) / ("symbol_cache_" + std::to_string(::getpid()));
  const fs::path folder_ = home_ / "a" / "symbols";
  const SymbolCache cache_{folder_};
};

TEST_F(SymbolCacheTest, WhatWasKeptComesBack) {
  EXPECT_FALSE(cache_.find(kId));
  cache_.keep(kId, functions());
  const auto found = cache_.find(kId);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->build_id, kId);
  ASSERT_EQ(found->functions.size(), 2u) << "what is in no part of the file is left out";
  EXPECT_EQ(found->functions[0].begin, 0x1010u);
  EXPECT_EQ(found->functions[0].size, 0x30u);
  EXPECT_EQ(found->functions[0].address, 0x401010u);
  EXPECT_EQ(found->functions[0].name, "hot");
  EXPECT_EQ(found->functions[1].origin, "a.c");
  EXPECT_FALSE(cache_.find(kOther));
  EXPECT_EQ(cache_.usage().files, 1u);
  struct stat facts{};
  ASSERT_EQ(::stat(folder_.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0700u);
  ASSERT_EQ(::stat(only_file().c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0600u);
}

// A stripped copy has the build id of the whole file. It may be recorded first.
TEST_F(SymbolCacheTest, TheFileWithMoreFunctionsIsKept) {
  ElfFunctions stripped = functions("exported");
  stripped.functions.resize(1);
  cache_.keep(kId, stripped);
  cache_.keep(kId, functions());
  ASSERT_TRUE(cache_.find(kId));
  EXPECT_EQ(cache_.find(kId)->functions.size(), 2u);
  cache_.keep(kId, stripped);
  EXPECT_EQ(cache_.find(kId)->functions.size(), 2u);
  EXPECT_EQ(cache_.usage().files, 1u);
}

TEST_F(SymbolCacheTest, ADamagedFileIsReplaced) {
  cache_.keep(kId, functions());
  std::ofstream(only_file(), std::ios::binary) << "damaged";
  cache_.keep(kId, functions());
  EXPECT_TRUE(cache_.find(kId));
}

TEST_F(SymbolCacheTest, NamesThatNoFileHasLeadNowhere) {
  for (const char* id : {"", "../../evil", "ABC", "content:", "content:../x", "a/b", ".new-1"}) {
    cache_.keep(id, functions());
    EXPECT_FALSE(cache_.find(id)) << id;
  }
  EXPECT_FALSE(fs::exists(folder_));
  cache_.keep("content:0011", functions());
  EXPECT_TRUE(cache_.find("content:0011"));
  EXPECT_FALSE(cache_.find("0011")) << "a hash is no build id";
}

// Each byte counts, and a file is never longer or shorter than it was.
TEST_F(SymbolCacheTest, WhatIsDamagedIsNotTaken) {
  cache_.keep(kId, functions());
  const fs::path path = only_file();
  const std::string whole = content(path);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    std::ofstream(path, std::ios::binary) << damaged;
    EXPECT_FALSE(cache_.find(kId)) << i;
    std::ofstream(path, std::ios::binary) << whole.substr(0, i);
    EXPECT_FALSE(cache_.find(kId)) << i;
  }
  std::ofstream(path, std::ios::binary) << whole;
  EXPECT_TRUE(cache_.find(kId));
  fs::rename(path, path.parent_path() / kOther);
  EXPECT_FALSE(cache_.find(kOther)) << "it is of another file";
}

TEST_F(SymbolCacheTest, AFolderThatOthersMayWriteToIsNotUsed) {
  cache_.keep(kId, functions());
  ASSERT_EQ(::chmod(folder_.c_str(), 0777), 0);
  EXPECT_FALSE(cache_.find(kId));
  cache_.keep(kOther, functions());
  ASSERT_EQ(::chmod(folder_.c_str(), 0700), 0);
  EXPECT_TRUE(cache_.find(kId));
  EXPECT_FALSE(cache_.find(kOther));
  const fs::path path = only_file();
  fs::rename(path, home_ / "elsewhere");
  fs::create_symlink(home_ / "elsewhere", path);
  EXPECT_FALSE(cache_.find(kId)) << "a link is not followed";
}

TEST_F(SymbolCacheTest, ThoseThatNobodyAskedForGoFirst) {
  cache_.keep("aa", functions());
  const std::uint64_t one = cache_.usage().bytes;
  const SymbolCache small(folder_, {.bytes = 2 * one + one / 2});
  small.keep("bb", functions());
  const auto old = fs::file_time_type::clock::now() - std::chrono::hours(2);
  for (const auto& each : fs::directory_iterator(folder_)) fs::last_write_time(each.path(), old);
  ASSERT_TRUE(small.find("aa"));
  std::ofstream(folder_ / ".new-1-1") << "of a program that was killed";
  fs::last_write_time(folder_ / ".new-1-1", old);
  small.keep("cc", functions());
  EXPECT_TRUE(small.find("aa"));
  EXPECT_FALSE(small.find("bb"));
  EXPECT_TRUE(small.find("cc"));
  EXPECT_EQ(small.usage().files, 2u);
}

TEST_F(SymbolCacheTest, ALargeFileIsNotKept) {
  const SymbolCache small(folder_, {.one_file = 64});
  small.keep(kId, functions(std::string(100, 'x')));
  EXPECT_FALSE(cache_.find(kId));
}

TEST_F(SymbolCacheTest, ReportsAskItWhenTheFileIsGone) {
  ElfImage<true> image;
  image.code(".text", 0x1000, std::string(0x200, '\x90')).build_id("\x12\x34");
  image.symbols(SHT_SYMTAB, {{"hot", STB_GLOBAL, STT_FUNC, 1, 0x1000, 0x100}});
  const std::string path = (home_ / "program").string();
  write_image(path, image.bytes());
  const auto read = read_elf_functions(path);
  ASSERT_TRUE(read.ok());
  RecordedFile recorded;
  recorded.build_id = "1234";
  const std::uint64_t offset = read->segments[0].offset + 0x10;
  fs::remove(path);
  const StoredNames nothing_stored;
  const auto ask = [&] { return Symbols(nothing_stored).function(path, offset, recorded); };
  EXPECT_EQ(ask().why, "the file is gone");
  use_symbol_cache(cache_);
  EXPECT_EQ(ask().why, "the file is gone") << "nothing is kept";
  cache_.keep("1234", *read);
  EXPECT_EQ(ask().name, "hot");
  recorded.build_id = "1235";
  EXPECT_EQ(ask().name, "") << "another file";
}

// The environment says where it is. Not for other users' folders, as with a home that sudo leaves.
TEST_F(SymbolCacheTest, TheUserSaysWhere) {
  const auto with = [](const char* name, const std::string& value) { ::setenv(name, value.c_str(), 1); };
  const char* const set = std::getenv("HOME");
  const std::string home = set == nullptr ? "/" : set;
  with("XDG_CACHE_HOME", home_.string());
  ASSERT_TRUE(SymbolCache::of_user());
  EXPECT_EQ(SymbolCache::of_user()->folder(), home_ / "tailor" / "symbols");
  with("TAILOR_SYMBOL_CACHE", "off");
  EXPECT_FALSE(SymbolCache::of_user());
  ::unsetenv("TAILOR_SYMBOL_CACHE");
  with("XDG_CACHE_HOME", "relative");
  with("HOME", home_.string());
  ASSERT_TRUE(SymbolCache::of_user());
  EXPECT_EQ(SymbolCache::of_user()->folder(), home_ / ".cache" / "tailor" / "symbols");
  if (::geteuid() == 0) {  // who alone may give a folder away
    ASSERT_EQ(::chown(home_.c_str(), 12345, 12345), 0);
    EXPECT_FALSE(SymbolCache::of_user());
  }
  with("HOME", home);
  ::unsetenv("XDG_CACHE_HOME");
}

}  // namespace
}  // namespace tailor::query
