#include "agent/label_sets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "agent/encode.h"

namespace tailor::agent::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string message_of(std::uint64_t handle, std::initializer_list<tailor_label> labels) {
  const std::span<const tailor_label> span(labels.begin(), labels.size());
  const std::array<std::uint8_t, 16> id{1, 2, 3};
  std::string memory(kFixedBound + labels_bound(span), '\0');
  FixedWire wire{FixedMemory(memory)};
  encode_message(wire, MessageKind::kExecutionBegin, 99,
                 [&](FixedWire& body) { encode_execution_begin(body, {handle, id, 7, span, true}); });
  return {wire.bytes().data(), wire.bytes().size()};
}

// What a daemon reads in an ExecutionBegin.
struct Told {
  std::uint64_t tsc = 0, handle = 0, plan = 0, tags_off = 0, set = 0;
  std::string id;
  std::vector<std::string> labels, set_labels;  // their values
};

std::string value_of(std::string_view label) {
  std::string value;
  for (WireReader fields(label); fields.next();) {
    if (fields.field() == 2) value = fields.bytes();
  }
  return value;
}

Told read_begin(std::span<const char> message) {
  Told told;
  std::string_view body;
  for (WireReader fields({message.data(), message.size()}); fields.next();) {
    if (fields.field() == 1) told.tsc = fields.number();
    if (fields.field() == 18) body = fields.bytes();
  }
  WireReader fields(body);
  while (fields.next()) {
    if (fields.field() == 1) told.handle = fields.number();
    if (fields.field() == 2) told.id = fields.bytes();
    if (fields.field() == 3) told.plan = fields.number();
    if (fields.field() == 4) told.labels.push_back(value_of(fields.bytes()));
    if (fields.field() == 5) told.tags_off = fields.number();
    if (fields.field() == 6) told.set = fields.number();
    if (fields.field() == 7) told.set_labels.push_back(value_of(fields.bytes()));
  }
  EXPECT_TRUE(fields.ok());
  return told;
}

class LabelSetsTest : public ::testing::Test {
 protected:
  // Sends it.
  Told send(const std::string& message) {
    const Told told = read_begin(sets_.shorten(message));
    sets_.sent();
    return told;
  }
  Told send(std::uint64_t handle, const char* query) {
    return send(message_of(handle, {{"user", "ada"}, {"query", query}}));
  }

  LabelSets sets_;
};

TEST_F(LabelSetsTest, TheSecondTimeMakesASetAndTheThirdNamesIt) {
  sets_.begin(LabelSets::kMost);
  const Told first = send(1, "select 1"), second = send(2, "select 1"), third = send(3, "select 1");
  EXPECT_EQ(first.set, 0u);
  EXPECT_THAT(first.labels, ElementsAre("ada", "select 1"));
  EXPECT_NE(second.set, 0u);
  EXPECT_THAT(second.set_labels, ElementsAre("ada", "select 1"));
  EXPECT_THAT(second.labels, IsEmpty());
  EXPECT_EQ(third.set, second.set);
  EXPECT_THAT(third.set_labels, IsEmpty());
  EXPECT_THAT(third.labels, IsEmpty());
  EXPECT_EQ(third.handle, 3u);
  EXPECT_EQ(third.plan, 7u);
  EXPECT_EQ(third.tags_off, 1u);
  EXPECT_EQ(third.tsc, 99u);
  EXPECT_EQ(third.id, first.id);
  EXPECT_EQ(third.id.size(), 16u);
}

TEST_F(LabelSetsTest, WhatIsOfOneExecutionIsInNoSet) {
  sets_.begin(LabelSets::kMost);
  const auto traced = [](std::uint64_t handle, const char* trace) {
    return message_of(handle, {{"query", "q"}, {"trace_id", trace}, {"span_id", "s"}});
  };
  send(traced(1, "a"));
  const Told second = send(traced(2, "b")), third = send(traced(3, "c"));
  EXPECT_THAT(second.set_labels, ElementsAre("q"));
  EXPECT_THAT(second.labels, ElementsAre("b", "s"));
  EXPECT_THAT(third.set_labels, IsEmpty());
  EXPECT_THAT(third.labels, ElementsAre("c", "s"));
}

TEST_F(LabelSetsTest, ADaemonThatKeepsNoneGetsAllOfThem) {
  for (std::uint64_t handle = 1; handle <= 3; ++handle) {
    const Told told = send(handle, "select 1");
    EXPECT_EQ(told.set, 0u);
    EXPECT_THAT(told.labels, ElementsAre("ada", "select 1"));
  }
}

TEST_F(LabelSetsTest, ASetThatWasNotSentIsSaidAgain) {
  sets_.begin(LabelSets::kMost);
  send(1, "select 1");
  const std::string message = message_of(2, {{"user", "ada"}, {"query", "select 1"}});
  EXPECT_FALSE(read_begin(sets_.shorten(message)).set_labels.empty());
  EXPECT_FALSE(read_begin(sets_.shorten(message)).set_labels.empty()) << "the socket had no room";
  sets_.sent();
  EXPECT_TRUE(read_begin(sets_.shorten(message)).set_labels.empty());
}

// Also where its number was taken before, and the first word on it is lost.
TEST_F(LabelSetsTest, ANewConnectionHasNoSets) {
  sets_.begin(LabelSets::kMost);
  for (std::uint64_t handle = 1; handle <= 3; ++handle) send(handle, "select 1");
  sets_.begin(0);
  EXPECT_EQ(send(4, "select 1").set, 0u) << "before the daemon has accepted it";
  sets_.begin(LabelSets::kMost);
  const std::string message = message_of(5, {{"user", "ada"}, {"query", "select 1"}});
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(read_begin(sets_.shorten(message)).set_labels.empty());
}

TEST_F(LabelSetsTest, TheLeastUsedNumberIsTakenAgain) {
  sets_.begin(2);
  const auto twice = [&](const char* query) {
    send(1, query);
    return send(2, query).set;
  };
  const std::uint64_t a = twice("a"), b = twice("b");
  EXPECT_NE(a, b);
  EXPECT_EQ(send(3, "a").set, a);
  EXPECT_EQ(twice("c"), b);
  EXPECT_EQ(send(4, "a").set, a) << "it is still there";
  EXPECT_FALSE(send(5, "b").set_labels.empty()) << "it is not";
}

// Texts that come once each take no set from one that comes again.
TEST_F(LabelSetsTest, WhatComesOnceTakesNoSet) {
  sets_.begin(1);
  send(1, "again");
  const std::uint64_t set = send(2, "again").set;
  ASSERT_NE(set, 0u);
  for (std::uint64_t handle = 10; handle < 2000; ++handle)
    EXPECT_EQ(send(handle, std::to_string(handle).c_str()).set, 0u);
  const Told last = send(3, "again");
  EXPECT_EQ(last.set, set);
  EXPECT_THAT(last.set_labels, IsEmpty());
}

TEST_F(LabelSetsTest, LongLabelsAreSaidEachTime) {
  sets_.begin(LabelSets::kMost);
  const std::string text(LabelSets::kMostBytes, 'q');
  for (std::uint64_t handle = 1; handle <= 3; ++handle) EXPECT_EQ(send(handle, text.c_str()).set, 0u);
}

TEST_F(LabelSetsTest, WithoutLabelsThereIsNoSet) {
  sets_.begin(LabelSets::kMost);
  for (std::uint64_t handle = 1; handle <= 3; ++handle) EXPECT_EQ(send(message_of(handle, {})).set, 0u);
}

}  // namespace
}  // namespace tailor::agent::testing
