#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <memory>
#include <vector>

#include "daemon/import/perf_import.h"
#include "daemon/profile/tee_sink.h"
#include "daemon/query/load/hit_functions.h"
#include "daemon/query/load/profile_loader.h"
#include "daemon/store/file_writer.h"
#include "daemon/store/output_target.h"
#include "proto/base/errors.h"
#include "viewer/cli/command.h"
#include "viewer/cli/import.h"
#include "viewer/cli/import_progress.h"
#include "viewer/cli/output_option.h"
#include "viewer/cli/text.h"

namespace tailor::cli {
namespace {

// A report's memory is bounded by what was read, but a gigabyte is for every file.
constexpr std::uint64_t kFreeBytes = std::uint64_t{16} << 20;

constexpr const char* kInputPath = "/proc/self/fd/0";

void tell_user(const std::string& text) {
  fmt::print(stderr, "tailor: {}\n", escape(text, false));
}

bool is_perf_data(store::Input& file) {
  std::array<std::uint8_t, 16> first{};
  auto got = file.read_at(0, first);
  return got.ok() && formats::is_perf_data(std::as_bytes(std::span(first).first(*got)));
}

// What a pipe gives, once and in its order: but for its begin, which is asked for twice.
class PipeInput : public store::Input {
 public:
  explicit PipeInput(int file) : file_(file) {}

  Result<std::size_t> read_at(std::uint64_t offset, std::span<std::uint8_t> out) override {
    if (offset < first_.size()) {
      const std::size_t bytes = std::min(out.size(), first_.size() - static_cast<std::size_t>(offset));
      std::copy_n(first_.begin() + static_cast<std::ptrdiff_t>(offset), bytes, out.begin());
      return bytes;
    }
    if (offset < at_)
      return invalid(
          "this recording was written into a file, so its end is needed before its begin, and a pipe cannot "
          "be "
          "read again: name the file itself, or pipe what perf record -o - writes");
    while (at_ < offset) {
      std::array<std::uint8_t, 4096> passed;
      auto got = next(std::span(passed).first(std::min<std::uint64_t>(passed.size(), offset - at_)));
      if (!got || *got == 0) return got;
    }
    return next(out);
  }

 private:
  static constexpr std::size_t kFirst = 4096;

  Result<std::size_t> next(std::span<std::uint8_t> out) {
    ssize_t got = 0;
    do got = ::read(file_, out.data(), out.size());
    while (got < 0 && errno == EINTR);
    if (got < 0) return os_error("cannot read the pipe", errno);
    const auto bytes = static_cast<std::size_t>(got);
    if (at_ == first_.size() && at_ < kFirst)
      first_.insert(first_.end(), out.begin(),
                    out.begin() + static_cast<std::ptrdiff_t>(std::min(bytes, kFirst - first_.size())));
    at_ += bytes;
    return bytes;
  }

