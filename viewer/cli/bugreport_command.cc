// `tailor bugreport`: what a maintainer needs to know of this host, in one file.
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/store/output_file.h"
#include "daemon/store/output_target.h"
#include "proto/base/errors.h"
#include "viewer/cli/bug_report.h"
#include "viewer/cli/command.h"
#include "viewer/cli/daemon.h"
#include "viewer/cli/doctor.h"
#include "viewer/cli/output_option.h"
#include "viewer/cli/program_output.h"
#include "viewer/cli/status_json.h"
#include "viewer/cli/text.h"

namespace tailor::cli {
namespace {

constexpr std::size_t kMostLogBytes = 4 << 20, kMostFileBytes = 1 << 20;
constexpr const char* kDefaultConfig = "/etc/tailor/tailord.toml";

struct BugreportOptions {
  std::string output = "tailor-bugreport.tar.gz";
  bool keep_old = false;
  std::string journal, config, log;
};

Error system_error(const std::string& what, int code) {
  return {what + ": " + std::generic_category().message(code), code, kind_of_errno(code)};
}

// A file of text, no more than `most` bytes of its end.
Result<std::string> read_start_of(const std::string& path, std::size_t most) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return system_error("cannot read " + path, errno);
  std::string text;
  std::array<char, 65536> piece{};
  while (in.read(piece.data(), piece.size()) || in.gcount() > 0) {
    text.append(piece.data(), static_cast<std::size_t>(in.gcount()));
    if (text.size() > 2 * most) text.erase(0, text.size() - most);
  }
  if (in.bad()) return system_error("cannot read " + path, errno);
  if (text.size() > most) text.erase(0, text.size() - most);
  return text;
}

// A folder of our own that is gone afterwards.
class Folder {
 public:
  static Result<std::unique_ptr<Folder>> make() {
    const char* base = std::getenv("TMPDIR");
    std::string path = std::string(base != nullptr && *base != '\0' ? base : "/tmp") + "/tailor-XXXXXX";
    if (::mkdtemp(path.data()) == nullptr) return system_error("cannot make " + path, errno);
    return std::make_unique<Folder>(std::move(path));
  }
  explicit Folder(std::string path) : path_(std::move(path)) {}
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Collects the parts in a folder, and says of each what it is.
class Bundle {
 public:
  explicit Bundle(std::string folder) : folder_(std::move(folder)) {
    std::array<char, 256> name{};
    if (::gethostname(name.data(), name.size() - 1) == 0) host_ = name.data();
  }

  // Of a part that is not to be had, the reason is in the list of contents.
  void add(const std::string& name, const Result<std::string>& text) {
    if (!text) {
      contents_ += fmt::format("{}: missing: {}\n", name, clean_for_others(text.error().message, host_).text);
      return;
    }
    const Cleaned cleaned = clean_for_others(*text, host_);
    write(name, cleaned.text);
    contents_ += fmt::format("{}: {} bytes, removed: {}\n", name, cleaned.text.size(), cleaned.removed);
  }

  // As it is.
  Status add_file(const std::string& name, const std::string& path) {
    std::error_code error;
    std::filesystem::copy_file(path, folder_ + "/" + name, error);
    if (error) return system_error("cannot copy " + path, error.value());
    contents_ += name + ": as it is; it may hold literals of queries\n";
    return Ok{};
  }

  // The list of contents; the error of the first part that could not be written.
  Result<std::string> finish() {
    write("contents.txt", contents_);
    if (!written_) return written_.error();
    return contents_;
  }

 private:
  void write(const std::string& name, const std::string& text) {
    const std::string path = folder_ + "/" + name;
    std::ofstream out(path, std::ios::binary);
    out << text;
    out.close();
    if (!out && written_) written_ = system_error("cannot write " + path, errno);
  }

