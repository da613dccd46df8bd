#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <memory>

#include "daemon/import/perf_import.h"
#include "daemon/store/file_writer.h"
#include "daemon/store/output_target.h"
#include "proto/base/errors.h"
#include "viewer/cli/command.h"
#include "viewer/cli/import.h"
#include "viewer/cli/output_option.h"
#include "viewer/cli/text.h"

namespace tailor::cli {
namespace {

void tell_user(const std::string& text) {
  fmt::print(stderr, "tailor: {}\n", escape(text, false));
}

bool is_perf_data(store::Input& file) {
  std::array<std::uint8_t, 16> first{};
  auto got = file.read_at(0, first);
  return got.ok() && formats::is_perf_data(std::as_bytes(std::span(first).first(*got)));
}

importer::PerfImportOptions options_for(const std::string& path) {
  importer::PerfImportOptions options;
  options.directory = path.substr(0, path.rfind('/') + 1);
  struct stat facts{};
  if (::stat(path.c_str(), &facts) == 0)
    options.written_ns = facts.st_mtim.tv_sec * std::int64_t{1'000'000'000} + facts.st_mtim.tv_nsec;
  return options;
}

struct ImportOptions {
  std::string file, output = "perf.tailor", dictionary;
  bool keep_old = false;
  importer::PerfImportOptions names;
};

std::uint64_t size_of(const std::string& path) {
  struct stat facts{};
  return ::stat(path.c_str(), &facts) == 0 ? static_cast<std::uint64_t>(facts.st_size) : 0;
}

int run_import(const ImportOptions& options) {
  auto input = store::open_file(options.file);
  if (!input) return complain(input.error());
  importer::PerfImportOptions how = options_for(options.file);
  how.jitdumps = options.names.jitdumps;
  how.perf_maps = options.names.perf_maps;
  how.find_names = options.names.find_names;
  std::unique_ptr<store::Input> dictionary;
  if (!options.dictionary.empty()) {
    auto opened = store::open_file(options.dictionary);
    if (!opened) return complain(opened.error());
    dictionary = *std::move(opened);
    how.dictionary = dictionary.get();
  }
  const std::uint64_t size = size_of(options.file);
  const bool live = ::isatty(STDERR_FILENO) != 0;
  how.progress = [&](std::uint64_t done) {
    if (live && size > 0) fmt::print(stderr, "\rtailor: {} %", 100 * done / size);
  };
  auto output = store::FileWriter::create(options.output, {.keep_old = options.keep_old});
  if (!output) return complain(output.error());
  auto imported = importer::import_perf_data(**input, **output, how);
  if (live) fmt::print(stderr, "\r{:20}\r", "");  // what follows may be shorter
  if (!imported) return complain(in_context(options.file + ": ", imported.error()));
  if (Status finished = (*output)->finish(); !finished) return complain(finished.error());
  for (const std::string& note : imported->notes) tell_user(note);
  const profile::Accounting& total = imported->total;
  tell_user(fmt::format("{} samples in {} ({} bytes); {} lost, {} late, {} records could not be read",
                        grouped(imported->samples), store::output_name(options.output),
                        (*output)->stats().bytes, grouped(total.lost_ring + total.lost_hardware),
                        grouped(total.late), grouped(total.undecoded)));
  if (imported->samples > 0 && !store::is_standard_output(options.output))
    tell_user("next: tailor report " + options.output);
  return kOk;
}

}  // namespace

Result<query::Profile> load_any_file(const std::string& path, const query::LoadOptions& options) {
  auto input = store::open_file(path);
  if (!input) return input.error();
  if (!is_perf_data(**input)) return query::Profile::load_file(path, options);
  const importer::PerfImportOptions how = options_for(path);
  return query::Profile::load_from(options, [&](query::ProfileLoader& loader) -> Status {
    auto imported = importer::import_perf_data(**input, loader, how);
    if (!imported) return in_context(path + ": ", imported.error());
    loader.read_report().finished = true;
    loader.read_report().samples = imported->samples;
    return Ok{};
  });
}

void add_import(CLI::App& app, Action& action) {
  CLI::App& command =
      *app.add_subcommand("import", "Makes a profile from a recording of another tool (perf.data)");
  auto options = std::make_shared<ImportOptions>();
  command.add_option("file", options->file, "A perf.data file of `perf record`")->required();
  CLI::Option* output = add_output(command, options->output, "The profile");
  command.add_option("--jitdump", options->names.jitdumps, "A jitdump with the names of generated code")
      ->allow_extra_args(false);
  command
      .add_option("--perf-map", options->names.perf_maps,
                  "A perf map (perf-PID.map) with the names of generated code")
      ->allow_extra_args(false);
  command.add_option(
      "--dictionary", options->dictionary,
      "The journal of `tailor record --journal`, made on the same machine while perf recorded: what "
      "engines said then owns the samples (perf record -k CLOCK_MONOTONIC_RAW)");
  command.add_flag("!--no-find", options->names.find_names,
                   "Use the named files only, and look for no others");
  command.callback([options, output, &action] {
    options->keep_old = output->count() == 0;
    action = [options] { return run_import(*options); };
  });
}

}  // namespace tailor::cli
