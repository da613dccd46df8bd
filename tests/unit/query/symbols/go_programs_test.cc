// Programs that Go's own tools make: what its table names in a stripped one is what the symbols name in the
// whole one. With C code in them, and where code can lie anywhere.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "daemon/query/symbols/elf_file.h"
#include "daemon/query/symbols/elf_functions.h"
#include "daemon/query/symbols/elf_symbols.h"

namespace tailor::query {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPlain = R"(package main
//go:noinline
func hot(n int) int { s := 0; for i := 0; i < n; i++ { s += i * i }; return s }
func main() { println(hot(1000)) }
)";
constexpr const char* kWithC = R"(package main
// static int work(int n) { int s = 0; for (int i = 0; i < n; i++) s ^= i; return s; }
import "C"
//go:noinline
func hot(n int) int { s := 0; for i := 0; i < n; i++ { s += i * i }; return s }
func main() { println(hot(1000), C.work(10)) }
)";

class GoPrograms : public testing::TestWithParam<std::pair<const char*, const char*>> {
 protected:
  GoPrograms() {
    fs::create_directories(folder_);
    std::ofstream(folder_ / "go.mod") << "module x\ngo 1.18\n";
    std::ofstream(folder_ / "main.go") << GetParam().first;
  }
  ~GoPrograms() override { fs::remove_all(folder_); }
  bool run(const std::string& command) const {
    const std::string in = "cd " + folder_.string() +
                           " && PATH=$PATH:/usr/local/go/bin GOTOOLCHAIN=local GOFLAGS=-mod=mod " + command +
                           " >out 2>&1";
    return std::system(in.c_str()) == 0;  // NOLINT(cert-env33-c,concurrency-mt-unsafe)
  }
  using Names = std::map<std::uint64_t, std::string>;
  static Names names_of(const std::vector<ElfFunction>& functions) {
    Names out;
    for (const ElfFunction& each : functions) out.emplace(each.begin, each.name);
    return out;
  }
  // By its symbols alone.
  Names symbols(const std::string& name) const {
    const auto file = ElfFile::open((folder_ / name).string());
    EXPECT_TRUE(file.ok());
    SymbolSet set;
    if (file.ok()) set.add_table(*file, SHT_SYMTAB);
    return file.ok() ? names_of(set.take(*file)) : Names();
  }
  Names functions(const std::string& name) const {
    const auto read = read_elf_functions((folder_ / name).string());
    EXPECT_TRUE(read.ok());
    return read.ok() ? names_of(read->functions) : Names();
  }

  const fs::path folder_ = fs::path(testing::TempDir()) / ("go_programs_" + std::to_string(::getpid()));
};

TEST_P(GoPrograms, AStrippedOneHasTheNamesOfTheWholeOne) {
  if (!run("go version")) GTEST_SKIP() << "go is not installed";
  ASSERT_TRUE(run("go build -p 1 " + std::string(GetParam().second) + " -o whole . && strip -o bare whole"))
      << std::ifstream(folder_ / "out").rdbuf();
  const Names whole = symbols("whole"), bare = functions("bare");
  std::size_t same = 0;
  for (const auto& [begin, name] : bare) {
    // Go's table leaves out arguments of types; other names are C's.
    if (!name.starts_with("runtime.") && !name.starts_with("main.")) continue;
    if (name.find('[') != name.npos) continue;
    ASSERT_TRUE(whole.contains(begin)) << name;
    ASSERT_TRUE(whole.at(begin) == name || whole.at(begin) == name + ".abi0")
        << whole.at(begin) << " " << name;
    ++same;
  }
  EXPECT_GT(same, 500u);
}

INSTANTIATE_TEST_SUITE_P(All, GoPrograms,
                         testing::Values(std::pair{kPlain, ""}, std::pair{kPlain, "-buildmode=pie"},
                                         std::pair{kWithC, ""}, std::pair{kWithC, "-buildmode=pie"}));

}  // namespace
}  // namespace tailor::query
