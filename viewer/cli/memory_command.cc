#include <fmt/format.h>

#include "daemon/query/reports/region_report.h"
#include "daemon/serve/service.h"
#include "viewer/cli/command.h"
#include "viewer/cli/ignored_options.h"
#include "viewer/cli/render.h"
#include "viewer/cli/render_memory.h"
#include "viewer/cli/view_choice.h"

namespace tailor::cli {
namespace {

struct MemoryOptions {
  ViewChoice view;
  std::size_t pictures = 3;
  std::size_t points = 20'000;
};

int run_memory(const MemoryOptions& options) {
  auto view = open_view(options.view, Needs::kActivity);
  if (!view) return complain(view.error());
  if (options.view.choice.json) {
    const auto json = serve::view_answer(*view, serve::MemoryView{options.points});
    if (!json) return complain(json.error());
    print_json(query::dump(*json));
    return kOk;
  }
  const auto report = query::memory_report(view->profile, view->selection);
  if (!report) return complain(report.error());
  const query::MemoryPoints points = query::memory_points(*view->whole, view->selection, report->source.index,
                                                          query::kAllPoints, view->keep);
  const Terminal terminal = options.view.choice.terminal();
  print_text(render_regions(query::region_rows(view->profile, *report, points), terminal) +
                 render_accesses(view->profile, points, view->origin, options.pictures, terminal) + "\n" +
                 render(view->profile, *report, terminal),
             terminal);
  return kOk;
}

}  // namespace

void add_memory(CLI::App& app, Action& action) {
  CLI::App& command = *app.add_subcommand(
      "memory", "Which memory was accessed, how, by which operator and when (record with --memory)");
  auto options = std::make_shared<MemoryOptions>();
  add_view_choice(command, options->view);
  command
      .add_option("--pictures", options->pictures,
                  "How many pictures over time to show, of the regions with most accesses")
      ->capture_default_str();
  command.add_option("--points", options->points, "With --json: how many single accesses at most")
      ->capture_default_str();
  command.callback([options, &command, &action] {
    action = [options, &command] {
      const bool json = options->view.choice.json;
      const Status ok = json ? refuse_given(command, {"--pictures"}, "with --json, which has points")
                             : refuse_given(command, {"--points"}, "without --json");
      return ok ? run_memory(*options) : complain(ok.error());
    };
  });
}

}  // namespace tailor::cli
