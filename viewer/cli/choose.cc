#include "viewer/cli/choose.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "daemon/query/executions.h"
#include "daemon/query/keys.h"
#include "daemon/query/no_such.h"
#include "daemon/query/report_json.h"
#include "daemon/query/wall_time.h"
#include "daemon/serve/library.h"
#include "daemon/store/store_directory.h"
#include "viewer/cli/command.h"
#include "viewer/cli/daemon.h"
#include "viewer/cli/import.h"

namespace tailor::cli {
namespace {

// Executions that one report is of: each costs some memory.
constexpr std::size_t kMostChosen = 100'000;

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

}  // namespace

Status settle_last(Choice& choice, std::size_t& count) {
  count = choice.has_last ? 1 : 0;
  if (choice.last.empty() || choice.last.front().empty()) return Ok{};
  if (parse_number(choice.last.front(), count) && count > 0) return Ok{};
  if (!choice.what.empty())
    return Error{fmt::format("--last takes a number, not \"{}\"", choice.last.front())};
  choice.what = choice.last.front();
  count = 1;
  return Ok{};
}

bool names_file(const Choice& choice) {
  return !choice.what.empty() && is_file(choice.what);
}

namespace {

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

Error unknown_execution(const std::string& prefix) {
  return Error{
      fmt::format("no execution begins with \"{}\", and there is no such file; `tailor list` shows the "
                  "executions there are",
                  prefix)};
}

Error ambiguous(const std::string& prefix, const ExecutionId& one, const ExecutionId& other) {
  return Error{
      fmt::format("\"{}\" is the start of several executions, {} and {} among them: give more digits", prefix,
                  query::hex(one), query::hex(other))};
}

// ---- files

Result<profile::ExecutionRecord> find_execution(const query::Profile& profile, const std::string& prefix) {
  std::optional<profile::ExecutionRecord> found;
  for (const profile::ExecutionRecord& execution : profile.executions()) {
    if (!query::hex(execution.id).starts_with(lower(prefix))) continue;
    if (found && found->id != execution.id) return ambiguous(prefix, found->id, execution.id);
    // Of an id that several processes declared it is the execution of the one that was heard of first.
    if (!found || execution.heard < found->heard) found = execution;
  }
  if (!found) return unknown_execution(prefix);
  return *found;
}

// What the options of the filter choose, the newest `last` of it; 0: all.
Result<serve::ExecutionFilter> wanted_executions(const Choice& choice, std::size_t last) {
  if (!choice.execution.empty() || (!choice.what.empty() && !names_file(choice)))
    return invalid(
        "an execution is named already: --since, --until, --process, --label, --fingerprint and "
        "--longer-than choose among several");
  auto filter = execution_filter(choice.filter, query::wall_clock_ns());
  if (filter.ok()) filter->limit = last == 0 ? kMostChosen : last;
  return filter;
}

Error none_passes(const serve::ExecutionFilter& filter, const std::string& where) {
  return not_found(fmt::format("{} holds no execution that {}; `tailor list` shows those that there are",
                               where, filter_text(filter)));
}

Status select_in_file(const Choice& choice, std::size_t last, Chosen& chosen) {
  const auto filter = wanted_executions(choice, last);
  if (!filter) return filter.error();
  const auto list = serve::page_of(serve::rows_of(chosen.profile), *filter, Stop());
  if (!list) return list.error();
  if (list->rows.empty()) return none_passes(*filter, choice.what);
  for (const store::ExecutionRow& row : list->rows)
    chosen.selection.executions.insert({row.record.process, row.record.handle});
  return Ok{};
}

Result<Chosen> choose_in_file(const Choice& choice, std::size_t last, bool keep_samples) {
  query::LoadOptions all;
  all.keep_samples = keep_samples;
  all.keep_activity = choice.activity;
  all.functions = choice.functions;
  auto profile = load_any_file(choice.what, all);
  if (!profile) return profile.error();
  Chosen chosen{std::move(*profile), {}};
  if (choice.filter.any()) {
    if (auto ok = select_in_file(choice, last, chosen); !ok) return ok.error();
  } else if (!choice.execution.empty()) {
    auto found = find_execution(chosen.profile, choice.execution);
    if (!found) return found.error();
    chosen.selection.executions.insert(chosen.profile.led_by(found->process, found->handle));
  } else if (last > 0) {
    const auto rows = serve::rows_of(chosen.profile, last);
    if (rows.empty()) return Error{fmt::format("{} holds no execution", choice.what)};
    for (const store::ExecutionRow& row : rows)
      chosen.selection.executions.insert({row.record.process, row.record.handle});
  }
  return chosen;
}

// ---- the store

Result<store::Catalogue> open_store(const Choice& choice) {
  if (choice.store.empty()) flush_daemon();
  const std::string directory = store_directory(choice.store);
  std::error_code problem;
  const bool there = std::filesystem::exists(store::catalogue_path(directory), problem);
  if (problem) return Error{fmt::format("cannot look into the store {}: {}", directory, problem.message())};
  if (!there) {
    return Error{
        fmt::format("there is no store in {}: name a .tailor file, start tailord, or say where the store is "
                    "(--store, TAILOR_STORE)",
                    directory)};
  }
  return store::Catalogue::open(store::catalogue_path(directory), store::Catalogue::Mode::kRead);
}

Result<std::vector<store::ExecutionRow>> executions_in_store(const store::Catalogue& catalogue,
                                                             const std::string& prefix, std::size_t last) {
  auto rows = prefix.empty() ? catalogue.executions(last) : catalogue.find_executions(lower(prefix));
  if (!rows) return rows.error();
  if (!prefix.empty() && rows->empty()) return unknown_execution(prefix);
  if (!prefix.empty() && rows->size() > 1)
    return ambiguous(prefix, (*rows)[0].record.id, (*rows)[1].record.id);
  if (rows->empty()) return Error{"the store holds no execution yet"};
  // Clocks of different recordings cannot be compared: the newest one's count.
  const store::RecordingNumber recording = rows->front().recording;
  std::erase_if(*rows, [&](const auto& row) { return row.recording != recording; });
  return rows;
}

// The newest may have just begun, or been too short for a sample.
void keep_last_with_samples(std::vector<store::ExecutionRow>& rows) {
  const auto sampled =
      std::find_if(rows.begin(), rows.end(), [](const auto& row) { return row.cost.samples > 0; });
  const store::ExecutionRow chosen = sampled == rows.end() ? rows.front() : *sampled;
  rows = {chosen};
}

// Those of the newest recording among them: the clocks of different ones cannot be compared.
Result<std::vector<store::ExecutionRow>> filtered_in_store(const Choice& choice, std::size_t last) {
  const auto filter = wanted_executions(choice, last);
  if (!filter) return filter.error();
  auto list = serve::open_store_library(store_directory(choice.store), {})->executions(*filter, Stop());
  if (!list) return list.error();
  if (list->rows.empty()) return none_passes(*filter, "the store");
  if (last == 0 && list->more)
    complain(fmt::format("only the newest {} executions that were asked for are shown", list->rows.size()));
  const store::RecordingNumber recording = list->rows.front().recording;
  const auto others = std::erase_if(list->rows, [&](const auto& row) { return row.recording != recording; });
  if (others > 0)
    complain(
        fmt::format("{} executions before the daemon was last started are left out: narrow the time "
                    "(--until) to see them",
                    others));
  return std::move(list->rows);
}

Result<Chosen> choose_in_store(const Choice& choice, std::size_t last, bool keep_samples) {
  auto catalogue = open_store(choice);
  if (!catalogue) return catalogue.error();
  const std::string prefix = choice.execution.empty() ? choice.what : choice.execution;
  constexpr std::size_t kRecent = 100;
  const bool filtered = choice.filter.any();
  auto rows = filtered ? filtered_in_store(choice, last)
                       : executions_in_store(*catalogue, prefix, last == 0 ? kRecent : last);
  if (!rows) return rows.error();
  if (!filtered && last == 0 && prefix.empty()) keep_last_with_samples(*rows);
  const std::string directory = store_directory(choice.store);
  // A process is shown as a whole, an execution by what lies between its begin and its end.
  query::LoadOptions all;
  all.keep_samples = keep_samples;
  all.keep_activity = choice.activity;
  all.functions = choice.functions;
  if (!filtered && !choice.process.empty() && prefix.empty() && last == 0) {
    auto profile = query::Profile::load_store(directory, *catalogue, rows->front().recording, all);
    if (!profile) return profile.error();
    return Chosen{std::move(*profile), {}};
  }
  auto loaded = query::load_executions(directory, *catalogue, *rows, all);
  if (!loaded) return loaded.error();
  return Chosen{std::move(loaded->profile), std::move(loaded->selection)};
}

// ---- both

Status select_source(const std::string& name, Chosen& chosen) {
  if (name.empty()) return Ok{};
  std::vector<std::string> known;
  for (const profile::Source& source : chosen.profile.recording().sources) {
    if (source.name == name) {
      chosen.selection.source = source.index;
      return Ok{};
    }
    known.push_back(source.name);
  }
  return query::no_such("source", name, known);
}

Status select_process(const std::string& pid, Chosen& chosen) {
  if (pid.empty()) return Ok{};
  std::int32_t wanted = 0;
  if (!parse_number(pid, wanted)) return Error{fmt::format("\"{}\" is no pid", pid)};
  // A pid may have been used twice: the last process of that number counts.
  for (const auto& [process, record] : chosen.profile.processes()) {
    if (process.pid == wanted) chosen.selection.process = process;
  }
  if (!chosen.selection.process) return Error{fmt::format("the profile knows no process {}", pid)};
  return Ok{};
}

Result<Chosen> open_choice(Choice choice, bool keep_samples) {
  std::size_t last = 0;
  if (auto ok = settle_last(choice, last); !ok) return ok.error();
  const bool file = names_file(choice);
  auto chosen =
      file ? choose_in_file(choice, last, keep_samples) : choose_in_store(choice, last, keep_samples);
  if (!chosen) return chosen;
  if (auto ok = select_process(choice.process, *chosen); !ok) return ok.error();
  if (auto ok = select_source(choice.source, *chosen); !ok) return ok.error();
  return chosen;
}

}  // namespace

void add_choice(CLI::App& command, Choice& choice) {
  command.add_option("what", choice.what,
                     "A profile (.tailor file), or an execution in the daemon's store: the start of its id");
  command.add_option("-e,--execution", choice.execution, "Only this execution: the start of its id");
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
  command.add_option("--source", choice.source, "The event source to show, where several were recorded");
  command.add_option("--store", choice.store,
                     "The directory of the store (default: that of the daemon, TAILOR_STORE)");
  command.add_flag("--json", choice.json, "JSON instead of text (docs/report-json.md)");
  command.add_flag("--ascii", choice.ascii, "No characters outside ASCII");
}

void add_loop_choice(CLI::App& command, Choice& choice) {
  command.add_option("--loop", choice.loop,
                     "The loop, where there are several: the name or number of its component");
  command
      .add_option("--iterations-from", choice.iterations_from,
                  "Find iterations by the engine's marks only, or by the times of samples only")
      ->check(CLI::IsMember({"marks", "samples"}));
}

Result<Chosen> choose(Choice choice) {
  const bool samples = choice.samples;
  if (choice.iteration.empty()) return open_choice(std::move(choice), samples);
  std::uint64_t number = 0;
  if (!parse_number(choice.iteration, number))
    return Error{fmt::format("\"{}\" is no number of an iteration", choice.iteration)};
  auto chosen = choose_loops(choice);
  if (!chosen) return chosen.error();
  auto loops = query::choose_loops(std::move(chosen->loops), choice.loop);
  if (!loops) return loops.error();
  auto only = query::only_iteration(chosen->profile, *loops, number);
  if (!only) return only.error();
  return Chosen{std::move(*only), std::move(chosen->selection)};
}

Result<ChosenLoops> choose_loops(const Choice& choice) {
  auto from = query::IterationsFrom::kBest;
  if (choice.iterations_from == "marks") from = query::IterationsFrom::kMarks;
  if (choice.iterations_from == "samples") from = query::IterationsFrom::kSamples;
  auto chosen = open_choice(choice, true);
  if (!chosen) return chosen.error();
  auto loops = query::find_loops(chosen->profile, chosen->selection, from);
  if (!loops) return loops.error();
  return ChosenLoops{std::move(chosen->profile), std::move(chosen->selection), std::move(*loops)};
}

Result<serve::ExecutionList> choose_executions(const Choice& choice, const serve::ExecutionFilter& filter) {
  if (!choice.what.empty()) {
    auto profile = load_any_file(choice.what, {});
    if (!profile) return profile.error();
    return serve::page_of(serve::rows_of(*profile), filter, Stop());
  }
  return serve::open_store_library(store_directory(choice.store), flush_daemon)->executions(filter, Stop());
}

}  // namespace tailor::cli
