#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <random>

#include "daemon/profile/blockers.h"
#include "daemon/store/activity_codec.h"
#include "daemon/store/execution_scan.h"
#include "daemon/store/meta_codec.h"
#include "daemon/store/sample_codec.h"
#include "tests/support/added_runs.h"
#include "tests/support/sample_profile.h"
#include "tests/support/text_sink.h"

namespace tailor::store {
namespace {

profile::SampleRecord random_sample(std::mt19937_64& random) {
  auto wild = [&] { return random() >> (random() % 64); };
  profile::SampleRecord s;
  s.time = static_cast<TimeNs>(random());
  s.process = {static_cast<std::int32_t>(random() % 3), random() % 2};
  s.tid = static_cast<std::int32_t>(random());
  s.cpu = static_cast<std::uint32_t>(wild());
  s.source = static_cast<std::uint16_t>(wild());
  s.mode = static_cast<profile::Mode>(random() % 3);
  s.has_tag = random() % 2;
  s.weight = wild();
  s.ip = wild();
  s.user_ip = wild();
  s.tag = wild();
  s.address = wild();
  s.address_from = static_cast<profile::AddressFrom>(random() % 3);
  s.skid = static_cast<std::uint8_t>(wild());
  s.region = static_cast<std::uint32_t>(wild());
  s.latency = static_cast<std::uint32_t>(wild());
  s.data_source = wild();
  s.wait = static_cast<profile::Wait>(random() % 3);
  s.engine_wait = static_cast<std::uint32_t>(wild());
  s.attribution.how = static_cast<profile::How>(random() % 8);
  s.attribution.reason = static_cast<profile::Reason>(random() % 7);
  s.attribution.quality = static_cast<profile::Quality>(random() % 5);
  s.attribution.kernel = random() % 2;
  s.attribution.pipeline = static_cast<std::uint16_t>(wild());
  s.attribution.level = static_cast<std::uint32_t>(wild());
  s.attribution.link = static_cast<std::uint32_t>(wild());
  s.attribution.engine_component = static_cast<std::uint32_t>(wild());
  s.attribution.plan = wild();
  s.attribution.code = wild();
  s.attribution.execution = wild();
  return s;
}

// Beside the line, which an older profile has too.
void expect_same_access(const profile::SampleRecord& a, const profile::SampleRecord& b) {
  EXPECT_EQ(a.address_from, b.address_from);
  EXPECT_EQ(a.skid, b.skid);
  EXPECT_EQ(a.region, b.region);
  EXPECT_EQ(a.latency, b.latency);
  EXPECT_EQ(a.data_source, b.data_source);
  EXPECT_EQ(a.wait, b.wait);
  EXPECT_EQ(a.engine_wait, b.engine_wait);
}

TEST(SampleCodec, AnySamplesComeBack) {
  std::mt19937_64 random(1);
  for (std::size_t n : {0u, 1u, 2u, 100u, 5000u}) {
    std::vector<profile::SampleRecord> samples;
    for (std::size_t i = 0; i < n; ++i) samples.push_back(random_sample(random));
    const v1::SampleBlock block = encode_samples(samples);
    auto back = decode_samples(block);
    ASSERT_TRUE(back) << back.error().message;
    ASSERT_EQ(back->samples.size(), n);
    for (std::size_t i = 0; i < n; ++i) {
      EXPECT_EQ(test::TextSink::line(back->samples[i]), test::TextSink::line(samples[i]));
      expect_same_access(back->samples[i], samples[i]);
    }
    EXPECT_EQ(block.SerializeAsString(), encode_samples(samples).SerializeAsString());
  }
}

TEST(SampleCodec, EqualColumnsShrink) {
  const std::vector<profile::SampleRecord> same(1000, test::ir_sample(5, 3));
  const v1::SampleBlock block = encode_samples(same);
  EXPECT_EQ(block.weight_size(), 1);
  EXPECT_EQ(block.thread_size(), 0);
  EXPECT_EQ(block.attribution().verdict_size(), 1);
  EXPECT_EQ(block.time_size(), 1000) << "the first delta differs from the others";
}

TEST(SampleCodec, RefusesWhatItCouldNotHaveMade) {
  const v1::SampleBlock good = encode_samples(std::vector{test::ir_sample(5, 3), test::tag_sample(9, 2)});
  ASSERT_TRUE(decode_samples(good));
  auto broken = [&](auto&& change) {
    v1::SampleBlock bad = good;
    change(bad);
    return !decode_samples(bad);
  };
  EXPECT_TRUE(broken([](auto& b) { b.set_block_rows(1u << 30); }));
  EXPECT_TRUE(broken([](auto& b) { b.set_block_rows(3); }));
  EXPECT_TRUE(broken([](auto& b) { b.clear_threads(); }));
  EXPECT_TRUE(broken([](auto& b) { b.clear_tags(); }));
  EXPECT_TRUE(broken([](auto& b) { b.add_thread(99); }));
  EXPECT_TRUE(broken([](auto& b) { b.add_flags(3); }));
  EXPECT_TRUE(broken([](auto& b) { b.add_source(70000); }));
  EXPECT_TRUE(broken([](auto& b) { b.mutable_attribution()->set_verdict(0, 10); }));
  EXPECT_TRUE(broken([](auto& b) { b.mutable_attribution()->clear_plans(); }));
  EXPECT_TRUE(broken([](auto& b) { b.mutable_attribution()->set_link(0, -1); }));
}

// A newer version may say more reasons: the samples count all the same.
TEST(SampleCodec, AReasonThatIsNotKnownCostsNoSample) {
  v1::SampleBlock block = encode_samples(std::vector{test::ir_sample(5, 3), test::ir_sample(6, 3)});
  block.mutable_attribution()->clear_verdict();
  block.mutable_attribution()->add_verdict(15u << 4);
  const auto back = decode_samples(block);
  ASSERT_TRUE(back) << back.error().message;
  ASSERT_EQ(back->samples.size(), 2u);
  EXPECT_EQ(back->samples[1].attribution.how, profile::How::kUnattributed);
  EXPECT_EQ(static_cast<int>(back->samples[1].attribution.reason), 15);
}

TEST(SampleCodec, CallChainsComeBackAndShareTheirOuterFrames) {
  const profile::StackFrame root{nullptr, 0x1000}, middle{&root, 0x2000}, one{&middle, 0x3000},
      other{&middle, 0x4000};
  const profile::StackFrame kernel{&one, 0xffffffff81000000};
  std::vector<profile::SampleRecord> samples(5, test::ir_sample(5, 3));
  samples[0].stack = &one;
  samples[1].stack = &other;
  samples[2].stack = nullptr;
  samples[3].stack = &kernel;
  samples[4].stack = &one;
  const v1::SampleBlock block = encode_samples(samples);
  EXPECT_EQ(block.frame_caller_size(), 5);
  auto back = decode_samples(block);
  ASSERT_TRUE(back) << back.error().message;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const profile::StackFrame* a = samples[i].stack;
    const profile::StackFrame* b = back->samples[i].stack;
    for (; a != nullptr && b != nullptr; a = a->caller, b = b->caller) EXPECT_EQ(a->address, b->address);
    EXPECT_TRUE(a == nullptr && b == nullptr) << i;
  }
}

TEST(SampleCodec, CallChainsThatNoWriterMakesAreRefused) {
  std::vector<profile::SampleRecord> samples(2, test::ir_sample(5, 3));
  const profile::StackFrame root{nullptr, 0x1000}, top{&root, 0x2000};
  samples[0].stack = &top;
  const v1::SampleBlock good = encode_samples(samples);
  ASSERT_TRUE(decode_samples(good));
  auto broken = [&](auto&& change) {
    v1::SampleBlock bad = good;
    change(bad);
    return !decode_samples(bad);
  };
  EXPECT_TRUE(broken([](auto& b) { b.set_frame_caller(0, 1); })) << "its own caller";
  EXPECT_TRUE(broken([](auto& b) { b.set_frame_caller(0, 2); })) << "a later one";
  EXPECT_TRUE(broken([](auto& b) { b.set_stack(0, 3); }));
  EXPECT_TRUE(broken([](auto& b) { b.add_stack(1); }));
  EXPECT_TRUE(broken([](auto& b) { b.add_frame_address(1); }));
  EXPECT_TRUE(broken([](auto& b) {
    for (std::uint32_t i = 2; i < 1000; ++i) {
      b.add_frame_caller(i);
      b.add_frame_address(1);
    }
  })) << "too deep";
}

TEST(ActivityCodec, AnyRecordsComeBack) {
  std::mt19937_64 random(2);
  std::vector<profile::ActivityRecord> records;
  for (int i = 0; i < 500; ++i) {
    records.push_back({static_cast<TimeNs>(random()),
                       {1, 2},
                       static_cast<std::int32_t>(random() % 4),
                       static_cast<tailor_log_kind>(random() % 12),
                       static_cast<std::uint32_t>(random()),
                       random(),
                       random()});
  }
  auto back = decode_activity(encode_activity(records));
  ASSERT_TRUE(back) << back.error().message;
  test::TextSink before, after;
  before.on_activity(records);
  after.on_activity(*back);
  EXPECT_EQ(before.activity, after.activity);
}

TEST(ActivityCodec, UnknownKindIsRefused) {
  v1::ActivityBlock block =
      encode_activity(std::vector{profile::ActivityRecord{0, {}, 0, TAILOR_LOG_ITERATION, 0, 0, 0}});
  ASSERT_TRUE(decode_activity(block));
  block.set_kind(0, 200);
  EXPECT_FALSE(decode_activity(block));
}

TEST(MetaCodec, HowWalksEndedComesBack) {
  profile::Accounting account;
  v1::ProcessAccounting without;
  encode(account, without);
  EXPECT_FALSE(without.has_stack_walks()) << "as in profiles of older versions";
  for (std::size_t end = 0; end < profile::kWalkEnds; ++end) account.walks[end] = 100 + end;
  account.codes_without_plan = 3;
  account.agent_unsent = 4;
  v1::ProcessAccounting out;
  encode(account, out);
  EXPECT_EQ(out.stack_walks().known(), 100u);
  EXPECT_EQ(out.stack_walks().short_stack(), 105u);
  EXPECT_EQ(out.stack_walks().frames(), 109u);
  const auto back = decode(out);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->walks, account.walks);
  EXPECT_EQ(back->codes_without_plan, account.codes_without_plan);
  EXPECT_EQ(back->agent_unsent, account.agent_unsent);
  const auto old = decode(without);
  ASSERT_TRUE(old);
  EXPECT_EQ(old->walks, profile::Accounting{}.walks);
}

