#include <fmt/format.h>

#include <algorithm>

#include "daemon/serve/views.h"
#include "proto/base/errors.h"
#include "viewer/cli/command.h"
#include "viewer/cli/regression_gate.h"
#include "viewer/cli/render_views.h"
#include "viewer/cli/view_choice.h"

namespace tailor::cli {
namespace {

struct Options {
  std::string a, b;
  ViewChoice view;  // what both sides share
  std::vector<std::string> fail_if;
};

// "FILE#EXECUTION" names an execution of a file.
void name_side(const std::string& text, Choice& choice) {
  const std::size_t mark = text.rfind('#');
  choice.what = text.substr(0, mark);
  if (mark != std::string::npos) choice.execution = text.substr(mark + 1);
}

// A file holds more than a query: its loading, other queries. Compared are the executions of the plan that
// cost most.
Status only_main_plan(serve::View& view) {
  if (!view.selection.executions.empty()) return Ok{};
  auto report = query::plan_report(view.profile, view.selection);
  if (!report) return report.error();
  if (report->plans.empty()) return not_found("there is no sample of a query plan to compare");
  const query::PlanPart& main = report->plans.front();
  for (const profile::ExecutionRecord& execution : view.whole->executions()) {
    if (execution.process == main.process && execution.plan == main.plan)
      view.selection.executions.insert({execution.process, execution.handle});
  }
  return Ok{};
}

Result<serve::View> open_side(const Options& options, const std::string& text) {
  ViewChoice choice = options.view;
  name_side(text, choice.choice);
  auto view = open_view(choice, Needs::kSums);
  if (!view) return view;
  if (Status done = only_main_plan(*view); !done.ok()) return in_context(text + ": ", done.error());
  return view;
}

int run(const Options& options) {
  std::vector<Condition> conditions;
  for (const std::string& text : options.fail_if) {
    auto condition = parse_condition(text);
    if (!condition) return complain(condition.error());
    conditions.push_back(std::move(*condition));
  }
  auto a = open_side(options, options.a);
  if (!a) return complain(a.error());
  auto b = open_side(options, options.b);
  if (!b) return complain(b.error());
  auto both = serve::comparison(*a, *b);
  if (!both) return complain(both.error());
  std::vector<std::pair<std::string, std::string>> held;  // condition and why
  for (const Condition& condition : conditions) {
    std::string why =
        why_it_holds(condition, *both, executions_compared(both->a), executions_compared(both->b));
    if (!why.empty()) held.emplace_back(condition.text, std::move(why));
  }
  if (options.view.choice.json) {
    auto json = serve::compare_json(*a, *b);
    if (!json) return complain(json.error());
    (*json)["fail_if"] = query::Json::array();
    for (const auto& [condition, why] : held)
      (*json)["fail_if"].push_back({{"condition", condition}, {"why", why}});
    fmt::print("{}", query::dump(*json));
  } else {
    fmt::print("{}", render(*both, options.a, options.b, options.view.choice.terminal()));
  }
  std::fflush(stdout);
  for (const auto& [condition, why] : held) warn(fmt::format("--fail-if {}: {}", condition, why));
  return held.empty() ? kOk : kConditionHolds;
}

}  // namespace

void add_diff(CLI::App& app, Action& action) {
  CLI::App& command = *app.add_subcommand("diff", "Two profiles or executions, operator by operator");
  auto options = std::make_shared<Options>();
  command
      .add_option("A", options->a,
                  "The first: a profile, FILE#EXECUTION, or an execution in the daemon's store")
      ->required();
  command.add_option("B", options->b, "The second")->required();
  ViewChoice& view = options->view;
  command.add_option("--source", view.choice.source, "The event source to compare, if several were recorded");
  command.add_option("--store", view.choice.store,
                     "The directory of the store (default: that of the daemon, TAILOR_STORE)");
  command.add_flag("--json", view.choice.json, "JSON instead of text (docs/report-json.md)");
  command.add_flag("--ascii", view.choice.ascii, "No characters outside ASCII");
  command
      .add_option(
          "--fail-if", options->fail_if,
          "Exit with 4 if this holds: total>5% (the cost of an execution grew by more than 5 %, with 95 % "
          "confidence), operator>10% (the same for any operator), plan (the plans differ); may be repeated")
      ->type_name("CONDITION");
  command.callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace tailor::cli
