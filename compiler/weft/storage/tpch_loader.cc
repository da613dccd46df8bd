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
#include "proto/base/errors.h"

extern char** environ;

namespace tailor::weft {
namespace fs = std::filesystem;
namespace {

bool is_program(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

// Runs a program with no standard input and its output discarded; its error stream goes to a file whose first
// line explains a failure.
Status run(const std::vector<std::string>& command, const std::string& error_file) {
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
  if (code != 0) return os_error(fmt::format("cannot run {}: {}", command[0], std::strerror(code)), code);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return Ok{};
  std::string said;
  if (Result<MappedFile> errors = MappedFile::open(error_file); errors.ok()) {
    said.assign(reinterpret_cast<const char*>(errors->bytes().data()),
                std::min<std::size_t>(errors->bytes().size(), 400));
  }
  return internal(fmt::format("{} failed (status {}): {}", command[0], status, said));
}

// Share of the bytes of a TPC-H database, which is also about the share of the work.
double work_share(const std::string& table) {
  if (table == "lineitem") return 0.71;
  if (table == "orders") return 0.16;
  if (table == "partsupp") return 0.09;
  if (table == "part" || table == "customer") return 0.018;
  return 0.001;
}

// A folder for the generator's text, removed at the end.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(fs::path path) : path_(std::move(path)) { fs::create_directories(path_, error_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Status check() const {
    if (!error_) return Ok{};
    return os_error(fmt::format("cannot make {}: {}", path_.string(), error_.message()), error_.value());
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
  std::error_code error_;
};

class Loader {
 public:
  Loader(const TpchLoadOptions& options, std::string generator)
      : options_(options), generator_(std::move(generator)) {}

  // Small databases are generated at once, since starting the generator costs more than its work; large ones
  // table by table and in pieces of about a scale factor's worth of text, which bounds the temporary space.
  Status load(const std::vector<const TableDefinition*>& tables) {
    if (options_.scale_factor <= 1) return load_whole(tables);
    for (const TableDefinition* table : tables) {
      if (Status status = load_in_parts(*table); !status.ok()) return status;
    }
    return Ok{};
  }

 private:
  Status load_whole(const std::vector<const TableDefinition*>& tables) {
    TemporaryFolder folder(folder_path());
    std::string names;
    double share = 0;
    for (const TableDefinition* table : tables) {
      names += (names.empty() ? "" : ",") + table->name;
      share += work_share(table->name);
    }
    if (Status status = generate(folder, names, {}); !status.ok()) return status;
    advance("text", share / 2);
    for (const TableDefinition* table : tables) {
      std::vector<RowGroup> groups;
      if (Status status = parse(folder, *table, work_share(table->name) / 2, groups); !status.ok())
        return status;
      if (Status status = write_table_file(path(*table), *table, groups, options_.threads); !status.ok())
        return status;
    }
    return Ok{};
  }

  Status load_in_parts(const TableDefinition& table) {
    bool fixed = table.name == "nation" || table.name == "region";
    unsigned parts = fixed ? 1 : static_cast<unsigned>(std::ceil(options_.scale_factor));
    double share = work_share(table.name) / parts / 2;
    std::vector<RowGroup> groups;
    for (unsigned part = 1; part <= parts; ++part) {
      TemporaryFolder folder(folder_path());
      std::vector<std::string> which;
      if (parts > 1) which = {"--parts", std::to_string(parts), "--part", std::to_string(part)};
      if (Status status = generate(folder, table.name, which); !status.ok()) return status;
      advance(table.name, share);
      if (Status status = parse(folder, table, share, groups); !status.ok()) return status;
    }
    return write_table_file(path(table), table, groups, options_.threads);
  }

  fs::path folder_path() const {
    return fs::path(options_.directory) / fmt::format("generate.{}", ::getpid());
  }
  std::string path(const TableDefinition& table) const {
    return fmt::format("{}/{}.weft", options_.directory, table.name);
  }

