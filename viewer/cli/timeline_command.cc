#include <fmt/format.h>

#include <algorithm>

#include "daemon/serve/service.h"
#include "daemon/serve/views.h"
#include "viewer/cli/command.h"
#include "viewer/cli/ignored_options.h"
#include "viewer/cli/render_views.h"
#include "viewer/cli/view_choice.h"

namespace tailor::cli {
namespace {

struct TimelineOptions {
  ViewChoice view;
  std::string lanes = "pipeline", by = "operator";
  std::uint32_t buckets = 0;  // 0: as many as fit
  std::size_t rows = 12;
  bool has_lanes = false, has_by = false;
};

query::Lanes lanes_of(const std::string& name) {
  if (name == "all") return query::Lanes::kAll;
  return name == "thread" ? query::Lanes::kThread : query::Lanes::kPipeline;
}

// Whether nothing but reasons has a row: no plan was recorded, and no component.
bool is_all_unattributed(const query::Timeline& line) {
  return std::ranges::all_of(line.lanes.front().series, [](const query::TimelineSeries& each) {
    return each.owner.kind == "unattributed";
  });
}

query::OwnedBy owned_by(const std::string& name) {
  if (name == "function") return query::OwnedBy::kFunction;
  return name == "task" ? query::OwnedBy::kTask : query::OwnedBy::kOperator;
}

// What the user asked for; where nobody asked and there is no plan, functions by thread.
Result<serve::View> open_timeline(const TimelineOptions& options, serve::TimelineRequest& request) {
  const bool functions = request.by == query::OwnedBy::kFunction;
  auto view = open_view(options.view, functions ? Needs::kFunctions : Needs::kSamples);
  if (!view || functions || options.has_by) return view;
  const auto line = serve::timeline_of(*view, request);
  if (!line || !is_all_unattributed(*line)) return view;
  warn("no query plan is in this selection: functions are shown (--by and --lanes choose)");
  request.by = query::OwnedBy::kFunction;
  if (!options.has_lanes) request.lanes = query::Lanes::kThread;
  return open_view(options.view, Needs::kFunctions);
}

int run_timeline(const TimelineOptions& options) {
  const Terminal terminal = options.view.choice.terminal();
  constexpr std::uint32_t kForMachines = 200;
  serve::TimelineRequest request;
  // Functions are of no pipeline.
  const bool by_thread = options.by == "function" && !options.has_lanes;
  request.lanes = by_thread ? query::Lanes::kThread : lanes_of(options.lanes);
  request.by = owned_by(options.by);
  request.buckets = options.buckets != 0       ? options.buckets
                    : options.view.choice.json ? kForMachines
                                               : static_cast<std::uint32_t>(timeline_buckets(terminal));
  auto view = open_timeline(options, request);
  if (!view) return complain(view.error());
  if (options.view.choice.json) {
    const auto json = serve::view_answer(*view, serve::TimelineView{request});
    if (!json) return complain(json.error());
    print_json(query::dump(*json));
    return kOk;
  }
  const auto line = serve::timeline_of(*view, request);
  if (!line) return complain(line.error());
  print_text(render(*view, *line, terminal, options.rows), terminal);
  return kOk;
}

}  // namespace

void add_timeline(CLI::App& app, Action& action) {
  CLI::App& command = *app.add_subcommand("timeline", "Which operator was active when, as rows of blocks");
  auto options = std::make_shared<TimelineOptions>();
  add_view_choice(command, options->view);
  CLI::Option* lanes =
      command
          .add_option("--lanes", options->lanes,
                      "A group of rows for each pipeline, for each thread, or one group for all")
          ->check(CLI::IsMember({"all", "pipeline", "thread"}))
          ->capture_default_str();
  CLI::Option* by =
      command
          .add_option("--by", options->by,
                      "A row for each operator, for each task of the pipelines, or for each function. Where "
                      "there is no plan and this is not given: functions, by thread")
          ->check(CLI::IsMember({"operator", "task", "function"}))
          ->capture_default_str();
  command
      .add_option("--buckets", options->buckets,
                  "How many parts the time is divided into (default: as many as fit; with --json 200)")
      ->check(CLI::Range(1U, query::kMaxBuckets));
  command
      .add_option("--rows", options->rows,
                  "How many rows a group has at most; the other rows are shown as one")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command.callback([options, lanes, by, &command, &action] {
    options->has_lanes = lanes->count() > 0;
    options->has_by = by->count() > 0;
    action = [options, &command] {
      if (options->view.choice.json) {
        if (auto ok = refuse_given(command, {"--rows"}, "with --json, which has all rows"); !ok)
          return complain(ok.error());
      }
      return run_timeline(*options);
    };
  });
}

}  // namespace tailor::cli