  std::string folder_, host_, contents_;
  Status written_ = Ok{};
};

// The file that the running daemon was given, else the default one.
std::string config_of(const Result<v1::DaemonStatus>& status) {
  if (!status) return kDefaultConfig;
  std::ifstream in(fmt::format("/proc/{}/cmdline", status->pid()), std::ios::binary);
  bool next = false;
  for (std::string argument; std::getline(in, argument, '\0');) {
    if (next) return argument;
    next = argument == "--config";
    if (argument.starts_with("--config=")) return argument.substr(argument.find('=') + 1);
  }
  return kDefaultConfig;
}

std::string host_text() {
  utsname kernel{};
  ::uname(&kernel);
  std::string text =
      fmt::format("tailor {}\n{} {} {}\n", TAILOR_VERSION, kernel.sysname, kernel.release, kernel.machine);
  if (const auto release = read_start_of("/etc/os-release", kMostFileBytes)) text += *release;
  return text;
}

Result<std::string> log_of(const std::string& file) {
  if (!file.empty()) return read_start_of(file, kMostLogBytes);
  return program_output(
      {"journalctl", "--unit=tailord", "--lines=5000", "--no-pager", "--output=short-iso", "--no-hostname"},
      kMostLogBytes);
}

// It is for its owner to give away: nobody else can read what is unpacked of it either, and it names no user.
Status pack(const std::string& folder, const std::string& to) {
  const auto packed = program_output({"tar", "-C", folder, "--mode=u=rwX,go=", "--owner=0", "--group=0",
                                      "--numeric-owner", "-czf", to, "tailor-bugreport"},
                                     0);
  if (!packed) return in_context("cannot pack the report: ", packed.error());
  return Ok{};
}

Status hand_out(const std::string& packed, const BugreportOptions& options) {
  store::OutputOptions how;
  how.keep_old = options.keep_old;
  how.mode = 0600;
  auto to = store::open_output(options.output, how);
  if (!to) return to.error();
  std::ifstream in(packed, std::ios::binary);
  std::array<char, 65536> piece{};
  while (in.read(piece.data(), piece.size()) || in.gcount() > 0) {
    if (Status done = (*to)->append({piece.data(), static_cast<std::size_t>(in.gcount())}); !done)
      return done;
  }
  if (in.bad() || !in.eof()) return system_error("cannot read " + packed, errno);
  if (Status done = (*to)->sync(); !done) return done;
  return (*to)->complete();
}

int run_bugreport(const BugreportOptions& options) {
  ::umask(077);
  auto folder = Folder::make();
  if (!folder) return complain(folder.error());
  const std::string parts = (*folder)->path() + "/tailor-bugreport";
  std::error_code error;
  if (!std::filesystem::create_directory(parts, error))
    return complain(system_error("cannot make " + parts, error.value()));

  Bundle bundle(parts);
  const auto status = ask_status_of_now();
  bundle.add("host.txt", host_text());
  if (status)
    bundle.add("status.json", status_json(*status));
  else
    bundle.add("status.json", status.error());
  std::vector<Finding> findings = look_at_host(os::real());
  std::ranges::move(ask_daemon(), std::back_inserter(findings));
  bundle.add("doctor.json", findings_json(findings));
  bundle.add("tailord.toml",
             read_start_of(options.config.empty() ? config_of(status) : options.config, kMostFileBytes));
  bundle.add("tailord.log", log_of(options.log));
  if (!options.journal.empty()) {
    if (Status copied = bundle.add_file("journal", options.journal); !copied) return complain(copied.error());
  }
  const auto contents = bundle.finish();
  if (!contents) return complain(contents.error());

  const std::string packed = (*folder)->path() + "/packed.tar.gz";
  if (Status done = pack((*folder)->path(), packed); !done) return complain(done.error());
  if (Status done = hand_out(packed, options); !done) return complain(done.error());
  const bool to_stdout = store::is_standard_output(options.output);
  const std::string name = escape(store::output_name(options.output), false);
  fmt::print(
      to_stdout ? stderr : stdout,
      "{}\n{}What looks like a token, names of users in paths, and this host's name are removed from all but "
      "a journal.\n"
      "Look at it before you send it: tar -xzf {}\n",
      name, *contents, to_stdout ? "FILE" : name);
  return kOk;
}

}  // namespace

void add_bugreport(CLI::App& app, Action& action) {
  CLI::App& command = *app.add_subcommand(
      "bugreport", "Puts the state of this host's Tailor into one file: status, checks, configuration, log");
  auto options = std::make_shared<BugreportOptions>();
  CLI::Option* output = add_output(command, options->output, "The file");
  command.add_option(
      "--config", options->config,
      "The daemon's configuration (default: that of the running daemon, else /etc/tailor/tailord.toml)");
  command.add_option("--log", options->log,
                     "The daemon's log (default: what journalctl has of the unit tailord)");
  command.add_option(
      "--journal", options->journal,
      "Also a recording made with --journal. It is added as it is, with literals if it holds any");
  command.callback([options, output, &action] {
    options->keep_old = output->count() == 0;
    action = [options] { return run_bugreport(*options); };
  });
}

}  // namespace tailor::cli
