// Whose code was where and when: by a model that is slow and plain, and by the situations it was made for.
#include "daemon/query/code/code_timeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "daemon/query/code/code_timelines.h"

namespace tailor::query {
namespace {

using Kind = MappedCode::Kind;

constexpr std::uint64_t kAddresses = 12;
constexpr TimeNs kMoments = 24;

// What was said, in the order in which it was heard.
struct Said {
  bool load = false;
  std::uint64_t begin = 0, end = 0;
  TimeNs from = 0, to = kTimeMax;  // `to`: of code
  MappedCode what;
  CodeId code = 0;
};

struct Answer {
  MappedCode mapped;
  CodeId code = 0;
  bool operator==(const Answer&) const = default;
};

// Rules to leave out, to see that the test notices.
enum class Broken { kNothing, kTimes, kFilesEndCode, kAnonymousEndsFiles, kGrowthEndsNoCode, kProgramStays };

// Goes through everything that was said of the address until then, in the order of time.
Answer model(const std::vector<Said>& all, std::uint64_t address, TimeNs time, Answer now, Broken broken) {
  std::vector<Said> at;
  for (const Said& each : all) {
    const bool begun = broken == Broken::kTimes || each.from <= time;
    if (address >= each.begin && address < each.end && begun) at.push_back(each);
  }
  std::ranges::stable_sort(
      at, [](const Said& a, const Said& b) { return a.from != b.from ? a.from < b.from : a.load < b.load; });
  TimeNs to = kTimeMax;
  for (const Said& each : at) {
    if (each.load) {
      now.code = each.code;
      to = each.to;
      continue;
    }
    const bool nothing = each.what.kind == Kind::kNothing;  // a program that is executed leaves nothing
    const bool ends = nothing || (each.what.kind == Kind::kFile && each.what != now.mapped);
    if (ends && broken != Broken::kFilesEndCode) now.code = 0;
    if (each.what.kind == Kind::kAnonymous) {
      if (broken == Broken::kGrowthEndsNoCode) now.code = 0;
      if (broken == Broken::kAnonymousEndsFiles && now.mapped.kind == Kind::kFile) continue;
      const bool program = now.mapped.kind == Kind::kFile && now.mapped.of_program;
      if (program && broken != Broken::kProgramStays) continue;
    }
    now.mapped = each.what;
  }
  if (to <= time) now.code = 0;
  return now;
}

class Player {
 public:
  explicit Player(std::uint32_t seed) : random_(seed) {}

  std::uint64_t up_to(std::uint64_t most) { return random_() % (most + 1); }

  // Says one thing to both, of one of the processes.
  void say(CodeTimeline& timeline, std::vector<Said>& all) {
    Said said;
    said.begin = up_to(kAddresses - 1);
    said.end = said.begin + 1 + up_to(kAddresses - 1 - said.begin);
    said.from = up_to(9) == 0 ? kTimeMin : static_cast<TimeNs>(up_to(kMoments));
    const std::uint64_t dice = up_to(9);
    if (dice == 9) return unload(timeline, all);
    said.load = dice >= 6;
    if (said.load) {
      said.code = 1 + up_to(5);
      const bool twice = std::ranges::any_of(all, [&](const Said& each) {
        return each.load && each.code == said.code && each.from == said.from;
      });
      if (twice) return;
      timeline.load(said.begin, said.end, said.from, said.code);
    } else {
      constexpr Kind kKinds[] = {Kind::kFile,      Kind::kFile,   Kind::kFile,   Kind::kAnonymous,
                                 Kind::kAnonymous, Kind::kMemory, Kind::kNothing};
      said.what.kind = kKinds[up_to(6)];
      if (said.what.kind == Kind::kFile) {
        said.what.file = static_cast<std::uint32_t>(up_to(2));
        said.what.of_program = said.what.file == 0;
        said.what.bias = up_to(1);
      }
      timeline.map(said.begin, said.end, said.from, said.what);
    }
    all.push_back(said);
  }

