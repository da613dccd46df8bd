#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <map>
#include <memory>

#include "daemon/export/export_formats.h"
#include "daemon/export/make_trace.h"
#include "daemon/export/parquet_tables.h"
#include "daemon/serve/fingerprint.h"
#include "daemon/store/output_file.h"
#include "daemon/store/output_target.h"
#include "proto/base/errors.h"
#include "proto/base/unique_fd.h"
#include "viewer/cli/choose.h"
#include "viewer/cli/command.h"
#include "viewer/cli/ignored_options.h"
#include "viewer/cli/table_directory.h"
#include "viewer/cli/text.h"

namespace tailor::cli {
namespace {

struct ExportOptions {
  Choice choice;
  std::string format, output = "-";
  std::vector<std::string> levels = exporter::TraceOptions{}.levels;
};

using exporter::ExportFormat;

// The terminal may be named too: -o /dev/tty.
bool is_terminal(const std::string& output) {
  if (store::is_standard_output(output)) return Terminal::detect().is_terminal;
  struct stat info{};
  if (::stat(output.c_str(), &info) != 0 || !S_ISCHR(info.st_mode)) return false;
  const UniqueFd device(::open(output.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  return device && ::isatty(device.get()) == 1;
}

// Names come from the recorded programs: a terminal must not obey them.
std::string shown(ExportFormat::Content content, std::string text) {
  if (content == ExportFormat::Content::kBinary) return text;
  return content == ExportFormat::Content::kJson ? harmless_json(text) : harmless_lines(text);
}

int put(const ExportFormat& format, std::string content, const std::string& path) {
  if (is_terminal(path)) content = shown(format.content, std::move(content));
  const Status written = store::write_output(path, content);
  return written ? kOk : complain(written.error());
}

// Each execution's once: there are many more questions than executions.
std::function<std::string(ProcessId, ExecutionHandle)> fingerprints_of(const query::Profile& profile) {
  auto known = std::make_shared<std::map<query::InProcess<ExecutionHandle>, std::string>>();
  return [&profile, known](ProcessId process, ExecutionHandle handle) {
    const auto [at, fresh] = known->try_emplace({process, handle});
    const profile::ExecutionRecord* record = fresh ? profile.execution(process, handle) : nullptr;
    if (record != nullptr) {
      store::ExecutionRow row;
      row.record = *record;
      if (const query::PlanModel* plan = profile.plan(process, record->plan)) row.plan_name = plan->name();
      at->second = serve::fingerprint_of(row);
    }
    return at->second;
  };
}

int write_tables(const serve::View& view, const std::string& path) {
  auto open = open_table_directory(path);
  if (!open) return complain(open.error());
  const exporter::ParquetOptions options{"tailor version " TAILOR_VERSION, fingerprints_of(*view.whole),
                                         view.keep};
  auto samples = exporter::export_parquet(*view.whole, view.selection, options, *open);
  if (!samples) return complain(samples.error());
  fmt::print(stderr, "tailor: {} samples in {}\n", grouped(*samples),
             escape(path + "/samples.parquet", false));
  return kOk;
}

// Why it cannot be written to where it shall go.
Status may_be_put(const ExportFormat& format, const std::string& output) {
  if (format.content == ExportFormat::Content::kTables && store::is_standard_output(output))
    return invalid(
        fmt::format("a {} export is a directory with a file for each table: name it with -o", format.name));
  if (format.content == ExportFormat::Content::kBinary && is_terminal(output))
    return invalid(fmt::format("a {} file is no text: name it with -o", format.name));
  return Ok{};
}

int run_export(ExportOptions options) {
  const ExportFormat& format = *exporter::find_export_format(options.format);
  if (Status may = may_be_put(format, options.output); !may.ok()) return complain(may.error());
  options.choice.detail.functions = true;
  options.choice.detail.samples = true;
  auto chosen = choose(options.choice);
  if (!chosen) return complain(chosen.error());
  if (format.write == nullptr) return write_tables(*chosen, options.output);
  if (format.sources == ExportFormat::Sources::kOne && !chosen->selection.source)
    chosen->selection.source = query::default_source(chosen->profile, chosen->selection);
  exporter::TraceOptions how{options.levels, "tailor " TAILOR_VERSION, chosen->keep, chosen->from,
                             chosen->to,     format.may_be_empty};
  if (format.has_build_ids) {
    how.build_ids = true;
    how.fingerprint = fingerprints_of(*chosen->whole);
  }
  auto trace = exporter::make_trace(*chosen->whole, chosen->selection, how);
  if (!trace) return complain(trace.error());
  if (trace->samples.empty())
    fmt::print(stderr, "tailor: nothing was sampled: the table has its head only\n");
  return put(format, format.write(*trace), options.output);
}

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const ExportFormat& format : exporter::export_formats()) names.emplace_back(format.name);
  return names;
}

}  // namespace

void add_export(CLI::App& app, Action& action) {
  CLI::App& command = *app.add_subcommand("export", "Writes the samples in the format of another tool");
  auto options = std::make_shared<ExportOptions>();
  add_choice(command, options->choice);
  add_time_choice(command, options->choice);
  command.add_option("--format", options->format, fmt::format("One of: {}", fmt::join(format_names(), ", ")))
      ->required()
      ->check(CLI::IsMember(format_names()));
  command
      .add_option("-o,--output", options->output,
                  "The file, of parquet the directory; replaced if it exists. -: standard output")
      ->capture_default_str();
  command
      .add_option("--levels", options->levels,
                  "Frames of the stacks, outermost first: process, plan, pipeline, function, the name of a "
                  "level of the plans (operator, task, ir), or levels (all levels except the lowest)")
      ->delimiter(',')
      ->capture_default_str();
  command.callback([options, &command, &action] {
    action = [options, &command] {
      const Status ok =
          exporter::find_export_format(options->format)->write == nullptr
              ? refuse_given(command, {"--levels"}, "with parquet, which has all levels as tables")
              : Status(Ok{});
      return ok ? run_export(*options) : complain(ok.error());
    };
  });
}

}  // namespace tailor::cli
