// perf.data built here record by record: what becomes of it in a profile.
#include "daemon/import/perf_import.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "daemon/formats/perf_map.h"
#include "daemon/query/load/accounting.h"
#include "daemon/query/load/profile_loader.h"
#include "daemon/query/reports/function_report.h"
#include "daemon/store/file_writer.h"
#include "tests/support/record_encoder.h"
#include "tests/unit/query/symbols/elf_image.h"

namespace tailor::importer {
namespace {

using test::RecordBytes;

constexpr std::int32_t kPid = 4711;
constexpr std::uint64_t kCode = 0x7000;

class PerfImportTest : public testing::Test {
 protected:
  PerfImportTest() : folder(testing::TempDir() + "/perf_import_" + std::to_string(::getpid()) + "/") {
    std::filesystem::create_directories(folder);
    perf_event_attr attr{};
    attr.size = sizeof attr;
    attr.type = PERF_TYPE_SOFTWARE;
    attr.config = PERF_COUNT_SW_CPU_CLOCK;
    attr.sample_period = 1000;
    attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN;
    attr.sample_id_all = 1;
    format.sample_type = attr.sample_type;
    put({0x32454C4946524550, 16});
    add(RecordBytes(64, 0).raw({reinterpret_cast<const char*>(&attr), sizeof attr}).u64(1));
  }
  ~PerfImportTest() override { std::filesystem::remove_all(folder); }

  void put(std::initializer_list<std::uint64_t> words) {
    for (std::uint64_t word : words) test::append(file, std::as_bytes(std::span(&word, 1)));
  }
  void add(RecordBytes record) { test::append(file, record.done()); }
  void sample(std::uint64_t time, std::uint64_t ip, std::vector<std::uint64_t> chain,
              std::uint16_t misc = PERF_RECORD_MISC_USER, std::int32_t pid = kPid) {
    test::SampleFields fields;
    fields.misc = misc;
    fields.ip = ip;
    fields.pid = fields.tid = pid;
    fields.time = time;
    fields.chain = std::move(chain);
    test::append(file, test::encode_sample(format, fields));
  }
  static std::int64_t wall_now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
  }
  // The same moment by both clocks.
  void clock_data(std::int64_t wall, std::uint64_t clock) {
    add(RecordBytes(80, 0).u64(29).u32(1).u32(4).u64(static_cast<std::uint64_t>(wall)).u64(clock));
  }
  bool noted(const std::string& text) const {
    return std::ranges::any_of(imported.notes,
                               [&](const std::string& note) { return note.find(text) != note.npos; });
  }
  static std::string dump_of(const std::vector<std::pair<std::string, std::uint64_t>>& functions) {
    std::string dump;
    const auto put_dump = [&dump](auto... values) {
      (dump.append(reinterpret_cast<const char*>(&values), sizeof values), ...);
    };
    put_dump(0x4A695444u, 1u, 40u, 62u, 0u, static_cast<std::uint32_t>(kPid), std::uint64_t{0},
             std::uint64_t{0});
    for (const auto& [name, address] : functions) {
      put_dump(0u, static_cast<std::uint32_t>(16 + 40 + name.size() + 1 + 64), std::uint64_t{1});
      put_dump(static_cast<std::uint32_t>(kPid), static_cast<std::uint32_t>(kPid), address, address,
               std::uint64_t{64}, std::uint64_t{0});
      dump += name + std::string(1 + 64, '\0');
    }
    return dump;
  }
  void map_dump(const std::string& path) {
    RecordBytes mapped(PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER);
    mapped.u32(kPid).u32(kPid).u64(0x100000).u64(0x1000).u64(0).u64s({0, 0, 0}).u32(5).u32(2);
    add(mapped.text(path).u32(kPid).u32(kPid).u64(50));
  }
  void round() { add(RecordBytes(68, 0)); }

