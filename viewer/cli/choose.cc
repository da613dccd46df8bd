#include "viewer/cli/choose.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "daemon/query/load/damage.h"
#include "daemon/query/time/wall_time.h"
#include "daemon/serve/service.h"
#include "viewer/cli/command.h"
#include "viewer/cli/daemon.h"
#include "viewer/cli/import.h"

namespace tailor::cli {
namespace {

template <typename Number>
bool parse_number(const std::string& text, Number& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

bool is_file(const std::string& what) {
  std::error_code unknown;  // a name no file can have is not there
  return what.find('/') != std::string::npos || what.ends_with(".tailor") ||
         std::filesystem::exists(what, unknown);
}

CLI::Validator time_with_unit() {
  const std::map<std::string, double> units = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
  return CLI::AsNumberWithUnit(units, CLI::AsNumberWithUnit::UNIT_REQUIRED, "TIME");
}

// Far beyond any recording; what the user typed may be larger than a TimeNs.
TimeNs to_time(double ns) {
  constexpr double kMost = 9e18;
  return static_cast<TimeNs>(std::clamp(ns, -kMost, kMost));
}

query::IterationsFrom iterations_from(const Choice& choice) {
  if (choice.iterations_from == "marks") return query::IterationsFrom::kMarks;
  if (choice.iterations_from == "samples") return query::IterationsFrom::kSamples;
  return query::IterationsFrom::kBest;
}

// Adds what the options of every command say.
Status add_filters(const Choice& choice, serve::Filters& filters) {
  filters.source = choice.source;
  filters.loop = choice.loop;
  filters.iterations_from = iterations_from(choice);
  if (choice.from_ns) filters.from_ns = to_time(*choice.from_ns);
  if (choice.to_ns) filters.to_ns = to_time(*choice.to_ns);
  if (!choice.process.empty() && !parse_number(choice.process, filters.pid.emplace()))
    return invalid(fmt::format("\"{}\" is no pid", choice.process));
  if (!choice.iteration.empty() && !parse_number(choice.iteration, filters.iteration.emplace()))
    return invalid(fmt::format("\"{}\" is no number of an iteration", choice.iteration));
  return Ok{};
}

// A file may be read again, with more detail or for another question, and by any thread.
void warn_once(const std::string& text) {
  static std::mutex mutex;
  static std::set<std::string> told;
  const std::lock_guard lock(mutex);
  if (told.insert(text).second) warn(text);
}

}  // namespace

Status settle_last(Choice& choice, std::size_t& count) {
  count = choice.has_last ? 1 : 0;
  if (choice.last.empty() || choice.last.front().empty()) return Ok{};
  if (parse_number(choice.last.front(), count) && count > 0) return Ok{};
  if (!choice.what.empty())
    return invalid(fmt::format("--last takes a number, not \"{}\"", choice.last.front()));
  choice.what = choice.last.front();
  count = 1;
  return Ok{};
}

Status refuse_store_of_file(const Choice& choice) {
  if (choice.store.empty() || !names_file(choice)) return Ok{};
  return invalid(fmt::format("--store has no meaning beside the file {}", choice.what));
}

bool names_file(const Choice& choice) {
  return !choice.what.empty() && is_file(choice.what);
}

query::OnDamage warn_of_damage(std::string name) {
  return [name = std::move(name)](const std::string& text) { warn_once(fmt::format("{}: {}", name, text)); };
}

std::unique_ptr<serve::Library> open_file(const std::string& path) {
  return serve::open_file_library(path, [](const std::string& file, const query::LoadOptions& options) {
    auto profile = load_any_file(file, options, warn_once);
    const std::string damage = profile ? query::damage_text(*profile) : "";
    if (!damage.empty()) warn_of_damage(file)(damage);
    return profile;
  });
}

std::unique_ptr<serve::Library> open_library(const Choice& choice) {
  if (names_file(choice)) return open_file(choice.what);
  const std::string directory = store_directory(choice.store);
  return serve::open_store_library(directory, flush_daemon, warn_of_damage(directory));
}

Result<query::Json> tell_unchecked(Result<query::Json> file) {
  if (file && file->contains("unchecked_bytes")) {
    const auto bytes = file->at("unchecked_bytes").get<std::uint64_t>();
    warn(
        fmt::format("whether {} MB of the oldest samples behind this are damaged is not known: only the "
                    "newest are looked at (--since, --until)",
                    (bytes + 999'999) / 1'000'000));
  }
  return file;
}

Result<serve::Target> target_of(Choice& choice) {
  if (choice.target) return *choice.target;
  std::size_t last = 0;
  if (Status settled = settle_last(choice, last); !settled) return settled.error();
  if (Status ok = refuse_store_of_file(choice); !ok) return ok.error();
  const bool file = names_file(choice);
  const std::string& prefix = choice.execution.empty() && !file ? choice.what : choice.execution;
  using What = serve::Target::What;
  if (choice.filter.any()) {
    if (!prefix.empty())
      return invalid(
          "an execution is named already: --since, --until, --process, --cgroup, --label, --fingerprint and "
          "--longer-than choose among several");
    auto filter = execution_filter(choice.filter, query::wall_clock_ns());
    if (!filter) return filter.error();
    return serve::Target{What::kFiltered, last, {}, std::move(*filter)};
  }
  if (!prefix.empty()) return serve::prefix_target(prefix);
  if (last > 0) return serve::Target{What::kNewest, last};
  // A process is shown as a whole, an execution by what lies between its begin and its end.
  return serve::Target{choice.process.empty() ? What::kDefault : What::kProcess};
}

void add_choice(CLI::App& command, Choice& choice) {
  command.add_option("what", choice.what,
                     "A profile (.tailor file), or an execution in the daemon's store: the start of its id");
  command.add_option("-x,--execution", choice.execution, "Only this execution: the start of its id");
  CLI::Option* last =
      command
          .add_option("--last", choice.last,
                      "Only the execution that began last, or the last N (default for the store: the last "
                      "with samples)")
          ->expected(0, 1)
          ->allow_extra_args(false)  // what follows the number is the file
          ->type_name("[N]");
  // CLI11 does not call each() for an option without its argument.
  command.parse_complete_callback([&choice, last] { choice.has_last = last->count() > 0; });
  add_filter(command, choice.filter);
  command.add_option("-p,--pid", choice.process, "Only this process");
  command.add_option("--source", choice.source, "The event source to show, if several were recorded");
  command.add_option("--store", choice.store,
                     "The directory of the store (default: that of the daemon, TAILOR_STORE)");
  command.add_flag("--json", choice.json, "JSON instead of text (docs/report-json.md)");
  command.add_flag("--ascii", choice.ascii, "No characters outside ASCII");
}

void add_loop_choice(CLI::App& command, Choice& choice) {
  command.add_option("--loop", choice.loop,
                     "The loop, if there are several: the name or number of its component");
  command
      .add_option("--iterations-from", choice.iterations_from,
                  "Find iterations by the engine's marks only, or by the times of samples only")
      ->check(CLI::IsMember({"marks", "samples"}));
}

void add_time_choice(CLI::App& command, Choice& choice) {
  command.add_option("--from", choice.from_ns, "Only from this time after the begin: 1.5s, 200ms, 30us")
      ->transform(time_with_unit())
      ->option_text("TIME");
  command.add_option("--to", choice.to_ns, "Only up to this time after the begin")
      ->transform(time_with_unit())
      ->option_text("TIME");
}

void add_iteration_choice(CLI::App& command, Choice& choice) {
  command.add_option("--iteration", choice.iteration,
                     "Only this iteration of a dataflow loop (`tailor iterations` lists them)");
  add_loop_choice(command, choice);
}

Result<serve::View> choose(Choice choice, serve::Filters filters) {
  if (Status added = add_filters(choice, filters); !added) return added.error();
  const auto target = target_of(choice);
  if (!target) return target.error();
  if (filters.need_samples()) choice.detail.samples = true;
  const auto library = open_library(choice);
  serve::Service service(*library, {});
  auto view = service.open(*target, filters, choice.detail, serve::Access::everything(), Stop());
  if (view) {
    for (const std::string& note : view->notes) warn(note);
  }
  return view;
}

Result<ChosenLoops> choose_loops(const Choice& choice) {
  Choice with_samples = choice;
  with_samples.detail.samples = true;
  auto view = choose(std::move(with_samples));
  if (!view) return view.error();
  // A part of the time would tell less of the loop: its iterations are those of the whole.
  auto loops = query::find_loops(*view->whole, view->selection, iterations_from(choice));
  if (!loops) return loops.error();
  return ChosenLoops{std::move(*view), std::move(*loops)};
}

std::unique_ptr<serve::Library> choose_library(const Choice& choice) {
  return choice.what.empty() ? open_library(choice) : open_file(choice.what);
}

}  // namespace tailor::cli
