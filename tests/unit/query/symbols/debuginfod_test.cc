// Who is asked for the debug file of a build, what its answer counts for, and when nobody is asked any more.
#include "daemon/query/symbols/debuginfod.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "daemon/query/load/hit_functions.h"
#include "daemon/query/symbols/symbols.h"
#include "tests/unit/query/symbols/elf_image.h"

namespace tailor::query {
namespace {

namespace fs = std::filesystem;
using What = DebugFinder::What;

// Has the files that a test gave it.
class FakeFinder : public DebugFinder {
 public:
  Found find(What what, const std::string& build_id) override {
    asked.emplace_back(what, build_id);
    const auto known = files.find(what);
    if (known == files.end()) return {{}, "nobody has it"};
    return {UniqueFd(::open(known->second.c_str(), O_RDONLY | O_CLOEXEC)), ""};
  }
  std::map<What, std::string> files;
  std::vector<std::pair<What, std::string>> asked;
};

const std::string kBuildOfProgram = "3132333435363738";

class DebugFinderTest : public testing::Test {
 protected:
  DebugFinderTest() {
    fs::create_directories(folder_);
    write("whole", "12345678", "hot");
    write("program", "12345678", "");
    write("other", "87654321", "wrong");
    auto finder = std::make_unique<FakeFinder>();
    finder_ = finder.get();
    use_debug_finder(std::move(finder));
  }
  ~DebugFinderTest() override {
    use_debug_finder(nullptr);
    fs::remove_all(folder_);
  }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  // With one function, or without a name for it.
  void write(const std::string& name, const std::string& build_id, const std::string& function) const {
    ElfImage<true> image;
    image.code(".text", 0x1000, std::string(0x200, '\x90'));
    std::vector<ImageSymbol> symbols;
    if (!function.empty()) symbols.push_back({function, STB_GLOBAL, STT_FUNC, 1, 0x1000, 0x100});
    image.symbols(SHT_SYMTAB, symbols).build_id(build_id);
    write_image(path(name), image.bytes());
  }
  std::uint64_t offset() const {
    const auto read = read_elf_functions(path("whole"));
    EXPECT_TRUE(read.ok());
    return read->segments.at(0).offset + 0x10;
  }
  NamedCode ask(const std::string& build_id = kBuildOfProgram) {
    RecordedFile recorded;
    recorded.build_id = build_id;
    return Symbols(nothing_stored_).function(path("program"), offset(), recorded);
  }

  const fs::path folder_ = fs::path(testing::TempDir()) / ("debuginfod_" + std::to_string(::getpid()));
  const StoredNames nothing_stored_;
  FakeFinder* finder_ = nullptr;
};

TEST_F(DebugFinderTest, AStrippedFileIsNamedByItsDebugFile) {
  finder_->files[What::kDebugFile] = path("whole");
  EXPECT_EQ(ask().name, "hot");
  EXPECT_EQ(finder_->asked, (std::vector<std::pair<What, std::string>>{{What::kDebugFile, kBuildOfProgram}}));
  use_debug_finder(nullptr);
  EXPECT_EQ(ask().name, "") << "nobody may be asked";
}

TEST_F(DebugFinderTest, NobodyIsAskedForWhatIsNamed) {
  fs::rename(path("whole"), path("program"));
  RecordedFile recorded;
  recorded.build_id = kBuildOfProgram;
  const auto read = read_elf_functions(path("program"));
  ASSERT_TRUE(read.ok());
  const std::uint64_t text = read->segments.at(0).offset;
  EXPECT_EQ(Symbols(nothing_stored_).function(path("program"), text, recorded).name, "hot");
  EXPECT_TRUE(finder_->asked.empty());
}

TEST_F(DebugFinderTest, AFileWithAnotherBuildIdNamesNothing) {
  finder_->files[What::kDebugFile] = path("other");
  const NamedCode found = ask();
  EXPECT_EQ(found.name, "");
  EXPECT_NE(found.why.find("another build id"), std::string::npos) << found.why;
}

TEST_F(DebugFinderTest, TheReasonIsSaidOnce) {
  Symbols symbols(nothing_stored_);
  RecordedFile recorded;
  recorded.build_id = kBuildOfProgram;
  for (int i = 0; i < 3; ++i) {
    const NamedCode found = symbols.function(path("program"), offset(), recorded);
    EXPECT_EQ(found.why, "the file has no names of functions; nobody has it");
  }
  EXPECT_EQ(finder_->asked.size(), 1u);
}

// Of a file that is gone nothing says where its code lay: it is needed too.
TEST_F(DebugFinderTest, AFileThatIsGoneIsFetchedWithItsDebugFile) {
  fs::rename(path("program"), path("stripped"));
  finder_->files[What::kDebugFile] = path("whole");
  EXPECT_EQ(ask().why, "the file is gone; nobody has it");
  finder_->files[What::kFile] = path("stripped");
  EXPECT_EQ(ask().name, "hot");
  finder_->files = {{What::kFile, path("whole")}};
  EXPECT_EQ(ask().name, "hot") << "it has its names itself";
  finder_->files = {{What::kFile, path("other")}};
  EXPECT_EQ(ask().name, "");
}

TEST_F(DebugFinderTest, WithoutABuildIdNobodyIsAsked) {
  finder_->files[What::kDebugFile] = path("whole");
  EXPECT_EQ(ask("").name, "");
  EXPECT_EQ(ask("content:00").name, "");
  EXPECT_TRUE(finder_->asked.empty());
}

// What the names of a recording are made of.
TEST_F(DebugFinderTest, ARecordingAsksNobody) {
  finder_->files[What::kDebugFile] = path("whole");
  const profile::FileNames names = names_of_file({}, {path("program"), kBuildOfProgram}, {offset()}, {});
  EXPECT_TRUE(names.functions.empty());
  EXPECT_TRUE(finder_->asked.empty());
}

// As a process in a container has it: beside the file there, and not here.
TEST_F(DebugFinderTest, ARecordingLooksIntoTheRootOfTheProcess) {
  const fs::path root = folder_ / "root";
  const std::string below = "usr/lib/debug/.build-id/" + kBuildOfProgram.substr(0, 2);
  fs::create_directories(root / below);
  fs::rename(path("whole"), root / below / (kBuildOfProgram.substr(2) + ".debug"));
  write("whole", "12345678", "");
  KeptFile kept{KeptFile::Is::kKept, path("program"), {}, root.string(), "/bin/program"};
  const auto names = [&] {
    const FindKept find = [&](const std::string&, const std::string&) { return kept; };
    return names_of_file({}, {path("program"), kBuildOfProgram}, {offset()}, find).functions;
  };
  ASSERT_EQ(names().size(), 1u);
  EXPECT_EQ(names()[0].name, "hot");
  kept.within.clear();
  EXPECT_TRUE(names().empty()) << "there is no such file for us";
}

class DebuginfodTest : public testing::Test {
 protected:
  Debuginfod with(int answer, TimeNs took = 0) {
    return {[this, answer, took](What, const std::string&, TimeNs most) -> Debuginfod::Answer {
              ++asked_;
              most_ = most;
              now_ += took;
              if (answer < 0) return {answer, "as it says"};
              return {::open("/dev/null", O_RDONLY | O_CLOEXEC), ""};
            },
            {.quiet = 1, .of_a_file = 100, .of_all = 250},
            [this] { return now_; }};
  }

