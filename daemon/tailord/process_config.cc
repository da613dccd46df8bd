#include "daemon/tailord/process_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <string_view>

#include "daemon/tailord/toml_tables.h"

namespace tailor::tailord {
namespace {

using session::NamesFrom;
using session::ProcessMatch;

constexpr std::array<std::string_view, 2> kKeys = {"ignore", "sample"};
constexpr std::array<std::string_view, 3> kMatchKeys = {"cgroup", "executable", "uid"};
constexpr std::array<std::string_view, 5> kRuleKeys = {"cgroup", "executable", "names", "rules", "uid"};
constexpr std::size_t kLongestRulesPath = 4096;
const std::map<std::string, NamesFrom> kNames = {{"auto", NamesFrom::kAuto},
                                                 {"functions", NamesFrom::kFunctions},
                                                 {"jitdump", NamesFrom::kJitdump},
                                                 {"perf-map", NamesFrom::kPerfMap}};

bool check_executable(const std::string& executable, const toml::node& at, const OnWrong& wrong) {
  if (executable.starts_with('/') || executable.find('/') == std::string::npos) return true;
  wrong(at.source(),
        fmt::format("\"{}\" is neither an absolute path nor a name without a directory", executable));
  return false;
}

// Nothing, if it is wrong.
std::optional<ProcessMatch> read_match(const toml::table& table, const OnWrong& wrong) {
  ProcessMatch match;
  bool right = true;
  if (const auto text = text_of(table, "executable", wrong)) {
    match.executable = *text;
    right = check_executable(*text, *table.get("executable"), wrong);
  }
  if (const auto text = text_of(table, "cgroup", wrong)) {
    match.cgroup = *text;
    if (!text->starts_with('/')) {
      wrong(table.get("cgroup")->source(), "a cgroup begins with \"/\", as in /proc/PID/cgroup");
      right = false;
    }
  }
  if (const toml::node* node = table.get("uid")) {
    const auto uid = node->value_exact<std::int64_t>();
    if (uid && *uid >= 0 && *uid < std::numeric_limits<std::uint32_t>::max()) {
      match.uid = static_cast<std::uint32_t>(*uid);
    } else {
      wrong(node->source(), "\"uid\" is the number of a user");
      right = false;
    }
  }
  if (right && match == ProcessMatch{}) {
    wrong(table.source(), "a rule needs one of executable, cgroup, uid: it would match every process");
    right = false;
  }
  if (!right) return std::nullopt;
  return match;
}

void read_ignored(const toml::node& each, session::ProcessRules& rules, const OnWrong& wrong) {
  if (const auto text = each.value_exact<std::string>()) {
    if (text->empty()) return wrong(each.source(), "the name of an executable is empty");
    if (check_executable(*text, each, wrong)) rules.ignore.push_back({*text, "", std::nullopt});
    return;
  }
  const toml::table* table = each.as_table();
  if (table == nullptr)
    return wrong(each.source(), "\"ignore\" lists executables, or tables with executable, cgroup or uid");
  check_keys(*table, kMatchKeys, wrong);
  if (auto match = read_match(*table, wrong)) rules.ignore.push_back(std::move(*match));
}

void read_sampled(const toml::node& each, session::ProcessRules& rules, const OnWrong& wrong) {
  const toml::table* table = each.as_table();
  if (table == nullptr)
    return wrong(each.source(), "each rule of \"sample\" is a table: [[processes.sample]]");
  check_keys(*table, kRuleKeys, wrong);
  session::SampleRule rule;
  if (const auto names = text_of(*table, "names", wrong)) {
    const auto found = kNames.find(*names);
    if (found == kNames.end())
      return wrong(table->get("names")->source(),
                   fmt::format("\"names\" is one of auto, jitdump, perf-map, functions, not \"{}\"", *names));
    rule.names = found->second;
  }
  if (const auto file = text_of(*table, "rules", wrong)) {
    const toml::node& at = *table->get("rules");
    if (!file->starts_with('/') && file->find('/') != std::string::npos)
      return wrong(at.source(), "\"rules\" is an absolute path, or the name of an installed rule file");
    if (file->size() > kLongestRulesPath)
      return wrong(at.source(), fmt::format("a path has {} bytes at most", kLongestRulesPath));
    rule.rules = *file;
  }
  auto match = read_match(*table, wrong);
  if (!match) return;
  rule.match = std::move(*match);
  rules.sample.push_back(std::move(rule));
}

}  // namespace

session::ProcessRules read_process_rules(const toml::table& processes, const OnWrong& wrong) {
  session::ProcessRules rules;
  check_keys(processes, kKeys, wrong);
  for (const auto& [key, read] : {std::pair{"ignore", &read_ignored}, std::pair{"sample", &read_sampled}}) {
    const toml::node* node = processes.get(key);
    if (node == nullptr) continue;
    const toml::array* list = node->as_array();
    if (list == nullptr) {
      wrong(node->source(), fmt::format("\"{}\" is a list", key));
      continue;
    }
    for (const toml::node& each : *list) read(each, rules, wrong);
  }
  return rules;
}

}  // namespace tailor::tailord
