#include "daemon/registration/label_sets.h"

#include <utility>
#include <vector>

#include "tests/unit/registration/server_fixture.h"

namespace tailor::registration::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

using LabelPairs = std::vector<std::pair<std::string, std::string>>;

v1::ExecutionBegin begin_of(std::uint64_t handle, std::uint32_t set, const LabelPairs& of_set,
                            const LabelPairs& own = {}) {
  v1::ExecutionBegin begin;
  begin.set_handle(handle);
  begin.set_id(std::string(16, 'i'));
  begin.set_label_set(set);
  const auto put = [](const LabelPairs& from, auto& to) {
    for (const auto& [key, value] : from) {
      v1::Label& label = *to.Add();
      label.set_key(key);
      label.set_value(value);
    }
  };
  put(of_set, *begin.mutable_set_labels());
  put(own, *begin.mutable_labels());
  return begin;
}

LabelPairs labels_of(const v1::ExecutionBegin& begin) {
  LabelPairs out;
  for (const v1::Label& label : begin.labels()) out.emplace_back(label.key(), label.value());
  return out;
}

TEST(LabelSets, AreSaidOnceAndStandBeforeTheExecutionsOwn) {
  LabelSets sets;
  v1::ExecutionBegin first = begin_of(1, 2, {{"user", "ada"}, {"query", "select 1"}}, {{"trace_id", "aa"}});
  ASSERT_TRUE(sets.put_in(first));
  const auto with_trace = [](const char* trace) {
    return ElementsAre(Pair("user", "ada"), Pair("query", "select 1"), Pair("trace_id", trace));
  };
  EXPECT_THAT(labels_of(first), with_trace("aa"));
  EXPECT_EQ(first.label_set(), 0u);
  EXPECT_EQ(first.set_labels_size(), 0);
  v1::ExecutionBegin again = begin_of(2, 2, {}, {{"trace_id", "bb"}});
  ASSERT_TRUE(sets.put_in(again));
  EXPECT_THAT(labels_of(again), with_trace("bb"));
}

TEST(LabelSets, ASetThatIsSaidAgainIsReplaced) {
  LabelSets sets;
  v1::ExecutionBegin one = begin_of(1, 1, {{"query", "a"}}), other = begin_of(2, 1, {{"query", "b"}}),
                     last = begin_of(3, 1, {});
  EXPECT_TRUE(sets.put_in(one) && sets.put_in(other) && sets.put_in(last));
  EXPECT_THAT(labels_of(last), ElementsAre(Pair("query", "b")));
}

TEST(LabelSets, WithoutASetNothingChanges) {
  LabelSets sets;
  v1::ExecutionBegin plain = begin_of(1, 0, {}, {{"user", "ada"}});
  ASSERT_TRUE(sets.put_in(plain));
  EXPECT_THAT(labels_of(plain), ElementsAre(Pair("user", "ada")));
}

TEST(LabelSets, OneThatWasNeverSaidIsAnError) {
  LabelSets sets;
  v1::ExecutionBegin unknown = begin_of(1, 3, {});
  const Status put = sets.put_in(unknown);
  ASSERT_FALSE(put);
  EXPECT_THAT(put.error().message, HasSubstr("set 3 of labels is not known"));
  v1::ExecutionBegin higher = begin_of(2, 5, {{"query", "a"}});
  ASSERT_TRUE(sets.put_in(higher));
  EXPECT_FALSE(sets.put_in(unknown)) << "there is room for it, and nothing in it";
}

TEST(LabelSets, WithTheirsAnExecutionHasNoMoreLabelsThanAlone) {
  LabelSets sets;
  v1::ExecutionBegin full = begin_of(1, 1, LabelPairs(kMaxLabels, {"key", "value"}));
  ASSERT_TRUE(sets.put_in(full));
  v1::ExecutionBegin more = begin_of(2, 1, {}, {{"trace_id", "aa"}});
  EXPECT_FALSE(sets.put_in(more));
}

class LabelSetsOfAServer : public ServerFixture {
 protected:
  static Body said(const v1::ExecutionBegin& begin) {
    Body message;
    message.set_tsc(5);
    *message.mutable_execution_begin() = begin;
    return message;
  }
};

TEST_F(LabelSetsOfAServer, AreThoseOfTheirConnection) {
  RawAgent agent(server_.path());
  ASSERT_TRUE(open(agent));
  agent.send(said(begin_of(1, 1, {{"query", "a"}})));
  agent.send(said(begin_of(2, 1, {})));
  ASSERT_TRUE(server_.until([&] { return sink().messages.size() == 2; }));
  EXPECT_THAT(labels_of(sink().messages[1].message.execution_begin()), ElementsAre(Pair("query", "a")));
  EXPECT_THAT(sink().rejected, IsEmpty());
  agent.close();
  ASSERT_TRUE(server_.until([&] { return !sink().gone.empty(); }));
  sink().order.clear();
  RawAgent other(server_.path());
  ASSERT_TRUE(open(other));
  other.send(said(begin_of(3, 1, {})));
  ASSERT_TRUE(server_.until([&] { return !sink().rejected.empty(); }));
  EXPECT_THAT(sink().rejected[0].what, HasSubstr("is not known"));
  EXPECT_EQ(sink().messages.size(), 2u);
}

// What is prepared on another thread is prepared with all of its labels, or literals would get past it.
TEST_F(LabelSetsOfAServer, ALargeMessageHasNone) {
  RawAgent agent(server_.path());
  ASSERT_TRUE(open(agent));
  agent.send(said(begin_of(1, 1, {{"query", "a"}})));
  const std::string bytes =
      said(begin_of(2, 1, {}, {{"note", std::string(2 * kReadAtOnceBytes, 'n')}})).SerializeAsString();
  Body envelope;
  envelope.set_payload_bytes(bytes.size());
  ASSERT_TRUE(agent.send(envelope, {memfd(bytes, kPayloadSeals).get()}));
  agent.send(said(begin_of(3, 1, {})));
  ASSERT_TRUE(server_.until([&] { return sink().messages.size() == 2; }));
  ASSERT_EQ(sink().rejected.size(), 1u);
  EXPECT_THAT(sink().rejected[0].what, HasSubstr("execution 2: a set of labels in a large message"));
  EXPECT_EQ(sink().messages[1].message.execution_begin().handle(), 3u);
}

}  // namespace
}  // namespace tailor::registration::testing