TEST(MetaCodec, ExecutionIdMustHave16Bytes) {
  v1::Execution execution;
  encode(profile::ExecutionRecord{}, execution);
  ASSERT_TRUE(decode(execution));
  execution.set_id("short");
  EXPECT_FALSE(decode(execution));
}

TEST(MetaCodec, RunsThatAreAddedUpComeBack) {
  profile::ExecutionRecord one, sum;
  sum.added = test::thousand_runs();
  v1::Execution message;
  encode(sum, message);
  auto back = decode(message);
  ASSERT_TRUE(back) << back.error().message;
  ASSERT_NE(back->added, nullptr);
  EXPECT_EQ(*back->added, *sum.added);
  EXPECT_EQ(ExecutionScanner().scan(message.SerializeAsString()), nullptr) << "protobuf has to read it";
  message.mutable_added_runs()->set_failed(1001);
  EXPECT_FALSE(decode(message));
  message.Clear();
  encode(one, message);
  back = decode(message);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->added, nullptr);
}

TEST(MetaCodec, BlockersComeBack) {
  profile::ExecutionRecord record;
  auto blockers = std::make_shared<profile::Blockers>();
  ExecutionId id;
  id.bytes.fill(3);
  blockers->seen = {{{42, 7}, id, -5, 9}, {{43, 8}, {}, 3, 4}};
  blockers->left_out = 2;
  record.blockers = blockers;
  v1::Execution message;
  encode(record, message);
  auto back = decode(message);
  ASSERT_TRUE(back) << back.error().message;
  ASSERT_NE(back->blockers, nullptr);
  EXPECT_EQ(*back->blockers, *blockers);
  EXPECT_EQ(ExecutionScanner().scan(message.SerializeAsString()), nullptr) << "protobuf has to read it";
  // What makes no sense is left out and counted.
  message.mutable_blockers(0)->set_execution("short");
  message.mutable_blockers(1)->set_to(2);
  back = decode(message);
  ASSERT_TRUE(back);
  EXPECT_TRUE(back->blockers->seen.empty());
  EXPECT_EQ(back->blockers->left_out, 4u);
  for (std::size_t i = 0; i < 2 * profile::kMostBlockers; ++i) message.add_blockers();
  back = decode(message);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->blockers->seen.size(), profile::kMostBlockers);
  EXPECT_EQ(back->blockers->left_out, 4u + profile::kMostBlockers);
  message.Clear();
  encode(profile::ExecutionRecord{}, message);
  EXPECT_EQ(decode(message)->blockers, nullptr);
}

