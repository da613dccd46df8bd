#include <fmt/format.h>

#include "daemon/query/json/iterations_json.h"
#include "daemon/query/sums/keys.h"
#include "daemon/query/time/iterations.h"
#include "viewer/cli/accounting_text.h"
#include "viewer/cli/choose.h"
#include "viewer/cli/command.h"
#include "viewer/cli/text.h"

namespace tailor::cli {
namespace {

// How even they are, where there are enough to say it.
std::string spread_text(const query::Loop& loop) {
  if (!loop.has_spread()) return "";
  return fmt::format("; nine of ten as long as those around to {:.0f} %", 100 * loop.spread());
}

std::string heading(const ChosenLoops& chosen, const query::Loop& loop, const Terminal& terminal) {
  const auto& [process, handle] = loop.execution;
  const profile::ExecutionRecord* record = chosen.view.profile.execution(process, handle);
  const std::string id = record == nullptr ? "?" : query::hex(record->id).substr(0, 12);
  return terminal.bold(
             fmt::format("{}, execution {}: {} iterations, {}{}", escape_line(loop.name, terminal.ascii), id,
                         grouped(loop.iterations.size()),
                         loop.marked ? "as the engine marked them" : "found in the times of the samples",
                         spread_text(loop))) +
         "\n";
}

std::string render_loop(const ChosenLoops& chosen, const query::Loop& loop, const Terminal& terminal) {
  const auto& [process, handle] = loop.execution;
  const profile::ExecutionRecord* record = chosen.view.profile.execution(process, handle);
  const TimeNs begin = record == nullptr ? loop.iterations.front().from : record->begin;
  const double median = loop.median_ns();
  std::string out = heading(chosen, loop, terminal);
  out += terminal.dim(fmt::format("{:>10}  {:>10}  {:>10}  {:>9}  {:>8}", "iteration", "begins at", "elapsed",
                                  "of median", "samples")) +
         "\n";
  for (const query::IterationRow& row :
       query::iteration_rows(*chosen.view.whole, chosen.view.selection, loop, chosen.view.keep)) {
    const query::Iteration& each = row.iteration;
    const auto elapsed = static_cast<double>(each.to - each.from);
    out += fmt::format(
        "{:>10}  {}  {}  {:>9}  {:>8}\n", each.number,
        pad_left(duration(static_cast<double>(each.from - begin)), 10), pad_left(duration(elapsed), 10),
        median > 0 ? fmt::format("{:.2f}x", elapsed / median) : std::string("-"), grouped(row.cost.samples));
  }
  return out;
}

int run_iterations(const Choice& choice) {
  auto chosen = choose_loops(choice);
  if (!chosen) return complain(chosen.error());
  if (!choice.loop.empty()) {
    auto loops = query::choose_loops(std::move(chosen->loops), choice.loop);
    if (!loops) return complain(loops.error());
    chosen->loops = std::move(*loops);
  }
  const serve::View& view = chosen->view;
  auto inside = query::loops_between(std::move(chosen->loops), view.from, view.to);
  if (!inside) return complain(inside.error());
  chosen->loops = std::move(*inside);
  if (choice.json) {
    print_json(query::dump(query::json_of(*view.whole, view.selection, chosen->loops, view.keep)));
    return kOk;
  }
  const Terminal terminal = choice.terminal();
  std::string out;
  for (const query::Loop& loop : chosen->loops)
    out += (out.empty() ? "" : "\n") + render_loop(*chosen, loop, terminal);
  out += "\n" + wrap(accounting_text(query::account_of(*view.whole)), terminal.width, 2) + "\n";
  print_text(out, terminal);
  return kOk;
}

}  // namespace

void add_iterations(CLI::App& app, Action& action) {
  CLI::App& command =
      *app.add_subcommand("iterations", "The iterations of dataflow loops, each with its time and samples");
  auto choice = std::make_shared<Choice>();
  add_choice(command, *choice);
  add_time_choice(command, *choice);
  add_loop_choice(command, *choice);
  command.callback([choice, &action] { action = [choice] { return run_iterations(*choice); }; });
}

}  // namespace tailor::cli
