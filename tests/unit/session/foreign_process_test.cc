#include "daemon/session/foreign_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "daemon/foreign/find_jitdump.h"
#include "daemon/pipeline/pipeline.h"
#include "daemon/session/foreign_processes.h"
#include "daemon/session/speech.h"
#include "tests/support/collecting_sink.h"
#include "tests/support/fake_os.h"
#include "tests/support/scripted_input.h"

namespace tailor::session {
namespace {

constexpr TimeNs kSecond = 1'000'000'000;

// This process writes a perf map, or a jitdump, as a runtime with a JIT does.
TimeNs raw_now() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return now.tv_sec * kSecond + now.tv_nsec;
}

class ForeignProcessTest : public testing::Test {
 protected:
  ForeignProcessTest()
      : map("/tmp/perf-" + std::to_string(process.pid) + ".map"),
        dump(testing::TempDir() + "/jit-" + std::to_string(process.pid) + ".dump") {
    std::remove(map.c_str());  // of an earlier process of this number
    script.open();
    clock::Conversion piece;
    piece.mult = 1;
    EXPECT_TRUE(timeline.append(piece).ok());
  }
  ~ForeignProcessTest() override {
    std::remove(map.c_str());
    std::remove(dump.c_str());
    if (mapped != MAP_FAILED) ::munmap(mapped, 4096);
    for (void* each : others) ::munmap(each, 4096);
    std::filesystem::remove_all(folder);
  }

  ForeignMoment at(TimeNs time) const { return {static_cast<std::uint64_t>(time), &timeline, kAhead}; }

  void tell(ForeignProcess& foreign, const ForeignMoment& moment) {
    for (Speech& each : foreign.look(moment)) say(std::move(each), moment.tsc, pipeline);
  }
  void tell_last(ForeignProcess& foreign, const ForeignMoment& moment,
                 const std::vector<std::string>& mapped_dumps = {}) {
    do {
      for (Speech& each : foreign.look_at_last(moment, mapped_dumps))
        say(std::move(each), moment.tsc, pipeline);
    } while (foreign.goes_on());
  }

  // The dump's clock runs ahead of ours.
  static constexpr TimeNs kAhead = 1000;

  // Of an empty dump; the file stays the same.
  void write_head(std::int32_t pid, std::uint32_t time) {
    const std::uint32_t head[] = {0x4A695444, 1, 40, 62, 0, static_cast<std::uint32_t>(pid), time, 0, 0, 0};
    std::ofstream(dump).write(reinterpret_cast<const char*>(head), sizeof head);
  }
  void begin_dump(std::uint32_t pid) {
    write_head(static_cast<std::int32_t>(pid), 0);
    const int file = ::open(dump.c_str(), O_RDONLY);
    mapped = ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
    ASSERT_NE(mapped, MAP_FAILED);
    ::close(file);
  }
  // One more, of the same name, with one function.
  std::string other_dump(const std::string& function, std::uint64_t address, TimeNs time) {
    std::filesystem::create_directories(folder + std::to_string(others.size()));
    const std::string first = std::exchange(
        dump, folder + std::to_string(others.size()) + "/jit-" + std::to_string(process.pid) + ".dump");
    void* const before = std::exchange(mapped, MAP_FAILED);
    begin_dump(static_cast<std::uint32_t>(process.pid));
    load(function, address, time);
    others.push_back(std::exchange(mapped, before));
    return std::exchange(dump, first);
  }
  void load(const std::string& name, std::uint64_t address, TimeNs time, std::uint32_t size = 0x40) {
    std::ofstream file(dump, std::ios::app | std::ios::binary);
    const auto put = [&](auto value) { file.write(reinterpret_cast<const char*>(&value), sizeof value); };
    put(std::uint32_t{0});
    put(static_cast<std::uint32_t>(16 + 40 + name.size() + 1 + size));
    put(static_cast<std::uint64_t>(time + kAhead));
    put(std::uint64_t{0});  // pid, tid
    put(address);
    put(address);
    put(static_cast<std::uint64_t>(size));
    put(static_cast<std::uint64_t>(time));
    file.write(name.c_str(), static_cast<std::streamsize>(name.size() + 1));
    file << std::string(size, '\x90');
  }
  // Of the code that comes next.
  void tell_frames(const std::string& table) {
    std::ofstream file(dump, std::ios::app | std::ios::binary);
    const auto put = [&](auto value) { file.write(reinterpret_cast<const char*>(&value), sizeof value); };
    put(std::uint32_t{4});
    put(static_cast<std::uint32_t>(16 + 24 + table.size()));
    put(std::uint64_t{0});
    put(static_cast<std::uint64_t>(table.size()));
    put(std::uint64_t{0});  // no index of it
    put(std::uint64_t{0});
    file << table;
  }
  std::vector<std::string> names_of_samples() const {
    std::vector<std::string> names;
    for (const auto& sample : sink.samples) {
      const v1::Plan* plan = nullptr;
      for (const auto& [id, each] : sink.plan_bodies)
        if (id == sample.attribution.plan) plan = &each;
      if (plan == nullptr) {
        names.emplace_back("?");
        continue;
      }
      const auto& lowest = plan->levels(plan->levels_size() - 1);
      names.push_back(lowest.components(static_cast<int>(sample.attribution.link >> 1) - 1).name());
    }
    return names;
  }

