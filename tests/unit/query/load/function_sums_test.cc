// Generated code by names that came late: those of its process, or of one that this was forked off.
#include "daemon/query/load/function_sums.h"

#include <gtest/gtest.h>

#include <string>

namespace tailor::query {
namespace {

constexpr ProcessId kParent{7, 1}, kChild{8, 1}, kGrandchild{9, 1};
constexpr std::uint64_t kCode = 0x9000;

class NamesOfParents : public testing::Test {
 protected:
  NamesOfParents() {
    fork(kParent, kChild, 100);
    fork(kChild, kGrandchild, 200);
  }
  void fork(ProcessId parent, ProcessId child, TimeNs time) {
    profile::ProcessRecord record;
    record.process = child;
    record.parent = parent;
    record.forked = time;
    timelines.on_process(record);
  }
  void name(ProcessId process, TimeNs loaded, CodeId id, v1::ToldBy told_by) {
    v1::CodeObject code;
    code.set_id(id);
    code.set_plan_id(3);
    code.set_base(kCode);
    code.set_size(0x100);
    code.set_told_by(told_by);
    names.on_code(process, loaded, code);
  }
  // What the innermost frame of a sample there is: "code 5 of 7", the path of a file, or "".
  std::string at(ProcessId process, TimeNs time) {
    FunctionSummer summer(timelines, &names);
    profile::SampleRecord sample;
    sample.process = process;
    sample.time = time;
    sample.ip = sample.user_ip = kCode + 0x10;
    const std::uint32_t node = summer.add(sample);
    const FunctionSums sums = summer.take();
    const CodePlace& place = sums.places[sums.nodes[node].place];
    if (place.kind == CodePlace::Kind::kFile) return sums.files[place.file].path;
    if (place.kind != CodePlace::Kind::kGenerated) return "";
    return "code " + std::to_string(place.code) + " of " + std::to_string(place.process.pid);
  }

  CodeTimelines timelines;
  LateNames names;
};

TEST_F(NamesOfParents, AMapOfTheParentNamesTheChildrensCode) {
  name(kParent, 1000, 5, v1::TOLD_BY_PERF_MAP);
  EXPECT_EQ(at(kParent, 50), "code 5 of 7");
  EXPECT_EQ(at(kChild, 150), "code 5 of 7");
  EXPECT_EQ(at(kGrandchild, 250), "code 5 of 7");
}

TEST_F(NamesOfParents, ADumpOfTheParentNamesWhatWasThereAtTheFork) {
  name(kParent, 50, 5, v1::TOLD_BY_JITDUMP);
  name(kParent, 150, 6, v1::TOLD_BY_JITDUMP);
  EXPECT_EQ(at(kParent, 160), "code 6 of 7");
  EXPECT_EQ(at(kChild, 160), "code 5 of 7") << "what its parent makes later is not the child's";
  EXPECT_EQ(at(kGrandchild, 250), "code 5 of 7");
}

TEST_F(NamesOfParents, TheChildsOwnNamesCountFirst) {
  name(kParent, 50, 5, v1::TOLD_BY_JITDUMP);
  name(kChild, 150, 6, v1::TOLD_BY_JITDUMP);
  EXPECT_EQ(at(kChild, 140), "code 5 of 7");
  EXPECT_EQ(at(kChild, 160), "code 6 of 8");
  EXPECT_EQ(at(kParent, 160), "code 5 of 7");
  EXPECT_EQ(at(kGrandchild, 250), "code 6 of 8");
}

TEST_F(NamesOfParents, WhatTheChildMappedThereIsNotItsParents) {
  name(kParent, 50, 5, v1::TOLD_BY_JITDUMP);
  timelines.on_mapping({kChild, 150, kCode, 0x1000, 0, "/usr/lib/later.so"});
  EXPECT_EQ(at(kChild, 140), "code 5 of 7");
  EXPECT_EQ(at(kChild, 160), "/usr/lib/later.so");
  EXPECT_EQ(at(kParent, 160), "code 5 of 7");
  timelines.on_mapping({kGrandchild, 250, 0, std::uint64_t{1} << 63, 0, ""});
  EXPECT_EQ(at(kGrandchild, 260), "") << "it executes another program";
}

TEST_F(NamesOfParents, NoNamesOfAnotherFamily) {
  name({70, 1}, 50, 5, v1::TOLD_BY_PERF_MAP);
  EXPECT_EQ(at(kChild, 150), "");
}

}  // namespace
}  // namespace tailor::query
