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
