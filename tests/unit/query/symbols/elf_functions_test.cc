#include "daemon/query/symbols/elf_functions.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "daemon/os/vdso.h"
#include "daemon/profile/mapped_kind.h"
#include "daemon/query/symbols/readable_name.h"
#include "daemon/query/symbols/symbols.h"

namespace tailor::query {
namespace {

namespace fs = std::filesystem;

extern "C" [[gnu::noinline, gnu::used]] int tailor_elf_functions_test(int x) {
  asm volatile("" : "+r"(x));
  return x + 1;
}

bool has(const Result<ElfFunctions>& read, const std::string& name) {
  if (!read.ok()) return false;
  for (const ElfFunction& function : read->functions) {
    if (function.name == name) return true;
  }
  return false;
}

TEST(ReadableName, IsAsPerfShowsIt) {
  EXPECT_EQ(readable_name("main"), "main");
  EXPECT_EQ(readable_name("_ZNSt6vectorIiSaIiEE9push_backERKi"),
            "std::vector<int, std::allocator<int> >::push_back");
  EXPECT_EQ(readable_name("_ZN12_GLOBAL__N_13fooEi"), "(anonymous namespace)::foo");
  EXPECT_EQ(readable_name("_ZNK3FooclEi"), "Foo::operator()");
  EXPECT_EQ(readable_name("_Z3fooIiEvT_"), "foo<int>");
  EXPECT_EQ(readable_name("_ZZ4mainENKUliE_clEi"), "main::{lambda(int)#1}::operator()");
  EXPECT_EQ(readable_name("_Z3foov.cold"), "foo [clone .cold]");
  EXPECT_EQ(readable_name("memcpy@plt"), "memcpy@plt");
  EXPECT_EQ(readable_name("_Znonsense"), "_Znonsense");
  EXPECT_EQ(readable_name("_ZN6engine4pickIiEEPFviET_"), "engine::pick<int>")
      << "a return type that is a pointer";
  EXPECT_EQ(readable_name("_ZN6engine16PhysicalOperatornwEm"), "engine::PhysicalOperator::operator new");
  EXPECT_EQ(readable_name("_ZN6engine4eachIZNS_3useEiEUliE_EEDTclfp_Li1EEET_"),
            "engine::each<engine::use(int)::{lambda(int)#1}>");
  EXPECT_EQ(readable_name("_Z3foov@@VERSION_1"), "foo");
}

TEST(ReadableName, IsOfBothManglingsOfRust) {
  EXPECT_EQ(readable_name("_RNvXCskK7mfDs1mzF_1mINtB2_6FilterhENtB2_8Operator3runB2_"),
            "<m::Filter<u8> as m::Operator>::run");
  EXPECT_EQ(readable_name("_ZN39_$LT$m..Join$u20$as$u20$m..Operator$GT$3run17h1aefc79c0d2676eaE"),
            "<m::Join as m::Operator>::run");
  EXPECT_EQ(readable_name("_ZN1m5apply17h5f2a3b2f225c3354E.llvm.123"), "m::apply [clone .llvm.123]");
}

// Its parameters are not shown, so it does not matter how many references they have.
TEST(ReadableName, ALongNameIsNoReasonToShowItRaw) {
  std::string name = "_ZN5arrow7compute12VectorKernelC1ESt6vectorINS0_9InputTypeESaIS3_EE";
  for (int i = 0; i < 500; ++i) name += "NS0_9InputTypeE";
  name.resize(std::min<std::size_t>(name.size(), 4000));
  EXPECT_EQ(readable_name(name.substr(0, name.rfind('N'))), "arrow::compute::VectorKernel::VectorKernel");
}

// Each reference to an earlier part doubles the text.
TEST(ReadableName, OfANameThatWouldBeEndlessOnlyTheBeginIsShown) {
  std::string name = "_Z1fI1AIiiE";
  const std::string digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  for (std::size_t i = 0; i < 30; ++i) {
    const std::string part{'S', digits[i], '_'};
    name.append("S_I").append(part).append(part).append("E");
  }
  EXPECT_EQ(readable_name(name + "EvT_").size(), 4096u);
  EXPECT_EQ(readable_name("_Z1f1AIiiES_IS0_S0_E"), "f");
  const std::string longer = "_Z3foo" + std::string(5000, 'i');
  EXPECT_EQ(readable_name(longer), longer);
}

// A file whose symbols all name one long text, and whose headers all name one table.
class HostileElfTest : public testing::Test {
 protected:
  static constexpr std::size_t kText = 1 << 20, kSymbols = 2000, kTables = 60'000;
  HostileElfTest() {
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_shnum = kTables + 1;
    header.e_shoff = sizeof header;
    Elf64_Shdr text{};
    text.sh_type = SHT_STRTAB;
    text.sh_offset = sizeof header + (kTables + 1) * sizeof(Elf64_Shdr);
    text.sh_size = kText;
    Elf64_Shdr table{};
    table.sh_type = SHT_SYMTAB;
    table.sh_offset = text.sh_offset + kText;
    table.sh_size = kSymbols * sizeof(Elf64_Sym);
    std::ofstream file(path_, std::ios::binary);
    const auto put = [&](const auto& what) { file.write(reinterpret_cast<const char*>(&what), sizeof what); };
    put(header);
    put(text);
    for (std::size_t i = 0; i < kTables; ++i) put(table);
    file << std::string(kText, 'x');
    for (std::size_t i = 0; i < kSymbols; ++i) {
      Elf64_Sym symbol{};
      symbol.st_name = 1;
      symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
      symbol.st_shndx = 1;
      symbol.st_value = 16 * i;
      symbol.st_size = 16;
      put(symbol);
    }
  }
  ~HostileElfTest() override { fs::remove(path_); }
  std::string path_ = testing::TempDir() + "/hostile_elf." + std::to_string(::getpid());
};

TEST_F(HostileElfTest, OneTableIsReadAndNamesAreCut) {
  const auto read = read_elf_functions(path_);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->functions.size(), kSymbols);
  for (const ElfFunction& function : read->functions) EXPECT_LE(function.name.size(), 4096u);
}

// A copy of this program as a distribution ships it: stripped, what was stripped elsewhere.
class StrippedTest : public testing::Test {
 protected:
  void SetUp() override {
    if (std::system("command -v objcopy >/dev/null") != 0) GTEST_SKIP() << "needs objcopy";
    char self[4096] = {};
    ASSERT_GT(::readlink("/proc/self/exe", self, sizeof self - 1), 0);
    folder = fs::path(testing::TempDir()) / ("elf_functions_" + std::to_string(::getpid()));
    fs::create_directories(folder / "root");
    whole = folder / "whole", stripped = folder / "stripped", debug = folder / "stripped.debug";
    fs::copy_file(self, whole, fs::copy_options::overwrite_existing);
    run("objcopy --only-keep-debug " + whole.string() + " " + debug.string());
    run("objcopy --strip-all " + whole.string() + " " + stripped.string());
  }
  void TearDown() override { fs::remove_all(folder); }
  static void run(const std::string& command) { ASSERT_EQ(std::system(command.c_str()), 0) << command; }
  Result<ElfFunctions> read(const std::string& build_id = "") {
    return read_elf_functions(stripped.string(), {INT64_MAX, build_id}, (folder / "root").string());
  }