TEST(MetaCodec, NamesOfAFileComeBack) {
  const profile::FileNames names{"/lib",
                                 "ab",
                                 {{0x1000, 0x20, 0x401000, "main", "a.c"},
                                  {0x10, 0, 0x10, "before", ""},
                                  {UINT64_MAX - 7, 7, 3, "last\xff", ""}},
                                 "content:12"};
  v1::FileNames message;
  encode(names, message);
  const auto back = decode(message);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->path, names.path);
  EXPECT_EQ(back->build_id, names.build_id);
  EXPECT_EQ(back->file_id, names.file_id);
  ASSERT_EQ(back->functions.size(), names.functions.size());
  for (std::size_t i = 0; i < names.functions.size(); ++i) {
    EXPECT_EQ(back->functions[i].begin, names.functions[i].begin);
    EXPECT_EQ(back->functions[i].size, names.functions[i].size);
    EXPECT_EQ(back->functions[i].address, names.functions[i].address);
    EXPECT_EQ(back->functions[i].origin, names.functions[i].origin);
  }
  EXPECT_EQ(back->functions[0].name, "main");
  EXPECT_EQ(back->functions[2].name, "last\xEF\xBF\xBD");
}

TEST(MetaCodec, NamesOfAFileThatNoWriterMakesAreRefused) {
  v1::FileNames message;
  message.add_begin(1);
  EXPECT_FALSE(decode(message)) << "columns of other lengths";
  message.add_size(UINT64_MAX);
  message.add_address(0);
  message.add_name("f");
  message.add_origin("");
  EXPECT_FALSE(decode(message)) << "behind the last address";
  message.set_size(0, 1);
  EXPECT_TRUE(decode(message));
}

