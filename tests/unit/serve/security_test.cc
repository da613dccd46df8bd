// The table "Who may do what" of docs/security.md, cell by cell: every peer asks for everything, as bytes on
// a connection.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "daemon/serve/http/http_server.h"
#include "proto/base/sha256.h"
#include "tests/support/profile_bytes.h"
#include "tests/support/sample_profile.h"
#include "tests/support/text_stream.h"

namespace tailor::serve {
namespace {

using test::TextStream;

constexpr std::uint32_t kAda = 4242, kBob = 4243;
const std::string kOfAda(32, 'a'), kOfBob(32, 'b');
constexpr const char* kSecret = "i64 19950101";

// Ada's and Bob's execution, one sample each. They share nothing but the engine.
void give_two_tenants(profile::ProfileSink& sink) {
  test::give_context(sink);
  v1::Plan plan = test::sample_plan();
  v1::Attachment& ir = *plan.add_attachments();
  ir.set_kind("ir");
  ir.set_content(std::string("%1 = icmp ") + kSecret + "\n");
  sink.on_plan(test::kSampleProcess, test::kSampleStart, plan);
  std::vector<profile::SampleRecord> samples;
  for (const auto& [handle, byte, uid, tenant] :
       {std::tuple{ExecutionHandle{11}, 0xaa, kAda, "a"}, {ExecutionHandle{12}, 0xbb, kBob, "b"}}) {
    profile::ExecutionRecord execution;
    execution.process = test::kSampleProcess;
    execution.handle = handle;
    execution.id.bytes.fill(static_cast<std::uint8_t>(byte));
    execution.plan = test::kSamplePlan;
    execution.begin = test::kSampleStart;
    execution.end = test::kSampleStart + 2'000'000;
    execution.uid = uid;
    execution.labels = {{"tenant", tenant}};
    sink.on_execution(execution);
    profile::SampleRecord sample = test::ir_sample(test::kSampleStart + 1'000'000, 1);
    sample.attribution.execution = handle;
    samples.push_back(sample);
  }
  sink.on_samples(samples);
}

Access some(std::set<std::uint32_t> uids, std::vector<std::pair<std::string, std::string>> labels) {
  Access access;
  access.see_all = false;
  if (!uids.empty()) access.uids = std::move(uids);
  access.labels = std::move(labels);
  return access;
}

v1::DaemonStatus daemon_status() {
  v1::DaemonStatus status;
  v1::ProcessStatus& process = *status.add_processes();
  process.mutable_info()->set_comm("engine-of-ada");
  process.set_not_sampled_because("it is Ada's");
  return status;
}

struct PeerCase {
  const char* name;
  Peer peer;
  const char* token;  // "": none is sent
  enum class Sees { kAll, kOwn, kLabelled, kMetrics, kNothing } sees;
};

class SecurityTable : public testing::TestWithParam<PeerCase> {
 protected:
  SecurityTable() {
    std::ofstream(path_) << test::profile_bytes(give_two_tenants);
    library_ = open_file_library(path_);
    service_ = std::make_unique<Service>(*library_, ServiceOptions{"test", daemon_status});
    HttpOptions options;
    Access metrics = some({}, {});
    metrics.metrics_only = true;
    options.gate.tokens = {{"all", sha256("all"), Access::everything()},
                           {"uids", sha256("uids"), some({kAda}, {})},
                           {"labels", sha256("labels"), some({}, {{"tenant", "a"}})},
                           {"nothing", sha256("nothing"), some({}, {})},
                           {"metrics", sha256("metrics"), metrics}};
    options.metrics = [] { return std::string("metric 1\n"); };
    server_ = HttpServer::without_listeners(*service_, std::move(options));
  }
  ~SecurityTable() override { std::remove(path_.c_str()); }

  std::string ask(const std::string& path, std::size_t most = SIZE_MAX) {
    const PeerCase& who = GetParam();
    std::string text = "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n";
    if (who.token[0] != '\0') text += std::string("Authorization: Bearer ") + who.token + "\r\n";
    TextStream stream(text + "\r\n", most);
    server_->serve_one(stream, who.peer);
    return stream.output;
  }
  int status(const std::string& path) { return std::stoi(ask(path).substr(9, 3)); }
  nlohmann::json body(const std::string& path) {
    const std::string answer = ask(path);
    return nlohmann::json::parse(answer.substr(answer.find("\r\n\r\n") + 4));
  }
  bool is(PeerCase::Sees sees) const { return GetParam().sees == sees; }
  bool known() const { return !is(PeerCase::Sees::kNothing) && !is(PeerCase::Sees::kMetrics); }
  // What is answered instead of what is not for this peer.
  int refused() const {
    if (GetParam().peer.metrics_only) return 404;
    return is(PeerCase::Sees::kNothing) && GetParam().token[0] == '\0' ? 401 : 403;
  }

  // Of an execution that this peer may not see: there is none.
  int hidden() const { return known() ? 404 : refused(); }

