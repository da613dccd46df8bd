#include <fmt/format.h>

#include "daemon/serve/views.h"
#include "viewer/cli/command.h"
#include "viewer/cli/html_report.h"
#include "viewer/cli/render_views.h"
#include "viewer/cli/view_choice.h"

namespace tailor::cli {
namespace {

struct Options {
  ViewChoice view;
  std::string order = "plan,pipeline,operator,task,line";
  double least = 0.005;
  std::string svg;
  bool folded = false;
};

int run(const Options& options) {
  auto order = query::parse_flame_order(options.order);
  if (!order) return complain(order.error());
  auto view = open_view(options.view, Needs::kSums);
  if (!view) return complain(view.error());
  if (options.view.choice.json) {
    const auto json = serve::flame_json(*view, *order);
    if (!json) return complain(json.error());
    fmt::print("{}", query::dump(*json));
    return kOk;
  }
  const auto report = query::flame_report(view->profile, view->selection, *order);
  if (!report) return complain(report.error());
  if (!options.svg.empty()) {
    const std::string title = options.view.choice.what.empty() ? "tailor flame" : options.view.choice.what;
    if (auto ok = write_whole_file(options.svg, flame_svg(*report, title)); !ok) return complain(ok.error());
    fmt::print("{}: opens in any browser\n", options.svg);
    return kOk;
  }
  fmt::print("{}", options.folded ? flame_folded(*report)
                                  : render(*report, options.view.choice.terminal(), options.least));
  return kOk;
}

}  // namespace

void add_flame(CLI::App& app, Action& action) {
  CLI::App& command = *app.add_subcommand(
      "flame", "Cost as a tree: plan, pipeline, operator, task and line of IR, in any order");
  auto options = std::make_shared<Options>();
  add_view_choice(command, options->view);
  command.add_option("--order", options->order, "The levels from the outside in")->capture_default_str();
  command
      .add_option("--least", options->least,
                  "Branches with a smaller share of everything are shown as one line")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  CLI::Option* svg = command.add_option("--svg", options->svg, "Writes a flame graph into this file");
  CLI::Option* folded =
      command.add_flag("--folded", options->folded,
                       "Prints folded stacks with weights, for other flame graph tools (with functions below "
                       "operators: tailor export --format folded)");
  svg->excludes(folded);
  for (CLI::Option* picture : {svg, folded}) picture->excludes(command.get_option("--json"));
  command.callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace tailor::cli
