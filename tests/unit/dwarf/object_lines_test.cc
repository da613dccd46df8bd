#include "compiler/dwarf/object_lines.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace tailor::dwarf {
namespace {

// What a query compiler that writes C would write: every line directive is a component.
constexpr const char* kSource = R"(
#line 1 "query"
unsigned long scan(const unsigned *column, unsigned long rows, unsigned long *groups) {
#line 2 "query"
  unsigned long n = 0;
#line 3 "query"
  for (unsigned long i = 0; i < rows; ++i) {
#line 10 "query"
    if (column[i] % 7u == 3u)
#line 20 "query"
      groups[column[i] & 63u] += column[i], ++n;
#line 3 "query"
  }
#line 4 "query"
  return n;
}
#line 30 "query"
unsigned long second(unsigned long x) {
#line 31 "query"
  return x * 3 + 1;
}
)";

class ObjectLinesTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("object_lines." + std::to_string(getpid()));
    std::filesystem::create_directory(folder_);
    std::ofstream(folder_ / "q.c") << kSource;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string compile(const std::string& flags, const std::string& name) {
    const std::string out = folder_ / name;
    const std::string command =
        std::string(TEST_CC) + " " + flags + " -o " + out + " " + (folder_ / "q.c").string();
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
    return out;
  }

  const FunctionRange& function(const ObjectLines& object, const std::string& name) {
    for (const FunctionRange& f : object.functions)
      if (f.name == name) return f;
    ADD_FAILURE() << "no function " << name;
    return object.functions.front();
  }

  std::filesystem::path folder_;
};

// Lines 10 and 20 are the components 1 and 2; loop control is shared by both.
std::vector<ComponentId> owners(const std::string& file, std::uint32_t line) {
  if (file.find("query") == std::string::npos) return {};
  if (line == 10) return {1};
  if (line == 20) return {2};
  if (line == 3) return {1, 2};
  return {3};
}

void expect_owned(const v1::CodeObject& code, std::initializer_list<ComponentId> wanted) {
  auto rows = tagging::decode_rows(code.rows());
  ASSERT_TRUE(rows.ok()) << rows.error().message;
  for (ComponentId id : wanted) {
    bool found = false;
    for (const tagging::Row& row : *rows) found |= !row.link.is_set() && row.link.index() == id;
    EXPECT_TRUE(found) << "component " << id << " owns nothing";
  }
  for (const tagging::Row& row : *rows) EXPECT_LT(row.offset, code.size());
}

// In a relocatable object with a section a function, all line tables begin at 0 until relocations are
// applied.
TEST_F(ObjectLinesTest, RelocationsOfARelocatableObjectAreApplied) {
  auto object = read_object_lines(compile("-c -g -O1 -ffunction-sections", "q.o"));
  ASSERT_TRUE(object.ok()) << object.error().message;
  const FunctionRange& scan = function(*object, "scan");
  const FunctionRange& second = function(*object, "second");
  EXPECT_TRUE(scan.address + scan.size <= second.address || second.address + second.size <= scan.address);
  ASSERT_EQ(scan.code.size(), scan.size);
  expect_owned(make_code_object(*object, scan, 0x10000, owners), {1, 2, 3});
  auto rows = tagging::decode_rows(make_code_object(*object, second, 0x20000, owners).rows());
  ASSERT_TRUE(rows.ok());
  for (const tagging::Row& row : *rows) EXPECT_TRUE(row.link.none() || row.link == tagging::Link::one(3));
}

TEST_F(ObjectLinesTest, AddressesOfASharedObjectAreRelativeToItsBase) {
  const std::string path = compile("-shared -fPIC -g -O2", "q.so");
  auto object = read_object_lines(path);
  ASSERT_TRUE(object.ok()) << object.error().message;
  void* handle = dlopen(path.c_str(), RTLD_NOW);
  ASSERT_NE(handle, nullptr) << dlerror();
  void* scan = dlsym(handle, "scan");
  Dl_info info;
  ASSERT_NE(dladdr(scan, &info), 0);
  const FunctionRange& range = function(*object, "scan");
  EXPECT_EQ(reinterpret_cast<std::uint64_t>(info.dli_fbase) + range.address,
            reinterpret_cast<std::uint64_t>(scan));
  EXPECT_EQ(std::memcmp(scan, range.code.data(), range.size), 0);
  expect_owned(make_code_object(*object, range, reinterpret_cast<std::uint64_t>(scan), owners), {1, 2, 3});
  dlclose(handle);
}

TEST_F(ObjectLinesTest, SaysWhatIsWrong) {
  EXPECT_NE(read_object_lines("/nonexistent.o").error().message.find("/nonexistent.o"), std::string::npos);
  EXPECT_FALSE(read_object_lines(folder_ / "q.c").ok());
  auto bare = read_object_lines(compile("-c -O1 -g0", "bare.o"));
  ASSERT_FALSE(bare.ok());
  EXPECT_NE(bare.error().message.find("-g"), std::string::npos);
}

}  // namespace
}  // namespace tailor::dwarf
