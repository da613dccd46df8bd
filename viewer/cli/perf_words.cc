#include "viewer/cli/perf_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <span>
#include <utility>

namespace tailor::cli {
namespace {

// Help does not list them.
constexpr const char* kHidden = "";

struct Unknown {
  const char* names;
  bool has_value;
  const char* instead;
};

constexpr Unknown kOfRecord[] = {
    {"-a,--all-cpus", false,
     "a recording is of one process: name it with -p PID. For all processes of the host, run tailord with a "
     "rule "
     "([[processes.sample]] with cgroup = \"/\", docs/tailord.md), then type tailor report --pid PID"},
    {"-t,--tid", true,
     "a recording is of a whole process: type -p with the pid of its process. tailor timeline, flame and "
     "memory "
     "show one of its threads with --thread TID"},
    {"-c,--count", true, "a period belongs to its event: type -e NAME@PERIOD, as -e cycles@1000000"},
    {"-G,--cgroup", true,
     "a recording is of one process: name it with -p PID. For a cgroup, run tailord with a rule "
     "([[processes.sample]] "
     "with cgroup = \"/...\", docs/tailord.md)"},
    {"-D,--delay", true,
     "a command is recorded from its start. tailor timeline and report show a part of it with --from 2s"},
    {"-u,--uid", true,
     "a recording is of one process: name it with -p PID. For a user, run tailord with a rule "
     "([[processes.sample]] "
     "with uid = NUMBER, docs/tailord.md)"},
    {"-C,--cpu", true, "threads are sampled wherever they run: leave it out"},
    {"-b,--branch-any", false, "branches are not recorded: leave it out"},
    {"-d,--data", false, "data addresses are recorded with --memory"},
};

constexpr const char* kSelfAndTotal = "tailor report --level function shows self and total: leave it out";

constexpr Unknown kOfReport[] = {
    {"-s,--sort", true,
     "operators are in the order of the plan, functions by self: type --level function. tailor timeline "
     "--lanes thread shows threads, and tailor sql sorts by anything"},
    {"-F,--fields", true, "the columns are fixed. tailor sql and --json have all columns"},
    {"-g,--call-graph", false, "type --level function: it shows the call graph below the functions"},
    {"--children", false, kSelfAndTotal},
    {"--no-children", false, kSelfAndTotal},
    {"-n,--show-nr-samples", false, "a report always shows the samples: leave it out"},
    {"--percent-limit", true, "type --level function --least SHARE, as --least 0.01 for 1 %"},
    {"--comm,--comms", true, "type --process NAME for the executions of a process, or --pid PID"},
    {"--tid", true, "tailor timeline, flame and memory show one thread with --thread TID"},
    {"-S,--symbols", true, "type --level function --limit N: it lists functions"},
    {"-d,--dsos", true, "type --level function: it adds up functions by library"},
    {"--time", true, "type --from TIME --to TIME, as --from 1.5s --to 2s"},
    {"--inverted", false, "tailor web FILE shows the callers of each function: leave it out"},
    {"--symfs", true,
     "debug files are found by build id: tailor doctor FILE says which names are missing, and why"},
    {"--header", false, "tailor report --json has the facts of the recording under \"recording\""},
};

constexpr const char* kAlwaysText = "the output is text, in a pager on a terminal: leave it out";

constexpr Unknown kOfViews[] = {
    {"-i,--input", true, "the file has no option before it: type tailor {} FILE"},
    {"--stdio", false, kAlwaysText},
    {"--tui", false, kAlwaysText},
    {"--gtk", false, kAlwaysText},
};

constexpr Unknown kOfAnnotate[] = {
    {"-s,--symbol", true,
     "a listing is of a plan: --plan chooses one. tailor report --level function lists functions"},
    {"-d,--dsos", true,
     "a listing is of generated code: tailor report --level function adds up functions by library"},
    {"-l,--print-line", false, "each instruction stands below its line of IR: leave it out"},
};

constexpr Unknown kOfTop[] = {
    {"-s,--sort", true, "type s while it runs: that changes the order."},
    {"-e,--event", true, "the daemon samples: choose its events with tailord --event"},
    {"-F,--freq", true, "the daemon samples: type tailor rate HZ"},
    {"-p,--pid", true, "it shows queries: type --filter TEXT. tailor report --pid PID shows a process"},
    {"-a,--all-cpus", false, "it always shows all processes that the daemon samples: leave it out"},
    {"-g,--call-graph", false, "tailor report --level function shows the call graph"},
};

constexpr Unknown kOfDiff[] = {
    {"-s,--sort", true, "operators are compared in the order of the plan: leave it out"},
    {"-c,--compute", true, "changes are of the cost of an execution, with their range: leave it out"},
    {"-o,--order", true, "operators are compared in the order of the plan: leave it out"},
};

// Commands that show a profile, and perf's own words for them.
constexpr std::string_view kViews[] = {"annotate", "doctor", "export", "flame", "import",   "iterations",
                                       "list",     "memory", "report", "sql",   "timeline", "web"};
constexpr std::pair<std::string_view, std::span<const Unknown>> kWords[] = {{"record", kOfRecord},
                                                                            {"report", kOfReport},
                                                                            {"annotate", kOfAnnotate},
                                                                            {"top", kOfTop},
                                                                            {"diff", kOfDiff}};

constexpr const char* kNoNamesNeeded = "a profile carries the names of its functions: there is nothing to do";

constexpr std::pair<std::string_view, std::string_view> kCommands[] = {
    {"archive", kNoNamesNeeded},
    {"buildid-cache", kNoNamesNeeded},
    {"mem", "type tailor record --memory -- COMMAND, then tailor memory"},
    {"sched", "type tailor record -e off-cpu -- COMMAND, then tailor timeline --lanes thread"},
    {"script",
     "type tailor export FILE --format csv for a line for each sample, or tailor sql FILE for a part of "
     "them"},
    {"stat",
     "nothing is counted without samples. Type tailor record -e EVENT -- COMMAND, then tailor report"},
};

void add_word(CLI::App& command, const Unknown& word) {
  const auto refuse = [&command, &word] {
    const std::string instead = fmt::format(fmt::runtime(word.instead), command.get_name());
    throw CLI::ValidationError(fmt::format("{} is an option of perf: {}", word.names, instead));
  };
  CLI::Option* option = word.has_value ? command.add_option_function<std::string>(
                                             word.names, [refuse](const std::string&) { refuse(); })
                                       : command.add_flag_callback(word.names, refuse);
  option->group(kHidden);
}

}  // namespace

void add_call_graph(CLI::App& command, config::SamplingOptions& sampling) {
  CLI::Option* aggregate = command.get_option("--aggregate");
  command
      .add_flag_callback(
          "-g", [&sampling] { sampling.callchain = true; }, "Call chains by frame pointers: --callchain")
      ->excludes(aggregate);
  const std::map<std::string, bool> kModes = {{"fp", false}, {"dwarf", true}};
  command
      .add_option_function<std::string>(
          "--call-graph",
          [&sampling, kModes](const std::string& mode) {
            sampling.callchain = true;
            if (kModes.at(mode)) sampling.stacks = capture::Stacks::kAlways;
          },
          "fp: as -g; dwarf: by unwind tables, --callchain --stacks always")
      ->check(CLI::IsMember(kModes))
      ->type_name("fp|dwarf")
      ->excludes(aggregate);
}

void add_perf_words(CLI::App& command) {
  const std::string name = command.get_name();
  if (std::ranges::find(kViews, name) != std::end(kViews)) {
    for (const Unknown& each : kOfViews) add_word(command, each);
  }
  for (const auto& [of, words] : kWords) {
    if (of != name) continue;
    for (const Unknown& each : words) add_word(command, each);
  }
}

std::string_view instead_of_perf_command(std::string_view name) {
  for (const auto& [command, instead] : kCommands) {
    if (command == name) return instead;
  }
  return "";
}

Result<std::int32_t> parse_pid(const std::string& text) {
  std::int32_t pid = 0;
  const char* end = text.data() + text.size();
  const auto [rest, problem] = std::from_chars(text.data(), end, pid);
  if (problem == std::errc() && rest == end && pid > 0) return pid;
  if (text.find(',') != std::string::npos)
    return invalid(
        fmt::format("-p {}: a recording is of one process; start one for each, with its own -o FILE",
                    text.substr(0, 100)));
  return invalid(fmt::format("-p {}: that is no pid", text.substr(0, 100)));
}

}  // namespace tailor::cli
