#include "daemon/tailord/trigger_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "daemon/query/time/waits.h"
#include "daemon/query/time/wall_time.h"
#include "daemon/tailord/toml_tables.h"

namespace tailor::tailord {
namespace {

constexpr std::size_t kMostRules = 16;
constexpr std::size_t kLongestTriggerName = 64;
constexpr std::array<std::string_view, 1> kTriggerTableKeys = {"raise"};
constexpr std::array<std::string_view, 15> kTriggerKeys = {"budget",
                                                           "callchain",
                                                           "cool-down",
                                                           "execution",
                                                           "fingerprint",
                                                           "for",
                                                           "frequency",
                                                           "label",
                                                           "memory",
                                                           "name",
                                                           "process",
                                                           "run-queue-above",
                                                           "slower-than-usual",
                                                           "wait",
                                                           "wait-longer-than"};
constexpr TimeNs kSecond = 1'000'000'000, kHour = 3600 * kSecond, kWeek = 7 * 24 * kHour;

// Reads one rule. Everything that is wrong is told.
class RuleReader {
 public:
  RuleReader(const toml::table& table, const OnWrong& wrong) : table_(table), wrong_(wrong) {}

  std::optional<TriggerRule> read() {
    check_keys(table_, kTriggerKeys, wrong_);
    TriggerRule rule;
    rule.name = text("name");
    if (table_.get("name") == nullptr) fail(table_, "a trigger needs a name");
    if (rule.name.size() > kLongestTriggerName)
      fail(*table_.get("name"), fmt::format("a name has {} bytes at most", kLongestTriggerName));
    rule.process = text("process");
    rule.fingerprint = text("fingerprint");
    read_execution(rule);
    read_label(rule);
    read_slowness(rule);
    read_wait(rule);
    read_run_queue(rule);
    if (!says_when(rule))
      fail(table_,
           "a trigger needs one of process, fingerprint, execution, label, slower-than-usual, "
           "wait-longer-than, run-queue-above: without them it would hold of every execution");
    rule.raise.callchain = truth("callchain");
    rule.raise.memory = truth("memory");
    read_frequency(rule.raise);
    read_time("for", kSecond, kHour, rule.lasts);
    read_time("cool-down", 0, kWeek, rule.cool_down);
    rule.budget = std::max(rule.budget, rule.lasts);
    read_time("budget", kSecond, kHour, rule.budget);
    if (rule.budget < rule.lasts)
      fail(table_, fmt::format("\"budget\" ({} s an hour) is less than \"for\" ({} s): it would never hold",
                               rule.budget / kSecond, rule.lasts / kSecond));
    if (!right_) return std::nullopt;
    return rule;
  }

 private:
  void fail(const toml::node& at, const std::string& what) {
    right_ = false;
    wrong_(at.source(), what);
  }

  std::string text(std::string_view key) {
    const auto found = text_of(table_, key, wrong_);
    if (!found && table_.get(key) != nullptr) right_ = false;
    return found.value_or("");
  }

  bool truth(std::string_view key) {
    const toml::node* node = table_.get(key);
    if (node == nullptr) return false;
    const auto value = node->value_exact<bool>();
    if (!value) fail(*node, fmt::format("\"{}\" is true or false", key));
    return value.value_or(false);
  }

  void read_label(TriggerRule& rule) {
    const std::string label = text("label");
    const std::size_t equal = label.find('=');
    rule.label_key = label.substr(0, equal);
    if (equal != std::string::npos) rule.label_value = label.substr(equal + 1);
    if (!label.empty() && rule.label_key.empty())
      fail(*table_.get("label"), "a label is given as key or key=value");
  }

  void read_execution(TriggerRule& rule) {
    rule.execution = text("execution");
    const std::size_t digits = rule.execution.size();
    const bool hex = rule.execution.find_first_not_of("0123456789abcdef") == std::string::npos;
    if (digits > 0 && (!hex || digits < 4 || digits > 32))
      fail(*table_.get("execution"), "an execution is named by 4 to 32 hexadecimal digits in lower case");
  }

