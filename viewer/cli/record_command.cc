#include <fmt/format.h>

#include <random>

#include "daemon/journal/replay.h"
#include "daemon/os/os.h"
#include "daemon/session/overhead_control.h"
#include "daemon/session/record.h"
#include "viewer/cli/attach.h"
#include "viewer/cli/command.h"
#include "viewer/cli/text.h"

namespace tailor::cli {
namespace {

struct Options {
  session::RecordOptions record;
  std::int32_t pid = 0;
  double seconds = 0;
};

void say(const std::string& text) {
  fmt::print(stderr, "tailor: {}\n", escape(text, false));
}

// What a user wants to know at once: how much, how good, what next.
void summarise(const session::RecordOptions& options, const session::RecordOutcome& outcome) {
  const store::Accounting& total = outcome.total;
  const auto known = static_cast<double>(total.attributed + total.unattributed);
  for (const session::Problem& problem : outcome.problems) say(problem.text);
  if (!outcome.capture_row.empty()) say("sampling: " + outcome.capture_row);
  say(fmt::format(
      "{} samples, {} of them attributed, {} lost; {} bytes in {}", grouped(outcome.samples_written),
      percent(known > 0 ? static_cast<double>(total.attributed) / known : 0),
      grouped(total.lost_ring + total.lost_hardware), grouped(outcome.bytes_written), options.output));
  if (options.max_overhead > 0 && outcome.wall_ns > 0) {
    say(fmt::format("the recorder itself used {} of a core",
                    percent(static_cast<double>(outcome.own_cpu_ns) / static_cast<double>(outcome.wall_ns))));
  }
  if (outcome.samples_written > 0) say(fmt::format("next: tailor report {}", options.output));
}

int run_command(const Options& options) {
  auto outcome = session::record(os::real(), options.record);
  if (!outcome) return complain(outcome.error().message);
  summarise(options.record, *outcome);
  return outcome->exit_code;
}

int run(const Options& options) {
  const bool command = !options.record.command.empty();
  if (command == (options.pid != 0)) {
    return complain("record what? Give a command after --, or a process with -p", kUsage);
  }
  if (command) return run_command(options);
  return record_process({options.pid, options.record.output, options.seconds});
}

}  // namespace

void add_record(CLI::App& app, Action& action) {
  CLI::App& command =
      *app.add_subcommand("record", "Runs a command, or watches a process, and writes a profile");
  auto options = std::make_shared<Options>();
  command.add_option("-o,--output", options->record.output, "The profile; replaced if it exists")
      ->capture_default_str();
  command.add_option("-F,--frequency", options->record.frequency, "Samples a second of CPU time")
      ->check(CLI::Range(1, 50'000))
      ->capture_default_str();
  command
      .add_option("-e,--event", options->record.events,
                  "Presets and events, `tailor events` lists them; NAME@PERIOD sets a period")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->capture_default_str();
  command
      .add_option("--source", options->record.sampled_by,
                  "Who takes the samples: auto, bpf or perf (auto: bpf if permitted)")
      ->transform(CLI::CheckedTransformer(capture::kSampledByNames, CLI::ignore_case));
  command
      .add_option(
          "--stacks", options->record.stacks,
          "Which samples bring a piece of stack, to find tags a library put aside: adaptive "
          "(default; unknown code without a tag; without BPF every one of a timer up to 5 kHz), none or "
          "always")
      ->transform(CLI::CheckedTransformer(capture::kStacksNames, CLI::ignore_case));
  auto* aggregate =
      command
          .add_option_function<double>(
              "--aggregate",
              [options](double seconds) { options->record.aggregate = static_cast<TimeNs>(seconds * 1e9); },
              "Add samples up in the kernel for so many seconds, by thread, instruction and tag: less data "
              "and work, but times and executions are known to that only (needs BPF, else one record each)")
          ->check(CLI::Range(0.1, 60.0));
  auto* overhead = command
                       .add_option_function<std::string>(
                           "--max-overhead",
                           [options](const std::string& text) {
                             options->record.max_overhead = *session::parse_percentage(text);
                             options->record.seed = std::random_device{}();
                           },
                           "Sample less often if samples cost the command more of its CPU time: 1%")
                       ->check([](const std::string& text) {
                         auto share = session::parse_percentage(text);
                         return share.ok() ? std::string() : share.error().message;
                       });
  overhead->excludes(aggregate);
  command
      .add_flag("--callchain", options->record.callchain,
                "Call stacks too, for engines without tags (costs more)")
      ->excludes(aggregate);
  command
      .add_flag("--memory", options->record.memory,
                "Registers too, from which the data addresses of instructions are computed")
      ->excludes(aggregate);
  command.add_option("--journal", options->record.journal,
                     "Keep every input in this file, for `tailor replay`");
  command.add_option("-p,--pid", options->pid, "A running process, through the daemon")
      ->check(CLI::PositiveNumber);
  command
      .add_option("--seconds", options->seconds, "With -p: for how long (default: until it ends, or Ctrl-C)")
      ->check(CLI::PositiveNumber);
  command.add_option("command", options->record.command, "The command and its arguments, after --");
  command.positionals_at_end();
  command.callback([options, &action] { action = [options] { return run(*options); }; });
}

void add_replay(CLI::App& app, Action& action) {
  CLI::App& command = *app.add_subcommand("replay", "Makes the profile of a journalled recording again");
  auto paths = std::make_shared<std::pair<std::string, std::string>>("", "replay.tailor");
  command.add_option("journal", paths->first, "What `tailor record --journal` kept")->required();
  command.add_option("-o,--output", paths->second, "The profile; replaced if it exists")
      ->capture_default_str();
  command.callback([paths, &action] {
    action = [paths] {
      auto report = journal::replay_file(paths->first, paths->second);
      if (!report) return complain(report.error().message);
      if (!report->complete) say("the journal ends early: its recording was killed");
      say(fmt::format("{} inputs replayed into {}", grouped(report->records), paths->second));
      return static_cast<int>(kOk);
    };
  });
}

}  // namespace tailor::cli