  Status generate(const TemporaryFolder& folder, const std::string& tables,
                  const std::vector<std::string>& which) {
    if (Status status = folder.check(); !status.ok()) return status;
    std::vector<std::string> command = {generator_,     "tbl",
                                        "-s",           fmt::format("{}", options_.scale_factor),
                                        "-T",           tables,
                                        "--output-dir", folder.path().string(),
                                        "-n",           std::to_string(options_.threads),
                                        "-q",           "--no-progress"};
    command.insert(command.end(), which.begin(), which.end());
    return run(command, (folder.path() / "errors.txt").string());
  }

  // Text of a table: "lineitem.tbl", or in parts "lineitem/lineitem.3.tbl".
  static fs::path find_text(const TemporaryFolder& folder, const std::string& table) {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder.path())) {
      std::string stem = entry.path().stem().string();
      if (entry.path().extension() == ".tbl" && stem.substr(0, stem.find('.')) == table) return entry.path();
    }
    return {};
  }

  Status parse(const TemporaryFolder& folder, const TableDefinition& table, double share,
               std::vector<RowGroup>& groups) {
    fs::path path = find_text(folder, table.name);
    if (path.empty()) return internal(fmt::format("{} wrote no table {}", generator_, table.name));
    Result<MappedFile> text = MappedFile::open(path.string());
    if (!text.ok()) return std::move(text).error();
    std::string_view bytes(reinterpret_cast<const char*>(text->bytes().data()), text->bytes().size());
    double total = static_cast<double>(std::max<std::size_t>(bytes.size(), 1));
    Result<std::vector<RowGroup>> parsed = parse_delimited(
        bytes, path.string(), table.columns, DelimitedFormat{}, options_.threads,
        [&](std::size_t done) { advance(table.name, share * static_cast<double>(done) / total); });
    if (!parsed.ok()) return std::move(parsed).error();
    std::move(parsed->begin(), parsed->end(), std::back_inserter(groups));
    return Ok{};
  }

  void advance(const std::string& table, double share) {
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

std::string default_data_directory() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && cache[0] == '/') {
    return std::string(cache) + "/weft";
  }
  const char* home = std::getenv("HOME");
  return std::string(home == nullptr ? "/tmp" : home) + "/.cache/weft";
}

std::string tpch_directory(const std::string& data_directory, double scale_factor) {
  return fmt::format("{}/tpch-sf{}", data_directory, scale_factor);
}

Result<std::string> find_tpch_generator() {
  if (const char* named = std::getenv("WEFT_TPCHGEN"); named != nullptr && *named != 0) {
    if (is_program(named)) return std::string(named);
    return invalid(fmt::format("WEFT_TPCHGEN names {}, which is not a program", named));
  }
  std::string_view path = std::getenv("PATH") == nullptr ? "" : std::getenv("PATH");
  while (!path.empty()) {
    std::size_t end = std::min(path.find(':'), path.size());
    fs::path candidate = fs::path(path.substr(0, end)) / "tpchgen-cli";
    if (is_program(candidate)) return candidate.string();
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  fs::path own = fs::path(WEFT_SOURCE_DIRECTORY) / ".dev/cache/venv/bin/tpchgen-cli";
  if (is_program(own)) return own.string();
  return internal(
      "no TPC-H generator found: install it with `pip install tpchgen-cli` so that `tpchgen-cli` is in PATH, "
      "or name it in WEFT_TPCHGEN");
}

Status load_tpch(const TpchLoadOptions& options) {
  std::error_code code;
  fs::create_directories(options.directory, code);
  if (code)
    return os_error(fmt::format("cannot make {}: {}", options.directory, code.message()), code.value());
  std::vector<const TableDefinition*> missing;
  for (const TableDefinition& table : tpch_tables()) {
    if (!open_table_file(fmt::format("{}/{}.weft", options.directory, table.name)).ok())
      missing.push_back(&table);
  }
  if (missing.empty()) return Ok{};
  Result<std::string> generator = find_tpch_generator();
  if (!generator.ok()) return std::move(generator).error();
  return Loader(options, *generator).load(missing);
}

}  // namespace tailor::weft
