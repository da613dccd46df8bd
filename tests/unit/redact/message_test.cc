#include "daemon/redact/message.h"

#include <gtest/gtest.h>

#include "proto/base/sha256.h"

namespace tailor::redact {
namespace {

constexpr const char* kCanary = "canary4711";

void expect_clean(v1::AgentMessage message, const char* what) {
  ASSERT_NE(message.SerializeAsString().find(kCanary), std::string::npos) << what;
  const MessageRedactor redactor;
  redactor.redact(message, DoubleQuotes::kLiteral);
  EXPECT_EQ(message.SerializeAsString().find(kCanary), std::string::npos)
      << what << message.ShortDebugString();
}

std::string text() {
  std::string out = "select a from t where x = '";
  out += kCanary;
  return out += '\'';
}

TEST(MessageRedactor, NoFieldKeepsALiteral) {
  v1::AgentMessage message;
  message.mutable_plan_load()->set_name(text());
  expect_clean(message, "plan");
  message.Clear();
  v1::Component& component = *message.mutable_plan_load()->add_levels()->add_components();
  component.set_name("Filter x = '" + std::string(kCanary) + "'");
  expect_clean(message, "component");
  component.set_name("");
  v1::Attribute& attribute = *component.add_attributes();
  attribute.set_key("predicate");
  attribute.set_text("x = '" + std::string(kCanary) + "'");
  expect_clean(message, "attribute");
  message.Clear();
  v1::Attachment& attachment = *message.mutable_plan_load()->add_attachments();
  attachment.set_kind("sql");
  attachment.set_content(text());
  expect_clean(message, "attachment");
  message.Clear();
  v1::Label& label = *message.mutable_execution_begin()->add_labels();
  label.set_key("query");
  label.set_value(text());
  expect_clean(message, "label");
  message.Clear();
  message.mutable_execution_end()->set_error("invalid input for integer: \"" + std::string(kCanary) + "\"");
  expect_clean(message, "error");
}

TEST(MessageRedactor, WhatIsNoLiteralStays) {
  const MessageRedactor redactor;
  v1::AgentMessage begin, load;
  v1::Label& user = *begin.mutable_execution_begin()->add_labels();
  user.set_key("user");
  user.set_value("ana1");
  redactor.redact(begin, DoubleQuotes::kLiteral);
  EXPECT_EQ(begin.execution_begin().labels(0).value(), "ana1");
  v1::Attachment& ir = *load.mutable_plan_load()->add_attachments();
  load.mutable_plan_load()->set_name("tpch-3");
  ir.set_kind("ir");
  ir.set_content("add i64 %1, 42");
  const std::string before = load.SerializeAsString();
  redactor.redact(load, DoubleQuotes::kLiteral);
  EXPECT_EQ(load.SerializeAsString(), before);
}

// The text of an attribute with this key, as it is kept.
std::string kept(const char* key, const char* text) {
  v1::AgentMessage message;
  v1::Attribute& attribute = *message.mutable_plan_load()->add_levels()->add_components()->add_attributes();
  attribute.set_key(key);
  attribute.set_text(text);
  MessageRedactor().redact(message, DoubleQuotes::kName);
  return attribute.text();
}

TEST(MessageRedactor, WhatTailorSaysOfANodeStays) {
  for (const char* said : {"2.1 % of its time", "1.2e+02 % of its time", "0.5 % of its time, if it had them",
                           "12 % of its time, so that one execution in 6.0 has them"})
    EXPECT_EQ(kept("wrappers", said), said);
  for (const char* name : {"InitPlan 1", "SubPlan 7", "InitPlan 1 (returns $0)", "SubPlan 2 (returns $1,$2)"})
    EXPECT_EQ(kept("details", name), name);
}

// Only the whole sentence under its own key is Tailor's: a literal behind it or elsewhere is one.
TEST(MessageRedactor, NothingElsePassesForWhatTailorSays) {
  EXPECT_EQ(kept("predicate", "InitPlan 1 (returns $0)"), "InitPlan ? (returns $0)");
  EXPECT_EQ(kept("wrappers", "InitPlan 1 (returns $0)"), "InitPlan ? (returns $0)");
  EXPECT_EQ(kept("details", "2.1 % of its time"), "? % of its time");
  EXPECT_EQ(kept("wrappers", "2.1 % of its time, a = 4711"), "? % of its time, a = ?");
  EXPECT_EQ(kept("wrappers", "2 % of its time, if it had them and 'x'"),
            "? % of its time, if it had them and ?");
  EXPECT_EQ(kept("wrappers", " % of its time > 12"), " % of its time > ?");
  EXPECT_EQ(kept("details", "InitPlan 1 (returns 4711)"), "InitPlan ? (returns ?)");
  EXPECT_EQ(kept("details", "InitPlan 1 (returns $0) = 4711"), "InitPlan ? (returns $0) = ?");
  EXPECT_EQ(kept("details", "InitPlan 'x' (returns $0)"), "InitPlan ? (returns $0)");
  EXPECT_EQ(kept("details", "SubPlan 1 (returns $0,)"), "SubPlan ? (returns $0,)");
}

// Two references to one text stay two references to one text, and say nothing of it to who guesses.
TEST(MessageRedactor, DigestsOfTextsStayEqualAndCannotBeGuessed) {
  const Sha256Digest digest = sha256(text());
  v1::AgentMessage full, reference;
  for (v1::AgentMessage* message : {&full, &reference}) {
    v1::Attachment& attachment = *message->mutable_plan_load()->add_attachments();
    attachment.set_kind("sql");
    attachment.set_sha256(digest.data(), digest.size());
  }
  full.mutable_plan_load()->mutable_attachments(0)->set_content(text());
  const MessageRedactor redactor, other;
  redactor.redact(full, DoubleQuotes::kName);
  redactor.redact(reference, DoubleQuotes::kName);
  const std::string name = full.plan_load().attachments(0).sha256();
  EXPECT_EQ(name, reference.plan_load().attachments(0).sha256());
  EXPECT_NE(name, std::string(reinterpret_cast<const char*>(digest.data()), digest.size()));
  EXPECT_TRUE(reference.plan_load().attachments(0).content().empty());
}

}  // namespace
}  // namespace tailor::redact