  int file_;
  std::uint64_t at_ = 0;
  std::vector<std::uint8_t> first_;
};

// The files of a recording, and what is known about them.
struct Recording {
  std::unique_ptr<store::Input> file;
  std::vector<std::unique_ptr<store::Input>> parts;  // of a directory
  std::uint64_t bytes = 0;                           // of all, 0: not known
  importer::PerfImportOptions how;
};

// Of `perf record --threads`: the file "data", and "data.0" and so on with records alone.
Status open_parts(const std::string& directory, Recording& out) {
  std::vector<std::string> names;
  std::error_code unknown;
  for (const auto& entry : std::filesystem::directory_iterator(directory, unknown)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("data.") && name.find_first_not_of("0123456789", 5) == name.npos)
      names.push_back(name);
  }
  if (unknown) return os_error("cannot read the directory " + directory, unknown.value());
  std::ranges::sort(names);
  for (const std::string& name : names) {
    const std::string path = std::filesystem::path(directory) / name;
    auto part = store::open_file(path);
    if (!part) return part.error();
    out.how.parts.push_back({part->get(), name});
    out.parts.push_back(*std::move(part));
    out.bytes += std::filesystem::file_size(path, unknown);
  }
  return Ok{};
}

// Whether standard input is a file from its begin: then it can be read in any order.
bool is_file_on_input() {
  struct stat facts{};
  return ::fstat(STDIN_FILENO, &facts) == 0 && S_ISREG(facts.st_mode) &&
         ::lseek(STDIN_FILENO, 0, SEEK_CUR) == 0 && ::access(kInputPath, R_OK) == 0;
}

Result<Recording> open_recording(std::string path) {
  Recording out;
  if (path == "-" && !is_file_on_input()) {
    out.file = std::make_unique<PipeInput>(STDIN_FILENO);
    return out;
  }
  std::error_code unknown;
  if (path == "-") {
    path = kInputPath;  // nobody knows what lies beside it
  } else {
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
    out.how.directory = path.substr(0, path.rfind('/') + 1);
  }
  if (std::filesystem::is_directory(path, unknown)) {
    if (Status opened = open_parts(path, out); !opened) return opened.error();
    path += "/data";
  }
  auto file = store::open_file(path);
  if (!file) return file.error();
  out.file = *std::move(file);
  struct stat facts{};
  if (::stat(path.c_str(), &facts) == 0) {
    out.how.written_ns = facts.st_mtim.tv_sec * std::int64_t{1'000'000'000} + facts.st_mtim.tv_nsec;
    out.how.owner = facts.st_uid;
    out.bytes += static_cast<std::uint64_t>(facts.st_size);
  }
  return out;
}

struct ImportOptions {
  std::string file, output = "perf.tailor", dictionary;
  bool keep_old = false;
  importer::PerfImportOptions names;
};

int run_import(const ImportOptions& options) {
  auto input = open_recording(options.file);
  if (!input) return complain(input.error());
  importer::PerfImportOptions& how = input->how;
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
  const std::uint64_t size = input->bytes;
  const bool live = ::isatty(STDERR_FILENO) != 0;
  const auto begin = std::chrono::steady_clock::now();
  how.progress = [&](std::uint64_t done) -> Status {
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
    if (live)
      fmt::print(stderr, "\rtailor: {:{}}", import_progress(done, size, passed.count()), kProgressWidth);
    return Ok{};
  };
  auto output = store::FileWriter::create(options.output, {.keep_old = options.keep_old});
  if (!output) return complain(output.error());
  query::HitFunctions hits;
  profile::TeeSink both({output->get(), &hits});
  auto imported = importer::import_perf_data(*input->file, both, how);
  if (live) fmt::print(stderr, "\r{:{}}\r", "", 8 + kProgressWidth);  // what follows may be shorter
  if (!imported) return complain(in_context(options.file + ": ", imported.error()));
  for (const profile::FileNames& names : hits.names({}, query::symbol_cache())) (*output)->on_names(names);
  if (Status finished = (*output)->finish(); !finished) return complain(finished.error());
  for (const std::string& note : imported->notes) tell_user(note);
  const profile::Accounting& total = imported->total;
  const bool cut = !imported->damage.empty();  // the notes say what is missing
  tell_user(fmt::format("{} samples in {} ({} bytes); {} lost, {} late, {} records could not be read{}",
                        grouped(imported->samples), store::output_name(options.output),
                        (*output)->stats().bytes, grouped(total.lost_ring + total.lost_hardware),
                        grouped(total.late), grouped(total.undecoded),
                        cut ? ", and a part of the file is missing" : ""));
  if (imported->samples > 0 && !store::is_standard_output(options.output))
    tell_user("next: tailor report " + options.output);
  return cut && imported->samples == 0 ? nothing_to_show() : kOk;
}

}  // namespace

Result<query::Profile> load_any_file(const std::string& path, const query::LoadOptions& options,
                                     const std::function<void(const std::string&)>& tell) {
  std::error_code unknown;
  const bool directory = std::filesystem::exists(path + "/data", unknown);
  if (!directory) {
    auto input = store::open_file(path);
    if (!input) return input.error();
    if (!is_perf_data(**input)) return query::Profile::load_file(path, options);
  }
  auto recording = open_recording(path);
  if (!recording) return recording.error();
  return query::Profile::load_from(options, [&](query::ProfileLoader& loader) -> Status {
    importer::PerfImportOptions& how = recording->how;
    how.progress = [&](std::uint64_t read) { return loader.may_go_on(kFreeBytes + read); };
    auto imported = importer::import_perf_data(*recording->file, loader, how);
    if (!imported) return in_context(path + ": ", imported.error());
    for (const std::string& note : imported->notes)
      if (note != imported->damage) tell(note);
    store::ReadReport& report = loader.read_report();
    report.finished = imported->complete;
    report.damaged_spots = imported->damage.empty() ? 0 : 1;
    report.first_problem = imported->damage;
    report.samples = imported->samples;
    return Ok{};
  });
}

void add_import(CLI::App& app, Action& action) {
  CLI::App& command =
      *app.add_subcommand("import", "Makes a profile from a recording of another tool (perf.data)");
  auto options = std::make_shared<ImportOptions>();
  command
      .add_option("file", options->file,
                  "A perf.data of `perf record`: a file, a directory (--threads), or - for what a pipe gives")
      ->required();
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