  const ProcessId process{::getpid(), 1};
  std::string map, dump;
  void* mapped = MAP_FAILED;
  std::vector<void*> others;
  const std::string folder = testing::TempDir() + "/dumps_" + std::to_string(process.pid) + "/";
  clock::Timeline timeline;
  test::CollectingSink sink;
  pipeline::Pipeline pipeline{sink};
  test::ScriptedInput script{pipeline};
};

TEST_F(ForeignProcessTest, WithoutEitherFileNothingIsSaid) {
  ForeignProcess foreign(os::real(), process);
  tell(foreign, at(10));
  EXPECT_EQ(foreign.functions(), 0u);
  EXPECT_TRUE(sink.plans.empty());
  EXPECT_NE(foreign.source().find(".map"), std::string::npos);
  EXPECT_NE(foreign.source().find(".dump"), std::string::npos);
}

TEST_F(ForeignProcessTest, TheMapsLinesAreSaidOnceAsTheyCome) {
  std::ofstream(map) << "10000 40 one\n10040 40 two\nf000 40 thr";
  ForeignProcess foreign(os::real(), process);
  tell(foreign, at(10));
  EXPECT_EQ(foreign.functions(), 2u);
  tell(foreign, at(6 * kSecond));
  EXPECT_EQ(foreign.functions(), 2u);
  std::ofstream(map, std::ios::app) << "ee\n";
  tell(foreign, at(12 * kSecond));
  EXPECT_EQ(foreign.functions(), 3u);
  EXPECT_EQ(sink.codes, (std::vector<CodeId>{1, 2, 3}));
  EXPECT_TRUE(sink.unloads.empty());
  script.sample(process.pid, process.pid, 500, 0x10050);
  script.sample(process.pid, process.pid, 13 * kSecond, 0xf010);
  script.read();
  pipeline.flush(20 * kSecond);
  EXPECT_EQ(names_of_samples(), (std::vector<std::string>{"two", "three"}));
  EXPECT_EQ(sink.samples[0].attribution.quality, profile::Quality::kInferred);
  EXPECT_EQ(sink.accounting.at(process).messages_rejected, 0u);
}

// Some runtimes name the arena of all their code.
TEST_F(ForeignProcessTest, AnEntryOfAMapMayBeLargerThanAnyFunction) {
  std::ofstream(map) << "100000000 40000000 arena\n";
  ForeignProcess foreign(os::real(), process);
  tell(foreign, at(10));
  EXPECT_EQ(foreign.functions(), 1u);
  script.sample(process.pid, process.pid, 500, 0x120000010);
  script.read();
  pipeline.flush(20 * kSecond);
  EXPECT_EQ(names_of_samples(), (std::vector<std::string>{"arena"}));
  EXPECT_EQ(sink.accounting.at(process).messages_rejected, 0u);
}

// The lines where the others ended are none of it.
TEST_F(ForeignProcessTest, AMapThatWasWrittenAgainIsAnotherOneThoughItIsLonger) {
  std::ofstream(map) << "10000 40 one\n10040 40 two\n";
  ForeignProcess foreign(os::real(), process);
  tell(foreign, at(10));
  EXPECT_EQ(foreign.functions(), 2u);
  std::ofstream(map) << "20000 40 three\n20040 40 four\n20080 40 five\n";
  tell(foreign, at(6 * kSecond));
  EXPECT_EQ(foreign.functions(), 3u);
}

TEST_F(ForeignProcessTest, AProgramThatIsExecutedHasADumpOfItsOwn) {
  begin_dump(static_cast<std::uint32_t>(process.pid));
  load("old", 0x10000, 100);
  ForeignProcess foreign(os::real(), process);
  tell(foreign, at(150));
  EXPECT_EQ(foreign.functions(), 1u);
  ::munmap(mapped, 4096);
  std::remove(dump.c_str());
  begin_dump(static_cast<std::uint32_t>(process.pid));
  load("new", 0x20000, 200);
  load("newer", 0x30000, 210);
  foreign.executed(raw_now());
  tell(foreign, at(300));
  EXPECT_EQ(foreign.functions(), 2u);
}

TEST_F(ForeignProcessTest, AProgramThatIsExecutedHasNoNamesOfTheOneBefore) {
  constexpr TimeNs kMoment = 20'000'000;
  std::ofstream(map) << "10000 40 one\n";
  ForeignProcess foreign(os::real(), process);
  tell(foreign, at(10));
  EXPECT_EQ(foreign.functions(), 1u);
  std::ofstream(map, std::ios::app) << "11000 40 unread\n";
  foreign.executed(raw_now() + kMoment);
  tell(foreign, at(6 * kSecond));
  EXPECT_EQ(foreign.functions(), 0u);
  std::ofstream(map) << "20000 40 two\n";
  // It is written when that program has begun.
  std::filesystem::last_write_time(
      map, std::filesystem::file_time_type::clock::now() + std::chrono::nanoseconds(2 * kMoment));
  tell(foreign, at(12 * kSecond));
  EXPECT_EQ(foreign.functions(), 1u);
}

TEST_F(ForeignProcessTest, WhatIsWrittenAtTheEndIsReadThen) {
  ForeignProcess foreign(os::real(), process);
  tell(foreign, at(10));
  std::ofstream(map) << "10000 40 one\n";
  tell_last(foreign, at(20));
  EXPECT_EQ(foreign.functions(), 1u);
}

TEST_F(ForeignProcessTest, TheLastLineOfAMapNeedsNoEndAtTheEnd) {
  std::ofstream(map) << "10000 40 one\n\tf000 \t 40\tlast";
  ForeignProcess foreign(os::real(), process);
  tell(foreign, at(10));
  tell(foreign, at(6 * kSecond));
  EXPECT_EQ(foreign.functions(), 1u) << "somebody may still write it";
  for (int i = 0; i < 2; ++i) {
    tell_last(foreign, at(7 * kSecond));
    EXPECT_EQ(foreign.functions(), 2u) << "once";
  }
  script.sample(process.pid, process.pid, 8 * kSecond, 0xf010);
  script.read();
  pipeline.flush(20 * kSecond);
  EXPECT_EQ(names_of_samples(), std::vector<std::string>{"last"});
  EXPECT_EQ(sink.accounting.at(process).messages_rejected, 0u);
}

TEST_F(ForeignProcessTest, AMapWithoutAnyEndOfALineIsReadAtTheEnd) {
  std::ofstream(map) << "10000 40 one";
  ForeignProcess foreign(os::real(), process);
  tell_last(foreign, at(20));
  EXPECT_EQ(foreign.functions(), 1u);
}

TEST_F(ForeignProcessTest, ALineThatGoesOnAfterTheEndIsReadAsAWhole) {
  std::ofstream(map) << "10000 4";
  ForeignProcess foreign(os::real(), process);
  tell_last(foreign, at(20));
  EXPECT_EQ(foreign.functions(), 0u);
  std::ofstream(map, std::ios::app) << "0 one\n";
  tell_last(foreign, at(30));
  EXPECT_EQ(foreign.functions(), 1u);
}

TEST_F(ForeignProcessTest, AMapThatIsRemovedIsReadToItsEnd) {
  std::ofstream(map) << "10000 40 one\n20000 40 two";
  ForeignProcess foreign(os::real(), process);
  tell(foreign, at(10));
  EXPECT_EQ(foreign.functions(), 1u);
  std::remove(map.c_str());
  tell(foreign, at(6 * kSecond));
  EXPECT_EQ(foreign.functions(), 1u);
  tell_last(foreign, at(7 * kSecond));
  EXPECT_EQ(foreign.functions(), 2u);
}

TEST_F(ForeignProcessTest, AMapThatIsEmptiedAndRemovedKeepsWhatWasRead) {
  std::ofstream(map) << "10000 40 one\n";
  ForeignProcess foreign(os::real(), process);
  tell(foreign, at(10));
  std::filesystem::resize_file(map, 0);
  std::remove(map.c_str());
  tell_last(foreign, at(6 * kSecond));
  EXPECT_EQ(foreign.functions(), 1u);
}

TEST_F(ForeignProcessTest, AnotherProgramHasNothingOfAMapThatIsRemoved) {
  std::ofstream(map) << "10000 40 one\n20000 40 two";
  ForeignProcess foreign(os::real(), process);
  tell(foreign, at(10));
  std::remove(map.c_str());
  foreign.executed(raw_now());
  tell_last(foreign, at(6 * kSecond));
  EXPECT_EQ(foreign.functions(), 0u);
}

TEST_F(ForeignProcessTest, AMapThatTookThePlaceOfTheOtherIsRead) {
  std::ofstream(map) << "10000 40 one\n";
  ForeignProcess foreign(os::real(), process);
  tell(foreign, at(10));
  const std::string other = map + ".new";
  std::ofstream(other) << "10000 40 one\n20000 40 two\n30000 40 three\n";
  ASSERT_EQ(std::rename(other.c_str(), map.c_str()), 0);
  tell(foreign, at(6 * kSecond));
  EXPECT_EQ(foreign.functions(), 3u);
}

// The bytes that were read last are the same in both.
TEST_F(ForeignProcessTest, AMapInAnotherFileIsAnotherOneThoughItEndsAlike) {
  const std::string padding(300, 'x');
  std::ofstream(map) << "10000 40 one\n20000 40 " << padding << '\n';
  ForeignProcess foreign(os::real(), process);
  tell(foreign, at(10));
  EXPECT_EQ(foreign.functions(), 2u);
  const std::string other = map + ".new";
  std::ofstream(other) << "30000 40 two\n20000 40 " << padding << '\n';
  ASSERT_EQ(std::rename(other.c_str(), map.c_str()), 0);
  tell(foreign, at(6 * kSecond));
  tell(foreign, at(12 * kSecond));
  EXPECT_EQ(foreign.functions(), 2u);
  script.sample(process.pid, process.pid, 13 * kSecond, 0x30010);
  script.read();
  pipeline.flush(20 * kSecond);
  EXPECT_EQ(names_of_samples(), std::vector<std::string>{"two"});
}

TEST_F(ForeignProcessTest, EveryLineOfAMapThatIsNotReadIsCountedOnce) {
  pipeline.on_known_process({process, "this"});
  std::ofstream(map) << "nonsense\n";
  ForeignProcess foreign(os::real(), process);
  tell(foreign, at(10));
  std::ofstream(map, std::ios::app) << "10000 40 one\nmore\n";
  tell(foreign, at(6 * kSecond));
  std::ofstream(map, std::ios::app) << "only nonsense\n";
  tell(foreign, at(12 * kSecond));
  std::ofstream(map, std::ios::app) << "20000 40";
  tell(foreign, at(18 * kSecond));
  pipeline.flush(19 * kSecond);
  EXPECT_EQ(sink.accounting.at(process).messages_rejected, 3u);
  tell_last(foreign, at(24 * kSecond));
  tell_last(foreign, at(25 * kSecond));
  pipeline.flush(30 * kSecond);
  EXPECT_EQ(sink.accounting.at(process).messages_rejected, 4u);
  EXPECT_EQ(foreign.functions(), 1u);
}

TEST_F(ForeignProcessTest, ALargeMapIsReadInPieces) {
  {
    std::ofstream out(map);
    for (std::uint64_t i = 0; i < 60'000; ++i)
      out << std::hex << 0x10000 + 0x40 * i << " 40 a_function_with_a_name_of_some_length_" << std::dec << i
          << '\n';
  }
  ForeignProcess foreign(os::real(), process);
  tell(foreign, at(10));
  const std::size_t first = foreign.functions();
  EXPECT_GT(first, 0u);
  EXPECT_LT(first, 30'000u) << "more than a piece";
  tell(foreign, at(11));
  EXPECT_GT(foreign.functions(), first) << "the next one does not wait";
  tell_last(foreign, at(12));
  EXPECT_EQ(foreign.functions(), 60'000u);
}

TEST_F(ForeignProcessTest, ALineThatIsLongerThanAPieceIsLeftOutAndNoOther) {
  pipeline.on_known_process({process, "this"});
  std::ofstream(map) << "10000 40 one\n20000 40 " << std::string(std::size_t{5} << 17, 'x')
                     << "\n30000 40 three\n";
  ForeignProcess foreign(os::real(), process);
  for (int i = 0; i < 6; ++i) tell(foreign, at(10 + i));
  EXPECT_EQ(foreign.functions(), 2u);
  pipeline.flush(7 * kSecond);
  EXPECT_EQ(sink.accounting.at(process).messages_rejected, 1u);
}

TEST_F(ForeignProcessTest, AMapOfMoreThan256MegabytesIsReadToItsEnd) {
  pipeline.on_known_process({process, "this"});
  std::ofstream(map) << "10000 40 one\n";
  ASSERT_EQ(::truncate(map.c_str(), off_t{256} << 20), 0);
  std::ofstream(map, std::ios::app) << "\n20000 40 two\n";
  ForeignProcess foreign(os::real(), process);
  tell_last(foreign, at(10));
  EXPECT_EQ(foreign.functions(), 2u);
  pipeline.flush(7 * kSecond);
  EXPECT_EQ(sink.accounting.at(process).messages_rejected, 1u) << "the line that is none";
}

TEST_F(ForeignProcessTest, OfAMapThatIsTooLongTheBeginningIsReadAndTheRestIsSaidOnce) {
  constexpr off_t kMost = off_t{1} << 20;
  pipeline.on_known_process({process, "this"});
  std::ofstream(map) << "10000 40 one\n";
  ASSERT_EQ(::truncate(map.c_str(), kMost - 1), 0);
  std::ofstream(map, std::ios::app) << "\n20000 40 two\n";
  ForeignProcess foreign(os::real(), process, NamesFrom::kAuto, kMost);
  tell(foreign, at(10));
  EXPECT_EQ(foreign.functions(), 1u);
  tell_last(foreign, at(6 * kSecond));
  EXPECT_EQ(foreign.functions(), 1u);
  pipeline.flush(7 * kSecond);
  EXPECT_EQ(sink.accounting.at(process).messages_rejected, 2u) << "with the line that is none";
}

TEST_F(ForeignProcessTest, ADumpThatWasSeenMappedIsFoundWhenItIsMappedNoMore) {
  ForeignProcess foreign(os::real(), process);
  tell(foreign, at(10));
  begin_dump(static_cast<std::uint32_t>(process.pid));
  load("one", 0x10000, 100);
  ::munmap(std::exchange(mapped, MAP_FAILED), 4096);
  tell_last(foreign, at(200), {dump});
  EXPECT_EQ(foreign.functions(), 1u);
}

TEST_F(ForeignProcessTest, AMapOfAnEarlierProcessIsNotBelieved) {
  std::ofstream(map) << "10000 40 one\n";
  const timespec old[2] = {{1, 0}, {1, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, map.c_str(), old, 0), 0);
  ForeignProcess foreign(os::real(), process);
  tell(foreign, at(10));
  EXPECT_EQ(foreign.functions(), 0u);
}

TEST_F(ForeignProcessTest, TheDumpsFunctionsCountFromTheirTimes) {
  begin_dump(static_cast<std::uint32_t>(process.pid));
  load("one", 0x10000, 100);
  ForeignProcess foreign(os::real(), process);
  tell(foreign, at(150));
  EXPECT_EQ(foreign.functions(), 1u);
  // Found late, but each counts from its own time; "two" took the place of "one", "far" overlaps nothing.
  load("two", 0x10000, 200);
  load("far", 0x20000, 220);
  tell(foreign, at(300));
  EXPECT_EQ(foreign.functions(), 3u);
  tell(foreign, at(310));
  script.sample(process.pid, process.pid, 99, 0x10010);
  script.sample(process.pid, process.pid, 199, 0x10010);
  script.sample(process.pid, process.pid, 200, 0x10010);
  script.sample(process.pid, process.pid, 219, 0x20010);
  script.sample(process.pid, process.pid, 230, 0x20010);
  script.read();
  pipeline.flush(1000);
  EXPECT_EQ(names_of_samples(), (std::vector<std::string>{"?", "one:0", "two:0", "?", "far:0"}));
  EXPECT_EQ(sink.accounting.at(process).messages_rejected, 0u);
  EXPECT_NE(foreign.source().find("/jit-" + std::to_string(process.pid) + ".dump"), std::string::npos);
}

TEST_F(ForeignProcessTest, WhatARuntimeAddsAllTheTimeGoesIntoPlansOfBoundedSize) {
  begin_dump(static_cast<std::uint32_t>(process.pid));
  ForeignProcess foreign(os::real(), process);
  for (int i = 0; i < 1100; ++i) {
    load("f" + std::to_string(i), 0x10000 + static_cast<std::uint64_t>(i) * 0x40, i + 1);
    tell(foreign, at(i + 2));
  }
  EXPECT_EQ(foreign.functions(), 1100u);
  std::uint64_t newest = 0;
  for (const auto& [id, plan] : sink.plan_bodies) newest = std::max<std::uint64_t>(newest, id);
  EXPECT_EQ(newest, 3u);
  for (int i : {0, 600, 1099})
    script.sample(process.pid, process.pid, 2000 + i, 0x10000 + static_cast<std::uint64_t>(i) * 0x40);
  script.read();
  pipeline.flush(5000);
  EXPECT_EQ(names_of_samples(), (std::vector<std::string>{"f0:0", "f600:0", "f1099:0"}));
}

TEST_F(ForeignProcessTest, CallFrameInformationLiesBehindItsCode) {
  begin_dump(static_cast<std::uint32_t>(process.pid));
  tell_frames("a table");
  load("framed", 0x10000, 100, 0x41);
  load("bare", 0x20000, 100);
  ForeignProcess foreign(os::real(), process);
  std::vector<v1::CodeObject> codes;
  for (const Speech& each : foreign.look(at(200)))
    for (const Speech::Event& event : each.events)
      if (const auto* said = std::get_if<registration::PeerMessage>(&event);
          said && said->message.has_code_load())
        codes.push_back(said->message.code_load());
  ASSERT_EQ(codes.size(), 2u);
  EXPECT_EQ(codes[0].eh_frame(), "a table");
  EXPECT_EQ(codes[0].eh_frame_address(), 0x10048u);
  EXPECT_EQ(codes[1].eh_frame(), "");
}

// It is for who unwinds; the pipeline, and so profiles and journals, have none of it.
TEST_F(ForeignProcessTest, WhoUnwindsHearsOfCallFrameInformationAndNobodyElse) {
  begin_dump(static_cast<std::uint32_t>(process.pid));
  tell_frames("a table");
  load("framed", 0x10000, 100);
  pipeline.on_known_process({process, "runs"});
  std::vector<std::pair<ProcessId, std::string>> heard;
  ForeignProcesses foreign(
      os::real(), pipeline, pipeline, {},
      [&](ProcessId whose, const v1::CodeObject& code) { heard.emplace_back(whose, code.eh_frame()); });
  foreign.add(process, NamesFrom::kAuto);
  while (foreign.is_pending()) foreign.say();
  EXPECT_EQ(heard, (std::vector<std::pair<ProcessId, std::string>>{{process, "a table"}}));
  EXPECT_EQ(sink.codes.size(), 1u);
  EXPECT_EQ(sink.frame_bytes, 0u);
}

// A process of a fake /proc, in a time namespace, which has mapped a jitdump.
class TimeNamespace : public ForeignProcessTest {
 protected:
  static constexpr std::int32_t kPid = 4242;
  static constexpr TimeNs kTime = 5000 * kSecond;

  void in_namespace(const std::string& own, const std::string& of_children, const std::string& offsets) {
    proc.write("4242/maps", "7f0000000000-7f0000001000 r-xp 00000000 08:01 77 /jit-4242.dump\n");
    proc.write("4242/status", "NSpid:\t4242\n");
    proc.write("4242/root/empty", "");
    const auto own_files = proc.path() / "4242";
    std::filesystem::create_directory(own_files / "ns");
    std::filesystem::create_symlink(own, own_files / "ns/time");
    std::filesystem::create_symlink(of_children, own_files / "ns/time_for_children");
    if (!offsets.empty()) proc.write("4242/timens_offsets", offsets);
    dump = own_files / "root/jit-4242.dump";
    begin_dump(kPid);
  }
  // What the daemon takes the dump's time for, by the host's clock, less kTime.
  TimeNs read(TimeNs time) {
    load("one", 0x10000, time);
    ForeignProcess foreign(os, {kPid, 1}, NamesFrom::kAuto);
    for (const Speech& speech : foreign.look(at(2 * kTime))) {
      for (const Speech::Event& event : speech.events) {
        const auto* said = std::get_if<registration::PeerMessage>(&event);
        if (said != nullptr && said->message.has_code_load())
          return static_cast<TimeNs>(said->message.code_load().load_tsc()) - kTime;
      }
    }
    ADD_FAILURE() << "nothing was said";
    return -1;
  }

  test::FakeOs os;
  const test::TemporaryDirectory& proc = os.proc_files();
};

TEST_F(TimeNamespace, TheClockOfTheDumpIsThatOfItsProcess) {
  in_namespace("time:[2]", "time:[2]", "monotonic        1000         5\nboottime            7         0\n");
  EXPECT_EQ(read(kTime + 1000 * kSecond + 5), 0);
}

TEST_F(TimeNamespace, ItsClockMayBeBehindTheHosts) {
  in_namespace("time:[2]", "time:[2]", "boottime 9 9\nmonotonic -3 500000000\n");
  EXPECT_EQ(read(kTime - 3 * kSecond + kSecond / 2), 0);
}

TEST_F(TimeNamespace, SomeKernelsSayTheNumberOfTheClock) {
  in_namespace("time:[2]", "time:[2]", "7 50 0\n1 20 0\n");
  EXPECT_EQ(read(kTime + 20 * kSecond), 0);
}

// What the file says is of the namespace of its children.
TEST_F(TimeNamespace, OneThatWasMadeForChildrenIsNotItsOwn) {
  in_namespace("time:[1]", "time:[2]", "monotonic 1000 0\n");
  EXPECT_EQ(read(kTime), 0);
}

TEST_F(TimeNamespace, OfAKernelWithoutThemNothingIsAdded) {
  in_namespace("time:[1]", "time:[1]", "");
  EXPECT_EQ(read(kTime), 0);
}

TEST_F(TimeNamespace, NonsenseIsHarmless) {
  in_namespace("time:[2]", "time:[2]", "monotonic 9223372036854775807 9223372036854775807\n");
  EXPECT_LE(read(kTime), 0);
  proc.write("4242/timens_offsets", "monotonic x y\nmonotonic 5 0\n");
  EXPECT_EQ(read(kTime), 0);
}

TEST_F(ForeignProcessTest, ADumpOfAnotherProcessIsRefusedOnce) {
  begin_dump(static_cast<std::uint32_t>(process.pid) + 1);
  load("one", 0x10000, 100);
  ForeignProcess foreign(os::real(), process);
  tell(foreign, at(150));
  load("two", 0x10000, 200);
  tell(foreign, at(300));
  EXPECT_EQ(foreign.functions(), 0u);
  EXPECT_TRUE(sink.plans.empty());
  pipeline.flush(1000);
  EXPECT_EQ(sink.accounting.at(process).messages_rejected, 1u);
}

// Shorter, as long, and longer than it was: what was read is not there any more.
TEST_F(ForeignProcessTest, ADumpThatIsWrittenAgainIsReadFromItsBegin) {
  begin_dump(static_cast<std::uint32_t>(process.pid));
  load("one", 0x10000, 100);
  load("two", 0x20000, 100);
  ForeignProcess foreign(os::real(), process);
  tell(foreign, at(150));
  EXPECT_EQ(foreign.functions(), 2u);
  write_head(process.pid, 1);
  load("new", 0x30000, 200);
  tell(foreign, at(250));
  EXPECT_EQ(foreign.functions(), 3u);
  write_head(process.pid, 2);
  load("neu", 0x40000, 300);
  tell(foreign, at(350));
  EXPECT_EQ(foreign.functions(), 4u);
  write_head(process.pid, 2);
  load("nouveau", 0x50000, 400);
  load("far", 0x60000, 400);
  tell(foreign, at(450));
  tell(foreign, at(460));
  EXPECT_EQ(foreign.functions(), 6u);
  for (const std::uint64_t address : {0x30010, 0x40010, 0x50010, 0x60010})
    script.sample(process.pid, process.pid, 500, address);
  script.read();
  pipeline.flush(1000);
  EXPECT_EQ(names_of_samples(), (std::vector<std::string>{"new:0", "neu:0", "nouveau:0", "far:0"}));
  EXPECT_EQ(sink.accounting.at(process).messages_rejected, 0u);
}

// It has the header of nobody's dump first, as where it is copied in two steps.
TEST_F(ForeignProcessTest, ADumpThatWasRefusedIsReadWhenItIsWrittenAgain) {
  begin_dump(static_cast<std::uint32_t>(process.pid) + 1);
  ForeignProcess foreign(os::real(), process);
  tell(foreign, at(150));
  write_head(process.pid, 0);
  load("one", 0x10000, 100);
  tell(foreign, at(250));
  EXPECT_EQ(foreign.functions(), 1u);
}

TEST_F(ForeignProcessTest, MalformedRecordsAreCountedAndTheRestIsTaken) {
  begin_dump(static_cast<std::uint32_t>(process.pid));
  load("wraps", UINT64_MAX - 1, 50);
  load("one", 0x10000, 100);
  ForeignProcess foreign(os::real(), process);
  tell(foreign, at(150));
  EXPECT_EQ(foreign.functions(), 1u);
  pipeline.flush(1000);
  EXPECT_EQ(sink.accounting.at(process).messages_rejected, 1u);
}

TEST_F(ForeignProcessTest, AMapOfNonsenseSaysNothing) {
  std::ofstream(map) << " 400000 what\n\n";
  ForeignProcess foreign(os::real(), process);
  tell(foreign, at(10));
  EXPECT_EQ(foreign.functions(), 0u);
  EXPECT_TRUE(sink.processes.empty());
}

TEST_F(ForeignProcessTest, AllDumpsAndTheMapNameCode) {
  begin_dump(static_cast<std::uint32_t>(process.pid));
  load("one", 0x10000, 100);
  std::ofstream(map) << "30000 40 three\n";
  ForeignProcess foreign(os::real(), process);
  tell(foreign, at(150));
  EXPECT_EQ(foreign.functions(), 2u);
  other_dump("two", 0x20000, 200);
  foreign.mapped_dump();
  tell(foreign, at(250));
  EXPECT_EQ(foreign.functions(), 3u);
  std::ofstream(map, std::ios::app) << "40000 40 four\n";
  load("five", 0x50000, 300);
  tell(foreign, at(2 * kSecond));
  tell(foreign, at(4 * kSecond));
  EXPECT_EQ(foreign.functions(), 5u) << "each once";
  for (const std::uint64_t address : {0x10010, 0x20010, 0x30010, 0x40010, 0x50010})
    script.sample(process.pid, process.pid, 5 * kSecond, address);
  script.read();
  pipeline.flush(10 * kSecond);
  EXPECT_EQ(names_of_samples(), (std::vector<std::string>{"one:0", "two:0", "three", "four", "five:0"}));
  EXPECT_TRUE(sink.unloads.empty());
  EXPECT_EQ(sink.accounting.at(process).messages_rejected, 0u);
  const std::size_t temporary = testing::TempDir().size();
  for (const std::string& each : {dump.substr(temporary), folder.substr(temporary), map})
    EXPECT_NE(foreign.source().find(each), std::string::npos) << foreign.source();
}

TEST_F(ForeignProcessTest, AMapThatIsWrittenAgainLeavesWhatDumpsHaveSaid) {
  begin_dump(static_cast<std::uint32_t>(process.pid));
  load("one", 0x10000, 100);
  std::ofstream(map) << "30000 40 three\n";
  ForeignProcess foreign(os::real(), process);
  tell(foreign, at(150));
  std::ofstream(map) << "40000 40 four\n";
  tell(foreign, at(2 * kSecond));
  EXPECT_EQ(foreign.functions(), 2u);
  script.sample(process.pid, process.pid, 3 * kSecond, 0x10010);
  script.sample(process.pid, process.pid, 3 * kSecond, 0x40010);
  script.read();
  pipeline.flush(10 * kSecond);
  EXPECT_EQ(names_of_samples(), (std::vector<std::string>{"one:0", "four"}));
}

// The same path, another file: what the old one had is read to its end.
TEST_F(ForeignProcessTest, ADumpThatTakesThePlaceOfTheOtherIsReadToo) {
  begin_dump(static_cast<std::uint32_t>(process.pid));
  load("one", 0x10000, 100);
  ForeignProcess foreign(os::real(), process);
  tell(foreign, at(150));
  load("last", 0x20000, 200);
  std::remove(dump.c_str());
  others.push_back(mapped);
  begin_dump(static_cast<std::uint32_t>(process.pid));
  load("new", 0x30000, 300);
  tell(foreign, at(2 * kSecond));
  EXPECT_EQ(foreign.functions(), 3u);
}

TEST_F(ForeignProcessTest, AllDumpsThatWereSeenMappedAreReadAtTheEnd) {
  const std::string one = other_dump("one", 0x10000, 100), two = other_dump("two", 0x20000, 100);
  ::munmap(others[0], 4096);
  ::munmap(others[1], 4096);
  others.clear();
  std::ofstream(map) << "30000 40 three\n";
  ForeignProcess foreign(os::real(), process);
  tell_last(foreign, at(200), {one, two, one});
  tell_last(foreign, at(300), {one, two});
  EXPECT_EQ(foreign.functions(), 3u);
}

// Those that are done and mapped no more make room for others.
TEST_F(ForeignProcessTest, ManyDumpsAreReadAFewAtATime) {
  pipeline.on_known_process({process, "this"});
  ForeignProcess foreign(os::real(), process);
  std::uint64_t made = 0;
  const auto make = [&](std::size_t dumps) {
    for (; dumps > 0; --dumps) other_dump("f", 0x10000 + 0x1000 * ++made, 100);
  };
  make(foreign::kMostDumps);
  tell(foreign, at(2 * kSecond));
  EXPECT_EQ(foreign.functions(), foreign::kMostDumps);
  make(2);
  tell(foreign, at(4 * kSecond));
  tell(foreign, at(6 * kSecond));
  EXPECT_EQ(foreign.functions(), foreign::kMostDumps);
  pipeline.flush(7 * kSecond);
  EXPECT_EQ(sink.accounting.at(process).messages_rejected, 1u) << "the rest is said, once";
  for (std::size_t i = 0; i < foreign::kMostDumps; ++i) ::munmap(others[i], 4096);
  others.erase(others.begin(), others.begin() + foreign::kMostDumps);
  tell(foreign, at(8 * kSecond));
  EXPECT_EQ(foreign.functions(), foreign::kMostDumps + 2);
}

TEST_F(ForeignProcessTest, AMapThatIsALinkIsNotBelieved) {
  ASSERT_EQ(::symlink("/proc/self/status", map.c_str()), 0);
  ForeignProcess foreign(os::real(), process);
  tell(foreign, at(10));
  EXPECT_EQ(foreign.functions(), 0u);
}

}  // namespace
}  // namespace tailor::session
