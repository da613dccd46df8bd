// Samples of groups, and records without time: in what they become.
#include "daemon/formats/perf_rewrite.h"

#include <gtest/gtest.h>

#include <random>

#include "daemon/formats/perf_data.h"
#include "tests/support/record_encoder.h"

namespace tailor::formats {
namespace {

using test::RecordBytes;

constexpr std::uint64_t kGroup = PERF_FORMAT_ID | PERF_FORMAT_GROUP;

PerfAttr event_of(std::uint64_t config, std::uint64_t id, std::uint64_t type, std::uint64_t read_format = 0) {
  PerfAttr event;
  event.attr.size = sizeof event.attr;
  event.attr.type = PERF_TYPE_HARDWARE;
  event.attr.config = config;
  event.attr.sample_type = type;
  event.attr.read_format = read_format;
  event.attr.sample_id_all = 1;
  event.ids = {id};
  return event;
}

class PerfRewriteTest : public testing::Test {
 protected:
  // Decodes what the rewriter makes of the records, as the importer does.
  std::vector<capture::Event> events_of(const std::vector<PerfAttr>& events,
                                        const std::vector<std::byte>& records) {
    rewriter_.set_events(events);
    std::vector<std::byte> out;
    if (rewriter_.needed()) {
      rewriter_.rewrite(records, out);
    } else {
      out = records;
    }
    PerfLayoutOptions how;
    how.rewritten = rewriter_.needed();
    std::vector<profile::Source> sources;
    auto decoder = capture::RecordDecoder::create(perf_data_layout(events, how, sources));
    EXPECT_TRUE(decoder.ok()) << decoder.error().message;
    batch_.clear();
    decoder->decode(out, batch_);
    counts_ = decoder->counts();
    return batch_.events;
  }
  PerfRewriter rewriter_;
  capture::Batch batch_;
  capture::DecodeCounts counts_;
};

constexpr std::uint64_t kType =
    PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_READ;

std::vector<std::byte> group_sample(std::uint64_t time, std::uint64_t id,
                                    const std::vector<std::uint64_t>& counts) {
  RecordBytes record(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
  record.u64(0x1000 + time).u32(7).u32(8).u64(time).u64(id).u64(counts.size() / 2).u64s(counts);
  return record.done();
}

TEST_F(PerfRewriteTest, ASampleOfAGroupIsOneOfEachMemberThatCounted) {
  const std::vector<PerfAttr> events = {event_of(0, 11, kType, kGroup), event_of(1, 22, kType, kGroup),
                                        event_of(2, 33, kType, kGroup)};
  std::vector<std::byte> records = group_sample(1, 11, {100, 11, 40, 22, 0, 33});
  test::append(records, group_sample(2, 11, {250, 11, 40, 22, 5, 33}));
  const auto samples = events_of(events, records);
  ASSERT_EQ(samples.size(), 4u);
  const std::vector<std::tuple<TimeNs, int, std::uint64_t>> want = {
      {1, 0, 100}, {1, 1, 40}, {2, 0, 150}, {2, 2, 5}};
  for (std::size_t i = 0; i < want.size(); ++i) {
    EXPECT_EQ(std::tuple(samples[i].time, int{samples[i].source}, samples[i].weight), want[i]) << i;
    EXPECT_EQ(samples[i].ip, 0x1000u + static_cast<std::uint64_t>(samples[i].time));
    EXPECT_EQ(samples[i].tid, 8);
  }
  EXPECT_EQ(counts_.malformed, 0u);
}

TEST_F(PerfRewriteTest, TheIdMayBeAtTheFront) {
  const std::uint64_t type = (kType & ~std::uint64_t{PERF_SAMPLE_ID}) | PERF_SAMPLE_IDENTIFIER |
                             PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN;
  const std::uint64_t read =
      kGroup | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING | PERF_FORMAT_LOST;
  RecordBytes record(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
  record.u64(11).u64(0x1000).u32(7).u32(8).u64(5).u32(3).u32(0).u64(999);
  record.u64(2).u64(60).u64(50).u64s({70, 11, 0, 80, 22, 0});
  record.u64(2).u64(static_cast<std::uint64_t>(PERF_CONTEXT_USER)).u64(0x1000);
  const auto samples = events_of({event_of(0, 11, type, read), event_of(1, 22, type, read)}, record.done());
  ASSERT_EQ(samples.size(), 2u);
  EXPECT_EQ(samples[0].weight, 70u);
  EXPECT_EQ(samples[1].weight, 80u);
  EXPECT_EQ(samples[1].source, 1);
  EXPECT_EQ(samples[1].cpu, 3u);
}

TEST_F(PerfRewriteTest, ACountOfOneEventHasItsTimesInFrontOfItsId) {
  const std::uint64_t read = PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  std::vector<std::byte> records;
  for (const std::uint64_t value : {30u, 75u, 10u})
    test::append(records, RecordBytes(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER)
                              .u64(0x1000)
                              .u32(7)
                              .u32(8)
                              .u64(value)
                              .u64(11)
                              .u64s({value, 1, 1, 11})
                              .done());
  const auto samples = events_of({event_of(0, 11, kType, read)}, records);
  ASSERT_EQ(samples.size(), 3u);
  EXPECT_EQ(samples[0].weight, 30u);
  EXPECT_EQ(samples[1].weight, 45u);
  EXPECT_EQ(samples[2].weight, 10u) << "a counter that was set back begins again";
}

TEST_F(PerfRewriteTest, CountsOfNobodyAreCounted) {
  const auto samples = events_of({event_of(0, 11, kType, kGroup), event_of(1, 22, kType, kGroup)},
                                 group_sample(1, 11, {1, 11, 1, 44, 1, 55}));
  EXPECT_EQ(samples.size(), 1u);
  EXPECT_EQ(rewriter_.unknown_members(), 2u);
}

// Of 2^61 members, of more than the record has, and cut at each byte: nothing is read behind the record.
TEST_F(PerfRewriteTest, GroupsThatDoNotFitTheirRecordAreMalformed) {
  const std::vector<PerfAttr> events = {event_of(0, 11, kType, kGroup), event_of(1, 22, kType, kGroup)};
  std::uint64_t dropped = 0;
  for (const std::uint64_t members : {std::uint64_t{1} << 61, ~std::uint64_t{0}, std::uint64_t{3}}) {
    RecordBytes record(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
    record.u64(0x1000).u32(7).u32(8).u64(1).u64(11).u64(members).u64s({1, 11, 2, 22});
    EXPECT_TRUE(events_of(events, record.done()).empty());
    EXPECT_EQ(rewriter_.dropped(), ++dropped);
  }
  const std::vector<std::byte> whole = group_sample(1, 11, {100, 11, 40, 22});
  for (std::size_t size = 8; size < whole.size(); ++size) {
    std::vector<std::byte> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    cut[6] = static_cast<std::byte>(size);
    EXPECT_TRUE(events_of(events, cut).empty()) << size;
  }
}

// Else a sample of 64 KB could become thousands, each with the whole call chain.
TEST_F(PerfRewriteTest, AMemberCountsOnceInASample) {
  const std::vector<PerfAttr> events = {event_of(0, 11, kType, kGroup), event_of(1, 22, kType, kGroup)};
  std::vector<std::byte> records = group_sample(1, 11, {100, 11, 40, 22, 120, 11});
  test::append(records, group_sample(2, 11, {130, 11, 50, 22}));
  EXPECT_EQ(events_of(events, records).size(), 2u);
  EXPECT_EQ(rewriter_.dropped(), 1u);
}

TEST_F(PerfRewriteTest, AnEventWithoutIdIsAGroupOfOne) {
  PerfAttr alone = event_of(0, 11, kType, kGroup);
  alone.ids.clear();
  EXPECT_EQ(events_of({alone}, group_sample(1, 11, {1, 11})).size(), 1u);
  EXPECT_TRUE(events_of({alone}, group_sample(2, 11, {2, 11, 3, 12})).empty());
  EXPECT_EQ(rewriter_.dropped(), 1u);
}

// Of the members 1 and up, with a deep call chain.
std::vector<std::byte> deep_group_sample(std::uint64_t members) {
  RecordBytes record(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
  record.u64(0x1000).u32(7).u32(8).u64(1).u64(1).u64(members);
  for (std::uint64_t id = 1; id <= members; ++id) record.u64(5).u64(id);
  return record.u64(4096).u64s(std::vector<std::uint64_t>(4096, 0x1000)).done();
}

TEST_F(PerfRewriteTest, WhatASampleBecomesIsBounded) {
  PerfAttr event = event_of(0, 1, kType | PERF_SAMPLE_CALLCHAIN, kGroup);
  for (std::uint64_t id = 2; id <= 1000; ++id) event.ids.push_back(id);
  PerfRewriter large, small;
  large.set_events({event});
  small.set_events({event});
  std::vector<std::byte> out;
  large.rewrite(deep_group_sample(1000), out);
  EXPECT_TRUE(out.empty());
  EXPECT_EQ(large.dropped(), 1u);
  small.rewrite(deep_group_sample(20), out);
  EXPECT_GT(out.size(), std::size_t{20} * 4096 * 8);
  EXPECT_EQ(small.dropped(), 0u);
}

TEST_F(PerfRewriteTest, ItStopsBehindTheRecordWithWhichItIsEnough) {
  const std::vector<std::byte> one = group_sample(1, 11, {100, 11}), two = group_sample(2, 11, {300, 11});
  std::vector<std::byte> records = one, out, whole;
  test::append(records, two);
  PerfRewriter in_pieces, at_once;
  in_pieces.set_events({event_of(0, 11, kType, kGroup)});
  at_once.set_events({event_of(0, 11, kType, kGroup)});
  EXPECT_EQ(in_pieces.rewrite(records, out, 1), one.size());
  EXPECT_EQ(in_pieces.rewrite(PerfBytes(records).subspan(one.size()), out, 1), two.size());
  EXPECT_EQ(at_once.rewrite(records, whole), records.size());
  EXPECT_EQ(out, whole);
}

TEST_F(PerfRewriteTest, RecordsWithoutTimeGetTheirPlace) {
  const std::uint64_t type = PERF_SAMPLE_IP | PERF_SAMPLE_TID;
  const auto trailer = [](RecordBytes record) { return record.u32(7).u32(8).done(); };
  const auto sample = RecordBytes(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER).u64(0x1000).u32(7).u32(8).done();
  std::vector<std::byte> records =
      trailer(std::move(RecordBytes(PERF_RECORD_COMM, 0).u32(7).u32(8).text("before")));
  test::append(records, sample);
  test::append(
      records,
      trailer(std::move(RecordBytes(PERF_RECORD_FORK, 0).u32(9).u32(7).u32(9).u32(8).u64(1u << 30))));
  test::append(records, trailer(std::move(RecordBytes(PERF_RECORD_COMM, 0).u32(7).u32(8).text("behind"))));
  test::append(records, sample);
  const auto events = events_of({event_of(0, 11, type)}, records);
  ASSERT_EQ(events.size(), 5u);
  for (std::size_t i = 0; i < events.size(); ++i) EXPECT_EQ(events[i].time, static_cast<TimeNs>(i + 1));
  EXPECT_EQ(batch_.text_of(events[3]), "behind");
  EXPECT_EQ(events[4].ip, 0x1000u);
  EXPECT_TRUE(rewriter_.timeless());
}

TEST_F(PerfRewriteTest, NothingIsChangedWhereNothingIsMissing) {
  rewriter_.set_events({event_of(0, 11, kType & ~std::uint64_t{PERF_SAMPLE_READ})});
  EXPECT_FALSE(rewriter_.needed());
}

TEST_F(PerfRewriteTest, DamageNeverReadsBehindARecord) {
  std::mt19937 random(5);
  const std::vector<PerfAttr> events = {event_of(0, 11, kType, kGroup), event_of(1, 22, kType, kGroup)};
  const auto timeless = event_of(0, 11, PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_ID);
  for (int round = 0; round < 3000; ++round) {
    std::vector<std::byte> records = group_sample(1, 11, {100, 11, 40, 22, 0, 33});
    test::append(records, group_sample(2, 11, {250, 11, 40, 22}));
    for (int i = 0; i < 3; ++i) records[random() % records.size()] = static_cast<std::byte>(random());
    (void)events_of(round % 2 ? events : std::vector{timeless}, records);
  }
}

}  // namespace
}  // namespace tailor::formats
