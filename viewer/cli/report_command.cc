#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

#include "daemon/query/plan_report.h"
#include "daemon/query/report_json.h"
#include "proto/base/errors.h"
#include "viewer/cli/choose.h"
#include "viewer/cli/command.h"
#include "viewer/cli/html_command.h"
#include "viewer/cli/render.h"

namespace tailor::cli {
namespace {

struct Options {
  Choice choice;
  std::string level, rules;
  FunctionView view;
  query::FunctionOptions functions;
  std::string of = "plan";
  std::string html;
};

constexpr const char* kFunctionLevel = "function";

// Nobody spoke for any process but files that runtimes write for perf: there is no plan to show.
bool only_functions(const query::Profile& profile, const query::PlanReport& report) {
  return std::ranges::all_of(report.plans,
                             [&](const query::PlanPart& part) {
                               const query::PlanModel* plan = profile.plan(part.process, part.plan);
                               return plan != nullptr && plan->level_count() > 0 &&
                                      plan->level_name(0) == kFunctionLevel;
                             }) &&
         report.component_rows.empty();
}

Result<std::string> read_text(const std::string& path) {
  constexpr std::size_t kMost = std::size_t{1} << 20;
  std::ifstream file(path);
  if (!file) return os_error(fmt::format("cannot read {}: {}", path, std::strerror(errno)), errno);
  std::string text(kMost + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kMost) return exhausted(path + " is too large for a rules file");
  return text;
}

template <typename Report>
int show(const query::Profile& profile, const Report& report, const Choice& choice) {
  fmt::print("{}",
             choice.json ? query::to_json(profile, report) : render(profile, report, choice.terminal()));
  return kOk;
}

int run_functions(Options options) {
  options.choice.detail.functions = true;
  auto chosen = choose(options.choice);
  if (!chosen) return complain(chosen.error());
  const query::Profile& profile = chosen->profile;
  auto report = query::function_report(profile, chosen->selection, options.functions);
  if (!report) return complain(report.error());
  fmt::print("{}", options.choice.json ? query::to_json(profile, *report)
                                       : render(profile, *report, options.choice.terminal(), options.view));
  return kOk;
}

int run_rules(Options options) {
  auto text = read_text(options.rules);
  if (!text) return complain(text.error());
  auto rules = query::StackRules::parse(*text);
  if (!rules) return complain(in_context(options.rules + ": ", rules.error()));
  options.choice.detail.functions = true;
  auto chosen = choose(options.choice);
  if (!chosen) return complain(chosen.error());
  auto report = query::rule_report(chosen->profile, chosen->selection, *rules);
  if (!report) return complain(report.error());
  return show(chosen->profile, *report, options.choice);
}

int run(const Options& options) {
  if (!options.html.empty()) return write_html(options.choice, options.html);
  if (!options.rules.empty()) return run_rules(options);
  if (options.level == kFunctionLevel) return run_functions(options);
  auto chosen = choose(options.choice);
  if (!chosen) return complain(chosen.error());
  const query::Profile& profile = chosen->profile;
  if (options.of == "everything") chosen->selection.base = query::Base::kEverything;
  if (options.level.empty() || options.level == "operator") {
    auto report = query::plan_report(profile, chosen->selection);
    if (!report) return complain(report.error());
    if (options.level.empty() && only_functions(profile, *report)) return run_functions(options);
    return show(profile, *report, options.choice);
  }
  auto report = query::level_report(profile, chosen->selection, options.level);
  if (!report) return complain(report.error());
  return show(profile, *report, options.choice);
}

void add_iteration(CLI::App& command, Choice& choice) {
  command.add_option("--iteration", choice.iteration,
                     "Only this iteration of a dataflow loop (`tailor iterations` lists them)");
  add_loop_choice(command, choice);
}

struct AnnotateCommand {
  Choice choice;
  AnnotateOptions options;
  PlanId plan = 0;
};

int run_annotate(const AnnotateCommand& command) {
  auto chosen = choose(command.choice);
  if (!chosen) return complain(chosen.error());
  auto report = query::annotate_report(chosen->profile, chosen->selection, command.plan);
  if (!report) return complain(report.error());
  fmt::print("{}", command.choice.json
                       ? query::to_json(chosen->profile, *report)
                       : render(chosen->profile, *report, command.choice.terminal(), command.options));
  return kOk;
}

}  // namespace

void add_report(CLI::App& app, Action& action) {
  CLI::App& command = *app.add_subcommand("report", "The query plan with the cost of each operator");
  auto options = std::make_shared<Options>();
  add_choice(command, options->choice);
  add_iteration(command, options->choice);
  command.add_option(
      "--level", options->level,
      "A table of another level: task, ir, or any level that the engine declares; function: all code, with "
      "libraries and call graph (default: operator; function if there is no plan)");
  command
      .add_option("--of", options->of,
                  "Shares in a plan are parts of this: the plan's own time, or everything in the report")
      ->check(CLI::IsMember({"plan", "everything"}))
      ->capture_default_str();
  command.add_option("--limit", options->view.limit, "With --level function: how many functions")
      ->capture_default_str();
  command
      .add_option("--calls", options->view.calls, "With --level function: how many lines of the call graph")
      ->capture_default_str();
  command
      .add_option("--least", options->functions.least_call,
                  "With --level function: leave out calls with a smaller share of everything: 0.005")
      ->check(CLI::Range(0.0, 1.0));
  command.add_option("--rules", options->rules,
                     "Operators by the functions on the stack, for engines without an agent (docs/rules.md)");
  auto* html = command.add_option("--html", options->html,
                                  "Writes a page with pictures into this file: no server, no network");
  for (const char* other : {"--level", "--rules", "--json", "--iteration", "--source", "--pid"})
    html->excludes(command.get_option(other));
  for (const char* other : kFilterOptions) html->excludes(command.get_option(other));
  command.callback([options, &action] { action = [options] { return run(*options); }; });
}

void add_annotate(CLI::App& app, Action& action) {
  CLI::App& command = *app.add_subcommand("annotate", "The IR of a query line by line, with cost and owner");
  auto options = std::make_shared<AnnotateCommand>();
  add_choice(command, options->choice);
  add_iteration(command, options->choice);
  command.add_option("--plan", options->plan, "The number of the plan, if the selection has several");
  command.add_flag("--all", options->options.all, "Show functions without any cost too");
  command.callback([options, &action] { action = [options] { return run_annotate(*options); }; });
}

}  // namespace tailor::cli
