#include <fmt/format.h>

#include "daemon/query/json/report_json.h"
#include "daemon/query/reports/annotate_report.h"
#include "viewer/cli/command.h"
#include "viewer/cli/ignored_options.h"
#include "viewer/cli/render.h"
#include "viewer/cli/view_choice.h"

namespace tailor::cli {
namespace {

struct AnnotateCommand {
  ViewChoice view;
  AnnotateOptions text;
  PlanId plan = 0;
  bool ir_only = false;
};

int run_annotate(AnnotateCommand options) {
  Choice& choice = options.view.choice;
  choice.detail.code = !options.ir_only;
  auto chosen = open_view(options.view, Needs::kSums);
  if (!chosen) return complain(chosen.error());
  auto report = query::annotate_report(chosen->profile, chosen->selection, options.plan);
  if (!report) return complain(report.error());
  if (choice.json) {
    print_json(query::to_json(chosen->profile, *report));
    return kOk;
  }
  const Terminal terminal = choice.terminal();
  const ListingText listing = render(chosen->profile, *report, terminal, options.text);
  open_pager(listing.hottest);
  print_text(listing.text, terminal);
  return kOk;
}

}  // namespace

void add_annotate(CLI::App& app, Action& action) {
  CLI::App& command = *app.add_subcommand(
      "annotate", "The IR of a query line by line with its machine code, with cost and owner");
  auto options = std::make_shared<AnnotateCommand>();
  add_view_choice(command, options->view);
  add_iteration_choice(command, options->view.choice);
  command.add_option("--plan", options->plan, "The number of the plan, if the selection has several");
  command.add_flag("--ir-only", options->ir_only, "Without the machine code");
  command.add_flag("--all", options->text.all, "Show functions, lines and machine code without any cost too");
  command.callback([options, &command, &action] {
    action = [options, &command] {
      Status ok = refuse_loop_without_iteration(command);
      if (ok && options->view.choice.json)
        ok = refuse_given(command, {"--all"}, "with --json, which has everything");
      return ok ? run_annotate(*options) : complain(ok.error());
    };
  });
}

}  // namespace tailor::cli
