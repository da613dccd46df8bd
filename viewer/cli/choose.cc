#include "viewer/cli/choose.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "daemon/query/report_json.h"

namespace tailor::cli {
namespace {

Status select_execution(const Choice& choice, const std::string& prefix, Chosen& chosen) {
  const store::ExecutionRecord* execution = nullptr;
  if (!prefix.empty()) {
    auto found = find_execution(chosen.profile, prefix);
    if (!found) return found.error();
    execution = *found;
  } else if (choice.last) {
    if (chosen.profile.executions().empty()) return Error{"the profile holds no execution"};
    execution = &chosen.profile.executions().back();
  }
  if (execution == nullptr) return Ok{};
  chosen.selection.process = execution->process;
  chosen.selection.execution = execution->handle;
  return Ok{};
}

Status select_source(const std::string& name, Chosen& chosen) {
  if (name.empty()) return Ok{};
  std::string known;
  for (const capture::Source& source : chosen.profile.recording().sources) {
    if (source.name == name) {
      chosen.selection.source = source.index;
      return Ok{};
    }
    known += (known.empty() ? "" : ", ") + source.name;
  }
  return Error{fmt::format("no source \"{}\" was recorded; there are: {}", name, known)};
}

Status select_process(const std::string& pid, Chosen& chosen) {
  if (pid.empty()) return Ok{};
  std::int32_t wanted = 0;
  const auto [end, error] = std::from_chars(pid.data(), pid.data() + pid.size(), wanted);
  if (error != std::errc() || end != pid.data() + pid.size())
    return Error{fmt::format("\"{}\" is no pid", pid)};
  // A pid may have been used twice: the last process of that number counts.
  for (const auto& [process, record] : chosen.profile.processes()) {
    if (process.pid == wanted) chosen.selection.process = process;
  }
  if (!chosen.selection.process) return Error{fmt::format("the profile knows no process {}", pid)};
  return Ok{};
}

}  // namespace

void add_choice(CLI::App& command, Choice& choice) {
  command.add_option("what", choice.what, "A profile (.tailor file)");
  command.add_option("-e,--execution", choice.execution, "Only this execution: its id, or the start of it");
  command.add_flag("--last", choice.last, "Only the execution that began last");
  command.add_option("-p,--pid", choice.process, "Only this process");
  command.add_option("--source", choice.source, "The event source to show, where several were recorded");
  command.add_flag("--json", choice.json, "JSON instead of text (docs/report-json.md)");
  command.add_flag("--ascii", choice.ascii, "No characters outside ASCII");
}

Result<const store::ExecutionRecord*> find_execution(const query::Profile& profile,
                                                     const std::string& prefix) {
  std::string wanted = prefix;
  std::transform(wanted.begin(), wanted.end(), wanted.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  const store::ExecutionRecord* found = nullptr;
  for (const store::ExecutionRecord& execution : profile.executions()) {
    if (!query::hex(execution.id).starts_with(wanted)) continue;
    if (found != nullptr) {
      return Error{
          fmt::format("\"{}\" is the start of several executions, {} and {} among them: give more digits",
                      prefix, query::hex(found->id), query::hex(execution.id))};
    }
    found = &execution;
  }
  if (found == nullptr) {
    return Error{fmt::format("no execution begins with \"{}\"; `tailor list` shows those there are", prefix)};
  }
  return found;
}

Result<Chosen> choose(const Choice& choice) {
  if (choice.what.empty()) return Error{"which profile? Give a .tailor file"};
  auto profile = query::Profile::load_file(choice.what);
  if (!profile) return profile.error();
  Chosen chosen{std::move(*profile), {}};
  if (auto ok = select_process(choice.process, chosen); !ok) return ok.error();
  if (auto ok = select_execution(choice, choice.execution, chosen); !ok) return ok.error();
  if (auto ok = select_source(choice.source, chosen); !ok) return ok.error();
  return chosen;
}

}  // namespace tailor::cli