 private:
  void unload(CodeTimeline& timeline, std::vector<Said>& all) {
    const CodeId code = 1 + up_to(5);
    const auto time = static_cast<TimeNs>(up_to(kMoments));
    timeline.unload(code, time);
    Said* last = nullptr;
    for (Said& each : all) {
      if (each.load && each.code == code && each.from <= time && (last == nullptr || each.from > last->from))
        last = &each;
    }
    if (last != nullptr) last->to = std::min(last->to, time);
  }

  std::minstd_rand random_;
};

// A process, its child and that one's child, told of in any order. How often they differ from the model.
int differences(std::uint32_t seed, Broken broken) {
  Player player(seed);
  std::size_t budget = 1 << 20;
  CodeTimeline first(budget), second(budget), third(budget);
  std::vector<Said> of_first, of_second, of_third;
  for (std::uint64_t i = 0, most = 1 + player.up_to(9); i < most; ++i) {
    const std::uint64_t whose = player.up_to(5);
    if (whose <= 2) player.say(first, of_first);
    if (whose == 3 || whose == 4) player.say(second, of_second);
    if (whose == 5) player.say(third, of_third);
  }
  const auto fork1 = static_cast<TimeNs>(player.up_to(kMoments)),
             fork2 = static_cast<TimeNs>(player.up_to(kMoments));
  int wrong = 0;
  for (int i = 0; i < 6; ++i) {
    const std::uint64_t address = player.up_to(kAddresses);
    const auto time = static_cast<TimeNs>(player.up_to(kMoments));
    const auto by_model = [&](TimeNs when) {
      const TimeNs by2 = std::min(when, fork2), by1 = std::min(by2, fork1);
      const Answer begin = model(of_first, address, by1, {}, broken);
      return model(of_third, address, when, model(of_second, address, by2, begin, broken), broken);
    };
    const TimeNs by2 = std::min(time, fork2), by1 = std::min(by2, fork1);
    const auto whole = [](CodeTimeline::State state, TimeNs by, TimeNs when) {
      state.from = by;
      state.until = by == when ? when : kTimeMax;
      return state;
    };
    const auto one = whole(first.find(address, by1), by1, by2);
    const auto two = whole(second.find(address, by2, one), by2, time);
    const auto state = third.find(address, time, two);
    const Answer got{state.mapped, state.code};
    if (by_model(time) != got) ++wrong;
    // A caller that keeps the answer may give it again within its time.
    if (i > 2) continue;
    const auto alone = first.find(address, time);
    const Answer kept{alone.mapped, alone.code};
    for (TimeNs at = std::max<TimeNs>(alone.from, -1); at < std::min<TimeNs>(alone.until, kMoments + 2);
         ++at) {
      if (model(of_first, address, at, {}, broken) != kept) ++wrong;
    }
  }
  return wrong;
}

int differences_of(std::uint32_t sequences, Broken broken, std::uint32_t first = 1) {
  int wrong = 0;
  for (std::uint32_t seed = first; seed < first + sequences; ++seed) wrong += differences(seed, broken);
  return wrong;
}

TEST(CodeTimeline, IsTheModelsInRandomSequences) {
  EXPECT_EQ(differences_of(200'000, Broken::kNothing), 0);
}

// The rest of a million, with `./dev test --full`.
class CodeTimelineLong : public testing::TestWithParam<std::uint32_t> {};

TEST_P(CodeTimelineLong, DISABLED_IsTheModelsInRandomSequences) {
  EXPECT_EQ(differences_of(200'000, Broken::kNothing, GetParam() * 200'000 + 1), 0);
}

INSTANTIATE_TEST_SUITE_P(Parts, CodeTimelineLong, testing::Range(1u, 5u));

TEST(CodeTimeline, DiffersFromAModelThatLacksARule) {
  for (const Broken broken : {Broken::kTimes, Broken::kFilesEndCode, Broken::kAnonymousEndsFiles,
                              Broken::kGrowthEndsNoCode, Broken::kProgramStays}) {
    EXPECT_GT(differences_of(2'000, broken), 0) << static_cast<int>(broken);
  }
}

// What does not fit any more is not known, whatever was there before.
TEST(CodeTimeline, GivesARangeUpWhereThereIsNoRoom) {
  std::size_t budget = 40;
  CodeTimeline timeline(budget);
  for (TimeNs time = 0; time < 100; ++time)
    timeline.map(0x1000, 0x2000, time, {.kind = Kind::kFile, .file = static_cast<std::uint32_t>(time)});
  EXPECT_EQ(timeline.find(0x1000, 10).mapped.file, 10u);
  EXPECT_EQ(timeline.find(0x1000, 99).mapped.kind, Kind::kUnknown);
  EXPECT_LE(timeline.find(0x1000, 10).until, 99);
}

constexpr ProcessId kProcess{7, 1}, kChild{8, 1};

class CodeTimelinesTest : public testing::Test {
 protected:
  void map(TimeNs time, std::uint64_t begin, std::uint64_t size, const std::string& path,
           ProcessId process = kProcess) {
    timelines.on_mapping({process, time, begin, size, 0, path});
  }
  std::string at(std::uint64_t address, TimeNs time, ProcessId process = kProcess) {
    const auto [state, of_code] = timelines.find(process, address, time);
    if (state.code != 0) return "code " + std::to_string(state.code) + " of " + std::to_string(of_code.pid);
    const bool of_file = state.mapped.kind == Kind::kFile || state.mapped.kind == Kind::kMemory;
    return of_file ? timelines.files()[state.mapped.file].path : "";
  }
  CodeTimelines timelines;
};

// A child that executed nothing has its parent's program: what it maps first is a library.
TEST_F(CodeTimelinesTest, TheFirstLibraryOfAChildIsNoProgram) {
  const ProcessId child{8, 1};
  map(kTimeMin, 0x1000, 0x1000, "/bin/engine");
  profile::ProcessRecord record;
  record.process = child;
  record.parent = kProcess;
  record.forked = 100;
  timelines.on_process(record);
  map(200, 0x7000, 0x1000, "/tmp/query.so", child);
  map(300, 0x7000, 0x1000, "//anon", child);
  EXPECT_EQ(at(0x7010, 250, child), "/tmp/query.so");
  EXPECT_EQ(at(0x7010, 350, child), "");
  map(400, 0x1000, 0x1000, "//anon", child);
  EXPECT_EQ(at(0x1010, 450, child), "/bin/engine") << "its program may have moved its text";
}

TEST_F(CodeTimelinesTest, WhatIsToldLateOfTheParentIsLateForItsChildren) {
  const ProcessId child{8, 1};
  profile::ProcessRecord record;
  record.process = child;
  record.parent = kProcess;
  record.forked = 100;
  timelines.on_process(record);
  const std::uint64_t before = timelines.ask(child, 150);
  EXPECT_FALSE(timelines.told_late());
  map(50, 0x7000, 0x1000, "/tmp/late.so");
  EXPECT_TRUE(timelines.told_late());
  EXPECT_NE(timelines.ask(child, 150), before);
  EXPECT_EQ(at(0x7010, 150, child), "/tmp/late.so");
  EXPECT_FALSE(timelines.only_at(child, 0x7010).several);
  map(200, 0x7000, 0x1000, "/tmp/own.so", child);
  EXPECT_TRUE(timelines.only_at(child, 0x7010).several);
  map(300, 0, UINT64_MAX, "", child);
  map(400, 0x5000, 0x1000, "/tmp/other.so", child);
  EXPECT_EQ(timelines.only_at(child, 0x6010).mapped.kind, Kind::kUnknown)
      << "nothing of its parent's is there";
}

TEST_F(CodeTimelinesTest, LibrariesOneAfterTheOtherHaveTheirOwnTimes) {
  map(kTimeMin, 0x1000, 0x1000, "/bin/engine");
  map(100, 0x7000, 0x1000, "/tmp/query_0.so");
  map(200, 0x7000, 0x1000, "/tmp/query_1.so");
  EXPECT_EQ(at(0x7010, 50), "");
  EXPECT_EQ(at(0x7010, 100), "/tmp/query_0.so");
  EXPECT_EQ(at(0x7010, 199), "/tmp/query_0.so");
  EXPECT_EQ(at(0x7010, 200), "/tmp/query_1.so");
  EXPECT_TRUE(timelines.only_at(kProcess, 0x7010).several);
  EXPECT_FALSE(timelines.only_at(kProcess, 0x1010).several);
  map(300, 0, UINT64_MAX, "");
  map(400, 0x5000, 0x1000, "/tmp/after.so");
  EXPECT_FALSE(timelines.only_at(kProcess, 0x5010).several) << "what it executes begins with nothing";
  EXPECT_FALSE(timelines.told_late());
  map(150, 0x7000, 0x1000, "/tmp/late.so");
  EXPECT_TRUE(timelines.told_late());
  EXPECT_EQ(at(0x7010, 199), "/tmp/late.so");
  EXPECT_EQ(at(0x7010, 200), "/tmp/query_1.so") << "what is late ends nothing newer";
}

TEST_F(CodeTimelinesTest, GeneratedCodeWhereALibraryWasIsNotTheLibrarys) {
  map(kTimeMin, 0x1000, 0x2000, "/bin/engine");
  map(100, 0x7000, 0x2000, "/tmp/query.so");
  map(200, 0x8000, 0x4000, "//anon");
  EXPECT_EQ(at(0x8010, 150), "/tmp/query.so");
  EXPECT_EQ(at(0x8010, 250), "");
  EXPECT_EQ(at(0x7010, 250), "/tmp/query.so");
  // The program's own text was moved to huge pages.
  map(300, 0x2000, 0x1000, "//anon");
  EXPECT_EQ(at(0x2010, 350), "/bin/engine");
}

TEST_F(CodeTimelinesTest, GrowthAndProtectionEndNoCode) {
  timelines.on_code(kProcess, 100, 5, 0x9000, 0x100);
  map(150, 0x9000, 0x1000, "//anon");
  map(160, 0x9000, 0x9000, "//anon");
  map(170, 0x9000, 0x1000, "/memfd:jit (deleted)");
  EXPECT_EQ(at(0x9010, 200), "code 5 of 7");
  timelines.on_code_unload(kProcess, 300, 5);
  EXPECT_EQ(at(0x9010, 299), "code 5 of 7");
  EXPECT_EQ(at(0x9010, 300), "/memfd:jit (deleted)");
  timelines.on_code(kProcess, 400, 5, 0x9000, 0x100);
  timelines.on_code_unload(kProcess, 350, 5);
  EXPECT_EQ(at(0x9010, 450), "code 5 of 7") << "the late end of an old piece ends no newer one";
  map(500, 0x9000, 0x1000, "/usr/lib/late.so");
  EXPECT_EQ(at(0x9010, 450), "code 5 of 7");
  EXPECT_EQ(at(0x9010, 550), "/usr/lib/late.so");
}

TEST_F(CodeTimelinesTest, AForkedChildHasWhatItsParentHadUntilItExecutesAProgram) {
  map(kTimeMin, 0x1000, 0x1000, "/bin/engine");
  timelines.on_code(kProcess, 100, 5, 0x9000, 0x100);
  profile::ProcessRecord child;
  child.process = kChild;
  child.parent = kProcess;
  child.forked = 200;
  timelines.on_process(child);
  timelines.on_code_unload(kProcess, 250, 5);
  map(250, 0x5000, 0x1000, "/tmp/later.so");
  EXPECT_EQ(at(0x9010, 300, kChild), "code 5 of 7") << "its parent's copy ended, not its own";
  EXPECT_EQ(at(0x9010, 300), "");
  EXPECT_EQ(at(0x1010, 300, kChild), "/bin/engine");
  EXPECT_EQ(at(0x5010, 300, kChild), "");
  map(400, 0, std::uint64_t{1} << 63, "", kChild);
  map(401, 0x2000, 0x1000, "/bin/other", kChild);
  EXPECT_EQ(at(0x1010, 399, kChild), "/bin/engine");
  EXPECT_EQ(at(0x1010, 400, kChild), "");
  EXPECT_EQ(at(0x9010, 400, kChild), "");
  EXPECT_EQ(at(0x2010, 500, kChild), "/bin/other");
}

}  // namespace
}  // namespace tailor::query
