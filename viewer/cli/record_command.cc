#include <fmt/format.h>

#include "daemon/config/sampling_settings.h"
#include "daemon/journal/replay.h"
#include "daemon/os/host_files.h"
#include "daemon/os/os.h"
#include "daemon/query/sums/coverage.h"
#include "daemon/session/record.h"
#include "daemon/store/output_target.h"
#include "proto/control/paths.h"
#include "viewer/cli/accounting_text.h"
#include "viewer/cli/attach.h"
#include "viewer/cli/command.h"
#include "viewer/cli/output_option.h"
#include "viewer/cli/perf_words.h"
#include "viewer/cli/render_parts.h"
#include "viewer/cli/text.h"

namespace tailor::cli {
namespace {

struct RecordOptions {
  session::RecordOptions record;
  std::vector<const CLI::Option*> of_commands;  // not of processes that a daemon samples in its own way
  std::string pid;                              // as it was typed; "": none
  double seconds = 0;
  bool quiet = false;
};

// Said at the end of a recording in which nobody named an operator.
constexpr const char* kNoEngine =
    "no query engine said anything of its plans: reports show functions, and processes and threads where "
    "there are "
    "several";

void say(const std::string& text) {
  fmt::print(stderr, "tailor: {}\n", escape(text, false));
}

// What a user wants to know at once: how much, how good, what next.
void summarise(const session::RecordOptions& options, const session::RecordOutcome& outcome) {
  const profile::Accounting& total = outcome.total;
  const auto known = static_cast<double>(total.attributed + total.unattributed);
  for (const pipeline::Problem& problem : outcome.problems) say(problem.text);
  if (!outcome.sampling_notes.empty()) say("sampling: " + outcome.sampling_notes);
  const bool engine = total.attributed > 0 || outcome.samples_written == 0;
  const std::string attributed =
      engine ? fmt::format(", {} of them attributed",
                           percent(known > 0 ? static_cast<double>(total.attributed) / known : 0))
             : "";
  say(fmt::format("{} samples{}, {} lost; {} bytes in {}", grouped(outcome.samples_written), attributed,
                  grouped(total.lost_ring + total.lost_hardware), grouped(outcome.bytes_written),
                  store::output_name(options.output)));
  if (!engine) say(kNoEngine);
  if (total.lost_ring + total.lost_hardware + total.late + total.throttled > 0)
    say(accounting_text({total, 0}));
  if (options.sampling.max_overhead > 0 && outcome.wall_ns > 0) {
    say(fmt::format("the recorder itself used {} of a core",
                    percent(static_cast<double>(outcome.own_cpu_ns) / static_cast<double>(outcome.wall_ns))));
  }
  const auto coverage = query::coverage_of(outcome.recording);
  if (coverage && coverage->falls_short) say(coverage_warning(*coverage));
  if (outcome.samples_written == 0 || store::is_standard_output(options.output)) return;
  const bool chains = options.sampling.callchain;
  say(fmt::format("next: tailor report {}{}", options.output,
                  engine   ? ""
                  : chains ? fmt::format(" (functions), or tailor flame {}", options.output)
                           : " (functions); with -g it has call chains"));
}

int run_command(const RecordOptions& options) {
  auto outcome = session::record(os::real(), options.record);
  if (!outcome) return complain(outcome.error());
  if (!options.quiet) summarise(options.record, *outcome);
  return outcome->exit_code;
}

// Where no daemon runs.
int run_alone(const RecordOptions& options, std::int32_t pid) {
  session::RunningProcess process{pid, options.seconds, control::agent_socket_path(), {}};
  process.on_begin = [&](const std::string& note) {
    if (options.quiet) return;
    if (!note.empty()) say(note);
    say(fmt::format("recording process {}; Ctrl-C ends it", pid));
  };
  auto outcome = session::record_running(os::real(), options.record, process);
  if (!outcome) return complain(outcome.error());
  if (!options.quiet) summarise(options.record, *outcome);
  return kOk;
}

Status check_what(const RecordOptions& options) {
  const bool command = !options.record.command.empty();
  if (command && !options.pid.empty())
    return invalid(
        "-p is a process that runs already, and no command is started for it: type --seconds N for how "
        "long to record it");
  if (!command && options.pid.empty())
    return invalid("there is nothing to record: give a command after --, or a process with -p");
  return Ok{};
}

int run_record(const RecordOptions& options) {
  if (Status right = check_what(options); !right.ok()) return complain(right.error());
  if (!options.record.command.empty()) return run_command(options);
  const auto pid = parse_pid(options.pid);
  if (!pid) return complain(pid.error());
  const std::int32_t process = os::process_of(os::real(), *pid);
  if (process != *pid && !options.quiet)
    say(fmt::format("{} is a thread of process {}: all of the process is sampled", *pid, process));
  if (!daemon_runs()) return run_alone(options, process);
  for (const CLI::Option* option : options.of_commands) {
    if (option->count() == 0) continue;
    return complain(
        invalid(fmt::format("{} is not for -p where a daemon runs: there, the options of tailord say how "
                            "processes are sampled",
                            option->get_name())));
  }
  return record_process({process, options.record.output, options.record.keep_old, options.seconds});
}

}  // namespace

void add_record(CLI::App& app, Action& action) {
  CLI::App& command =
      *app.add_subcommand("record", "Samples a command or a running process, and writes a profile");
  auto options = std::make_shared<RecordOptions>();
  CLI::Option* output = add_output(command, options->record.output, "The profile");
  options->of_commands = config::declare(command, config::sampling_settings(), options->record.sampling);
  options->of_commands.push_back(command.add_option("--journal", options->record.journal,
                                                    "Keep every input in this file, for `tailor replay`"));
  command
      .add_option("-p,--pid", options->pid,
                  "Samples this running process; if a daemon runs, the daemon does it, with its own options")
      ->type_name("PID");
  command
      .add_option("--seconds", options->seconds, "With -p: for how long (default: until it ends, or Ctrl-C)")
      ->check(CLI::PositiveNumber);
  command.add_flag("-q,--quiet", options->quiet, "Says nothing but errors");
  add_call_graph(command, options->record.sampling);
  for (const char* name : {"-g", "--call-graph"}) options->of_commands.push_back(command.get_option(name));
  command.add_option("command", options->record.command, "The command and its arguments, after --");
  command.positionals_at_end();
  command.callback([options, output, &action] {
    options->record.keep_old = output->count() == 0;
    action = [options] { return run_record(*options); };
  });
}

void add_replay(CLI::App& app, Action& action) {
  CLI::App& command = *app.add_subcommand("replay", "Makes a profile again from the journal of a recording");
  auto paths = std::make_shared<std::pair<std::string, std::string>>("", "replay.tailor");
  command.add_option("journal", paths->first, "The file of `tailor record --journal`")->required();
  CLI::Option* output = add_output(command, paths->second, "The profile");
  command.callback([paths, output, &action] {
    action = [paths, keep_old = output->count() == 0] {
      auto report = journal::replay_file(paths->first, paths->second, {.keep_old = keep_old});
      if (!report) return complain(report.error());
      if (!report->complete) say("the journal ends early: its recording was killed");
      say(fmt::format("{} inputs replayed into {}", grouped(report->records),
                      store::output_name(paths->second)));
      return static_cast<int>(kOk);
    };
  });
}

}  // namespace tailor::cli