  std::string path_ = testing::TempDir() + "/security_test." + std::to_string(::getpid()) + ".tailor";
  std::unique_ptr<Library> library_;
  std::unique_ptr<Service> service_;
  std::unique_ptr<HttpServer> server_;
};

TEST_P(SecurityTable, HealthIsForEverybodyAndItsReasonsAreNot) {
  EXPECT_EQ(status("/api/v1/health"), 200);
  EXPECT_TRUE(body("/api/v1/health")["reasons"].empty());
}

TEST_P(SecurityTable, StatusNamesProcessesToWhoSeesAll) {
  if (!known()) {
    EXPECT_EQ(status("/api/v1/status"), refused());
    return;
  }
  const std::string text = body("/api/v1/status").dump();
  EXPECT_EQ(text.find("engine-of-ada") != std::string::npos, is(PeerCase::Sees::kAll));
  EXPECT_EQ(text.find("it is Ada's") != std::string::npos, is(PeerCase::Sees::kAll));
}

TEST_P(SecurityTable, ExecutionsAreThoseThatOneMaySee) {
  if (!known()) {
    EXPECT_EQ(status("/api/v1/executions"), refused());
    return;
  }
  std::set<std::string> ids;
  const nlohmann::json list = body("/api/v1/executions");
  for (const auto& row : list["executions"]) {
    if (row["labels"].contains("tenant")) ids.insert(row["id"]);
  }
  EXPECT_EQ(ids.contains(kOfAda), true);
  EXPECT_EQ(ids.contains(kOfBob), is(PeerCase::Sees::kAll));
}

TEST_P(SecurityTable, ViewsAreOfExecutionsThatOneMaySee) {
  for (const std::string view : {"", "/profile", "/flame", "/timeline", "/threads", "/samples", "/sources"}) {
    EXPECT_EQ(status("/api/v1/executions/" + kOfAda + view), known() ? 200 : refused()) << view;
    EXPECT_EQ(status("/api/v1/executions/" + kOfBob + view), is(PeerCase::Sees::kAll) ? 200 : hidden())
        << view;
    EXPECT_EQ(status("/api/v1/executions/all" + (view.empty() ? "/profile" : view)),
              is(PeerCase::Sees::kAll) ? 200 : refused())
        << view;
  }
  const std::string both = "/api/v1/compare?a=" + kOfAda + "&b=" + kOfBob;
  EXPECT_EQ(status(both), is(PeerCase::Sees::kAll) ? 200 : hidden());
}

TEST_P(SecurityTable, OverviewsAddUpWhatOneMaySee) {
  for (const char* path : {"/api/v1/host?since=0", "/api/v1/fingerprints"}) {
    if (!known()) {
      EXPECT_EQ(status(path), refused()) << path;
      continue;
    }
    EXPECT_EQ(status(path), 200) << path;
  }
  if (!known()) return;
  std::uint64_t executions = 0;
  const nlohmann::json all = body("/api/v1/fingerprints");
  for (const auto& row : all["fingerprints"]) executions += row["executions"].get<std::uint64_t>();
  // The engine of the context has one of its own, of an unknown user.
  EXPECT_EQ(executions, is(PeerCase::Sees::kAll) ? 3u : 1u);
}

// Labels tell tenants of one user apart; IR holds constants, and is for its user.
TEST_P(SecurityTable, CodeIsForItsUser) {
  const bool reads_own = is(PeerCase::Sees::kAll) || is(PeerCase::Sees::kOwn);
  const std::string own = "/api/v1/executions/" + kOfAda, other = "/api/v1/executions/" + kOfBob;
  EXPECT_EQ(status(own + "/listing"), reads_own ? 200 : refused());
  EXPECT_EQ(ask(own + "/listing").find(kSecret) != std::string::npos, reads_own);
  EXPECT_EQ(status(other + "/listing"), is(PeerCase::Sees::kAll) ? 200 : hidden());
  EXPECT_EQ(status(own + "/bundle"), known() ? 200 : refused());
  EXPECT_EQ(ask(own + "/bundle").find(kSecret) != std::string::npos, reads_own);
  EXPECT_EQ(ask(other + "/bundle").find(kSecret) != std::string::npos, is(PeerCase::Sees::kAll));
  for (const std::string view : {"", "/profile", "/flame", "/timeline", "/threads", "/samples"})
    EXPECT_EQ(ask(own + view).find(kSecret), std::string::npos) << view;
}

TEST_P(SecurityTable, MetricsAreOfAllUsers) {
  const bool may = is(PeerCase::Sees::kAll) || is(PeerCase::Sees::kMetrics);
  EXPECT_EQ(status("/metrics"), may ? 200 : refused());
}

TEST_P(SecurityTable, LiveEventsTellOfWhatOneMaySee) {
  constexpr std::size_t kFirstEvents = 1500;
  const std::string text = ask("/api/v1/live", kFirstEvents);
  if (!known()) {
    EXPECT_EQ(std::stoi(text.substr(9, 3)), refused());
    return;
  }
  EXPECT_NE(text.find("event: status"), std::string::npos) << text;
  EXPECT_EQ(text.find("engine-of-ada") != std::string::npos, is(PeerCase::Sees::kAll));
  if (!is(PeerCase::Sees::kAll)) {
    EXPECT_EQ(text.find(kOfBob), std::string::npos);
  }
}

using Sees = PeerCase::Sees;
INSTANTIATE_TEST_SUITE_P(Peers, SecurityTable,
                         testing::Values(PeerCase{"daemons_user", {true, ::geteuid(), false}, "", Sees::kAll},
                                         PeerCase{"other_user", {true, kAda, false}, "", Sees::kOwn},
                                         PeerCase{"token_all", {}, "all", Sees::kAll},
                                         PeerCase{"token_uids", {}, "uids", Sees::kOwn},
                                         PeerCase{"token_labels", {}, "labels", Sees::kLabelled},
                                         PeerCase{"token_metrics", {}, "metrics", Sees::kMetrics},
                                         PeerCase{"nobody", {}, "", Sees::kNothing},
                                         PeerCase{"metrics_listener", {false, 0, true}, "", Sees::kMetrics}),
                         [](const auto& each) { return std::string(each.param.name); });

// A token that names nothing sees nothing.
TEST(Security, ATokenWithoutRightsSeesNoExecution) {
  const Access nothing = some({}, {});
  profile::ExecutionRecord execution;
  EXPECT_FALSE(nothing.sees(execution));
  execution.uid = 0;
  EXPECT_FALSE(nothing.sees(execution));
}

}  // namespace
}  // namespace tailor::serve