  int asked_ = 0;
  TimeNs most_ = 0, now_ = 1000;
};

TEST_F(DebuginfodTest, WhatIsThereIsGiven) {
  Debuginfod servers = with(0);
  const DebugFinder::Found found = servers.find(What::kDebugFile, kBuildOfProgram);
  EXPECT_TRUE(found.file);
  EXPECT_EQ(most_, 100);
}

TEST_F(DebuginfodTest, AFileThatIsNotThereIsNoFailure) {
  Debuginfod servers = with(-ENOENT);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(servers.find(What::kDebugFile, kBuildOfProgram).why, "debuginfod has no file for its build id");
  EXPECT_EQ(asked_, 3);
}

TEST_F(DebuginfodTest, AServerThatFailedIsNotAskedAgain) {
  Debuginfod servers = with(-ECONNREFUSED);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(servers.find(What::kDebugFile, kBuildOfProgram).why, "debuginfod gave nothing: as it says");
  EXPECT_EQ(asked_, 1);
}

TEST_F(DebuginfodTest, AllTogetherTakesNoLongerThanItsBound) {
  Debuginfod servers = with(-ENOENT, 100);
  for (int i = 0; i < 5; ++i) (void)servers.find(What::kDebugFile, kBuildOfProgram);
  EXPECT_EQ(asked_, 3);
  EXPECT_EQ(most_, 50) << "what was left";
  const std::string why = servers.find(What::kDebugFile, kBuildOfProgram).why;
  EXPECT_NE(why.find("not asked any more"), std::string::npos) << why;
}

TEST_F(DebuginfodTest, WhatIsNoBuildIdIsNotAskedFor) {
  Debuginfod servers = with(0);
  for (const char* id : {"", "abc", "../../passwd00", "content:00", "ABCD"})
    EXPECT_FALSE(servers.find(What::kDebugFile, id).file) << id;
  EXPECT_EQ(asked_, 0);
}

TEST_F(DebuginfodTest, WithoutServersThereIsNone) {
  ::unsetenv("DEBUGINFOD_URLS");
  EXPECT_EQ(Debuginfod::of_environment(), nullptr);
  ::setenv("DEBUGINFOD_URLS", " \t", 1);
  EXPECT_EQ(Debuginfod::of_environment(), nullptr);
  ::setenv("DEBUGINFOD_URLS", "http://localhost:1", 1);
  EXPECT_NE(Debuginfod::of_environment(), nullptr);
  ::unsetenv("DEBUGINFOD_URLS");
}

TEST_F(DebuginfodTest, TheUserSaysHowLongItMayTake) {
  ::setenv("DEBUGINFOD_TIMEOUT", "3", 1);
  ::setenv("DEBUGINFOD_MAXTIME", "nonsense", 1);
  const DebuginfodLimits limits = DebuginfodLimits::of_environment();
  EXPECT_EQ(limits.quiet, 3'000'000'000);
  EXPECT_EQ(limits.of_a_file, DebuginfodLimits().of_a_file);
  ::unsetenv("DEBUGINFOD_TIMEOUT");
  ::unsetenv("DEBUGINFOD_MAXTIME");
}

}  // namespace
}  // namespace tailor::query
