// The names that a profile carries: which function holds a place, and that they stay when the file does not.
#include "daemon/query/symbols/stored_names.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "daemon/os/content_id.h"
#include "daemon/query/load/hit_functions.h"
#include "daemon/query/load/profile_loader.h"
#include "daemon/query/reports/function_report.h"
#include "daemon/query/sums/named_functions.h"
#include "daemon/query/symbols/elf_functions.h"
#include "daemon/query/symbols/symbols.h"
#include "tests/unit/query/symbols/elf_image.h"

namespace tailor::query {
namespace {

namespace fs = std::filesystem;

std::string name_in(const StoredNames& names, std::uint64_t offset) {
  const StoredNames::Function* found = names.find("/lib", "ab", offset);
  return found == nullptr ? "-" : found->name;
}

TEST(StoredNames, TheInnermostFunctionThatReachesIsTheOne) {
  StoredNames names;
  names.add({"/lib", "ab", {{0x100, 0x80, 0x1100, "outer"}, {0x120, 0x10, 0x1120, "inner"}}});
  names.add({"/lib", "ab", {{0x40, 0x20, 0x1040, "first"}, {0x100, 0x80, 0x1100, "outer"}}});
  names.finish();
  EXPECT_EQ(name_in(names, 0x3f), "-");
  EXPECT_EQ(name_in(names, 0x40), "first");
  EXPECT_EQ(name_in(names, 0x60), "-");
  EXPECT_EQ(name_in(names, 0x11f), "outer");
  EXPECT_EQ(name_in(names, 0x12f), "inner");
  EXPECT_EQ(name_in(names, 0x130), "outer");
  EXPECT_EQ(name_in(names, 0x180), "-");
  EXPECT_EQ(names.count("/lib", "ab"), 3u);
  EXPECT_EQ(names.count("/lib", ""), std::nullopt) << "another build may be another file";
  EXPECT_EQ(names.find("/lib", "", 0x40), nullptr);
}

TEST(StoredNames, AFileWithoutNamesIsKnownAllTheSame) {
  StoredNames names;
  names.add({"/lib", "", {}});
  names.finish();
  EXPECT_EQ(names.count("/lib", ""), 0u);
  EXPECT_EQ(names.find("/lib", "", 0), nullptr);
}

// What is missing is not said to have no symbol.
TEST(StoredNames, WhereSomeHadNoRoomTheReasonIsThat) {
  StoredNames names;
  names.add({"/plain", "", {{0x40, 0x20, 0x1040, "first"}}});
  names.finish();
  EXPECT_EQ(Symbols(names).function("/plain", 0x100).why, kNoSymbol);
  names.miss_some();
  EXPECT_EQ(Symbols(names).function("/plain", 0x100).why, kNoRoom);
  EXPECT_EQ(Symbols(names).function("/plain", 0x40).name, "first");
  EXPECT_EQ(Symbols(names).function("/proc/self/exe", 0x40).why, kNoRoom)
      << "what is told of it may be missing";
}

TEST(StoredNames, TheFileThatWasReadIsKnownWhereOneWas) {
  StoredNames names;
  names.add({"/one", "", {{0x40, 0x20, 0x1040, "f"}}, "content:1"});
  names.add({"/one", "", {{0x80, 0x20, 0x1080, "g"}}, "content:1"});
  names.add({"/two", "", {{0x40, 0x20, 0x1040, "f"}}, "content:1"});
  names.add({"/two", "", {}, "content:2"});
  names.add({"/lost", "", {{0x40, 0x20, 0x1040, "f"}}, "content:1"});
  names.add({"/lost", "", {}});
  names.add({"/with", "ab", {}, "content:1"});
  names.finish();
  EXPECT_EQ(names.file_id("/one"), "content:1");
  EXPECT_EQ(names.file_id("/two"), "") << "two files";
  EXPECT_EQ(names.file_id("/lost"), "") << "of one nobody knows which it was";
  EXPECT_EQ(names.file_id("/with"), "");
  EXPECT_EQ(names.file_id("/nothing"), "");
}

// A program with two functions and a library with one are sampled; then their files go, and others come.
class NamesOfARecording : public testing::Test {
 protected:
  NamesOfARecording() {
    fs::create_directories(folder_);
    write(path("program"), "12345678", {{"hot", 0x1000}, {"cold", 0x1100}});
    write(path("plain"), "", {{"helper", 0x1000}, {"other_helper", 0x1100}});
    profile::RecordingInfo info;
    info.sources.push_back({0, "cpu-clock", profile::Unit::kNsOnCpu, 100, false});
    info.start = 10;
    info.wall_clock_ns = 4'000'000'000'000'000'000;  // files that are here already are older
    profile::ProcessRecord process;
    process.process = process_;
    process.first_seen = 1;
    each([&](profile::ProfileSink& sink) {
      sink.on_recording(info);
      sink.on_process(process);
    });
    map("program", "3132333435363738", 0x10000);
    map("plain", "", 0x20000);
    write(path("unmarked"), "", {{"first", 0x1000}, {"second", 0x1100}});
    map("unmarked", os::content_id(fs::path(path("unmarked"))), 0x30000);
  }
  ~NamesOfARecording() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  static void write(const std::string& path, const std::string& build_id,
                    const std::vector<std::pair<std::string, std::uint64_t>>& functions) {
    ElfImage<true> image;
    image.code(".text", 0x1000, std::string(0x200, '\x90'));
    std::vector<ImageSymbol> symbols;
    for (const auto& [name, address] : functions)
      symbols.push_back({name, STB_GLOBAL, STT_FUNC, 1, address, 0x100});
    image.symbols(SHT_SYMTAB, symbols);
    if (!build_id.empty()) image.build_id(build_id);
    write_image(path, image.bytes());
  }
  // Where the code of the file begins in it.
  std::uint64_t text_of(const std::string& name) const {
    const auto read = read_elf_functions(path(name));
    EXPECT_TRUE(read.ok());
    for (const ElfFunctions::Segment& each : read->segments) {
      if (each.address == 0x1000) return each.offset;
    }
    ADD_FAILURE() << "no code";
    return 0;
  }
  // Address `begin` + n is byte n of the file's code.
  void map(const std::string& name, const std::string& build_id, std::uint64_t begin) {
    const profile::MappingRecord mapping{process_, 0, begin, 0x1000, text_of(name), path(name), build_id};
    each([&](profile::ProfileSink& sink) { sink.on_mapping(mapping); });
  }
  // `caller` 0: none.
  void sample(std::uint64_t address, std::uint64_t caller = 0) {
    const profile::StackFrame frame{nullptr, caller};
    profile::SampleRecord record;
    record.process = process_;
    record.time = ++time_;
    record.weight = 100;
    record.ip = record.user_ip = address;
    if (caller != 0) record.stack = &frame;
    each([&](profile::ProfileSink& sink) { sink.on_samples(std::span(&record, 1)); });
  }
  void end(const FindKept& kept = {}) {
    for (const profile::FileNames& names : hits_.names(kept)) loader_.on_names(names);
  }
  std::map<std::string, double> names() {
    const Profile profile = loader_.finish();
    const auto report = function_report(profile, {});
    EXPECT_TRUE(report.ok());
    std::map<std::string, double> out;
    for (const FunctionRow& row : report->functions) out[row.name] += row.cost.amount.weight;
    return out;
  }
  void replace_files() {
    write(path("new"), "87654321", {{"never_ran", 0x1000}});
    fs::rename(path("new"), path("program"));
    write(path("new"), "", {{"never_ran", 0x1000}});
    fs::rename(path("new"), path("plain"));
  }
  void run() {
    for (int i = 0; i < 3; ++i) sample(0x10010, 0x20015);
    sample(0x10110, 0x20115);
    sample(0x20020);
  }

