#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <system_error>

#include "daemon/query/json/bounds_json.h"
#include "daemon/query/json/report_json.h"
#include "daemon/query/reports/plan_report.h"
#include "daemon/query/reports/same_plans.h"
#include "daemon/serve/bounds_view.h"
#include "daemon/serve/views.h"
#include "proto/base/errors.h"
#include "viewer/cli/choose.h"
#include "viewer/cli/command.h"
#include "viewer/cli/history_command.h"
#include "viewer/cli/html_command.h"
#include "viewer/cli/ignored_options.h"
#include "viewer/cli/installed.h"
#include "viewer/cli/render.h"
#include "viewer/cli/render_blockers.h"
#include "viewer/cli/render_bounds.h"
#include "viewer/cli/runs_of_query.h"
#include "viewer/cli/text.h"

namespace tailor::cli {
namespace {

constexpr const char* kFunctionLevel = "function";

struct ReportOptions {
  Choice choice;
  std::string level, rules;
  FunctionView view;
  query::FunctionOptions functions;
  std::string of = "plan";
  std::string html;
  std::string by;
  serve::BoundsRequest bounds;
  double gigabytes = 0, gigahertz = 0;  // of a thread in a second; 0: not given
  const CLI::App* command = nullptr;

  bool has_bounds() const { return command->get_option("--bounds")->count() > 0; }
  serve::BoundsRequest bounds_request() const {
    serve::BoundsRequest out = bounds;
    out.rates = {.bytes = gigabytes * 1e9, .cycles = gigahertz * 1e9};
    return out;
  }
};

Status refuse_of_functions(const ReportOptions& options) {
  return refuse_given(*options.command, {"--limit", "--calls", "--least"}, "but with --level function");
}

// What no report of this kind looks at. What is shown without --level is known later.
Status refuse_ignored(const ReportOptions& options) {
  if (Status ok = refuse_loop_without_iteration(*options.command); !ok) return ok;
  const bool functions = options.level == kFunctionLevel;
  const bool other = !options.level.empty() || !options.rules.empty() || !options.html.empty() ||
                     !options.by.empty() || options.has_bounds();
  if (other && !functions) {
    if (Status ok = refuse_of_functions(options); !ok) return ok;
  }
  if (functions && options.choice.json) {
    if (Status ok =
            refuse_given(*options.command, {"--limit", "--calls"}, "with --json, which has all of them");
        !ok)
      return ok;
  }
  if (options.has_bounds()) return refuse_given(*options.command, {"--of"}, "with --bounds");
  if (options.of == "elapsed") {
    if (Status ok = refuse_given(*options.command, {"--iteration"}, "with --of elapsed"); !ok) return ok;
  }
  if (functions || !options.rules.empty() || !options.html.empty() || !options.by.empty())
    return refuse_given(*options.command, {"--of"}, "but for reports of plans");
  return Ok{};
}

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

// `head`: a line above the text.
template <typename Report>
int show(const query::Profile& profile, const Report& report, const Choice& choice,
         const std::string& head = "") {
  if (choice.json) {
    print_json(query::to_json(profile, report));
  } else {
    print_text(head + render(profile, report, choice.terminal()), choice.terminal());
  }
  return kOk;
}

int run_functions(ReportOptions options) {
  options.choice.detail.functions = true;
  auto chosen = choose(options.choice);
  if (!chosen) return complain(chosen.error());
  const query::Profile& profile = chosen->profile;
  auto report = query::function_report(profile, chosen->selection, options.functions);
  if (!report) return complain(report.error());
  const auto others = query::other_events(profile, chosen->selection, *report, options.functions);
  if (!others) return complain(others.error());
  if (options.choice.json) {
    print_json(query::to_json(profile, *report, *others));
  } else {
    print_text(render(profile, *report, *others, options.choice.terminal(), options.view),
               options.choice.terminal());
  }
  return kOk;
}

Result<query::StackRules> read_rules(const std::string& path) {
  auto text = read_text(path);
  if (!text) return text.error();
  auto rules = query::StackRules::parse(*text);
  if (!rules) return in_context(path + ": ", rules.error());
  return rules;
}

// Of a file that a profile names, and a profile can be anybody's: no pipe and no device is opened for it.
Result<query::StackRules> read_named_rules(const std::string& name) {
  if (!name.starts_with('/') && name.find('/') != std::string::npos)
    return invalid(fmt::format("\"{}\" is neither an absolute path nor the name of a rule file", name));
  const std::string path = find_rules(name);
  std::error_code problem;
  const auto status = std::filesystem::status(path, problem);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    return invalid(path + " is no regular file");
  return read_rules(path);
}

int show_by_rules(ReportOptions options, const query::StackRules& rules) {
  options.choice.detail.functions = true;
  auto chosen = choose(options.choice);
  if (!chosen) return complain(chosen.error());
  auto report = query::rule_report(chosen->profile, chosen->selection, rules);
  if (!report) return complain(report.error());
  return show(chosen->profile, *report, options.choice);
}

int run_rules(const ReportOptions& options) {
  const auto rules = read_rules(find_rules(options.rules));
  return rules ? show_by_rules(options, *rules) : complain(rules.error());
}

// The rule file that the configuration of the daemon names for what is shown; "": none, or several.
std::string configured_rules(const serve::View& view) {
  std::set<std::string> found;
  for (const auto& [key, cell] : view.profile.cells()) {
    if (view.selection.process && key.process != *view.selection.process) continue;
    const auto process = view.profile.processes().find(key.process);
    found.insert(process == view.profile.processes().end() ? "" : process->second.rules);
  }
  return found.size() == 1 ? *found.begin() : "";
}

// Of processes that have no plan.
int run_without_plan(const ReportOptions& options, const serve::View& view) {
  const std::string named = configured_rules(view);
  // Options of the report of functions ask for that one.
  if (named.empty() || !refuse_of_functions(options)) return run_functions(options);
  const auto rules = read_named_rules(named);
  if (!rules) {
    warn(fmt::format("{}; the configuration names this rule file: without it, functions are shown",
                     rules.error().message));
    return run_functions(options);
  }
  return show_by_rules(options, *rules);
}

// Whether nothing says which part of the store is meant.
bool chooses_nothing(const Choice& choice) {
  return choice.what.empty() && choice.execution.empty() && !choice.has_last && !choice.filter.any() &&
         choice.process.empty() && choice.iteration.empty() && !choice.from_ns && !choice.to_ns;
}

// Without a choice the report is of all runs of the query that ran last. Gives the line that says so; ""
// where it is of one run.
Result<std::string> choose_runs(Choice& choice) {
  if (!chooses_nothing(choice)) return std::string();
  const auto library = open_library(choice);
  serve::Service service(*library, {});
  const auto newest = newest_query(service);
  if (!newest) return newest.error();
  if (newest->empty()) return std::string();
  const auto runs = runs_of_query(service, *newest);
  if (!runs) return runs.error();
  if (runs->runs.taken() < 2) return std::string();
  choice.target = runs->target();
  const std::string text =
      fmt::format("{} tailor report {} shows the last of these alone; tailor list has the others.",
                  runs->text(), runs->last_sampled.substr(0, 12));
  return choice.terminal().dim(wrap(text, choice.terminal().width, 0)) + "\n\n";
}

// The report of `--of elapsed`.
int show_elapsed(const ReportOptions& options, const serve::View& view, const Choice& choice,
                 const std::string& head) {
  auto time = serve::elapsed_of(view);
  if (!time) return complain(time.error());
  if (!options.level.empty() && options.level != "operator") {
    auto report = query::level_report(*time, options.level);
    return report ? show(time->profile, *report, choice, head) : complain(report.error());
  }
  auto report = query::plan_report(*time);
  if (!report) return complain(report.error());
  if (Status ok = refuse_of_functions(options); !ok) return complain(ok.error());
  if (!head.empty() || !choice.filter.fingerprint.empty()) query::unite_plans(*report);
  return show(time->profile, *report, choice, head);
}

// An execution that waited all the time has no sample. Its blockers are known all the same.
int without_sample(const serve::View& view, const Choice& choice, const Error& error) {
  if (!choice.json && view.selection.executions.size() == 1) {
    const auto& [process, handle] = *view.selection.executions.begin();
    const profile::ExecutionRecord* only = view.profile.execution(process, handle);
    const Terminal terminal = choice.terminal();
    const std::string text = only == nullptr ? "" : blockers_section(view.profile, *only, terminal);
    if (!text.empty()) print_text(text, terminal);
  }
  return complain(error);
}

int run_plans(const ReportOptions& options) {
  Choice choice = options.choice;
  const auto head = choose_runs(choice);
  if (!head) return complain(head.error());
  choice.detail.samples = options.of == "elapsed";
  auto chosen = choose(choice);
  if (!chosen) return complain(chosen.error());
  const query::Profile& profile = chosen->profile;
  if (options.of == "elapsed") return show_elapsed(options, *chosen, choice, *head);
  if (options.of == "everything") chosen->selection.base = query::Base::kEverything;
  if (!options.level.empty() && options.level != "operator") {
    auto report = query::level_report(profile, chosen->selection, options.level);
    return report ? show(profile, *report, choice, *head) : complain(report.error());
  }
  auto report = query::plan_report(profile, chosen->selection);
  if (!report) return without_sample(*chosen, choice, report.error());
  if (options.has_bounds()) {
    auto bounds = serve::bounds_of(*chosen, options.bounds_request());
    return bounds ? show(profile, *bounds, choice, *head) : complain(bounds.error());
  }
  if (options.level.empty() && only_functions(profile, *report)) return run_without_plan(options, *chosen);
  if (Status ok = refuse_of_functions(options); !ok) return complain(ok.error());
  if (!head->empty() || !choice.filter.fingerprint.empty()) query::unite_plans(*report);
  return show(profile, *report, choice, *head);
}

int run_report(const ReportOptions& options) {
  if (Status ok = refuse_ignored(options); !ok) return complain(ok.error());
  if (!options.by.empty()) return show_history(options.choice, options.by);
  if (!options.html.empty()) return write_html(options.choice, options.html);
  if (!options.rules.empty()) return run_rules(options);
  if (options.level == kFunctionLevel) return run_functions(options);
  return run_plans(options);
}

}  // namespace

void add_report(CLI::App& app, Action& action) {
  CLI::App& command = *app.add_subcommand("report", "The query plan with the cost of each operator");
  auto options = std::make_shared<ReportOptions>();
  add_choice(command, options->choice);
  add_time_choice(command, options->choice);
  add_iteration_choice(command, options->choice);
  command.add_option(
      "--level", options->level,
      "A table of another level: task, ir, or any level that the engine declares; function: all code, with "
      "libraries and call graph (default: operator; function if there is no plan)");
  command
      .add_option("--of", options->of,
                  "Shares in a plan are parts of this: the plan's own time, everything in the report, or the "
                  "elapsed time, divided at each moment among the threads that worked then")
      ->check(CLI::IsMember({"plan", "everything", "elapsed"}))
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
  command.add_option(
      "--rules", options->rules,
      "Operators by the functions on the stack, for engines without an agent (docs/rules.md): a file, or "
      "the name of one that is installed, as duckdb");
  auto* html = command.add_option("--html", options->html,
                                  "Writes a page with pictures into this file: no server, no network");
  for (const char* other :
       {"--level", "--rules", "--json", "--iteration", "--source", "--pid", "--from", "--to"})
    html->excludes(command.get_option(other));
  for (const char* other : kFilterOptions) html->excludes(command.get_option(other));
  auto* bounds =
      command
          .add_option("--bounds", options->bounds.cache_bytes,
                      "What each operator has to move between memory and a cache of this size, as 32M "
                      "(docs/bounds.md); of engines that say how they use memory")
          ->transform(CLI::AsSizeValue(false));
  for (const char* other : {"--level", "--rules", "--html", "--iteration"})
    bounds->excludes(command.get_option(other));
  command
      .add_option("--bandwidth", options->gigabytes,
                  "With --bounds: GB (10^9 bytes) that a thread moves between that cache and memory in a "
                  "second, as you measured them; says how far operators are from it")
      ->check(CLI::Range(0.001, 1e6))
      ->needs(bounds);
  command
      .add_option("--clock", options->gigahertz,
                  "With --bounds: GHz of a core, for engines that say how many cycles they compute")
      ->check(CLI::Range(0.001, 1e3))
      ->needs(bounds);
  auto* by = command
                 .add_option("--by", options->by,
                             "Over hours or days (UTC), of the query of --fingerprint or of all: also where "
                             "only summaries of the samples are left")
                 ->check(CLI::IsMember({"hour", "day"}));
  for (const char* other : {"--level", "--rules", "--html", "--bounds", "--iteration", "--source", "--pid",
                            "--execution", "--from", "--to"})
    by->excludes(command.get_option(other));
  command.get_option("--rules")->excludes(command.get_option("--level"));
  options->command = &command;
  command.callback([options, &action] { action = [options] { return run_report(*options); }; });
}

}  // namespace tailor::cli
