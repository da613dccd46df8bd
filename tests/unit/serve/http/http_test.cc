#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "daemon/serve/http/http_server.h"
#include "proto/base/sha256.h"
#include "tests/support/profile_bytes.h"
#include "tests/support/sample_profile.h"
#include "tests/support/text_stream.h"

namespace tailor::serve {
namespace {

using test::TextStream;

class HttpTest : public testing::Test {
 protected:
  HttpTest() {
    std::ofstream(path_) << test::profile_bytes(
        [](profile::ProfileSink& sink) { test::give_profile(sink, 5); });
    library_ = open_file_library(path_);
    service_ = std::make_unique<Service>(*library_, ServiceOptions{"test", {}});
    HttpOptions options;
    options.gate.tokens.push_back({"t", sha256("sesame"), Access::everything()});
    options.metrics = [] { return std::string("metric 1\n"); };
    server_ = HttpServer::without_listeners(*service_, std::move(options));
  }
  ~HttpTest() override { std::remove(path_.c_str()); }

  std::string ask(const std::string& text, Peer peer = {}) {
    TextStream stream(text);
    go_on_ = server_->serve_one(stream, peer);
    return stream.output;
  }
  std::string get(const std::string& path, const std::string& headers = "Authorization: Bearer sesame\r\n") {
    return ask("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n" + headers + "\r\n");
  }
  static int status(const std::string& answer) { return std::stoi(answer.substr(9, 3)); }
  static nlohmann::json body(const std::string& answer) {
    return nlohmann::json::parse(answer.substr(answer.find("\r\n\r\n") + 4));
  }

