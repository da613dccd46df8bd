#include "compiler/weft/workflow/clang.h"

#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "proto/base/errors.h"

namespace tailor::weft::workflow {
namespace {

constexpr int kMostMilliseconds = 60'000;
constexpr std::size_t kMostBitcode = std::size_t{64} << 20;
constexpr std::size_t kMostMessages = std::size_t{16} << 10;
constexpr const char* kDebianFolder = "/usr/lib/llvm-19/bin";

bool is_program(const std::string& path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

std::string in_path(std::string_view program) {
  const char* path = std::getenv("PATH");
  std::string_view folders = path == nullptr ? "" : path;
  while (!folders.empty()) {
    const std::size_t end = std::min(folders.find(':'), folders.size());
    const std::string candidate = fmt::format("{}/{}", folders.substr(0, end), program);
    if (end > 0 && is_program(candidate)) return candidate;
    folders.remove_prefix(std::min(end + 1, folders.size()));
  }
  return {};
}

// A file in memory. Unlike a pipe it needs nobody at its other end.
class MemoryFile {
 public:
  static Result<MemoryFile> create(const char* name) {
    const int file = ::memfd_create(name, MFD_CLOEXEC);
    if (file < 0)
      return os_error(fmt::format("cannot make a file in memory: {}", std::strerror(errno)), errno);
    return MemoryFile(file);
  }
  MemoryFile(MemoryFile&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  MemoryFile& operator=(MemoryFile&&) = delete;
  ~MemoryFile() {
    if (file_ >= 0) ::close(file_);
  }
  int descriptor() const { return file_; }

  Status write(std::string_view text) {
    while (!text.empty()) {
      const ssize_t written = ::write(file_, text.data(), text.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0)
        return os_error(fmt::format("cannot write to a file in memory: {}", std::strerror(errno)), errno);
      text.remove_prefix(static_cast<std::size_t>(written));
    }
    ::lseek(file_, 0, SEEK_SET);
    return Ok{};
  }
  std::size_t size() const {
    struct stat info;
    return ::fstat(file_, &info) == 0 ? static_cast<std::size_t>(info.st_size) : 0;
  }
  // The first `most` bytes.
  std::string read(std::size_t most) const {
    std::string text(std::min(size(), most), '\0');
    std::size_t have = 0;
    while (have < text.size()) {
      const ssize_t got = ::pread(file_, text.data() + have, text.size() - have, static_cast<off_t>(have));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) break;
      have += static_cast<std::size_t>(got);
    }
    text.resize(have);
    return text;
  }

 private:
  explicit MemoryFile(int file) : file_(file) {}
  int file_;
};

// Waits for the child; kills it when the time is over. Returns its status as of waitpid, or -1 if it was
// killed here.
int wait_for_child(pid_t child) {
  const int watched = static_cast<int>(::syscall(SYS_pidfd_open, child, 0));
  bool late = false;
  if (watched >= 0) {
    pollfd ended{watched, POLLIN, 0};
    int ready;
    do ready = ::poll(&ended, 1, kMostMilliseconds);
    while (ready < 0 && errno == EINTR);
    late = ready == 0;
    ::close(watched);
  }
  if (late) ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return late ? -1 : status;
}

std::vector<std::string> clang_arguments(const std::string& clang, const CxxSource& source) {
  std::vector<std::string> out = {
      clang, "-x", "c++", "-std=c++20", "-O1", "-Xclang", "-disable-llvm-passes",
      // exp and its like become LLVM's own functions; a sum is rounded as it is written.
      "-fno-math-errno", "-ffp-contract=off",
      // Nothing can pass through generated code, or wait in it.
      "-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics", "-fno-stack-protector", "-gline-tables-only",
      "-fno-color-diagnostics"};
  if (!source.folder.empty()) {
    out.emplace_back("-iquote");
    out.push_back(source.folder);
  }
  for (const char* each : {"-emit-llvm", "-c", "-o", "-", "-"}) out.emplace_back(each);
  return out;
}

std::string c_string(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c != '\n') out += c;
  }
  return out + "\"";
}

}  // namespace

Result<std::string> find_clang(const std::string& named) {
  if (!named.empty()) {
    const std::string path = named.find('/') == std::string::npos ? in_path(named) : named;
    if (!path.empty() && is_program(path)) return path;
    return not_found(
        fmt::format("{} is no program: --clang names the clang that compiles the functions", named));
  }
  for (const char* program : {"clang++-19", "clang-19"})
    if (std::string path = in_path(program); !path.empty()) return path;
  if (std::string path = fmt::format("{}/clang++", kDebianFolder); is_program(path)) return path;
  return not_found(fmt::format(
      "functions in C++ need clang 19, and none was found as clang++-19 or clang-19 in PATH, or in {}. "
      "Install it, name one by --clang, or compile the workflow elsewhere by `weft workflow compile`",
      kDebianFolder));
}

Result<std::string> compile_cxx(const std::string& clang, const CxxSource& source) {
  auto input = MemoryFile::create("functions");
  auto output = MemoryFile::create("bitcode");
  auto messages = MemoryFile::create("messages");
  for (const auto* file : {&input, &output, &messages})
    if (!file->ok()) return file->error();
  // So that clang's messages and line numbers are those of the source.
  Status written = input->write(fmt::format("#line 1 {}\n{}\n", c_string(source.name), source.text));
  if (!written.ok()) return written.error();

  const std::vector<std::string> arguments = clang_arguments(clang, source);
  std::vector<char*> argv;
  for (const std::string& each : arguments) argv.push_back(const_cast<char*>(each.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input->descriptor(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output->descriptor(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, messages->descriptor(), STDERR_FILENO);
  pid_t child = -1;
  const int problem = ::posix_spawn(&child, clang.c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (problem != 0)
    return os_error(fmt::format("cannot start {}: {}", clang, std::strerror(problem)), problem);

  const int status = wait_for_child(child);
  if (status == -1)
    return unavailable(
        fmt::format("{}: {} did not end within {} s", source.name, clang, kMostMilliseconds / 1000));
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return invalid(
        fmt::format("{}: clang refuses the functions:\n{}", source.name, messages->read(kMostMessages)));
  if (output->size() > kMostBitcode)
    return exhausted(
        fmt::format("{}: clang wrote more than {} MiB of bitcode", source.name, kMostBitcode >> 20));
  return output->read(kMostBitcode);
}

}  // namespace tailor::weft::workflow
