// What the memory slot and the rules say of the same samples: `stack_kinds STORE RULES` prints, as JSON, for
// each operator of a plan and each rule that its samples' stacks fit, how many samples these are. Those at
// instructions of the wrappers themselves are counted for the operator "" alone.
#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>

#include "daemon/query/reports/stack_rules.h"
#include "daemon/store/catalogue.h"
#include "daemon/store/store_directory.h"

namespace tailor {
namespace {

// The wrappers: while their own instructions run, the slot changes and the stack does not.
constexpr const char* kWrappers = "tailor_pg.so";

template <typename T>
T value_or_exit(Result<T> result) {
  if (result.ok()) return *std::move(result);
  fmt::print(stderr, "stack_kinds: {}\n", result.error().message);
  std::exit(1);
}

// (operator as EXPLAIN calls it, rule) -> samples
using Kinds = std::map<std::pair<std::string, std::string>, std::uint64_t>;

void add_samples(const query::Profile& profile, const query::StackRules& rules, Kinds& out) {
  const query::StacksByRule stacks(profile, rules);
  for (const query::TimedSample& sample : profile.samples()) {
    const query::CellKey& key = *sample.key;
    const query::PlanModel* plan = key.plan == 0 ? nullptr : profile.plan(key.process, key.plan);
    const auto stack = stacks.stack_of(sample.node);
    if (plan == nullptr || stack.empty()) continue;
    if (stacks.names().at(stack.front()).object == kWrappers) {
      ++out[{"", ""}];
      continue;
    }
    const auto rule = stacks.rule_of(stack);
    ++out[{plan->component_name(key.level, key.link >> 1), rule ? rules.rules[*rule].name : ""}];
  }
}

int run(const std::string& store, const std::string& rules_file) {
  std::ifstream file(rules_file);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto rules = value_or_exit(query::StackRules::parse(text));
  const auto catalogue =
      value_or_exit(store::Catalogue::open(store::catalogue_path(store), store::Catalogue::Mode::kRead));
  std::set<store::RecordingNumber> recordings;
  for (const store::SegmentRow& segment : value_or_exit(catalogue.segments()))
    recordings.insert(segment.recording);
  query::LoadOptions options;
  options.functions = options.keep_samples = true;
  Kinds kinds;
  for (const store::RecordingNumber recording : recordings)
    add_samples(value_or_exit(query::Profile::load_store(store, catalogue, recording, options)), rules,
                kinds);
  nlohmann::json out = nlohmann::json::array();
  for (const auto& [names, samples] : kinds)
    out.push_back({{"operator", names.first}, {"rule", names.second}, {"samples", samples}});
  fmt::print("{}\n", out.dump());
  return 0;
}

}  // namespace
}  // namespace tailor

int main(int count, char** arguments) {
  if (count != 3) {
    fmt::print(stderr, "usage: stack_kinds STORE RULES\n");
    return 2;
  }
  return tailor::run(arguments[1], arguments[2]);
}