  void read_slowness(TriggerRule& rule) {
    const toml::node* node = table_.get("slower-than-usual");
    if (node == nullptr) return;
    const auto times = node->value<double>();
    if (!times || *times < 1.1 || *times > 1000)
      return fail(*node, "\"slower-than-usual\" is how many times its usual time, from 1.1 to 1000");
    rule.slower_than_usual = times;
  }

  static bool says_when(const TriggerRule& rule) {
    return !rule.process.empty() || !rule.fingerprint.empty() || !rule.execution.empty() ||
           !rule.label_key.empty() || rule.slower_than_usual || rule.wait_longer_than || rule.run_queue_above;
  }

  void read_wait(TriggerRule& rule) {
    constexpr TimeNs kShortest = 1'000'000;
    rule.wait = text("wait");
    const std::string given = text("wait-longer-than");
    if (given.empty()) {
      if (!rule.wait.empty())
        fail(*table_.get("wait"), "\"wait\" says which waits \"wait-longer-than\" means");
      return;
    }
    const toml::node& at = *table_.get("wait-longer-than");
    const auto time = query::parse_duration(given);
    if (!time || *time < kShortest || *time > kHour)
      return fail(at, "\"wait-longer-than\" is a time such as \"500ms\", from 1 ms to 1 h");
    if (rule.slower_than_usual)
      return fail(at, "a trigger has \"wait-longer-than\" or \"slower-than-usual\": each says when it holds");
    if (rule.wait == query::wait_key(profile::Wait::kRunnable))
      return fail(*table_.get("wait"),
                  "a thread in the run queue waits for nothing but a CPU: \"run-queue-above\" asks for that");
    rule.wait_longer_than = *time;
  }

  void read_run_queue(TriggerRule& rule) {
    const toml::node* node = table_.get("run-queue-above");
    if (node == nullptr) return;
    const auto threads = node->value<double>();
    if (!threads || !(*threads >= 1 && *threads <= 100'000))
      return fail(*node, "\"run-queue-above\" is a number of threads, from 1 to 100000");
    rule.run_queue_above = threads;
  }

  void read_frequency(Raise& raise) {
    const toml::node* node = table_.get("frequency");
    if (node == nullptr && (raise.callchain || raise.memory)) return;
    const auto hz = node == nullptr ? std::nullopt : node->value_exact<std::int64_t>();
    if (!hz || *hz < 1 || *hz > 50'000)
      return fail(
          node == nullptr ? table_ : *node,
          "a trigger needs a \"frequency\": samples per second of CPU time, from 1 to max-frequency. With "
          "\"callchain\" or \"memory\" it may be left out");
    raise.frequency = static_cast<std::uint64_t>(*hz);
  }

  void read_time(std::string_view key, TimeNs least, TimeNs most, TimeNs& out) {
    const std::string given = text(key);
    if (given.empty()) return;
    const auto time = query::parse_duration(given);
    if (!time || *time < least || *time > most)
      return fail(*table_.get(key), fmt::format("\"{}\" is a time such as \"30s\", from {} s to {} s", key,
                                                least / kSecond, most / kSecond));
    out = *time;
  }

  const toml::table& table_;
  const OnWrong& wrong_;
  bool right_ = true;
};

}  // namespace

TriggerRules read_triggers(const toml::table& triggers, const OnWrong& wrong) {
  TriggerRules rules;
  check_keys(triggers, kTriggerTableKeys, wrong);
  const toml::node* node = triggers.get("raise");
  if (node == nullptr) return rules;
  const toml::array* list = node->as_array();
  if (list == nullptr) {
    wrong(node->source(), "\"raise\" is a list: [[triggers.raise]]");
    return rules;
  }
  if (list->size() > kMostRules) wrong(node->source(), fmt::format("{} triggers are the most", kMostRules));
  for (const toml::node& each : *list) {
    const toml::table* table = each.as_table();
    if (table == nullptr) {
      wrong(each.source(), "each trigger is a table: [[triggers.raise]]");
      continue;
    }
    auto rule = RuleReader(*table, wrong).read();
    if (!rule) continue;
    if (std::ranges::find(rules, rule->name, &TriggerRule::name) != rules.end()) {
      wrong(each.source(), fmt::format("there are two triggers of the name \"{}\"", rule->name));
    } else {
      rules.push_back(std::move(*rule));
    }
  }
  return rules;
}

}  // namespace tailor::tailord
