// Functions that a running recording hits get their names, once for each data segment that needs them, by the
// file that was mapped, whatever has become of it.
#include "daemon/session/function_namer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "daemon/os/content_id.h"
#include "daemon/query/symbols/elf_functions.h"
#include "tests/unit/query/symbols/elf_image.h"

namespace tailor::session {
namespace {

namespace fs = std::filesystem;
using query::ElfImage;
using query::ImageSymbol;
using Is = query::KeptFile::Is;
using Names = std::set<std::string>;

constexpr const char* kBuildId = "3132333435363738";

class FunctionNamerTest : public testing::Test {
 protected:
  FunctionNamerTest() { fs::create_directories(folder_); }
  ~FunctionNamerTest() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  // Functions of 0x100 bytes, one behind the other.
  void write(const std::string& name, const std::string& build_id,
             const std::vector<std::string>& functions) const {
    ElfImage<true> image;
    image.code(".text", 0x1000, std::string(functions.size() * 0x100, '\x90'));
    std::vector<ImageSymbol> symbols;
    std::uint64_t address = 0x1000;
    for (const std::string& each : functions) {
      symbols.push_back({each, STB_GLOBAL, STT_FUNC, 1, address, 0x100});
      address += 0x100;
    }
    image.symbols(SHT_SYMTAB, symbols);
    if (!build_id.empty()) image.build_id(build_id);
    query::write_image(path(name), image.bytes());
  }
  std::uint64_t text_of(const std::string& name) const {
    const auto read = query::read_elf_functions(path(name));
    if (!read.ok()) return 0;
    for (const query::ElfFunctions::Segment& each : read->segments) {
      if (each.address == 0x1000) return each.offset;
    }
    return 0;
  }

