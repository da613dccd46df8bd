// The table "Who may do what" of docs/security.md, cell by cell: every peer asks for everything, as bytes on
// a connection.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "daemon/control/access.h"
#include "daemon/serve/http/http_server.h"
#include "daemon/store/store_writer.h"
#include "proto/base/sha256.h"
#include "tests/support/profile_bytes.h"
#include "tests/support/sample_profile.h"
#include "tests/support/text_stream.h"

namespace tailor::serve {
namespace {

using test::TextStream;

constexpr std::uint32_t kAda = 4242, kBob = 4243;
const std::string kOfAda(32, 'a'), kOfBob(32, 'b');
std::string path_of(const std::string& execution) {
  return "/api/v1/executions/" + execution;
}
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
    execution.labels = {{"tenant", tenant}, {"fingerprint", std::string("of-") + tenant}};
    sink.on_execution(execution);
    profile::SampleRecord sample = test::ir_sample(test::kSampleStart + 1'000'000, 1);
    sample.attribution.execution = handle;
    sample.address = 0x1000;
    sample.address_from = profile::AddressFrom::kOperand;
    samples.push_back(sample);
  }
  sink.on_samples(samples);
  sink.on_watermark(test::kSampleStart + 2'000'000);
}

// Processes 7 and 8 are Ada's and Bob's.
std::optional<std::uint32_t> owner_of(std::int32_t pid) {
  return pid == 7 ? std::optional(kAda) : pid == 8 ? std::optional(kBob) : std::nullopt;
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
  bool controls_own = false;  // processes of the users that it names
};

class SecurityTable : public testing::TestWithParam<PeerCase> {
 protected:
  SecurityTable() {
    std::ofstream(path_) << test::profile_bytes(give_two_tenants);
    library_ = open_file_library(path_);
    // As the daemon does it.
    const auto control = [this](const v1::ControlRequest& request,
                                const Access& access) -> Result<v1::ControlReply> {
      const auto is_own = [&](std::uint32_t uid) { return access.uids && access.uids->contains(uid); };
      if (Status may = control::check_own(request, is_own, owner_of); !access.see_all && !may)
        return may.error();
      ++controlled_;
      return v1::ControlReply();
    };
    service_ = std::make_unique<Service>(*library_, ServiceOptions{"test", daemon_status, control});
    auto writer = store::StoreWriter::open(store_path_, {}, 1'700'000'000'000'000'000);
    give_two_tenants(**writer);
    EXPECT_TRUE((*writer)->finish());
    store_ = open_store_library(store_path_, {});
    of_store_ = std::make_unique<Service>(*store_, ServiceOptions{"test", {}});
    server_ = HttpServer::without_listeners(*service_, options());
    store_server_ = HttpServer::without_listeners(*of_store_, options());
  }
  ~SecurityTable() override {
    std::remove(path_.c_str());
    std::filesystem::remove_all(store_path_);
  }

  static HttpOptions options() {
    HttpOptions options;
    Access metrics = some({}, {}), controls = some({kAda}, {});
    metrics.metrics_only = true;
    controls.control = true;
    options.gate.tokens = {{"all", sha256("all"), Access::everything()},
                           {"uids", sha256("uids"), some({kAda}, {})},
                           {"controls", sha256("controls"), controls},
                           {"labels", sha256("labels"), some({}, {{"tenant", "a"}})},
                           {"nothing", sha256("nothing"), some({}, {})},
                           {"metrics", sha256("metrics"), metrics}};
    options.metrics = [] { return std::string("metric 1\n"); };
    return options;
  }

  std::string ask(const std::string& path, std::size_t most = SIZE_MAX, const std::string& method = "GET") {
    return ask(*server_, path, most, method);
  }
  // Hours and days are shown of a store.
  std::string ask_store(const std::string& path) { return ask(*store_server_, path, SIZE_MAX, "GET"); }
  static std::string ask(HttpServer& server, const std::string& path, std::size_t most,
                         const std::string& method) {
    const PeerCase& who = GetParam();
    std::string text = method + " " + path + " HTTP/1.1\r\nHost: localhost\r\n";
    if (who.token[0] != '\0') text += std::string("Authorization: Bearer ") + who.token + "\r\n";
    TextStream stream(text + "\r\n", most);
    server.serve_one(stream, who.peer);
    return stream.output;
  }
  static int status_of(const std::string& answer) { return std::stoi(answer.substr(9, 3)); }
  static nlohmann::json body_of(const std::string& answer) {
    return nlohmann::json::parse(answer.substr(answer.find("\r\n\r\n") + 4));
  }
  int status(const std::string& path) { return status_of(ask(path)); }
  nlohmann::json body(const std::string& path) { return body_of(ask(path)); }
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
  std::string store_path_ = testing::TempDir() + "/security_test." + std::to_string(::getpid());
  std::unique_ptr<Library> library_, store_;
  std::unique_ptr<Service> service_, of_store_;
  std::unique_ptr<HttpServer> server_, store_server_;
  int controlled_ = 0;  // how often something was changed
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
  for (const std::string view :
       {"", "/profile", "/flame", "/timeline", "/threads", "/samples", "/sources", "/memory"}) {
    EXPECT_EQ(status(path_of(kOfAda).append(view)), known() ? 200 : refused()) << view;
    EXPECT_EQ(status(path_of(kOfBob).append(view)), is(PeerCase::Sees::kAll) ? 200 : hidden()) << view;
    EXPECT_EQ(status("/api/v1/executions/all" + (view.empty() ? "/profile" : view)),
              is(PeerCase::Sees::kAll) ? 200 : refused())
        << view;
  }
  const std::string both = "/api/v1/compare?a=" + kOfAda + "&b=" + kOfBob;
  EXPECT_EQ(status(both), is(PeerCase::Sees::kAll) ? 200 : hidden());
}

