#include "viewer/cli/view_choice.h"

#include <utility>

namespace tailor::cli {
namespace {

CLI::Validator time_with_unit() {
  const std::map<std::string, double> units = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
  return CLI::AsNumberWithUnit(units, CLI::AsNumberWithUnit::UNIT_REQUIRED, "TIME");
}

// Far beyond any recording; what the user typed may be larger than a TimeNs.
TimeNs to_time(double ns) {
  constexpr double kMost = 9e18;
  return static_cast<TimeNs>(std::clamp(ns, -kMost, kMost));
}

}  // namespace

void add_view_choice(CLI::App& command, ViewChoice& choice) {
  add_choice(command, choice.choice);
  command.add_option("--from", choice.from_ns, "Only from this time after the begin: 1.5s, 200ms, 30us")
      ->transform(time_with_unit())
      ->option_text("TIME");
  command.add_option("--to", choice.to_ns, "Only up to this time after the begin")
      ->transform(time_with_unit())
      ->option_text("TIME");
  command.add_option("--thread", choice.thread, "Only the thread with this number of the operating system");
  command.add_option("--pipeline", choice.pipeline, "Only the pipeline with this number");
  command.add_option("--operator", choice.op, "Only the operator with this number (report --json: \"id\")");
}

Result<serve::View> open_view(const ViewChoice& wanted, Needs needs) {
  serve::Filters filters;
  if (wanted.from_ns) filters.from_ns = to_time(*wanted.from_ns);
  if (wanted.to_ns) filters.to_ns = to_time(*wanted.to_ns);
  filters.tid = wanted.thread;
  filters.pipeline = wanted.pipeline;
  filters.op = wanted.op;
  Choice choice = wanted.choice;
  choice.detail.samples = needs != Needs::kSums;
  choice.detail.activity = needs == Needs::kActivity;
  return choose(std::move(choice), std::move(filters));
}

}  // namespace tailor::cli
