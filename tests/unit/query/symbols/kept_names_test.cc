// Names that a report has of a profile alone: it is written, what it was taken from goes, and it is read.
#include <elf.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "daemon/os/kernel_identity.h"
#include "daemon/profile/tee_sink.h"
#include "daemon/query/load/hit_functions.h"
#include "daemon/query/reports/function_report.h"
#include "daemon/query/symbols/elf_functions.h"
#include "tests/support/profile_bytes.h"
#include "tests/unit/query/symbols/elf_image.h"

namespace tailor::query {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kText = 0x1000;  // where the code of a file begins in memory
const ProcessId kRan{7, 1};

class KeptNames : public testing::Test {
 protected:
  KeptNames() { fs::create_directories(folder_); }
  ~KeptNames() override { fs::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  static void write(const std::string& path, const std::vector<ImageSymbol>& symbols) {
    ElfImage<true> image;
    image.code(".text", kText, std::string(0x200, '\x90')).build_id("12345678");
    image.symbols(SHT_SYMTAB, symbols);
    write_image(path, image.bytes());
  }
  // Of the code in such a file.
  static std::uint64_t offset_of_text(const std::string& path) {
    const auto read = read_elf_functions(path);
    EXPECT_TRUE(read.ok()) << read.error().message;
    if (!read.ok()) return 0;
    for (const ElfFunctions::Segment& each : read->segments) {
      if (each.address == kText) return each.offset;
    }
    ADD_FAILURE() << "no code";
    return 0;
  }
  // Address `begin` + n is byte n of its code.
  static profile::MappingRecord mapping(const std::string& path, std::uint64_t begin) {
    return {kRan, 0, begin, 0x200, offset_of_text(path), path, "3132333435363738"};
  }
  static profile::SampleRecord sample(std::uint64_t address, profile::Mode mode = profile::Mode::kUser) {
    profile::SampleRecord record;
    record.process = kRan;
    record.time = 20;
    record.weight = 100;
    record.mode = mode;
    record.ip = address;
    if (mode == profile::Mode::kUser) record.user_ip = address;
    return record;
  }
  static profile::RecordingInfo recording() {
    profile::RecordingInfo info;
    info.sources.push_back({0, "cpu-clock", profile::Unit::kNsOnCpu, 100, false});
    info.start = 10;
    info.wall_clock_ns = 4'000'000'000'000'000'000;  // files that are here are older
    return info;
  }
  // The bytes of a profile that keeps the names of what `give` says, or of none.
  static std::string recorded(const profile::RecordingInfo& info, bool with_names,
                              const std::function<void(profile::ProfileSink&)>& give,
                              const KernelAt& kernel_at = {}) {
    return test::profile_bytes([&](profile::ProfileSink& file) {
      HitFunctions hits(kernel_at);
      profile::TeeSink both({&file, &hits});
      both.on_recording(info);
      profile::ProcessRecord process;
      process.process = kRan;
      process.first_seen = 1;
      both.on_process(process);
      give(both);
      if (!with_names) return;
      for (const profile::FileNames& names : hits.names()) file.on_names(names);
    });
  }
  // Weight by name, file and source.
  using Rows = std::map<std::tuple<std::string, std::string, std::string>, double>;
  static Rows rows(const std::string& bytes) {
    LoadOptions options;
    options.functions = true;
    const Profile profile = test::load(bytes, options);
    const auto report = function_report(profile, {});
    EXPECT_TRUE(report.ok()) << report.error().message;
    Rows out;
    if (!report.ok()) return out;
    for (const FunctionRow& row : report->functions) {
      const std::tuple key{row.name, row.function.object, row.function.source};
      EXPECT_TRUE(out.emplace(key, row.cost.amount.weight).second) << row.name << " is in two rows";
    }
    return out;
  }

  fs::path folder_ = fs::path(testing::TempDir()) / ("kept_names_" + std::to_string(::getpid()));
};

void give_samples(profile::ProfileSink& sink, const std::vector<profile::SampleRecord>& samples) {
  sink.on_samples(samples);
}

// `helper` of a.c and `helper` of b.c are two functions.
TEST_F(KeptNames, TwoStaticFunctionsOfOneNameAreTwoRows) {
  write(path("program"), {{"a.c", STB_LOCAL, STT_FILE, SHN_ABS, 0, 0},
                          {"helper", STB_LOCAL, STT_FUNC, 1, kText, 0x100},
                          {"b.c", STB_LOCAL, STT_FILE, SHN_ABS, 0, 0},
                          {"helper", STB_LOCAL, STT_FUNC, 1, kText + 0x100, 0x100}});
  const profile::MappingRecord mapped = mapping(path("program"), 0x10000);
  const auto give = [&](profile::ProfileSink& sink) {
    sink.on_mapping(mapped);
    give_samples(sink, {sample(0x10010), sample(0x10020), sample(0x10030), sample(0x10110)});
  };
  const Rows right{{{"helper", "program", "a.c"}, 300}, {{"helper", "program", "b.c"}, 100}};
  const std::string without = recorded(recording(), false, give);
  EXPECT_EQ(rows(without), right) << "by the file";
  const std::string with = recorded(recording(), true, give);
  fs::remove(path("program"));
  EXPECT_EQ(rows(with), right) << "by the profile";
  EXPECT_EQ(rows(without), (Rows{{{"[unknown]", "program", ""}, 400}})) << "the twin";
}

// PHP shares the memory of its compiler with its children, Erlang maps a file in memory twice. The remedy is
// a perf map, and no package with debug symbols.
TEST_F(KeptNames, CodeInMemoryThatHasAPathIsSaidToBeAnonymous) {
  const auto reasons = [&](const std::string& path, const std::string& id, bool with_names) {
    LoadOptions options;
    options.functions = true;
    const Profile profile = test::load(recorded(recording(), with_names,
                                                [&](profile::ProfileSink& sink) {
                                                  sink.on_mapping({kRan, 0, 0x10000, 0x1000, 0, path, id});
                                                  give_samples(sink, {sample(0x10010)});
                                                }),
                                       options);
    const auto report = function_report(profile, {});
    EXPECT_TRUE(report.ok() && report->functions.size() == 1) << path;
    return report.ok() && !report->functions.empty() ? report->functions[0].function : Function{};
  };
  for (const char* path : {"/dev/zero (deleted)", "/memfd:vmem (deleted)", "/SYSV00000000 (deleted)"}) {
    for (const bool with_names : {false, true}) {
      const Function shown = reasons(path, "", with_names);
      EXPECT_EQ(shown.kind, Function::Kind::kUnknown) << path;
      EXPECT_EQ(shown.why, "anonymous memory, no perf map") << path;
    }
  }
  // The twins: a program in memory, which its id proves, and a file that was removed.
  EXPECT_EQ(reasons("/memfd:program (deleted)", "3132333435363738", false).kind, Function::Kind::kUser);
  EXPECT_EQ(reasons("/tmp/program (deleted)", "", false).kind, Function::Kind::kUser);
}

// Linux lets a path be any bytes.
TEST_F(KeptNames, AFileIsOpenedAgainByAPathThatIsNoText) {
  const std::string one = path("caf\xE9"), other = path("caf\xEA"), shown = "caf\xEF\xBF\xBD";
  write(one, {{"hot", STB_GLOBAL, STT_FUNC, 1, kText, 0x100}});
  write(other, {{"cold", STB_GLOBAL, STT_FUNC, 1, kText, 0x100}});
  profile::MappingRecord first = mapping(one, 0x10000), second = mapping(other, 0x20000);
  const auto give = [&](profile::ProfileSink& sink) {
    sink.on_mapping(first);
    sink.on_mapping(second);
    give_samples(sink, {sample(0x10010), sample(0x10020), sample(0x20010)});
  };
  const Rows right{{{"hot", shown, ""}, 200}, {{"cold", shown, ""}, 100}};
  EXPECT_EQ(rows(recorded(recording(), false, give)), right) << "by the files";
  const std::string with = recorded(recording(), true, give);
  // What an older recorder wrote: the text alone leads nowhere.
  first.path = second.path = path(shown);
  EXPECT_EQ(rows(recorded(recording(), false, give)), (Rows{{{"[unknown]", shown, ""}, 300}}));
  fs::remove(one);
  fs::remove(other);
  EXPECT_EQ(rows(with), right) << "by the profile: two files, whatever is shown of them";
}

// A kernel of its own, with one module.
class KeptKernelNames : public KeptNames {
 protected:
  static constexpr std::uint64_t kOfKernel = 0xffffffff81000100, kOfModule = 0xffffffffc0000000;

