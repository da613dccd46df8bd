#include "daemon/tailord/prepared.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

namespace tailor::tailord {
namespace {

Options options() {
  Options out;
  out.agent_socket = "/run/tailor/agent.sock";
  out.control_socket = "/run/tailor/control.sock";
  out.store = "/var/lib/tailor/store";
  return out;
}

// Asks for nothing of this host but its files.
std::string problem_of(const WebOptions& web) {
  const auto http = http_options(web);
  return http.ok() ? "" : http.error().message;
}

TEST(HttpOptions, SayWhoListens) {
  WebOptions web;
  web.socket = "/run/tailor/http.sock";
  web.metrics = {"127.0.0.1:19187", "[::1]:0"};
  const auto http = http_options(web);
  ASSERT_TRUE(http.ok()) << http.error().message;
  ASSERT_EQ(http->listeners.size(), 3u);
  EXPECT_EQ(http->listeners[1].port, 19187);
  EXPECT_TRUE(http->listeners[1].metrics_only);
  EXPECT_EQ(http->listeners[2].address, "::1");
}

TEST(HttpOptions, WrongOnesAreRefusedBeforeAnythingIsOpened) {
  for (const char* address :
       {"19187", "localhost:80", "300.1.1.1:80", "127.0.0.1:99999", "127.0.0.1:", ":80"}) {
    WebOptions web;
    web.metrics = {address};
    EXPECT_NE(problem_of(web).find(address), std::string::npos) << problem_of(web);
  }
  WebOptions web;
  web.listen = {"127.0.0.1:0"};
  EXPECT_NE(problem_of(web).find("--tokens"), std::string::npos) << problem_of(web);
  web.tokens = "/nonexistent/tokens.toml";
  EXPECT_NE(problem_of(web).find("/nonexistent/tokens.toml"), std::string::npos) << problem_of(web);
}

class PreparedTest : public testing::Test {
 protected:
  // Whether this host lets us sample is not the question here.
  void SetUp() override {
    if (const auto prepared = prepare(os::real(), options()); !prepared.ok())
      GTEST_SKIP() << prepared.error().message;
  }
};

TEST_F(PreparedTest, WhateverIsWrongWithOptionsIsInvalid) {
  Options no_group = options();
  no_group.socket_group = "no-such-group-here";
  Options no_tokens = options();
  no_tokens.web.tokens = "/nonexistent/tokens.toml";
  Options long_path = options();
  long_path.control_socket = "/" + std::string(200, 'x');
  Options long_http = options();
  long_http.web.socket = "/" + std::string(200, 'x');
  for (const auto& [wrong, word] : {std::pair{no_group, "no-such-group-here"},
                                    {no_tokens, "/nonexistent/tokens.toml"},
                                    {long_path, "xxx"},
                                    {long_http, "xxx"}}) {
    const auto prepared = prepare(os::real(), wrong);
    ASSERT_FALSE(prepared.ok()) << word;
    EXPECT_EQ(prepared.error().kind, ErrorKind::kInvalid) << prepared.error().message;
    EXPECT_NE(prepared.error().message.find(word), std::string::npos) << prepared.error().message;
  }
}

}  // namespace
}  // namespace tailor::tailord
