// `tailor ab`.
#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "daemon/query/time/wall_time.h"
#include "daemon/serve/file_state.h"
#include "daemon/serve/service.h"
#include "viewer/cli/choose.h"
#include "viewer/cli/command.h"
#include "viewer/cli/text.h"

namespace tailor::cli {
namespace {

using query::Json;

struct AbOptions {
  Choice choice;
  std::size_t limit = 20;
};

std::string ratio_text(const Json& cost) {
  const Json& ratio = cost.at("ratio");
  if (ratio.is_null()) return fmt::format("{:>6}  {:<14}", "?", "too few");
  return fmt::format("{:>6.3f}  {:.3f} to {:.3f}", ratio.at("value").get<double>(),
                     ratio.at("low").get<double>(), ratio.at("high").get<double>());
}

std::string side_text(const Json& side) {
  return pad_left(grouped(side.at("executions").get<std::uint64_t>()), 10) +
         pad_left(duration(side.at("cpu_ns_mean").get<double>()), 11);
}

std::string line(const Json& cost, const std::string& name, const Terminal& terminal) {
  const std::string cells =
      side_text(cost.at("with")) + side_text(cost.at("without")) + "  " + ratio_text(cost) + "  ";
  const std::size_t used = columns(cells);
  return cells + cut(name, terminal.width > used + 20 ? terminal.width - used : 20, terminal.ascii) + "\n";
}

std::string verdict(const Json& answer) {
  const Json& ratio = answer.at("ratio");
  if (ratio.is_null())
    return "Ten executions with tags and ten without, of one query, are needed to say more.";
  const double low = ratio.at("low").get<double>(), high = ratio.at("high").get<double>();
  if (low > 1) return "Tags cost CPU time here.";
  if (high < 1) return "Executions with tags take less CPU time here: more differs than the tags.";
  return "By these executions, tags may cost nothing: the interval includes 1.";
}

std::string render(const Json& answer, const Terminal& terminal) {
  if (answer.at("executions_without_tags").get<std::uint64_t>() == 0) {
    return wrap(
        "All of these executions had tags. `tailord --untagged-executions 1%` asks engines to leave them out "
        "for a "
        "share of the executions; the engine must be able to (docs/tags.md).\n",
        terminal.width, 0);
  }
  std::string out = terminal.bold("CPU time of executions with tags against those without") + "\n";
  out += terminal.dim(fmt::format("{:>10}{:>11}{:>10}{:>11}  {:>6}  {:<14}  {}", "with", "each", "without",
                                  "each", "ratio", "95 % range", "query")) +
         "\n";
  for (const Json& query : answer.at("queries"))
    out += line(query, escape_line(query.at("name").get<std::string>(), terminal.ascii), terminal);
  out += line(answer, "= all, each query by its number of executions", terminal);
  return out + wrap(verdict(answer), terminal.width, 0) + "\n";
}

int run_ab(const AbOptions& options) {
  if (Status ok = refuse_store_of_file(options.choice); !ok) return complain(ok.error());
  const auto filter = execution_filter(options.choice.filter, query::wall_clock_ns());
  if (!filter) return complain(filter.error());
  const auto library = open_library(options.choice);
  serve::Service service(*library, {});
  const Stop stop;
  auto answer =
      service.answer(serve::TagCostRequest{*filter, options.limit}, serve::Access::everything(), stop);
  if (!answer) return complain(answer.error());
  const store::WallRange range = range_of(*filter);
  auto file = tell_unchecked(
      service.file_state_of_time(range, serve::kMostCheckedOfCommand, serve::Access::everything(), stop));
  if (!file) return complain(file.error());
  (*answer)["file"] = std::move(*file);
  if (options.choice.json) {
    print_json(query::dump(*answer));
  } else {
    print_text(render(*answer, options.choice.terminal()), options.choice.terminal());
  }
  return kOk;
}

}  // namespace

void add_ab(CLI::App& app, Action& action) {
  CLI::App& command = *app.add_subcommand(
      "ab", "What tags cost the engine: executions with tags against those without (--untagged-executions)");
  auto options = std::make_shared<AbOptions>();
  command.add_option("file", options->choice.what, "A profile (.tailor file; default: the daemon's store)");
  add_filter(command, options->choice.filter);
  command.add_option("-n,--limit", options->limit, "How many queries at most")->capture_default_str();
  command.add_option("--store", options->choice.store, "The directory of the store");
  command.add_flag("--json", options->choice.json, "JSON instead of text (docs/report-json.md)");
  command.add_flag("--ascii", options->choice.ascii, "No characters outside ASCII");
  command.callback([options, &action] { action = [options] { return run_ab(*options); }; });
}

}  // namespace tailor::cli