  KeptKernelNames() {
    fs::create_directories(at_.proc / "sys/kernel/random");
    fs::create_directories(at_.sys);
    std::ofstream(at_.proc / "sys/kernel/random/boot_id") << "played-boot\n";
    std::ofstream(at_.proc / "kallsyms")
        << "ffffffff81000000 T _text\nffffffff81000100 T do_syscall_64\nffffffff81000200 T _etext\n"
           "ffffffffc0000000 t ext4_mark_inode_dirty\t[ext4]\nffffffffc0000100 t ext4_getblk\t[ext4]\n";
    const os::KernelIdentity kernel = os::kernel_identity(at_.proc, at_.sys);
    info_ = recording();
    info_.kernel = kernel.release;
    info_.machine = kernel.machine;
    info_.boot_id = kernel.boot_id;
    info_.kernel_build_id = kernel.build_id;
    info_.kernel_anchor = kernel.anchor;
  }
  static void give(profile::ProfileSink& sink) {
    const auto kernel = profile::Mode::kKernel;
    give_samples(sink, {sample(kOfKernel + 0x10, kernel), sample(kOfModule + 0x10, kernel),
                        sample(kOfModule + 0x20, kernel), sample(kOfModule + 0x110, kernel)});
  }
  // Of the modules' functions only: what is said of the others depends on the kernel that runs the test.
  static Rows of_module(const Rows& all) {
    Rows out;
    for (const auto& [key, weight] : all) {
      if (std::get<0>(key).starts_with("ext4_")) out[key] = weight;
    }
    return out;
  }

  const KernelAt at_{folder_ / "proc", folder_ / "sys"};
  profile::RecordingInfo info_;
};

TEST_F(KeptKernelNames, OfAModuleAreThoseOfTheKernelThatRan) {
  ASSERT_EQ(info_.kernel_anchor, "_text=ffffffff81000000");
  const std::string with = recorded(info_, true, give, at_), without = recorded(info_, false, give, at_);
  fs::remove_all(at_.proc);
  EXPECT_EQ(rows(with), (Rows{{{"do_syscall_64", "[kernel]", ""}, 100},
                              {{"ext4_mark_inode_dirty", "[ext4]", ""}, 200},
                              {{"ext4_getblk", "[ext4]", ""}, 100}}));
  EXPECT_TRUE(of_module(rows(without)).empty()) << "the twin";
}

// After another boot a module may lie elsewhere, and another one where it was.
TEST_F(KeptKernelNames, OfAModuleAreNotThoseOfAnotherBoot) {
  info_.boot_id = "another-boot";
  const Rows all = rows(recorded(info_, true, give, at_));
  EXPECT_TRUE(of_module(all).empty());
  EXPECT_EQ(all.count({"do_syscall_64", "[kernel]", ""}), 1u) << "its own code lies where it lay";
}

}  // namespace
}  // namespace tailor::query