// The executions have no loop: that there is none is said of what one may see.
TEST_P(SecurityTable, IterationsAreOfExecutionsThatOneMaySee) {
  for (const auto& [id, sees] : {std::pair{kOfAda, known()}, {kOfBob, is(PeerCase::Sees::kAll)}}) {
    const std::string answer = ask(path_of(id) + "/iterations");
    if (sees) {
      EXPECT_EQ(answer.find("no execution begins with"), std::string::npos) << answer;
      EXPECT_NE(status_of(answer), 401);
      EXPECT_NE(status_of(answer), 403);
    } else {
      EXPECT_EQ(status_of(answer), hidden());
      EXPECT_EQ(answer.find("no execution begins with") != std::string::npos, known()) << answer;
    }
  }
}

TEST_P(SecurityTable, AQueryIsWhatOneMaySeeOfIt) {
  EXPECT_EQ(status("/api/v1/fingerprints/of-a"), known() ? 200 : refused());
  EXPECT_EQ(status("/api/v1/fingerprints/of-b"), is(PeerCase::Sees::kAll) ? 200 : hidden());
  if (known()) {
    EXPECT_EQ(body("/api/v1/fingerprints/of-a")["executions"], 1);
  }
}

TEST_P(SecurityTable, TheCostOfTagsIsOfExecutionsThatOneMaySee) {
  if (!known()) {
    EXPECT_EQ(status("/api/v1/tag-cost"), refused());
    return;
  }
  const nlohmann::json costs = body("/api/v1/tag-cost");
  std::uint64_t executions = costs["executions_not_counted"];
  for (const auto& query : costs["queries"]) {
    executions += query["with"]["executions"].get<std::uint64_t>();
    executions += query["without"]["executions"].get<std::uint64_t>();
  }
  EXPECT_EQ(executions, is(PeerCase::Sees::kAll) ? 3u : 1u);
  EXPECT_EQ(costs.dump().find("of-b") != std::string::npos, is(PeerCase::Sees::kAll));
}

TEST_P(SecurityTable, PlanChangesAreOfExecutionsThatOneMaySee) {
  if (!known()) {
    EXPECT_EQ(status("/api/v1/plan-changes"), refused());
    return;
  }
  const nlohmann::json changes = body("/api/v1/plan-changes");
  const std::uint64_t compared = changes["executions"], left_out = changes["without_plan"];
  EXPECT_EQ(compared + left_out, is(PeerCase::Sees::kAll) ? 3u : 1u);
  if (!is(PeerCase::Sees::kAll)) {
    EXPECT_EQ(changes.dump().find("of-b"), std::string::npos);
  }
}

// Sums know users, and no labels.
TEST_P(SecurityTable, HistoryIsTheSumsOfUsersThatOneMaySee) {
  const std::string answer = ask_store("/api/v1/history");
  const bool sees_all = is(PeerCase::Sees::kAll);
  if (!sees_all && !is(PeerCase::Sees::kOwn)) {
    EXPECT_EQ(status_of(answer), known() ? 403 : refused());
    return;
  }
  ASSERT_EQ(status_of(answer), 200) << answer;
  const nlohmann::json history = body_of(answer);
  EXPECT_EQ(history["executions"], sees_all ? 2 : 1) << "that ended";
  EXPECT_NE(answer.find("of-a"), std::string::npos);
  EXPECT_EQ(answer.find("of-b") != std::string::npos, sees_all);
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

TEST_P(SecurityTable, SamplingIsChangedByWhoMayControl) {
  const bool all = is(PeerCase::Sees::kAll), own = all || GetParam().controls_own;
  int changed = 0;
  for (const std::string what : {"pause?", "resume?", "rate?hz=99"}) {
    for (const auto& [process, may] : {std::pair{"", all}, {"&process=7", own}, {"&process=8", all}}) {
      std::string path = "/api/v1/control/" + what + process;
      if (const auto both = path.find("?&"); both != std::string::npos) path.erase(both + 1, 1);
      EXPECT_EQ(status_of(ask(path, SIZE_MAX, "POST")), may ? 200 : refused()) << path;
      changed += may ? 1 : 0;
    }
  }
  EXPECT_EQ(controlled_, changed);
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
                                         PeerCase{"token_controls", {}, "controls", Sees::kOwn, true},
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
