#include "viewer/cli/view_choice.h"

#include <utility>

namespace tailor::cli {

void add_view_choice(CLI::App& command, ViewChoice& choice) {
  add_choice(command, choice.choice);
  add_time_choice(command, choice.choice);
  command.add_option("--thread", choice.thread, "Only the thread with this number of the operating system");
  command.add_option("--pipeline", choice.pipeline, "Only the pipeline with this number");
  command.add_option("--operator", choice.op, "Only the operator with this number (report --json: \"id\")");
}

Result<serve::View> open_view(const ViewChoice& wanted, Needs needs) {
  serve::Filters filters;
  filters.tid = wanted.thread;
  filters.pipeline = wanted.pipeline;
  filters.op = wanted.op;
  Choice choice = wanted.choice;
  choice.detail.samples = needs != Needs::kSums;
  choice.detail.activity = needs == Needs::kActivity || needs == Needs::kActivityAndFunctions;
  choice.detail.functions = needs == Needs::kFunctions || needs == Needs::kActivityAndFunctions;
  return choose(std::move(choice), std::move(filters));
}

}  // namespace tailor::cli