  const ProcessId process_{7, 1};
  fs::path folder_ = fs::path(testing::TempDir()) / ("stored_names_" + std::to_string(::getpid()));

 private:
  template <typename Call>
  void each(const Call& call) {
    call(static_cast<profile::ProfileSink&>(loader_));
    call(static_cast<profile::ProfileSink&>(hits_));
  }

  ProfileLoader loader_{[] {
    LoadOptions options;
    options.functions = true;
    return options;
  }()};
  HitFunctions hits_;
  TimeNs time_ = 10;
};

const std::map<std::string, double> kRight = {
    {"hot", 300}, {"cold", 100}, {"helper", 100}, {"other_helper", 0}};

TEST_F(NamesOfARecording, StayWhenTheFilesAreReplaced) {
  run();
  end();
  replace_files();
  EXPECT_EQ(names(), kRight);
}

TEST_F(NamesOfARecording, StayWhenTheFilesAreRemoved) {
  run();
  end();
  fs::remove(path("program"));
  fs::remove(path("plain"));
  EXPECT_EQ(names(), kRight);
}

// The twin: without names in the profile they are lost, and of the file without a build id they are wrong.
TEST_F(NamesOfARecording, AreLostOtherwise) {
  run();
  replace_files();
  const std::map<std::string, double> found = names();
  EXPECT_FALSE(found.contains("hot"));
  EXPECT_NE(found, kRight);
}

TEST_F(NamesOfARecording, ComeFromTheFileThatWasKept) {
  run();
  fs::rename(path("program"), path("program.old"));
  fs::rename(path("plain"), path("plain.old"));
  write(path("program"), "87654321", {{"never_ran", 0x1000}});
  write(path("plain"), "", {{"never_ran", 0x1000}});
  end([](const std::string& of, const std::string&) { return KeptFile{KeptFile::Is::kKept, of + ".old"}; });
  EXPECT_EQ(names(), kRight);
}

TEST_F(NamesOfARecording, AreNotGuessedWhereNothingLeadsToTheFile) {
  run();
  end([&](const std::string& of, const std::string&) {
    return KeptFile{of == path("plain") ? KeptFile::Is::kLost : KeptFile::Is::kNotKept};
  });
  const std::map<std::string, double> found = names();
  EXPECT_EQ(found, (std::map<std::string, double>{{"hot", 300}, {"cold", 100}, {"[unknown]", 100}}));
}

// A function that was not hit, of a file without a build id: the file at the path says it if it is the one.
TEST_F(NamesOfARecording, WithoutABuildIdTheContentSaysWhichFileItIs) {
  sample(0x20020);  // helper
  end();
  sample(0x20110);  // behind the end
  EXPECT_EQ(names(), (std::map<std::string, double>{{"helper", 100}, {"other_helper", 100}}));
}

TEST_F(NamesOfARecording, AFileOfAnotherContentNamesNothing) {
  sample(0x20020);
  end();
  sample(0x20110);
  replace_files();
  fs::last_write_time(path("plain"), fs::file_time_type::min());  // times prove nothing
  EXPECT_EQ(names(), (std::map<std::string, double>{{"helper", 100}, {"[unknown]", 100}}));
}

// The same where the mapping says the content.
TEST_F(NamesOfARecording, OfAMappingWithAContentIdStay) {
  sample(0x30010);
  end();
  sample(0x30110);
  EXPECT_EQ(names(), (std::map<std::string, double>{{"first", 100}, {"second", 100}}));
}

TEST_F(NamesOfARecording, OfAMappingWithAContentIdAreNotTakenFromAnotherFile) {
  sample(0x30010);
  end();
  sample(0x30110);
  write(path("new"), "", {{"third", 0x1000}, {"fourth", 0x1100}});
  fs::rename(path("new"), path("unmarked"));
  fs::last_write_time(path("unmarked"), fs::file_time_type::min());
  EXPECT_EQ(names(), (std::map<std::string, double>{{"first", 100}, {"[unknown]", 100}}));
}

TEST_F(NamesOfARecording, AreOfFunctionsThatWereHitOnly) {
  sample(0x10010);
  end();
  fs::remove(path("program"));
  sample(0x10110);  // behind the end
  EXPECT_EQ(names(), (std::map<std::string, double>{{"hot", 100}, {"[unknown]", 100}}));
}

}  // namespace
}  // namespace tailor::query
