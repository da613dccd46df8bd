// Small files that were made to take a machine's memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <string>

#include "daemon/query/reports/plan_report.h"
#include "daemon/store/block.h"
#include "tests/support/profile_bytes.h"
#include "tests/support/sample_profile.h"
#include "tests/support/sanitizers.h"

namespace tailor::query {
namespace {

class File {
 public:
  File() {
    const auto header = store::encode(store::FileHeader{});
    bytes_.assign(reinterpret_cast<const char*>(header.data()), header.size());
  }
  void add(store::BlockType type, const std::string& raw) { bytes_ += store::make_block(type, next_++, raw); }
  Result<Profile> load() const {
    store::MemoryInput input(bytes_);
    return Profile::load(input);
  }
  std::size_t size() const { return bytes_.size(); }

 private:
  std::string bytes_;
  std::uint64_t next_ = 0;
};

std::string repeated(const std::string& part, std::size_t bytes) {
  std::string out;
  out.reserve(bytes);
  while (out.size() + part.size() <= bytes) out += part;
  return out;
}

// Of the process so far, in MB.
long peak_memory() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss >> 10;
}

constexpr std::size_t kLargest = store::kMaxBlockBytes;
// What one payload takes, and the budget of a small file, twice.
constexpr long kMostMemory = 400;

// Thirty million empty records in a block of a few kilobytes.
TEST(BoundedMemory, MessagesThatHoldNothing) {
  const long before = peak_memory();
  File file;
  file.add(store::BlockType::kMeta, repeated(std::string("\x0a\x00", 2), kLargest));
  file.add(store::BlockType::kSamples, repeated(std::string("\x12\x00", 2), kLargest));  // threads
  EXPECT_LT(file.size(), 100'000u);
  auto profile = file.load();
  ASSERT_TRUE(profile) << profile.error().message;
  EXPECT_EQ(profile->read_report().malformed_blocks, 2u);
  EXPECT_THAT(profile->read_report().first_problem, testing::HasSubstr("more memory"));
  if (!test::kSanitized) {
    EXPECT_LT(peak_memory() - before, kMostMemory);
  }
}

// Each block is within its bounds, and all of them would be kept.
TEST(BoundedMemory, WhatIsKeptIsBoundedInTotal) {
  const long before = peak_memory();
  File file;
  v1::PlanBlock block;
  block.mutable_process()->set_pid(1);
  v1::Plan& plan = *block.mutable_plan();
  for (int i = 0; i < 100'000; ++i) plan.add_levels();
  for (std::uint64_t id = 1; id < 200; ++id) {
    plan.set_id(id);
    file.add(store::BlockType::kPlan, block.SerializeAsString());
  }
  EXPECT_LT(file.size(), 1u << 20);
  auto profile = file.load();
  ASSERT_TRUE(profile) << profile.error().message;
  const LeftOut& left = profile->left_out().at(ProcessId{1, 0});
  EXPECT_GT(left.plans, 190u);
  EXPECT_LT(left.plans, 199u) << "what fits is kept";
  EXPECT_THAT(profile->left_out_text(), testing::HasSubstr("plans are left out"));
  if (!test::kSanitized) {
    EXPECT_LT(peak_memory() - before, kMostMemory);
  }
}

// Two thousand code objects, each with a set of its own that leads to the same hundred thousand owners.
TEST(BoundedMemory, LineagesThatAreAllLarge) {
  const long before = peak_memory();
  constexpr std::uint32_t kOwners = 100'000;
  const std::string bytes = test::profile_bytes([](profile::ProfileSink& sink) {
    test::give_context(sink);
    v1::Plan plan;
    plan.set_id(test::kSamplePlan);
    plan.add_levels()->set_component_count(kOwners);
    v1::Level& lower = *plan.add_levels();
    lower.set_component_count(1);
    lower.add_links(1);  // set 0
    v1::LinkSet& all = *lower.add_link_sets();
    for (std::uint32_t id = 1; id <= kOwners; ++id) all.add_ids(id);
    sink.on_plan(test::kSampleProcess, 0, plan);
    for (CodeId id = 100; id < 2'100; ++id) {
      v1::CodeObject code;
      code.set_id(id);
      code.set_plan_id(test::kSamplePlan);
      code.mutable_rows()->add_link_sets()->add_ids(1);
      sink.on_code(test::kSampleProcess, 0, code);
      profile::SampleRecord sample = test::ir_sample(1, 1);
      sample.attribution.code = id;
      sample.attribution.level = 1;
      sample.attribution.link = 1;
      sink.on_samples({&sample, 1});
    }
  });
  const Profile profile = test::load(bytes);
  auto report = plan_report(profile, {});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->total.samples, 2'000u) << "none is left out";
  if (!test::kSanitized) {
    EXPECT_LT(peak_memory() - before, kMostMemory);
  }
}

}  // namespace
}  // namespace tailor::query
