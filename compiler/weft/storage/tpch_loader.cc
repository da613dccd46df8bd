#include "compiler/weft/storage/tpch_loader.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>

#include "compiler/weft/storage/mapped_file.h"
#include "compiler/weft/storage/tpch_schema.h"

extern char** environ;

namespace tailor::weft {
namespace fs = std::filesystem;
namespace {

bool IsProgram(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

// Runs a program with no standard input and its output discarded; its error stream goes to a file whose first
// line explains a failure.
Status Run(const std::vector<std::string>& command, const std::string& error_file) {
  std::vector<char*> arguments;
  for (const std::string& part : command) arguments.push_back(const_cast<char*>(part.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 2, error_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  pid_t pid = 0;
  int code = ::posix_spawn(&pid, command[0].c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (code != 0) return Error{fmt::format("cannot run {}: {}", command[0], std::strerror(code)), code};
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return Ok{};
  std::string said;
  if (Result<MappedFile> errors = MappedFile::Open(error_file); errors.ok()) {
    said.assign(reinterpret_cast<const char*>(errors->bytes().data()),
                std::min<std::size_t>(errors->bytes().size(), 400));
  }
  return Error{fmt::format("{} failed (status {}): {}", command[0], status, said)};
}

// Share of the bytes of a TPC-H database, which is also about the share of the work.
double WorkShare(const std::string& table) {
  if (table == "lineitem") return 0.71;
  if (table == "orders") return 0.16;
  if (table == "partsupp") return 0.09;
  if (table == "part" || table == "customer") return 0.018;
  return 0.001;
}

class Loader {
 public:
  Loader(const TpchLoadOptions& options, std::string generator)
      : options_(options), generator_(std::move(generator)) {}

  Status Load(const TableDefinition& table) {
    std::string path = fmt::format("{}/{}.weft", options_.directory, table.name);
    if (OpenTableFile(path).ok()) {
      Advance(table.name, WorkShare(table.name));
      return Ok{};
    }
    // A piece holds at most about a scale factor's worth of text, which bounds the temporary space.
    unsigned parts = table.name == "nation" || table.name == "region"
                         ? 1
                         : std::max(1u, static_cast<unsigned>(std::ceil(options_.scale_factor)));
    std::vector<RowGroup> groups;
    for (unsigned part = 1; part <= parts; ++part) {
      if (Status status = LoadPart(table, part, parts, groups); !status.ok()) return status;
    }
    return WriteTableFile(path, table, groups, options_.threads);
  }

 private:
  Status LoadPart(const TableDefinition& table, unsigned part, unsigned parts,
                  std::vector<RowGroup>& groups) {
    fs::path folder = fs::path(options_.directory) / fmt::format("generate.{}", ::getpid());
    std::error_code code;
    fs::create_directories(folder, code);
    if (code) return Error{fmt::format("cannot make {}: {}", folder.string(), code.message()), code.value()};
    Status status = LoadPartIn(folder, table, part, parts, groups);
    fs::remove_all(folder, code);
    return status;
  }

  Status LoadPartIn(const fs::path& folder, const TableDefinition& table, unsigned part, unsigned parts,
                    std::vector<RowGroup>& groups) {
    std::vector<std::string> command = {generator_,     "tbl",
                                        "-s",           fmt::format("{}", options_.scale_factor),
                                        "-T",           table.name,
                                        "--output-dir", folder.string(),
                                        "-n",           std::to_string(options_.threads),
                                        "-q",           "--no-progress"};
    if (parts > 1) {
      command.insert(command.end(), {"--parts", std::to_string(parts), "--part", std::to_string(part)});
    }
    double share = WorkShare(table.name) / parts;
    Status ran = Run(command, (folder / "errors.txt").string());
    if (!ran.ok()) return ran;
    Advance(table.name, share / 2);
    fs::path text_path;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.path().extension() == ".tbl") text_path = entry.path();
    }
    if (text_path.empty()) return Error{fmt::format("{} wrote no table {}", generator_, table.name)};
    Result<MappedFile> text = MappedFile::Open(text_path.string());
    if (!text.ok()) return std::move(text).error();
    std::string_view bytes(reinterpret_cast<const char*>(text->bytes().data()), text->bytes().size());
    double total = static_cast<double>(std::max<std::size_t>(bytes.size(), 1));
    Result<std::vector<RowGroup>> parsed = ParseDelimited(
        bytes, text_path.string(), table.columns, DelimitedFormat{}, options_.threads,
        [&](std::size_t done) { Advance(table.name, share / 2 * static_cast<double>(done) / total); });
    if (!parsed.ok()) return std::move(parsed).error();
    std::move(parsed->begin(), parsed->end(), std::back_inserter(groups));
    return Ok{};
  }

  void Advance(const std::string& table, double share) {
    std::lock_guard lock(mutex_);
    done_ += share;
    if (options_.progress) options_.progress({table, std::min(done_, 1.0)});
  }

  const TpchLoadOptions& options_;
  std::string generator_;
  std::mutex mutex_;
  double done_ = 0;
};

}  // namespace

std::string DefaultDataDirectory() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && cache[0] == '/') {
    return std::string(cache) + "/weft";
  }
  const char* home = std::getenv("HOME");
  return std::string(home == nullptr ? "/tmp" : home) + "/.cache/weft";
}

std::string TpchDirectory(const std::string& data_directory, double scale_factor) {
  return fmt::format("{}/tpch-sf{}", data_directory, scale_factor);
}

Result<std::string> FindTpchGenerator() {
  if (const char* named = std::getenv("WEFT_TPCHGEN"); named != nullptr && *named != 0) {
    if (IsProgram(named)) return std::string(named);
    return Error{fmt::format("WEFT_TPCHGEN names {}, which is not a program", named)};
  }
  std::string_view path = std::getenv("PATH") == nullptr ? "" : std::getenv("PATH");
  while (!path.empty()) {
    std::size_t end = std::min(path.find(':'), path.size());
    fs::path candidate = fs::path(path.substr(0, end)) / "tpchgen-cli";
    if (IsProgram(candidate)) return candidate.string();
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  fs::path own = fs::path(WEFT_SOURCE_DIRECTORY) / ".dev/cache/venv/bin/tpchgen-cli";
  if (IsProgram(own)) return own.string();
  return Error{
      "no TPC-H generator found: install it with `pip install tpchgen-cli` so that `tpchgen-cli` is in PATH, "
      "or name it in WEFT_TPCHGEN"};
}

Status LoadTpch(const TpchLoadOptions& options) {
  std::error_code code;
  fs::create_directories(options.directory, code);
  if (code) return Error{fmt::format("cannot make {}: {}", options.directory, code.message()), code.value()};
  bool complete = std::ranges::all_of(TpchTables(), [&](const TableDefinition& table) {
    return OpenTableFile(fmt::format("{}/{}.weft", options.directory, table.name)).ok();
  });
  if (complete) return Ok{};
  Result<std::string> generator = FindTpchGenerator();
  if (!generator.ok()) return std::move(generator).error();
  Loader loader(options, *generator);
  for (const TableDefinition& table : TpchTables()) {
    if (Status status = loader.Load(table); !status.ok()) return status;
  }
  return Ok{};
}

}  // namespace tailor::weft
