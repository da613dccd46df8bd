#include "daemon/query/late_names.h"

#include <gtest/gtest.h>

#include <string>

namespace tailor::query {
namespace {

using profile::How;
using profile::Quality;
using profile::Reason;

const ProcessId kProcess{7, 1};

v1::CodeObject code(CodeId id, std::uint64_t base, std::uint64_t size, const std::string& name,
                    v1::ToldBy told_by) {
  v1::CodeObject out;
  out.set_id(id);
  out.set_plan_id(3);
  out.set_base(base);
  out.set_size(size);
  out.set_name(name);
  out.set_told_by(told_by);
  out.mutable_rows()->add_offset_delta(0);
  out.mutable_rows()->add_link_delta(static_cast<std::int32_t>(id << 1));
  out.mutable_rows()->mutable_flags()->push_back(0);
  return out;
}

profile::SampleRecord sample(std::uint64_t ip, TimeNs time) {
  profile::SampleRecord out;
  out.process = kProcess;
  out.time = time;
  out.ip = out.user_ip = ip;
  out.attribution.reason = Reason::kNotRegistered;
  return out;
}

TEST(LateNames, AMapThatComesAtTheEndNamesTheWholeLifeAsInferred) {
  LateNames names;
  names.on_code(kProcess, 1'000'000, code(1, 0x1000, 0x100, "f", v1::TOLD_BY_PERF_MAP));
  profile::SampleRecord s = sample(0x1080, 5);
  EXPECT_TRUE(names.apply(s));
  EXPECT_EQ(s.attribution.how, How::kCode);
  EXPECT_EQ(s.attribution.reason, Reason::kNone);
  EXPECT_EQ(s.attribution.quality, Quality::kInferred);
  EXPECT_EQ(s.attribution.plan, 3u);
  EXPECT_EQ(s.attribution.link, 1u << 1);
  profile::SampleRecord beyond = sample(0x1100, 5);
  EXPECT_FALSE(names.apply(beyond));
  EXPECT_EQ(beyond.attribution.reason, Reason::kNotRegistered);
}

TEST(LateNames, AnAddressOfAMapWithTwoNamesIsOwnedByNobody) {
  LateNames names;
  names.on_code(kProcess, 0, code(1, 0x1000, 0x100, "f", v1::TOLD_BY_PERF_MAP));
  names.on_code(kProcess, 0, code(2, 0x1080, 0x40, "g", v1::TOLD_BY_PERF_MAP));
  names.on_code(kProcess, 0, code(3, 0x1000, 0x40, "f", v1::TOLD_BY_PERF_MAP));  // the same name again
  profile::SampleRecord only = sample(0x1010, 5), both = sample(0x1090, 5), after = sample(0x10c0, 5);
  EXPECT_TRUE(names.apply(only));
  EXPECT_EQ(only.attribution.quality, Quality::kInferred);
  EXPECT_TRUE(names.apply(both));
  EXPECT_EQ(both.attribution.quality, Quality::kTwoNames);
  EXPECT_EQ(both.attribution.link, 0u);
  EXPECT_TRUE(names.apply(after));
  EXPECT_EQ(after.attribution.quality, Quality::kInferred);
  // What was attributed while only one of the names was known is taken back.
  profile::SampleRecord early = sample(0x1090, 5);
  early.attribution.how = How::kCode;
  early.attribution.link = 1 << 1;
  EXPECT_FALSE(names.apply(early)) << "it was not unattributed";
  EXPECT_EQ(early.attribution.quality, Quality::kTwoNames);
  EXPECT_EQ(early.attribution.link, 0u);
  EXPECT_EQ(names.code_at(kProcess, 0x1090, 5), CodeId{0});
}

TEST(LateNames, CodeOfADumpCountsFromItsTimeUntilOtherCodeIsThere) {
  LateNames names;
  names.on_code(kProcess, 100, code(1, 0x1000, 0x100, "f", v1::TOLD_BY_JITDUMP));
  names.on_code(kProcess, 200, code(2, 0x1000, 0x100, "g", v1::TOLD_BY_JITDUMP));
  const auto link_at = [&](TimeNs time) {
    profile::SampleRecord s = sample(0x1010, time);
    return names.apply(s) ? s.attribution.link : 0;
  };
  EXPECT_EQ(link_at(99), 0u);
  EXPECT_EQ(link_at(100), 1u << 1);
  EXPECT_EQ(link_at(199), 1u << 1);
  EXPECT_EQ(link_at(200), 2u << 1);
}

TEST(LateNames, ALibraryIsOwnedByTheGeneratedCodeThatCalledIt) {
  LateNames names;
  names.on_code(kProcess, 100, code(1, 0x1000, 0x100, "f", v1::TOLD_BY_JITDUMP));
  const profile::StackFrame outer{nullptr, 0x5000}, caller{&outer, 0x1080};
  profile::SampleRecord s = sample(0x9000, 150);
  s.stack = &caller;
  EXPECT_TRUE(names.apply(s));
  EXPECT_EQ(s.attribution.how, How::kCallchain);
}

TEST(LateNames, AgentsAreNotSpokenFor) {
  LateNames names;
  names.on_code(kProcess, 100, code(1, 0x1000, 0x100, "f", v1::TOLD_BY_AGENT));
  EXPECT_TRUE(names.empty());
  names.on_code(kProcess, 100, code(1, 0x1000, 0x100, "f", v1::TOLD_BY_PERF_MAP));
  profile::SampleRecord other = sample(0x1010, 5);
  other.process = {8, 1};
  EXPECT_FALSE(names.apply(other));
}

}  // namespace
}  // namespace tailor::query