  std::string path_ = testing::TempDir() + "/serve_http_test.tailor";
  std::unique_ptr<Library> library_;
  std::unique_ptr<Service> service_;
  std::unique_ptr<HttpServer> server_;
  bool go_on_ = false;
};

TEST_F(HttpTest, AnswersAsTheContractSays) {
  const std::string answer = get("/api/v1/executions/all/profile");
  ASSERT_EQ(status(answer), 200) << answer;
  EXPECT_TRUE(body(answer).contains("plans"));
  EXPECT_NE(answer.find("Content-Security-Policy: default-src 'self'"), std::string::npos);
  EXPECT_TRUE(go_on_);
}

TEST_F(HttpTest, ChangesWhatIsSampled) {
  EXPECT_EQ(status(get("/api/v1/control/pause")), 405) << "reading changes nothing";
  const auto post = [&](const std::string& what, const std::string& headers = "") {
    return ask("POST /api/v1/control/" + what + " HTTP/1.1\r\nHost: localhost\r\n" +
               "Authorization: Bearer sesame\r\n" + headers + "\r\n");
  };
  EXPECT_EQ(status(post("pause")), 404) << "a file";
  v1::ControlRequest asked;
  const auto control = [&](const v1::ControlRequest& request, const Access&) -> Result<v1::ControlReply> {
    asked = request;
    if (request.rate().pid() == 8) return not_found("process 8 is not sampled");
    v1::ControlReply reply;
    reply.mutable_rate()->add_processes()->set_pid(7);
    reply.mutable_rate()->add_problems("process 9: no");
    return reply;
  };
  service_ = std::make_unique<Service>(*library_, ServiceOptions{"test", {}, control});
  HttpOptions options;
  options.gate.tokens.push_back({"t", sha256("sesame"), Access::everything()});
  server_ = HttpServer::without_listeners(*service_, std::move(options));
  const std::string answer = post("rate?process=7&hz=997&for_ms=1500");
  ASSERT_EQ(status(answer), 200) << answer;
  EXPECT_EQ(asked.rate().pid(), 7);
  EXPECT_EQ(asked.rate().frequency(), 997u);
  EXPECT_EQ(asked.rate().for_ns(), 1'500'000'000u);
  EXPECT_EQ(body(answer)["processes"][0]["pid"], 7);
  EXPECT_EQ(body(answer)["problems"][0], "process 9: no");
  EXPECT_EQ(status(post("rate?process=8&hz=997")), 404);
  EXPECT_EQ(status(post("rate?process=7")), 400);
  EXPECT_EQ(status(post("rate?hz=often")), 400);
  EXPECT_EQ(status(post("sampling")), 404);
  EXPECT_EQ(status(post("resume")), 200);
  EXPECT_TRUE(asked.resume().all());
  asked.Clear();
  EXPECT_EQ(status(post("pause", "Origin: http://evil.example\r\n")), 403) << "a page of another origin";
  EXPECT_EQ(asked.request_case(), v1::ControlRequest::REQUEST_NOT_SET);
}

TEST_F(HttpTest, StatusesFollowFromTheKindOfError) {
  EXPECT_EQ(status(get("/api/v1/executions/zz")), 400);
  EXPECT_EQ(status(get("/api/v1/executions/abcdabcd/profile")), 404);
  EXPECT_EQ(body(get("/api/v1/executions/abcdabcd/profile"))["error"]["kind"], "not_found");
  EXPECT_EQ(status(get("/nothing")), 404);
  EXPECT_EQ(status(get("/api/v1/status", "")), 401);
  EXPECT_EQ(status(get("/api/v1/health", "")), 200);
  EXPECT_EQ(status(get("/api/v1/live")), 404);
  EXPECT_EQ(status(ask("POST /api/v1/status HTTP/1.1\r\nHost: localhost\r\n\r\n")), 405);
  EXPECT_EQ(status(ask("BREW /api/v1/status HTTP/1.1\r\nHost: localhost\r\n\r\n")), 405);
}

TEST_F(HttpTest, AHeaderThatIsTooLongIsToldSo) {
  const std::string answer = get("/api/v1/status", "X-Long: " + std::string(9000, 'x') + "\r\n");
  EXPECT_EQ(status(answer), 431) << answer;
  EXPECT_NE(answer.find("a header is longer than 8192 bytes"), std::string::npos) << answer;
  EXPECT_FALSE(go_on_);
}

TEST_F(HttpTest, AnAddressThatIsTooLongIsToldSo) {
  const std::string answer = get("/api/v1/executions?plan=" + std::string(9000, 'x'));
  EXPECT_EQ(status(answer), 414) << answer;
  EXPECT_NE(answer.find("the address is longer than 8192 bytes"), std::string::npos) << answer;
}

TEST_F(HttpTest, ALabelMayHoldAnEqualSign) {
  for (const char* label : {"label=tenant=b", "label=tenant%3Db", "label=note=a=b+c"}) {
    const std::string answer = get(std::string("/api/v1/executions?limit=5&") + label);
    EXPECT_EQ(status(answer), 200) << label << answer;
  }
  EXPECT_EQ(status(get("/api/v1/executions?label=tenant")), 400);
  EXPECT_EQ(status(get("/api/v1/executions?&since=-10m&")), 200);
}

TEST_F(HttpTest, AWrongNameOfTheServerIsToldWithTheRightOne) {
  const Peer local{true, 0, false};
  const std::string answer = ask("GET /api/v1/status HTTP/1.1\r\nHost: x\r\n\r\n", local);
  EXPECT_EQ(status(answer), 403);
  EXPECT_NE(answer.find("curl --unix-socket PATH http://tailor/api/v1/status"), std::string::npos) << answer;
  EXPECT_EQ(ask("GET /api/v1/status HTTP/1.1\r\nHost: x\r\n\r\n").find("curl"), std::string::npos);
}

TEST_F(HttpTest, ForeignHostsAndPagesAreDenied) {
  EXPECT_EQ(status(ask("GET /api/v1/status HTTP/1.1\r\nHost: evil\r\nAuthorization: Bearer sesame\r\n\r\n")),
            403);
  EXPECT_EQ(status(get("/api/v1/status", "Authorization: Bearer sesame\r\nOrigin: http://evil\r\n")), 403);
  EXPECT_EQ(status(ask("POST /api/v1/session HTTP/1.1\r\nHost: evil\r\n\r\n")), 403);
  EXPECT_EQ(status(get("/api/v1/status", "Authorization: Bearer sesame\r\nSec-Fetch-Site: cross-site\r\n")),
            403);
  // A visitor who follows a link to the page comes from elsewhere.
  EXPECT_NE(status(get("/", "Sec-Fetch-Site: cross-site\r\n")), 403);
}

// The secret is in the answer, for the page. No cookie has it: browsers send cookies to other ports, too.
TEST_F(HttpTest, ATokenOfALinkOpensOneSession) {
  const std::string token = server_->gate().issue_start_token();
  const std::string ask_session =
      "POST /api/v1/session HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + token + "\r\n\r\n";
  const std::string answer = ask(ask_session);
  ASSERT_EQ(status(answer), 200) << answer;
  EXPECT_EQ(answer.find("Set-Cookie"), std::string::npos);
  constexpr std::string_view kBefore = "{\"session\":\"";
  const std::size_t at = answer.find(kBefore);
  ASSERT_NE(at, std::string::npos) << answer;
  const std::string secret = answer.substr(at + kBefore.size(), 64);
  EXPECT_EQ(status(get("/api/v1/status", "Authorization: Bearer " + secret + "\r\n")), 200);
  EXPECT_EQ(status(get("/api/v1/status", "Cookie: tailor_session=" + secret + "\r\n")), 401);
  EXPECT_EQ(status(ask(ask_session)), 401);
}

TEST_F(HttpTest, AMetricsListenerHasMetricsOnly) {
  const Peer metrics{false, 0, true};
  EXPECT_EQ(status(ask("GET /metrics HTTP/1.1\r\nHost: any\r\n\r\n", metrics)), 200);
  EXPECT_EQ(status(ask("GET /api/v1/status HTTP/1.1\r\nHost: localhost\r\n\r\n", metrics)), 404);
  EXPECT_EQ(status(ask("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", metrics)), 404);
}

// What follows a request with a body is not taken for a request.
TEST_F(HttpTest, NothingIsReadBehindABody) {
  ask("POST /api/v1/session HTTP/1.1\r\nHost: localhost\r\nContent-Length: 30\r\n\r\nGET /metrics "
      "HTTP/1.1\r\n\r\n");
  EXPECT_FALSE(go_on_);
}

// Nor what follows a request that was not understood.
TEST_F(HttpTest, NothingIsReadBehindWhatIsNoRequest) {
  for (const char* text : {"BREW /api/v1/status HTTP/1.1\r\nHost: localhost\r\n\r\n", "nonsense\r\n\r\n",
                           "GET /api/v1/status\r\n\r\n"}) {
    const std::string answer = ask(text);
    EXPECT_FALSE(go_on_) << text;
    EXPECT_GE(status(answer), 400) << text;
    EXPECT_EQ(body(answer)["error"]["kind"], "invalid") << answer;
    EXPECT_NE(answer.find("Connection: close"), std::string::npos) << answer;
    EXPECT_NE(answer.find("Content-Security-Policy"), std::string::npos) << answer;
  }
}

// Something else happens while the answer is on its way; then its reader goes.
class InterruptedStream : public TextStream {
 public:
  InterruptedStream(std::string input, std::function<void()> meanwhile)
      : TextStream(std::move(input)), meanwhile_(std::move(meanwhile)) {}
  ssize_t write(const char* from, std::size_t size) override {
    (void)TextStream::write(from, size);
    // On a thread of its own, as another connection.
    if (meanwhile_) std::thread(std::exchange(meanwhile_, {})).join();
    return -1;
  }

 private:
  std::function<void()> meanwhile_;
};

// Twin: with one count for all, the third stream of a token is served, and root's is not.
TEST_F(HttpTest, StreamsOfOneTokenLeaveRoomForOthers) {
  service_ = std::make_unique<Service>(*library_, ServiceOptions{"test", [] { return v1::DaemonStatus(); }});
  HttpOptions options;
  options.streams = 4;
  for (const char* name : {"anna", "ben"})
    options.gate.tokens.push_back({name, sha256(name), Access::everything()});
  server_ = HttpServer::without_listeners(*service_, std::move(options));
  std::map<std::string, HttpUse> uses;
  std::vector<int> statuses;
  // Each stream is open while those after it are.
  const std::vector<std::string> askers{"anna", "anna", "anna", "ben", "ben", "", ""};
  std::function<void(std::size_t)> open = [&](std::size_t at) {
    if (at == askers.size()) {
      uses = server_->uses();
      return;
    }
    Peer peer;
    peer.local = askers[at].empty();  // root
    const std::string authorization = peer.local ? "" : "Authorization: Bearer " + askers[at] + "\r\n";
    InterruptedStream stream("GET /api/v1/live HTTP/1.1\r\nHost: localhost\r\n" + authorization + "\r\n",
                             [&, at] { open(at + 1); });
    (void)server_->serve_one(stream, peer);
    statuses.insert(statuses.begin(), status(stream.output));
  };
  open(0);
  EXPECT_EQ(statuses, (std::vector{200, 200, 429, 200, 429, 200, 429}));
  EXPECT_EQ(uses["token anna"].streams, 2u);
  EXPECT_EQ(uses["token anna"].refused, 1u);
  EXPECT_EQ(uses["token ben"].streams, 1u);
  EXPECT_EQ(uses["token ben"].refused, 1u);
  EXPECT_EQ(uses["user 0"].streams, 1u);
  EXPECT_EQ(uses["user 0"].refused, 1u);
  uses = server_->uses();
  for (const auto& [who, use] : uses) EXPECT_EQ(use.streams, 0u) << who;
}

TEST_F(HttpTest, EverySecurityHeaderIsOnRefusalsToo) {
  const std::string answer = get("/nothing");
  for (const char* header : {"X-Content-Type-Options: nosniff", "X-Frame-Options: DENY",
                             "Referrer-Policy: no-referrer", "Cache-Control: no-store"})
    EXPECT_NE(answer.find(header), std::string::npos) << header;
}

TEST_F(HttpTest, NoTokenIsInAnyAnswer) {
  for (const char* path : {"/api/v1/status", "/api/v1/health", "/metrics", "/api/v1/executions"})
    EXPECT_EQ(get(path).find("sesame"), std::string::npos) << path;
}

}  // namespace
}  // namespace tailor::serve
