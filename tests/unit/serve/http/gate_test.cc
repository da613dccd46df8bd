#include "daemon/serve/http/gate.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "proto/base/sha256.h"

namespace tailor::serve {
namespace {

GateOptions options() {
  Token all{"all", sha256("open sesame"), Access::everything()};
  Access some;
  some.see_all = false;
  some.uids = {1000};
  return {{all, {"some", sha256("little"), some}}, {"db7.example"}};
}

Visitor tcp(const std::string& host) {
  Visitor visitor;
  visitor.host = host;
  return visitor;
}

TEST(Gate, OnlyItsOwnNamesAreAnswered) {
  Gate gate(options());
  for (const char* host :
       {"localhost", "localhost:80", "127.0.0.1:4711", "[::1]:80", "LOCALHOST", "db7.example:1"})
    EXPECT_TRUE(gate.check_origin(tcp(host))) << host;
  for (const char* host : {"", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "tailor"})
    EXPECT_FALSE(gate.check_origin(tcp(host))) << host;
  Visitor local = tcp("tailor");
  local.local = true;
  EXPECT_TRUE(gate.check_origin(local));
  local.host = "evil.example";
  EXPECT_FALSE(gate.check_origin(local));
}

TEST(Gate, PagesOfOthersStayOut) {
  Gate gate(options());
  Visitor visitor = tcp("localhost:80");
  visitor.origin = "http://localhost:80";
  EXPECT_TRUE(gate.check_origin(visitor));
  for (const char* origin : {"http://localhost:81", "http://evil.example", "null", "https://localhost"}) {
    visitor.origin = origin;
    EXPECT_FALSE(gate.check_origin(visitor)) << origin;
  }
  visitor.origin.clear();
  visitor.fetch_site = "cross-site";
  EXPECT_FALSE(gate.check_origin(visitor));
}

TEST(Gate, ATokenOpensWhatItNames) {
  Gate gate(options());
  Visitor visitor = tcp("localhost");
  EXPECT_FALSE(gate.identify(visitor));
  visitor.authorization = "Bearer open sesame";
  ASSERT_TRUE(gate.identify(visitor));
  EXPECT_TRUE(gate.identify(visitor)->see_all);
  visitor.authorization = "Bearer little";
  ASSERT_TRUE(gate.identify(visitor));
  EXPECT_FALSE(gate.identify(visitor)->see_all);
  for (const char* wrong :
       {"Bearer", "Bearer ", "bearer open sesame", "Basic b3Blbjpz", "Bearer open sesam"}) {
    visitor.authorization = wrong;
    EXPECT_FALSE(gate.identify(visitor)) << wrong;
  }
}

TEST(Gate, OverTheSocketTheKernelSaysWhoAsks) {
  Gate gate(options());
  Visitor visitor;
  visitor.local = true;
  visitor.uid = ::geteuid();
  EXPECT_TRUE(gate.identify(visitor)->see_all);
  visitor.uid = 4242;
  if (::geteuid() == 4242) return;
  EXPECT_FALSE(gate.identify(visitor)->see_all);
  store::ExecutionRow row;
  row.record.uid = 4242;
  EXPECT_TRUE(gate.identify(visitor)->sees(row.record));
  row.record.uid = 4243;
  EXPECT_FALSE(gate.identify(visitor)->sees(row.record));
  row.record.uid.reset();
  EXPECT_FALSE(gate.identify(visitor)->sees(row.record));
  // A token that is wrong is no weaker than none.
  visitor.authorization = "Bearer wrong";
  EXPECT_FALSE(gate.identify(visitor));
}

Visitor with_bearer(const std::string& secret) {
  Visitor visitor = tcp("localhost");
  visitor.authorization = "Bearer " + secret;
  return visitor;
}

TEST(Gate, AStartLinkWorksOnce) {
  Gate gate(options());
  const std::string token = gate.issue_start_token();
  EXPECT_FALSE(gate.identify(with_bearer(token))) << "it opens a session, and nothing else";
  EXPECT_FALSE(gate.open_session(with_bearer("guess")));
  EXPECT_FALSE(gate.open_session(tcp("localhost")));
  const auto secret = gate.open_session(with_bearer(token));
  ASSERT_TRUE(secret);
  EXPECT_FALSE(gate.open_session(with_bearer(token)));
  const Visitor visitor = with_bearer(*secret);
  ASSERT_TRUE(gate.identify(visitor));
  EXPECT_TRUE(gate.identify(visitor)->see_all);
  EXPECT_FALSE(gate.open_session(visitor)) << "a session opens no other";
  gate.close_session(visitor);
  EXPECT_FALSE(gate.identify(visitor));
}

// Shares go by it: sessions of one token are one asker, and a link of `tailor web` is for the user himself.
TEST(Gate, SaysFromWhoseShareIsAnswered) {
  Gate gate(options());
  Visitor local;
  local.local = true;
  EXPECT_EQ(gate.identify(local)->asker.who, "user 0");
  EXPECT_TRUE(gate.identify(local)->asker.trusted);
  local.uid = ::geteuid() + 4242;
  EXPECT_EQ(gate.identify(local)->asker.who, "user " + std::to_string(local.uid));
  EXPECT_FALSE(gate.identify(local)->asker.trusted);
  const std::string by_token = gate.identify(with_bearer("open sesame"))->asker.who;
  EXPECT_TRUE(by_token.starts_with("token ")) << by_token;
  EXPECT_FALSE(gate.identify(with_bearer("open sesame"))->asker.trusted);
  const auto session = gate.open_session(with_bearer("open sesame"));
  ASSERT_TRUE(session);
  EXPECT_EQ(gate.identify(with_bearer(*session))->asker.who, by_token);
  EXPECT_FALSE(gate.identify(with_bearer(*session))->asker.trusted);
  EXPECT_NE(gate.identify(with_bearer("little"))->asker.who, by_token);
  const auto link = gate.open_session(with_bearer(gate.issue_start_token()));
  ASSERT_TRUE(link);
  EXPECT_TRUE(gate.identify(with_bearer(*link))->asker.trusted);
}

TEST(Gate, SessionsOfOneOwnerEndNoOthers) {
  Gate gate(options());
  const Visitor visitor = with_bearer(gate.open_session("one", Access::everything()));
  const Visitor first = with_bearer(gate.open_session("many", Access::everything()));
  Visitor last;
  for (int i = 0; i < 1500; ++i) last = with_bearer(gate.open_session("many", Access::everything()));
  EXPECT_TRUE(gate.identify(visitor));
  EXPECT_FALSE(gate.identify(first));
  EXPECT_TRUE(gate.identify(last));
}

TEST(Gate, SecretsDiffer) {
  EXPECT_NE(random_secret(), random_secret());
  EXPECT_EQ(random_secret().size(), 64u);
}

// Of a file with one token that has these keys.
Result<std::vector<Token>> token_with(const std::string& keys) {
  const std::string path = testing::TempDir() + "/gate_test_tokens." + std::to_string(::getpid());
  std::ofstream(path) << "[[token]]\nsha256 = \"" << std::string(64, 'a') << "\"\n" << keys;
  ::chmod(path.c_str(), 0600);
  auto tokens = read_tokens(path);
  std::filesystem::remove(path);
  return tokens;
}

TEST(Tokens, ControlIsOfWhatTheTokenMaySee) {
  for (const char* keys : {"see = \"all\"", "uids = [1000]", "uids = [1000]\nlabels = { tenant = \"a\" }"}) {
    const auto tokens = token_with(std::string(keys) + "\ncontrol = true\n");
    ASSERT_TRUE(tokens) << tokens.error().message;
    EXPECT_TRUE(tokens->front().access.control) << keys;
    EXPECT_FALSE(token_with(keys)->front().access.control) << keys;
  }
}

TEST(Tokens, AControlThatWouldDoNothingIsRefused) {
  for (const char* keys :
       {"", "uids = []", "labels = { tenant = \"a\" }", "metrics = true", "metrics = true\nsee = \"all\""}) {
    EXPECT_TRUE(token_with(std::string(keys) + "\ncontrol = false\n")) << keys;
    const auto tokens = token_with("control = true\n" + std::string(keys));
    ASSERT_FALSE(tokens) << keys;
    EXPECT_EQ(tokens.error().kind, ErrorKind::kInvalid);
    EXPECT_NE(tokens.error().message.find("line 3: "), std::string::npos) << tokens.error().message;
    EXPECT_NE(tokens.error().message.find("control"), std::string::npos) << tokens.error().message;
  }
}

TEST(Access, LabelsTellTenantsOfOneUserApart) {
  Access access;
  access.see_all = false;
  access.labels = {{"tenant", "a"}};
  store::ExecutionRow row;
  EXPECT_FALSE(access.sees(row.record));
  row.record.labels = {{"tenant", "b"}};
  EXPECT_FALSE(access.sees(row.record));
  row.record.labels = {{"user", "x"}, {"tenant", "a"}};
  EXPECT_TRUE(access.sees(row.record));
  EXPECT_FALSE(access.reads_code_of(row.record));
}

}  // namespace
}  // namespace tailor::serve
