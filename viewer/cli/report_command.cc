#include <fmt/format.h>

#include <cstdio>

#include "daemon/query/memory_report.h"
#include "daemon/query/plan_report.h"
#include "daemon/query/report_json.h"
#include "viewer/cli/choose.h"
#include "viewer/cli/command.h"
#include "viewer/cli/render.h"

namespace tailor::cli {
namespace {

struct Options {
  Choice choice;
  std::string level;
  bool memory = false;
  std::string of = "plan";
};

template <typename Report>
int show(const query::Profile& profile, const Report& report, const Choice& choice) {
  fmt::print("{}",
             choice.json ? query::to_json(profile, report) : render(profile, report, choice.terminal()));
  return kOk;
}

int run(const Options& options) {
  auto chosen = choose(options.choice);
  if (!chosen) return complain(chosen.error());
  const query::Profile& profile = chosen->profile;
  if (options.of == "everything") chosen->selection.base = query::Base::kEverything;
  if (options.memory) {
    auto report = query::memory_report(profile, chosen->selection);
    if (!report) return complain(report.error(), kNothing);
    return show(profile, *report, options.choice);
  }
  if (options.level.empty() || options.level == "operator") {
    auto report = query::plan_report(profile, chosen->selection);
    if (!report) return complain(report.error(), kNothing);
    return show(profile, *report, options.choice);
  }
  auto report = query::level_report(profile, chosen->selection, options.level);
  if (!report) return complain(report.error(), kNothing);
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
  if (!report) return complain(report.error(), kNothing);
  fmt::print("{}", command.choice.json
                       ? query::to_json(chosen->profile, *report)
                       : render(chosen->profile, *report, command.choice.terminal(), command.options));
  return kOk;
}

}  // namespace

void add_report(CLI::App& app, Action& action) {
  CLI::App& command = *app.add_subcommand("report", "The query plan with what each operator cost");
  auto options = std::make_shared<Options>();
  add_choice(command, options->choice);
  add_iteration(command, options->choice);
  command.add_option(
      "--level", options->level,
      "A table of another level: task, ir, or what else the engine declares (default: operator)");
  command
      .add_option(
          "--of", options->of,
          "What shares in a plan are parts of: of the plan's own time, or of everything in the report")
      ->check(CLI::IsMember({"plan", "everything"}))
      ->capture_default_str();
  command.add_flag("--memory", options->memory, "Which operator accessed which region of memory");
  command.callback([options, &action] { action = [options] { return run(*options); }; });
}

void add_annotate(CLI::App& app, Action& action) {
  CLI::App& command = *app.add_subcommand("annotate", "The IR of a query line by line, with cost and owner");
  auto options = std::make_shared<AnnotateCommand>();
  add_choice(command, options->choice);
  add_iteration(command, options->choice);
  command.add_option("--plan", options->plan, "The number of the plan, where the selection has several");
  command.add_flag("--all", options->options.all, "Functions without any cost too");
  command.callback([options, &action] { action = [options] { return run_annotate(*options); }; });
}

}  // namespace tailor::cli