  fs::path folder, whole, stripped, debug;
  static constexpr const char* kName = "tailor_elf_functions_test";
};

TEST_F(StrippedTest, ItsOwnSymbolsAreGone) {
  EXPECT_TRUE(has(read_elf_functions(whole.string()), kName));
  fs::remove(debug);
  EXPECT_FALSE(has(read(), kName));
}

TEST_F(StrippedTest, ADebugLinkLeadsToThemIfItsChecksumFits) {
  run("cd " + folder.string() + " && objcopy --add-gnu-debuglink=stripped.debug stripped");
  EXPECT_TRUE(has(read(), kName)) << "beside the file";
  fs::create_directories(folder / "root" / folder.relative_path());
  fs::rename(debug, folder / "root" / folder.relative_path() / "stripped.debug");
  EXPECT_TRUE(has(read(), kName)) << "under the root of debug files";
  std::ofstream(folder / "root" / folder.relative_path() / "stripped.debug", std::ios::app) << "x";
  EXPECT_FALSE(has(read(), kName)) << "of another build";
}

TEST_F(StrippedTest, ABuildIdLeadsToThem) {
  const auto facts = read_elf_functions(whole.string());
  ASSERT_TRUE(facts.ok());
  if (facts->build_id.empty()) GTEST_SKIP() << "the linker made no build id";
  const fs::path place = folder / "root" / ".build-id" / facts->build_id.substr(0, 2);
  fs::create_directories(place);
  fs::rename(debug, place / (facts->build_id.substr(2) + ".debug"));
  EXPECT_TRUE(has(read(), kName));
  EXPECT_TRUE(has(read(facts->build_id), kName));
  EXPECT_FALSE(read("00112233").ok()) << "another build was recorded";
}

// The kernel's own code in each process is in no file.
TEST(ElfFunctions, TheVdsoHasTheNamesOfTheKernelThatItIsFrom) {
  const std::string& id = os::own_vdso().build_id;
  if (id.empty()) GTEST_SKIP() << "this kernel gives no vDSO, or one without a build id";
  const auto read_with = [](const std::string& build_id) {
    return read_elf_functions(std::string(profile::kVdsoPath), {INT64_MAX, build_id});
  };
  EXPECT_TRUE(has(read_with(id), "__vdso_clock_gettime"));
  EXPECT_FALSE(read_with("00112233").ok()) << "of another kernel";
  EXPECT_FALSE(read_with("").ok()) << "nobody knows of which";
}

TEST(ElfFunctions, TheLinkageTableHasTheNamesOfWhatItCalls) {
  char self[4096] = {};
  ASSERT_GT(::readlink("/proc/self/exe", self, sizeof self - 1), 0);
  const auto read = read_elf_functions(self);
  ASSERT_TRUE(read.ok());
  std::size_t linked = 0;
  for (const ElfFunction& function : read->functions) linked += function.name.ends_with("@plt");
  EXPECT_GT(linked, 10u);
}

}  // namespace
}  // namespace tailor::query