// A report looks into the file by these bytes.
TEST(MetaCodec, PathsThatAreNoTextComeBackAsTheyWere) {
  for (const std::string path : {"/plain", "/caf\xC3\xA9", "/caf\xE9/lib\xFF.so"}) {
    v1::MappedFile mapped;
    encode(profile::MappingRecord{{7, 1}, 5, 0x1000, 0x100, 0, path, "ab"}, mapped);
    EXPECT_EQ(decode(mapped).path, path);
    EXPECT_EQ(mapped.path(), to_utf8(path)) << "older readers show it";
    EXPECT_EQ(mapped.path_bytes().empty(), mapped.path() == path) << "only where it is needed";
    v1::FileNames names;
    encode(profile::FileNames{path, "ab", {}}, names);
    const auto back = decode(names);
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(back->path, path);
    v1::MappedFile read;
    ASSERT_TRUE(read.ParseFromString(mapped.SerializeAsString())) << path;
    EXPECT_EQ(decode(read).path, path);
    // What an older recorder wrote.
    mapped.clear_path_bytes();
    EXPECT_EQ(decode(mapped).path, to_utf8(path));
  }
}

TEST(MetaCodec, NamesBecomeValidUtf8) {
  EXPECT_EQ(to_utf8("caf\xC3\xA9"), "caf\xC3\xA9");
  EXPECT_EQ(to_utf8("a\xFFz"), "a\xEF\xBF\xBDz");
  EXPECT_EQ(to_utf8("\xC0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD");       // overlong
  EXPECT_EQ(to_utf8("\xED\xA0\x80").substr(0, 3), "\xEF\xBF\xBD");  // surrogate
  EXPECT_EQ(to_utf8("\xE2\x82"), "\xEF\xBF\xBD\xEF\xBF\xBD");       // cut short
  EXPECT_EQ(to_utf8("\xF0\x9F\x98\x80"), "\xF0\x9F\x98\x80");
}

}  // namespace
}  // namespace tailor::store
