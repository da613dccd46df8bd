#include <fmt/format.h>

#include <map>
#include <memory>

#include "daemon/export/make_trace.h"
#include "daemon/export/parquet_tables.h"
#include "daemon/formats/trace_writers.h"
#include "daemon/serve/fingerprint.h"
#include "daemon/store/output_file.h"
#include "daemon/store/output_target.h"
#include "proto/base/errors.h"
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

const std::vector<std::string> kFormats = {"csv",     "firefox",  "folded", "otlp",
                                           "parquet", "perfetto", "pprof",  "speedscope"};

std::string written(const std::string& format, const formats::Trace& trace, std::uint16_t source) {
  if (format == "csv") return formats::write_csv(trace);
  if (format == "firefox") return formats::write_firefox(trace, source);
  if (format == "folded") return formats::write_folded(trace, source);
  if (format == "otlp") return formats::write_otlp(trace);
  if (format == "perfetto") return formats::write_perfetto(trace);
  if (format == "pprof") return formats::write_pprof(trace);
  return formats::write_speedscope(trace);
}

// Formats that hold samples of one unit only.
bool of_one_source(const std::string& format) {
  return format == "firefox" || format == "folded";
}

bool is_binary(const std::string& format) {
  return format == "otlp" || format == "pprof" || format == "perfetto";
}

// Names come from the recorded programs: a terminal must not obey them.
std::string shown(const std::string& format, std::string text) {
  if (!Terminal::detect().is_terminal || is_binary(format)) return text;
  const bool json = format == "firefox" || format == "speedscope";
  return json ? harmless_json(text) : harmless_lines(text);
}

int put(const std::string& format, std::string content, const std::string& path) {
  const bool to_terminal = store::is_standard_output(path);
  if (to_terminal) content = shown(format, std::move(content));
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

int run_export(ExportOptions options) {
  const bool tables = options.format == "parquet";
  if (tables && store::is_standard_output(options.output))
    return complain(invalid("a parquet export is a directory with a file for each table: name it with -o"));
  if (is_binary(options.format) && store::is_standard_output(options.output) &&
      Terminal::detect().is_terminal)
    return complain(invalid("a " + options.format + " file is no text: name it with -o"));
  options.choice.detail.functions = true;
  options.choice.detail.samples = true;
  auto chosen = choose(options.choice);
  if (!chosen) return complain(chosen.error());
  if (tables) return write_tables(*chosen, options.output);
  if (of_one_source(options.format) && !chosen->selection.source)
    chosen->selection.source = query::default_source(chosen->profile, chosen->selection);
  exporter::TraceOptions how{options.levels, "tailor " TAILOR_VERSION, chosen->keep, chosen->from,
                             chosen->to,     options.format == "csv"};
  if (options.format == "otlp") {
    how.build_ids = true;
    how.fingerprint = fingerprints_of(*chosen->whole);
  }
  auto trace = exporter::make_trace(*chosen->whole, chosen->selection, how);
  if (!trace) return complain(trace.error());
  if (trace->samples.empty())
    fmt::print(stderr, "tailor: nothing was sampled: the table has its head only\n");
  return put(options.format, written(options.format, *trace, 0), options.output);
}

}  // namespace

void add_export(CLI::App& app, Action& action) {
  CLI::App& command = *app.add_subcommand("export", "Writes the samples in the format of another tool");
  auto options = std::make_shared<ExportOptions>();
  add_choice(command, options->choice);
  add_time_choice(command, options->choice);
  command
      .add_option("--format", options->format,
                  "csv, firefox, folded, otlp, parquet, perfetto, pprof or speedscope")
      ->required()
      ->check(CLI::IsMember(kFormats));
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
          options->format == "parquet"
              ? refuse_given(command, {"--levels"}, "with parquet, which has all levels as tables")
              : Status(Ok{});
      return ok ? run_export(*options) : complain(ok.error());
    };
  });
}

}  // namespace tailor::cli