  // Address 0x10000 + n of the process is byte n of that file's code.
  void map(ProcessId process, const std::string& name, const std::string& build_id) {
    process::FileRanges& files = files_[process];
    const std::string where = path(name);
    files.map({0x10000, 0x100000, text_of(name), where, build_id});
  }
  void begin(NamerOptions options = {}) {
    options.segment = [this] { return segment_; };
    options.oldest = [this] { return oldest_; };
    namer_ = std::make_unique<FunctionNamer>(std::move(options));
    namer_->begin([this](ProcessId process, std::uint64_t address) { return files_[process].at(address); },
                  [](ProcessId process) { return static_cast<std::uint32_t>(process.start); },
                  [this](const std::string&, const std::string&) {
                    const std::lock_guard lock(mutex_);
                    return kept_;
                  });
  }
  // The store goes on in that one.
  void segment(std::uint64_t number) {
    segment_ = number;
    namer_->sink().on_watermark(0);
  }
  void keep(const query::KeptFile& kept) {
    const std::lock_guard lock(mutex_);
    kept_ = kept;
  }
  void hit(ProcessId process, std::uint64_t address, std::uint64_t caller = 0) {
    const profile::StackFrame frame{nullptr, caller};
    profile::SampleRecord sample;
    sample.process = process;
    sample.ip = sample.user_ip = address;
    if (caller != 0) sample.stack = &frame;
    namer_->sink().on_samples(std::span(&sample, 1));
  }
  // Until nothing is being read.
  Names take() {
    Names out;
    records_ = 0;
    do {
      for (const profile::FileNames& names : namer_->take(0, true)) {
        ++records_;
        if (!names.file_id.empty()) ids_.insert(names.file_id);
        for (const auto& each : names.functions) out.insert(each.name);
      }
      if (namer_->is_pending()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    } while (namer_->is_pending());
    return out;
  }

  const ProcessId process_{7, 1};  // of user 1
  std::map<ProcessId, process::FileRanges> files_;
  std::unique_ptr<FunctionNamer> namer_;
  std::uint64_t segment_ = 1, oldest_ = 1;
  int records_ = 0;
  Names ids_;  // FileNames::file_id
  fs::path folder_ = fs::path(testing::TempDir()) / ("function_namer_" + std::to_string(::getpid()));

 private:
  std::mutex mutex_;
  query::KeptFile kept_;
};

TEST_F(FunctionNamerTest, WhatWasHitIsNamedOnceAndNothingElse) {
  write("program", "12345678", {"hot", "caller", "cold"});
  map(process_, "program", kBuildId);
  begin();
  hit(process_, 0x10010, 0x10180);
  hit(process_, 0x10020, 0x10180);
  EXPECT_EQ(take(), (Names{"hot", "caller"}));
  hit(process_, 0x10030);
  EXPECT_EQ(take(), Names{}) << "it was given";
  EXPECT_EQ(records_, 0);
}

TEST_F(FunctionNamerTest, AnotherSegmentHasThemTooWhenTheFileIsGone) {
  write("program", "12345678", {"hot", "warm"});
  map(process_, "program", kBuildId);
  begin();
  hit(process_, 0x10010);
  ASSERT_EQ(take(), Names{"hot"});
  fs::remove(path("program"));
  segment(2);
  EXPECT_EQ(take(), Names{}) << "it was not hit since";
  hit(process_, 0x10010);
  EXPECT_EQ(take(), Names{"hot"});
  hit(process_, 0x10110);
  EXPECT_EQ(take(), Names{}) << "it was never read, and now there is nothing to read";
}

TEST_F(FunctionNamerTest, WhatIsHitRightAfterASegmentBeganBelongsToIt) {
  write("program", "12345678", {"hot"});
  map(process_, "program", kBuildId);
  begin();
  hit(process_, 0x10010);
  ASSERT_EQ(take(), Names{"hot"});
  segment(2);
  hit(process_, 0x10010);
  EXPECT_EQ(take(), Names{"hot"});
}

TEST_F(FunctionNamerTest, AnotherBuildAtThePathIsNotTaken) {
  write("program", "12345678", {"hot"});
  map(process_, "program", kBuildId);
  write("program", "87654321", {"never_ran"});
  begin();
  hit(process_, 0x10010);
  EXPECT_EQ(take(), Names{});
}

TEST_F(FunctionNamerTest, WithoutABuildIdOnlyTheFileThatIsHeldCounts) {
  write("program", "", {"hot"});
  map(process_, "program", "");
  begin();
  hit(process_, 0x10010);
  EXPECT_EQ(take(), Names{}) << "nothing says that this is the file that ran";
  EXPECT_EQ(records_, 1) << "and that is said, so that no report takes it";
  begin();
  keep({Is::kKept, path("program")});
  hit(process_, 0x10010);
  EXPECT_EQ(take(), Names{"hot"});
}

TEST_F(FunctionNamerTest, WithoutABuildIdTheContentIsSaid) {
  write("program", "", {"hot", "warm"});
  map(process_, "program", "");
  begin();
  keep({Is::kKept, path("program")});
  hit(process_, 0x10010);
  ASSERT_EQ(take(), Names{"hot"});
  EXPECT_EQ(ids_, Names{os::content_id(fs::path(path("program")))});
  // Another file is found there now: what was known is not said of it, and its names are not of the first.
  write("program", "", {"other", "never_ran"});
  hit(process_, 0x10110);
  EXPECT_EQ(take(), Names{});
}

TEST_F(FunctionNamerTest, WhatTheMappingSaysOfTheContentDecides) {
  write("program", "", {"hot"});
  const std::string id = os::content_id(fs::path(path("program")));
  map(process_, "program", id);
  begin();
  hit(process_, 0x10010);
  EXPECT_EQ(take(), Names{"hot"}) << "the file at the path is the one";
  write("program", "", {"never_ran"});
  begin();
  hit(process_, 0x10010);
  EXPECT_EQ(take(), Names{});
}

TEST_F(FunctionNamerTest, AnotherMappingAtTheSameAddressIsLookedUp) {
  write("one", "12345678", {"of_one"});
  write("two", "87654321", {"of_two"});
  map(process_, "one", kBuildId);
  begin();
  hit(process_, 0x10010);
  ASSERT_EQ(take(), Names{"of_one"});
  files_[process_].unmap(0x10000, 0x100000);
  map(process_, "two", "3837363534333231");
  namer_->sink().on_mapping({process_, 0, 0x10000, 0x100000, 0, path("two"), "3837363534333231"});
  hit(process_, 0x10010);
  EXPECT_EQ(take(), Names{"of_two"});
}

// Each function takes some bytes of the store: `budget` is too small for all of one user's.
class FunctionBudgetTest : public FunctionNamerTest {
 protected:
  FunctionBudgetTest() {
    std::vector<std::string> greedy;
    for (int i = 0; i < 64; ++i) greedy.push_back("greedy_" + std::to_string(i));
    write("greedy", "12345678", greedy);
    write("modest", "87654321", {"modest"});
    map(process_, "greedy", kBuildId);
    map(other_, "modest", "3837363534333231");
  }
  // One after the other, so that each one is judged.
  Names hit_all() {
    Names out;
    for (std::uint64_t i = 0; i < 64; ++i) {
      hit(process_, 0x10010 + i * 0x100);
      out.merge(take());
    }
    return out;
  }
  static NamerOptions small() {
    NamerOptions options;
    options.budget = 2000;
    return options;
  }
  const ProcessId other_{8, 2};  // of user 2
};

TEST_F(FunctionBudgetTest, WhoHasHadHisShareGetsNoMoreAndOthersDo) {
  begin(small());
  const Names given = hit_all();
  EXPECT_GT(given.size(), 1u);
  EXPECT_LT(given.size(), 64u);
  EXPECT_NE(namer_->take_problem().find("of user 1"), std::string::npos);
  EXPECT_EQ(namer_->take_problem(), "") << "it is said once";
  hit(other_, 0x10010);
  EXPECT_EQ(take(), Names{"modest"});
}

// The twin: nothing is left out where there is room.
TEST_F(FunctionBudgetTest, WithRoomForAllNothingIsLeftOut) {
  begin();
  EXPECT_EQ(hit_all().size(), 64u);
  EXPECT_EQ(namer_->take_problem(), "");
}

TEST_F(FunctionBudgetTest, WhatRetentionRemovedMakesRoom) {
  begin(small());
  ASSERT_LT(hit_all().size(), 64u);
  segment(2);
  const std::size_t with_the_old = hit_all().size();
  oldest_ = 3;
  segment(3);
  EXPECT_GT(hit_all().size(), with_the_old);
}

TEST_F(FunctionBudgetTest, NamesInMemoryAreBoundedAndTheLargestUserPays) {
  NamerOptions options;
  options.known_bytes = 6000;  // less than the names of the greedy file, more than those of the other one
  begin(options);
  hit(other_, 0x10010);
  ASSERT_EQ(take(), Names{"modest"});
  hit_all();
  for (const char* name : {"greedy", "modest"}) fs::remove(path(name));
  segment(2);
  hit(other_, 0x10010);
  EXPECT_EQ(take(), Names{"modest"}) << "it is still known";
}

TEST_F(FunctionBudgetTest, PlacesAreSharedToo) {
  NamerOptions options;
  options.hits.places = 10;
  begin(options);
  EXPECT_EQ(hit_all().size(), 5u);
  hit(other_, 0x10010);
  EXPECT_EQ(take(), Names{"modest"});
}

}  // namespace
}  // namespace tailor::session
