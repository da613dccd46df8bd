#include "daemon/serve/route.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "daemon/query/time/wall_time.h"
#include "daemon/serve/error_json.h"
#include "daemon/serve/http/assets.h"

namespace tailor::serve {
namespace {

ErrorKind kind_of(const std::string& path, const Parameters& parameters = {}) {
  const auto routed = route(path, parameters);
  EXPECT_FALSE(routed.ok()) << path;
  return routed.ok() ? ErrorKind::kInternal : routed.error().kind;
}

TEST(Route, FindsWhatIsAskedFor) {
  const auto routed = route("/api/v1/executions/3F2A/timeline",
                            {{"buckets", "7"}, {"lanes", "thread"}, {"from_ns", "-5"}, {"timeout_ms", "50"}});
  ASSERT_TRUE(routed) << routed.error().message;
  EXPECT_EQ(routed->timeout.count(), 50);
  const auto& view = std::get<ViewRequest>(routed->request);
  EXPECT_EQ(view.target.what, Target::What::kPrefix);
  EXPECT_EQ(view.target.prefix, "3f2a");
  EXPECT_EQ(view.filters.from_ns, -5);
  const auto& timeline = std::get<TimelineView>(view.kind);
  EXPECT_EQ(timeline.options.buckets, 7u);
  EXPECT_EQ(timeline.options.lanes, query::Lanes::kThread);
}

TEST(Route, AProfileIsOfCpuTimeOrOfElapsedTime) {
  const std::string path = "/api/v1/executions/last/profile";
  const auto routed = route(path, {{"of", "elapsed"}, {"from_ns", "5"}});
  ASSERT_TRUE(routed) << routed.error().message;
  const auto& view = std::get<ViewRequest>(routed->request);
  EXPECT_EQ(std::get<ProfileView>(view.kind).of, SharesOf::kElapsed);
  EXPECT_EQ(kind_of(path, {{"of", "cpu"}}), ErrorKind::kInvalid);
  for (const char* filter : {"thread", "pipeline", "operator", "iteration"}) {
    EXPECT_EQ(kind_of(path, {{"of", "elapsed"}, {filter, "1"}}), ErrorKind::kInvalid) << filter;
    EXPECT_TRUE(route(path, {{"of", "everything"}, {filter, "1"}})) << filter;
  }
}

TEST(Route, AFlameGraphIsOfCpuTimeOrOfElapsedTime) {
  const std::string path = "/api/v1/executions/last/flame";
  const auto of = [&](const std::string& value) {
    const auto routed = route(path, {{"of", value}, {"to_ns", "5"}});
    EXPECT_TRUE(routed) << routed.error().message;
    return std::get<FlameView>(std::get<ViewRequest>(routed->request).kind).of;
  };
  EXPECT_EQ(of("cpu"), SharesOf::kPlan);
  EXPECT_EQ(of("elapsed"), SharesOf::kElapsed);
  EXPECT_EQ(kind_of(path, {{"of", "everything"}}), ErrorKind::kInvalid);
  for (const char* filter : {"thread", "pipeline", "operator", "iteration"}) {
    EXPECT_EQ(kind_of(path, {{"of", "elapsed"}, {filter, "1"}}), ErrorKind::kInvalid) << filter;
    EXPECT_TRUE(route(path, {{filter, "1"}})) << filter;
  }
}

TEST(Route, BoundsAreOfACache) {
  const std::string path = "/api/v1/executions/last/bounds";
  const auto routed = route(path, {{"cache", "33554432"}, {"bytes_per_second", "1.5e10"}});
  ASSERT_TRUE(routed) << routed.error().message;
  const auto& bounds = std::get<BoundsView>(std::get<ViewRequest>(routed->request).kind);
  EXPECT_EQ(bounds.request.cache_bytes, std::uint64_t{32} << 20);
  EXPECT_EQ(bounds.request.rates.bytes, 1.5e10);
  EXPECT_EQ(bounds.request.rates.cycles, 0) << "not known";
  EXPECT_EQ(kind_of(path), ErrorKind::kInvalid);
  EXPECT_EQ(kind_of(path, {{"cache", "4095"}}), ErrorKind::kInvalid);
  EXPECT_EQ(kind_of(path, {{"cache", "4096"}, {"bytes_per_second", "nan"}}), ErrorKind::kInvalid);
  EXPECT_EQ(kind_of(path, {{"cache", "4096"}, {"cycles_per_second", "0"}}), ErrorKind::kInvalid);
}

TEST(Route, HistoryIsOfAQueryOrOfAll) {
  const auto routed = route("/api/v1/history", {{"fingerprint", "9c1e"}, {"by", "hour"}, {"since", "1000"}});
  ASSERT_TRUE(routed) << routed.error().message;
  const auto& request = std::get<HistoryRequest>(routed->request);
  EXPECT_EQ(request.fingerprint, "9c1e");
  EXPECT_EQ(request.by, HistoryRequest::Period::kHour);
  EXPECT_EQ(request.since_ns, 1'000'000'000u);
  EXPECT_TRUE(route("/api/v1/history", {}));
  EXPECT_EQ(kind_of("/api/v1/history", {{"by", "week"}}), ErrorKind::kInvalid);
  EXPECT_EQ(kind_of("/api/v1/history", {{"limit", "0"}}), ErrorKind::kInvalid);
}

TEST(Route, LabelsMayBeRepeatedNothingElse) {
  const auto routed = route("/api/v1/executions", {{"label", "user=ana"}, {"label", "note=a=b"}});
  ASSERT_TRUE(routed);
  const auto& labels = std::get<ExecutionsRequest>(routed->request).filter.labels;
  EXPECT_EQ(labels[1], (std::pair<std::string, std::string>("note", "a=b")));
  EXPECT_EQ(kind_of("/api/v1/executions", {{"limit", "1"}, {"limit", "2"}}), ErrorKind::kInvalid);
}

TEST(Route, FunctionsAreOfAPartAndOfAnOperatorOfAPlan) {
  const auto routed = route("/api/v1/executions/last/functions",
                            {{"nodes", "50"}, {"operator", "3"}, {"plan", "1.2.3"}, {"thread", "7"}});
  ASSERT_TRUE(routed) << routed.error().message;
  const auto& view = std::get<ViewRequest>(routed->request);
  EXPECT_EQ(view.filters.op, 3u);
  EXPECT_EQ(view.filters.tid, 7);
  const auto& functions = std::get<FunctionsView>(view.kind);
  EXPECT_EQ(functions.request.nodes, 50u);
  EXPECT_EQ(view.filters.plan, "1.2.3");
  EXPECT_EQ(kind_of("/api/v1/executions/last/functions", {{"plan", "1.2.3"}}), ErrorKind::kInvalid);
  EXPECT_EQ(kind_of("/api/v1/executions/last/memory", {{"plan", "1.2.3"}}), ErrorKind::kInvalid);
  EXPECT_TRUE(route("/api/v1/executions/last/memory", {{"plan", "1.2.3"}, {"pipeline", "1"}}));
  EXPECT_TRUE(route("/api/v1/executions/last/listing", {{"plan", "1.2.3"}}));
  EXPECT_EQ(kind_of("/api/v1/executions/last/functions", {{"nodes", "15"}}), ErrorKind::kInvalid);
  EXPECT_EQ(kind_of("/api/v1/executions/last/functions", {{"nodes", "4001"}}), ErrorKind::kInvalid);
  EXPECT_EQ(kind_of("/api/v1/executions/last/functions", {{"order", "plan"}}), ErrorKind::kInvalid);
}

TEST(Route, AllIsOfAQueryOrATime) {
  const auto routed =
      route("/api/v1/executions/all/profile",
            {{"fingerprint", "9c1e"}, {"since", "1000"}, {"label", "user=ana"}, {"thread", "7"}});
  ASSERT_TRUE(routed) << routed.error().message;
  const auto& view = std::get<ViewRequest>(routed->request);
  EXPECT_EQ(view.target.what, Target::What::kFiltered);
  EXPECT_EQ(view.target.filter.fingerprint, "9c1e");
  EXPECT_EQ(view.target.filter.since_ns, 1'000'000'000u);
  EXPECT_EQ(view.target.filter.labels.size(), 1u);
  EXPECT_EQ(view.filters.tid, 7);
  const auto of_cgroup = route("/api/v1/executions/all/flame", {{"cgroup", "/system.slice"}});
  ASSERT_TRUE(of_cgroup) << of_cgroup.error().message;
  EXPECT_EQ(std::get<ViewRequest>(of_cgroup->request).target.filter.cgroup, "/system.slice");
  const auto whole = route("/api/v1/executions/all/profile", {{"process", "7"}});
  ASSERT_TRUE(whole);
  EXPECT_EQ(std::get<ViewRequest>(whole->request).target.what, Target::What::kAll);
  // One execution is no choice.
  for (const char* one : {"last", "3f2a"})
    EXPECT_EQ(kind_of(std::string("/api/v1/executions/") + one + "/profile", {{"fingerprint", "9c1e"}}),
              ErrorKind::kInvalid);
}

TEST(Route, ASideOfAComparisonMayBeAQueryInATime) {
  const auto routed = route("/api/v1/compare", {{"a", "fingerprint:9c1e"},
                                                {"a_until", "2000"},
                                                {"b", "fingerprint:9c1e"},
                                                {"b_since", "2000"},
                                                {"b_until", "3000"}});
  ASSERT_TRUE(routed) << routed.error().message;
  const auto& [a, b, source] = std::get<CompareRequest>(routed->request);
  EXPECT_EQ(a.what, Target::What::kFiltered);
  EXPECT_EQ(a.filter.fingerprint, "9c1e");
  EXPECT_FALSE(a.filter.since_ns);
  EXPECT_EQ(a.filter.until_ns, 2'000'000'000u);
  EXPECT_EQ(b.filter.since_ns, 2'000'000'000u);
  EXPECT_EQ(b.filter.until_ns, 3'000'000'000u);
  const auto beside = route("/api/v1/compare", {{"a", "3f2a"}, {"b", "fingerprint:9c1e"}});
  ASSERT_TRUE(beside) << beside.error().message;
  EXPECT_EQ(std::get<CompareRequest>(beside->request).a.what, Target::What::kPrefix);
  const std::string longest(64, 'a');
  EXPECT_TRUE(route("/api/v1/compare", {{"a", "3f2a"}, {"b", "fingerprint:" + longest}}));
  for (const Parameters& wrong :
       {Parameters{{"a", "3f2a"}, {"b", "fingerprint:"}},
        Parameters{{"a", "3f2a"}, {"b", "fingerprint:" + longest + "a"}},
        Parameters{{"a", "3f2a"}, {"b", "fingerprint:9c1e"}, {"b_since", "then"}},
        Parameters{{"a", "3f2a"}, {"b", "fingerprint:9c1e"}, {"b_since", "2"}, {"b_until", "2"}},
        // An execution has its own time.
        Parameters{{"a", "3f2a"}, {"b", "77ab"}, {"a_since", "2"}}})
    EXPECT_EQ(kind_of("/api/v1/compare", wrong), ErrorKind::kInvalid) << wrong.back().second;
}

TEST(Route, WhatIsWrongSaysSo) {
  for (const auto& [name, value] : Parameters{{"buckets", "0"},
                                              {"buckets", "2001"},
                                              {"buckets", "x"},
                                              {"buckets", ""},
                                              {"lanes", "cpu"},
                                              {"from_ns", "99999999999999999999"},
                                              {"timeout_ms", "0"},
                                              {"unknown", "1"}}) {
    EXPECT_EQ(kind_of("/api/v1/executions/last/timeline", {{name, value}}), ErrorKind::kInvalid)
        << name << value;
  }
  EXPECT_EQ(kind_of("/api/v1/executions/zz/profile"), ErrorKind::kInvalid);
  EXPECT_EQ(kind_of("/api/v1/compare", {{"a", "last"}}), ErrorKind::kInvalid);
  EXPECT_EQ(kind_of("/api/v1/executions/last/flame", {{"order", "plan,plan"}}), ErrorKind::kInvalid);
  EXPECT_EQ(kind_of("/api/v1/executions/last/flame", {{"order", "plan,function"}}), ErrorKind::kInvalid);
  EXPECT_EQ(kind_of("/api/v1/executions/last/nothing"), ErrorKind::kNotFound);
  EXPECT_EQ(kind_of("/api/v1/"), ErrorKind::kNotFound);
  EXPECT_EQ(kind_of("/api/v2/status"), ErrorKind::kNotFound);
  EXPECT_EQ(kind_of(""), ErrorKind::kNotFound);
}

TEST(ParseTime, UnixMillisecondsAndRfc3339) {
  EXPECT_EQ(*parse_time("1500"), 1'500'000'000u);
  EXPECT_EQ(*parse_time("1970-01-01T00:00:01.5Z"), 1'500'000'000u);
  EXPECT_EQ(*parse_time("1970-01-01T01:00:01+01:00"), 1'000'000'000u);
  const std::uint64_t hour = 3'600'000'000'000, before = query::wall_clock_ns();
  for (const char* ago : {"-1h", "1h ago"}) {
    const auto time = parse_time(ago);
    ASSERT_TRUE(time) << ago;
    EXPECT_GE(*time + hour, before) << ago;
    EXPECT_LE(*time + hour, query::wall_clock_ns()) << ago;
  }
  EXPECT_GE(*parse_time("now"), before);
  for (const char* wrong :
       {"", "then", "-1", "nan", "1e300", "1970-01-01T00:00:01", "1970-01-01", "1970-01-01T00:00:01+1"})
    EXPECT_FALSE(parse_time(wrong)) << wrong;
}

TEST(Paths, PartsOfAPathStandForThePartsOfItsPattern) {
  const auto pattern_of = [](std::string_view path) {
    const Path* found = find_path(path);
    return found == nullptr ? std::string_view("none") : found->pattern;
  };
  EXPECT_EQ(pattern_of("/api/v1/executions"), "/api/v1/executions");
  EXPECT_EQ(pattern_of("/api/v1/executions/3f2a"), "/api/v1/executions/{id}");
  EXPECT_EQ(pattern_of("/api/v1/executions/3f2a/flame"), "/api/v1/executions/{id}/flame");
  EXPECT_EQ(pattern_of("/assets/a/b.js"), "/assets/*");
  for (const char* other :
       {"", "/api/v1/executions/", "/api/v1/executions//flame", "/api/v1/executions/a/b/flame",
        "/api/v1/executions/3f2a/", "/api/v1/fingerprints/", "/api/v1/control/", "/assets"})
    EXPECT_EQ(pattern_of(other), "none") << other;
  EXPECT_EQ(kind_of("/api/v1/fingerprints/" + std::string(65, 'a')), ErrorKind::kNotFound);
}

TEST(Paths, WhatIsNeededIsAskedOfWhoeverAsks) {
  const Access everything = Access::everything();
  const Access metrics{std::nullopt, {}, true, false, false};
  const Access reader{std::nullopt, {}, false, true, false};
  const Access some{std::set<std::uint32_t>{7}, {}, false, false, false};
  struct Case {
    Needs needs;
    bool everything, metrics, reader, some;
  };
  for (const Case& each : {Case{Needs::kNothing, true, true, true, true},
                           {Needs::kNothingAnywhere, true, true, true, true},
                           {Needs::kMetrics, true, true, true, false},
                           {Needs::kVisitor, true, false, true, true},
                           {Needs::kControl, true, false, false, false}}) {
    const int which = static_cast<int>(each.needs);
    EXPECT_EQ(check(each.needs, everything).ok(), each.everything) << which;
    EXPECT_EQ(check(each.needs, metrics).ok(), each.metrics) << which;
    EXPECT_EQ(check(each.needs, reader).ok(), each.reader) << which;
    EXPECT_EQ(check(each.needs, some).ok(), each.some) << which;
  }
}

// A path that changes something is never asked with GET, which links and pictures of other pages use.
TEST(Paths, WhatChangesSomethingNeedsTheRightToIt) {
  for (const Path& path : paths()) {
    const bool control = path.pattern.starts_with("/api/v1/control/");
    EXPECT_EQ(path.needs == Needs::kControl, control) << path.pattern;
    const bool open = path.needs == Needs::kNothing || path.needs == Needs::kNothingAnywhere;
    EXPECT_TRUE(!control || path.methods == "POST") << path.pattern;
    EXPECT_TRUE(!open || path.answerer != Answerer::kService) << path.pattern;
  }
}

// What is wrong between the table of paths and a contract: a line for each.
std::vector<std::string> differences(const nlohmann::json& contract) {
  std::vector<std::string> wrong;
  std::set<std::string> known;
  for (const Path& path : paths()) {
    if (path.answerer == Answerer::kPage) continue;
    const std::string pattern(path.pattern);
    known.insert(pattern);
    const auto declared = contract["paths"].find(pattern);
    if (declared == contract["paths"].end()) {
      wrong.push_back(pattern + " is not in the contract");
      continue;
    }
    std::set<std::string> methods, expected;
    for (const auto& [method, operation] : declared->items()) {
      methods.insert(method);
      const auto& answer = operation["responses"];
      if (path.schema.empty() || !answer.contains("200")) continue;
      const std::string schema = answer["200"]["content"]["application/json"]["schema"].value("$ref", "");
      if (schema != fmt::format("#/components/schemas/{}", path.schema))
        wrong.push_back(fmt::format("{} answers with {}", pattern, schema));
      if (!contract["components"]["schemas"].contains(std::string(path.schema)))
        wrong.push_back(fmt::format("there is no schema for {}", pattern));
    }
    for (const std::string method : {"GET", "POST", "DELETE"}) {
      std::string lower = method;
      for (char& c : lower) c = static_cast<char>(std::tolower(c));
      if (path.methods.find(method) != std::string_view::npos) expected.insert(lower);
    }
    if (methods != expected) wrong.push_back(pattern + " has other methods");
  }
  for (const auto& [path, methods] : contract["paths"].items())
    if (!known.contains(path)) wrong.push_back(path + " is in the contract alone");
  return wrong;
}

TEST(OpenApi, TheTableOfPathsIsThatOfTheContract) {
  const auto contract = nlohmann::json::parse(openapi_document());
  EXPECT_EQ(differences(contract), std::vector<std::string>{});
  // And each of these would be seen.
  for (
      const char* change :
      {R"([{"op": "remove", "path": "/paths/~1api~1v1~1host"}])",
       R"([{"op": "add", "path": "/paths/~1api~1v1~1hosts", "value": {}}])",
       R"([{"op": "move", "from": "/paths/~1api~1v1~1host/get", "path": "/paths/~1api~1v1~1host/post"}])",
       R"([{"op": "replace", "path": "/paths/~1api~1v1~1host/get/responses/200/content/application~1json/schema/$ref",
             "value": "#/components/schemas/Status"}])"})
    EXPECT_EQ(differences(contract.patch(nlohmann::json::parse(change))).size(), 1u) << change;
}

// The contract and the code name the same parameters.
TEST(OpenApi, EveryPathAndParameterOfTheContractIsKnown) {
  const auto document = nlohmann::json::parse(openapi_document());
  const auto& parameters = document["components"]["parameters"];
  for (const auto& [path, methods] : document["paths"].items()) {
    std::string asked = path;
    for (const auto& [from, to] :
         {std::pair<std::string, std::string>{"{id}", "last"}, {"{fingerprint}", "0a"}}) {
      if (const auto at = asked.find(from); at != std::string::npos) asked.replace(at, from.size(), to);
    }
    for (const auto& [method, operation] : methods.items()) {
      for (auto parameter : operation.value("parameters", nlohmann::json::array())) {
        if (parameter.contains("$ref")) {
          const std::string ref = parameter["$ref"];
          parameter = parameters.at(ref.substr(ref.rfind('/') + 1));
        }
        if (parameter["in"] != "query") continue;
        const std::string name = parameter["name"];
        const auto routed = route(asked, {{name, "\x01 no such value"}});
        if (routed.ok()) continue;
        EXPECT_EQ(routed.error().message.find("there is no parameter"), std::string::npos)
            << path << " " << name;
      }
    }
  }
}

TEST(Errors, StatusesAndExitCodesFollowFromTheKind) {
  EXPECT_EQ(http_status(ErrorKind::kNotFound), 404);
  EXPECT_EQ(http_status(ErrorKind::kDenied), 403);
  EXPECT_EQ(http_status(ErrorKind::kInvalid), 400);
  EXPECT_EQ(http_status(ErrorKind::kUnavailable), 503);
  EXPECT_EQ(http_status(ErrorKind::kExhausted), 429);
  EXPECT_EQ(http_status(ErrorKind::kInternal), 500);
  EXPECT_EQ(exit_code(ErrorKind::kInvalid), 2);
  EXPECT_EQ(exit_code(ErrorKind::kNotFound), 3);
  EXPECT_EQ(exit_code(ErrorKind::kInternal), 1);
}

}  // namespace
}  // namespace tailor::serve
