#include <fmt/format.h>

#include <algorithm>

#include "daemon/serve/service.h"
#include "daemon/serve/views.h"
#include "daemon/store/output_file.h"
#include "daemon/store/output_target.h"
#include "viewer/cli/command.h"
#include "viewer/cli/ignored_options.h"
#include "viewer/cli/render_views.h"
#include "viewer/cli/text.h"
#include "viewer/cli/view_choice.h"

namespace tailor::cli {
namespace {

struct FlameOptions {
  ViewChoice view;
  std::string order = "plan,pipeline,operator,task,line", of = "cpu";
  double least = 0.005;
  std::string svg, html;
  bool functions = false, folded = false, has_order = false;
};

serve::SharesOf shares_of(const FlameOptions& options) {
  return options.of == "elapsed" ? serve::SharesOf::kElapsed : serve::SharesOf::kPlan;
}

// What the pictures are called.
std::string title_of(const FlameOptions& options) {
  return options.view.choice.what.empty() ? "tailor flame" : options.view.choice.what;
}

int write_picture(const std::string& path, const std::string& picture) {
  if (auto ok = store::write_output(path, picture); !ok) return complain(ok.error());
  if (!store::is_standard_output(path)) fmt::print("{}: opens in any browser\n", escape(path, false));
  return kOk;
}

constexpr const char* kFunctionOrder = "plan,operator,function";

// Whether nothing but reasons stands below the root: no plan was recorded, and no component.
bool is_all_unattributed(const query::FlameReport& report) {
  return std::ranges::all_of(report.root.children,
                             [](const query::FlameNode& each) { return each.kind == "unattributed"; });
}

// What the user asked for; where nobody asked for an order and there is no plan, the functions.
Result<serve::View> open_flame(const FlameOptions& options, std::vector<query::FlameLevel>& order) {
  const bool functions = query::has_functions(order);
  if (options.of == "elapsed") return open_view(options.view, Needs::kSamples);
  auto view = open_view(options.view, functions ? Needs::kFunctions : Needs::kSums);
  if (!view || functions || options.has_order) return view;
  const auto report = serve::flame_of(*view, order);
  if (!report || !is_all_unattributed(*report)) return view;
  warn("no query plan is in this selection: functions are shown (--order chooses)");
  auto by_function = query::parse_flame_order(kFunctionOrder);
  if (!by_function) return by_function.error();
  order = std::move(*by_function);
  return open_view(options.view, Needs::kFunctions);
}

int run_flame(const FlameOptions& options) {
  auto order = query::parse_flame_order(options.functions ? kFunctionOrder : options.order);
  if (!order) return complain(order.error());
  auto view = open_flame(options, *order);
  if (!view) return complain(view.error());
  if (options.view.choice.json) {
    const auto json = serve::view_answer(*view, serve::FlameView{*order, shares_of(options)});
    if (!json) return complain(json.error());
    print_json(query::dump(*json));
    return kOk;
  }
  const auto report = serve::flame_of(*view, *order, shares_of(options));
  if (!report) return complain(report.error());
  if (!options.svg.empty()) return write_picture(options.svg, flame_svg(*report, title_of(options)));
  if (!options.html.empty()) return write_picture(options.html, flame_html(*report, title_of(options)));
  if (options.folded) {
    fmt::print("{}", flame_folded(*report));
  } else {
    const Terminal terminal = options.view.choice.terminal();
    print_text(render(*report, terminal, options.least), terminal);
  }
  return kOk;
}

}  // namespace

void add_flame(CLI::App& app, Action& action) {
  CLI::App& command = *app.add_subcommand(
      "flame", "Cost as a tree: plan, pipeline, operator, task, line of IR and functions, in any order");
  auto options = std::make_shared<FlameOptions>();
  add_view_choice(command, options->view);
  CLI::Option* order =
      command
          .add_option("--order", options->order,
                      "The levels from the outside in; function: the call chain below the "
                      "generated code; address: that of the sample's instruction. Where there is no plan "
                      "and this is not given: functions")
          ->capture_default_str();
  command
      .add_option("--of", options->of,
                  "What is divided: CPU time (the weight of the samples), or the elapsed time, each moment "
                  "among the threads that worked then")
      ->check(CLI::IsMember({"cpu", "elapsed"}))
      ->capture_default_str();
  command
      .add_flag("--functions", options->functions,
                "Functions below operators: --order plan,operator,function")
      ->excludes(order);
  command
      .add_option("--least", options->least,
                  "Branches with a smaller share of everything are shown as one line")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  CLI::Option* svg = command.add_option("--svg", options->svg, "Writes a flame graph into this file");
  CLI::Option* html = command.add_option(
      "--html", options->html, "Writes a page with the flame graph into this file: a click zooms in");
  CLI::Option* folded = command.add_flag("--folded", options->folded,
                                         "Prints folded stacks with weights, for other flame graph tools");
  svg->excludes(folded)->excludes(html);
  html->excludes(folded);
  for (CLI::Option* picture : {svg, html, folded}) picture->excludes(command.get_option("--json"));
  command.callback([options, order, &command, &action] {
    options->has_order = order->count() > 0;
    action = [options, &command] {
      const bool text =
          options->svg.empty() && options->html.empty() && !options->folded && !options->view.choice.json;
      Status ok = text ? Status(Ok{}) : refuse_given(command, {"--least"}, "but for the tree as text");
      if (ok && options->of == "elapsed")
        ok = refuse_given(command, {"--thread", "--pipeline", "--operator", "--functions"},
                          "with --of elapsed");
      return ok ? run_flame(*options) : complain(ok.error());
    };
  });
}

}  // namespace tailor::cli