  Result<query::Profile> load() {
    return query::Profile::load_from(
        [] {
          query::LoadOptions options;
          options.functions = true;
          return options;
        }(),
        [this](query::ProfileLoader& loader) -> Status { return import_into(loader); });
  }
  Status import_into(profile::ProfileSink& sink) {
    store::MemoryInput input({reinterpret_cast<const std::uint8_t*>(file.data()), file.size()});
    PerfImportOptions options;
    options.directory = folder;
    options.written_ns = written_ns;
    auto done = import_perf_data(input, sink, options);
    if (!done) return done.error();
    imported = *std::move(done);
    return Ok{};
  }
  std::map<std::string, query::FunctionRow> functions() {
    std::map<std::string, query::FunctionRow> out;
    auto profile = load();
    EXPECT_TRUE(profile.ok()) << profile.error().message;
    if (!profile.ok()) return out;
    auto report = query::function_report(*profile, {});
    EXPECT_TRUE(report.ok()) << report.error().message;
    if (!report.ok()) return out;
    unattributed = report->summary.unattributed_rows;
    for (query::FunctionRow& row : report->functions) out[row.name] = row;
    return out;
  }

  std::string folder;
  std::vector<std::byte> file;
  capture::EventFormat format;
  PerfImported imported;
  std::vector<query::NamedRow> unattributed;
  std::int64_t written_ns = 1;
};

TEST_F(PerfImportTest, SamplesOfAllRoundsInOrder) {
  sample(300, kCode, {});
  sample(100, kCode, {});
  round();
  sample(200, kCode, {});
  round();
  sample(400, kCode, {});
  auto profile = load();
  ASSERT_TRUE(profile.ok()) << profile.error().message;
  EXPECT_EQ(imported.samples, 4u);
  EXPECT_EQ(imported.total.late, 0u);
  EXPECT_EQ(profile->recording().start, 100);
  EXPECT_EQ(profile->recording().sources.at(0).name, "cpu-clock");
}

// perf reads at its end what its events lost, most of which the kernel told before.
TEST_F(PerfImportTest, LossesThatTheRecorderCountsAsWellAreCountedOnce) {
  sample(100, kCode, {});
  add(RecordBytes(PERF_RECORD_LOST, 0).u64(1).u64(40).u32(kPid).u32(kPid).u64(200));
  sample(300, kCode, {});
  const std::vector<std::byte> before = file;
  add(RecordBytes(PERF_RECORD_LOST_SAMPLES, 0).u64(40).u32(0).u32(0).u64(0));
  ASSERT_TRUE(load().ok());
  EXPECT_EQ(imported.total.lost_ring, 40u);
  EXPECT_EQ(imported.total.lost_hardware, 0u);
  EXPECT_EQ(imported.total.late, 0u);
  EXPECT_FALSE(noted("no record tells"));

  file = before;
  add(RecordBytes(PERF_RECORD_LOST_SAMPLES, 0).u64(47).u32(0).u32(0).u64(0));
  add(RecordBytes(PERF_RECORD_LOST_SAMPLES, 1 << 15).u64(5).u32(0).u32(0).u64(0));
  auto profile = load();
  ASSERT_TRUE(profile.ok());
  EXPECT_EQ(imported.total.lost_ring, 47u);
  EXPECT_EQ(imported.total.lost_hardware, 0u);
  EXPECT_EQ(query::account_of(*profile).total.lost_ring, 47u);
  EXPECT_EQ(imported.samples, 2u);
  EXPECT_TRUE(noted("counted 7 lost samples of which no record tells"));
  EXPECT_TRUE(noted("a filter of the recording left out 5 samples"));
}

TEST_F(PerfImportTest, AMapBesideTheFileNamesGeneratedCodeAndItsCallers) {
  std::ofstream(folder + "perf-4711.map") << "7000 100 outer\n7100 100 inner\n7180 20 late\n";
  sample(100, 0x7110, {static_cast<std::uint64_t>(PERF_CONTEXT_USER), 0x7110, 0x7020});
  sample(200, 0x7110, {static_cast<std::uint64_t>(PERF_CONTEXT_USER), 0x7110, 0x7020});
  sample(300, 0x7010, {static_cast<std::uint64_t>(PERF_CONTEXT_USER), 0x7010});
  sample(400, 0x7190, {static_cast<std::uint64_t>(PERF_CONTEXT_USER), 0x7190});
  auto rows = functions();
  EXPECT_EQ(imported.jit_functions, 3u);
  EXPECT_DOUBLE_EQ(rows["inner"].cost.share, 0.5);
  EXPECT_DOUBLE_EQ(rows["outer"].cost.share, 0.25);
  EXPECT_DOUBLE_EQ(rows["outer"].total.share, 0.75);
  EXPECT_DOUBLE_EQ(rows["late"].cost.share, 0.25) << "it lies within inner";
  EXPECT_TRUE(unattributed.empty());
}

// Without its date in the file a recording began before the file was written: how long before, nobody knows.
// So no map is too old for it.
TEST_F(PerfImportTest, AMapMayBeOlderThanTheRecording) {
  std::ofstream(folder + "perf-4711.map") << "7000 100 outer\n";
  std::filesystem::last_write_time(folder + "perf-4711.map",
                                   std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  written_ns = wall_now();
  sample(100, 0x7010, {});
  EXPECT_DOUBLE_EQ(functions()["outer"].cost.share, 1);
  // With its date the report says so.
  clock_data(wall_now(), 50);
  sample(200, 0x7010, {});
  EXPECT_DOUBLE_EQ(functions()["outer"].cost.share, 1);
  EXPECT_TRUE(noted("before the recording began"));
}

TEST_F(PerfImportTest, AMapIsNotOlderThanItsProcess) {
  std::ofstream(folder + "perf-4711.map") << "7000 100 outer\n";
  std::filesystem::last_write_time(folder + "perf-4711.map",
                                   std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  clock_data(wall_now(), 50);
  sample(60, 0x7010, {}, PERF_RECORD_MISC_USER, 12);
  RecordBytes fork(PERF_RECORD_FORK, 0);
  add(fork.u32(kPid).u32(12).u32(kPid).u32(12).u64(70).u32(kPid).u32(kPid).u64(70));
  sample(100, 0x7010, {});
  EXPECT_FALSE(functions().contains("outer"));
  EXPECT_TRUE(noted("written before process 4711 began"));
}

TEST_F(PerfImportTest, ALinkToAMapIsNotFollowed) {
  std::ofstream(folder + "other") << "7000 100 outer\n";
  std::filesystem::create_symlink(folder + "other", folder + "perf-4711.map");
  sample(100, 0x7010, {});
  EXPECT_FALSE(functions().contains("outer"));
  EXPECT_TRUE(noted("symbolic link"));
}

TEST_F(PerfImportTest, TheLastLineOfAMapNeedsNoEndAndWrongOnesAreSaid) {
  std::ofstream(folder + "perf-4711.map") << "7000\t100\touter\nno line of a map\n  7100   100   last";
  sample(100, 0x7010, {});
  sample(200, 0x7110, {});
  auto rows = functions();
  EXPECT_EQ(imported.jit_functions, 2u);
  EXPECT_DOUBLE_EQ(rows["outer"].cost.share, 0.5);
  EXPECT_DOUBLE_EQ(rows["last"].cost.share, 0.5);
  EXPECT_TRUE(noted("1 lines could not be used"));
}

TEST_F(PerfImportTest, AMapThatCannotBeUsedIsSaid) {
  std::ofstream(folder + "perf-4711.map") << "no line of a map\n";
  sample(100, 0x7010, {});
  EXPECT_FALSE(functions().contains("outer"));
  EXPECT_TRUE(noted("perf-4711.map names nothing"));
}

TEST_F(PerfImportTest, ADumpThatTheProcessMappedNamesGeneratedCode) {
  const std::string dump = dump_of({{"first", kCode}, {"other", kCode + 64}});
  std::ofstream(folder + "jit-4711.dump") << dump;
  map_dump("/nowhere/jit-4711.dump");
  sample(100, kCode + 70, {});
  auto rows = functions();
  EXPECT_EQ(imported.jit_functions, 2u);
  EXPECT_DOUBLE_EQ(rows["other"].cost.share, 1);
  // A dump of nothing is no reason to look no further.
  std::ofstream(folder + "jit-4711.dump") << dump.substr(0, 40);
  std::ofstream(folder + "perf-4711.map") << "7000 100 of_the_map\n";
  EXPECT_DOUBLE_EQ(functions()["of_the_map"].cost.share, 1);
  EXPECT_TRUE(noted("names no function"));
}

TEST_F(PerfImportTest, AllDumpsThatTheProcessMappedAndItsMapNameCode) {
  for (const char* each : {"a", "b", "c"}) std::filesystem::create_directories(folder + each);
  std::ofstream(folder + "a/jit-4711.dump") << dump_of({{"first", 0x10000}});
  std::ofstream(folder + "b/jit-4711.dump") << dump_of({{"other", 0x20000}});
  std::filesystem::create_hard_link(folder + "a/jit-4711.dump", folder + "c/jit-4711.dump");
  std::ofstream(folder + "perf-4711.map") << "30000 40 of_the_map\n";
  for (const char* each : {"a", "b", "c", "a"}) map_dump(folder + each + "/jit-4711.dump");
  map_dump("/nowhere/jit-4711.dump");
  for (const std::uint64_t address : {0x10010, 0x20010, 0x30010}) sample(address, address, {});
  auto rows = functions();
  EXPECT_EQ(imported.jit_functions, 3u) << "each once";
  for (const char* each : {"first", "other", "of_the_map"}) EXPECT_NEAR(rows[each].cost.share, 1.0 / 3, 1e-9);
  EXPECT_TRUE(noted("/nowhere/jit-4711.dump: the jitdump of process 4711 could not be used"));
}

TEST_F(PerfImportTest, OfMoreDumpsThanAreReadTheRestIsSaid) {
  for (int i = 0; i < 10; ++i) {
    std::filesystem::create_directories(folder + std::to_string(i));
    const std::string path = folder + std::to_string(i) + "/jit-4711.dump";
    std::ofstream(path) << dump_of({{"f", 0x10000 + 0x1000u * static_cast<unsigned>(i)}});
    map_dump(path);
  }
  sample(100, 0x10010, {});
  ASSERT_TRUE(load().ok());
  EXPECT_EQ(imported.jit_functions, 8u);
  EXPECT_TRUE(noted("more than 8 jitdumps"));
}

// They are read with the budget that every report has.
class ManyNamesTest : public PerfImportTest {
 protected:
  static std::string name(std::uint64_t number, std::size_t size) {
    std::string out = std::to_string(number) + "_is_a_function_of_a_runtime_with_a_name_of_quite_some_length";
    out.resize(std::max(size, out.size()), 'x');
    return out;
  }
  // One more than are read.
  void write_map(std::uint64_t names, std::size_t size) const {
    std::ofstream map(folder + "perf-4711.map");
    for (std::uint64_t i = 0; i <= names; ++i)
      map << std::hex << 0x100000 + 0x40 * i << " 40 " << name(i, size) << '\n';
  }
  void judge(const std::vector<std::uint64_t>& hit, std::size_t size) {
    std::set<std::string> expected, names;
    for (const std::uint64_t i : hit) {
      sample(100 + i, 0x100010 + 0x40 * i, {});
      expected.insert(name(i, size));
    }
    auto writer = store::FileWriter::create(folder + "out.tailor", {});
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE(import_into(**writer).ok());
    ASSERT_TRUE((*writer)->finish().ok());
    EXPECT_EQ((*writer)->stats().lost_blocks, 0u);
    query::LoadOptions options;
    options.functions = true;
    const auto profile = query::Profile::load_file(folder + "out.tailor", options);
    ASSERT_TRUE(profile.ok()) << profile.error().message;
    const auto report = query::function_report(*profile, {});
    ASSERT_TRUE(report.ok()) << report.error().message;
    for (const query::FunctionRow& row : report->functions) names.insert(row.name);
    EXPECT_EQ(names, expected);
  }
};

TEST_F(ManyNamesTest, NamesMayTakeMoreThanABlockOfAProfile) {
  constexpr std::size_t kSize = 4000;
  write_map(20'000, kSize);
  judge({0, 19'999}, kSize);
  EXPECT_EQ(imported.jit_functions, 20'001u);
}

// What a runtime may name at most. With `./dev test --full`: it takes twenty seconds of CPU time.
TEST_F(ManyNamesTest, DISABLED_AMillionNamesAreWrittenAndRead) {
  write_map(formats::kMaxJitSymbols, 0);
  judge({0, 65'536, formats::kMaxJitSymbols - 1}, 0);
  EXPECT_EQ(imported.jit_functions, formats::kMaxJitSymbols);
  EXPECT_TRUE(noted("1 lines could not be used")) << "the last one is beyond what is read";
}

// Each count of a group is a sample of its event.
TEST_F(PerfImportTest, EveryEventOfAGroupHasItsSamples) {
  file.resize(16);
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = PERF_TYPE_HARDWARE;
  attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_READ;
  attr.read_format = PERF_FORMAT_ID | PERF_FORMAT_GROUP;
  attr.sample_id_all = 1;
  for (attr.config = 0; attr.config < 2; ++attr.config)
    add(RecordBytes(64, 0).raw({reinterpret_cast<const char*>(&attr), sizeof attr}).u64(attr.config + 1));
  for (std::uint64_t i = 1; i <= 3; ++i)
    add(RecordBytes(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER)
            .u64(kCode)
            .u32(kPid)
            .u32(kPid)
            .u64(i)
            .u64(1)
            .u64(2)
            .u64s({100 * i, 1, 7 * i, 2}));
  auto profile = load();
  ASSERT_TRUE(profile.ok()) << profile.error().message;
  EXPECT_EQ(imported.samples, 6u);
  std::map<std::uint16_t, double> weight;
  for (const auto& [key, cell] : profile->cells()) weight[key.source] += cell.weight;
  EXPECT_DOUBLE_EQ(weight[0], 300);
  EXPECT_DOUBLE_EQ(weight[1], 21);
}

TEST_F(PerfImportTest, TheArchitectureOfAnotherMachineIsSaid) {
  RecordBytes feature(80, 0);
  add(feature.u64(6).u32(16).raw("aarch64").raw(std::string(9, '\0')));
  sample(100, kCode, {});
  ASSERT_TRUE(load().ok());
  EXPECT_EQ(imported.description.arch, "aarch64");
  EXPECT_TRUE(noted("another architecture (aarch64)"));
}

// A file names what was recorded if it has the recorded id, and runs there.
TEST_F(PerfImportTest, FilesOfThisHostNameNothingOfAnotherMachine) {
  const std::string path = folder + "program", id(20, 'i');
  add(RecordBytes(80, 0).u64(6).u32(16).raw("aarch64").raw(std::string(9, '\0')));
  RecordBytes mapped(PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER | PERF_RECORD_MISC_MMAP_BUILD_ID);
  mapped.u32(kPid).u32(kPid).u64(kCode).u64(0x1000).u64(0).u8(20).u8(0).u16(0).raw(id).u32(5).u32(2);
  add(mapped.text(path).u32(kPid).u32(kPid).u64(50));
  sample(100, kCode + 0x100, {});
  const auto row_with = [&](std::uint16_t machine, const std::string& id_here) {
    query::ElfImage<true> image;
    image.machine = machine;
    image.code(".text", 0x1000, std::string(0x100, '\x90')).build_id(id_here);
    image.symbols(SHT_SYMTAB, {{"of_this_file", STB_GLOBAL, STT_FUNC, 1, 0x1000, 0x100}});
    query::write_image(path, image.bytes());
    const auto rows = functions();
    return rows.size() == 1 ? rows.begin()->second : query::FunctionRow{};
  };
  EXPECT_EQ(row_with(EM_AARCH64, id).name, "of_this_file");
  EXPECT_EQ(row_with(EM_AARCH64, std::string(20, 'o')).function.why, "the file is another one now");
  EXPECT_NE(row_with(EM_X86_64, id).function.why.find("of another machine"), std::string::npos);
  std::filesystem::remove(path);
  const auto rows = functions();
  EXPECT_EQ(rows.at("[unknown]").function.why, "the file is gone");
}

TEST_F(PerfImportTest, AKernelSampleLeadsToTheUserCodeThatEnteredIt) {
  std::ofstream(folder + "perf-4711.map") << "7000 100 outer\n";
  sample(100, 0xffffffff81000010,
         {static_cast<std::uint64_t>(PERF_CONTEXT_KERNEL), 0xffffffff81000010, 0xffffffff81000100,
          static_cast<std::uint64_t>(PERF_CONTEXT_USER), 0x7040},
         PERF_RECORD_MISC_KERNEL);
  auto rows = functions();
  EXPECT_DOUBLE_EQ(rows["outer"].total.share, 1);
  EXPECT_DOUBLE_EQ(rows["outer"].cost.share, 0);
}

// Programs are there for a time. perf tells of those that were there when it began without a time.
TEST_F(PerfImportTest, CodeOfBpfProgramsHasTheNameOfItsTime) {
  constexpr std::uint64_t kProgram = 0xffffffffc0000000;
  const auto symbol = [&](std::uint64_t time, const char* name, std::uint16_t flags = 0) {
    RecordBytes record(PERF_RECORD_KSYMBOL, 0);
    record.u64(kProgram).u32(64).u16(PERF_RECORD_KSYMBOL_TYPE_BPF).u16(flags).text(name);
    test::SampleFields fields;
    fields.time = time;
    test::append(file, test::with_sample_id(std::move(record), format, fields));
  };
  const auto in_program = [&](std::uint64_t time) {
    sample(time, kProgram + 8, {}, PERF_RECORD_MISC_KERNEL);
  };
  symbol(0, "bpf_prog_1_one");
  in_program(100);
  symbol(150, "bpf_prog_1_one", PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER);
  in_program(200);
  symbol(250, "bpf_prog_2_two");
  in_program(300);
  in_program(400);
  const auto rows = functions();
  EXPECT_DOUBLE_EQ(rows.at("bpf_prog_1_one").cost.share, 0.25);
  EXPECT_DOUBLE_EQ(rows.at("bpf_prog_2_two").cost.share, 0.5);
  EXPECT_EQ(rows.at("bpf_prog_2_two").function.object, "[bpf]");
  EXPECT_DOUBLE_EQ(rows.at("[unknown]").cost.share, 0.25);
}

TEST_F(PerfImportTest, EveryTruncationAndDamageGivesAnErrorOrLess) {
  sample(100, kCode, {static_cast<std::uint64_t>(PERF_CONTEXT_USER), kCode, 0x7020});
  round();
  sample(200, kCode, {});
  const std::vector<std::byte> whole = file;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    file.assign(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    if (load().ok()) {
      EXPECT_LE(imported.samples, 2u);
    }
  }
  for (std::size_t at = 16; at < whole.size(); ++at) {
    file = whole;
    file[at] ^= std::byte{0xff};
    (void)load().ok();
  }
}

// Events and names that come one by one are told once, in front of the records they are for.
TEST_F(PerfImportTest, NamesThatComeOneByOneAreToldTogether) {
  for (int i = 0; i < 500; ++i)
    add(RecordBytes(78, 0).u64(2).u64(1).raw("name " + std::to_string(i) + std::string(8, '\0')));
  sample(1, kCode, {});
  round();
  const auto profile = load();
  ASSERT_TRUE(profile.ok()) << profile.error().message;
  EXPECT_LE(imported.layouts, 2u);
}

TEST_F(PerfImportTest, MoreEventsThanARecorderOpensAreRefused) {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.sample_type = format.sample_type;
  for (std::uint64_t i = 0; i < 2000; ++i)
    add(RecordBytes(64, 0).raw({reinterpret_cast<const char*>(&attr), sizeof attr}).u64(i + 2));
  const auto profile = load();
  ASSERT_FALSE(profile.ok());
  EXPECT_NE(profile.error().message.find("more than 1024 events"), std::string::npos);
}

}  // namespace
}  // namespace tailor::importer
