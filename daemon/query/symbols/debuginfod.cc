#include "daemon/query/symbols/debuginfod.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

namespace tailor::query {
namespace {

using Clock = std::chrono::steady_clock;

constexpr TimeNs kSecond = 1'000'000'000;

TimeNs steady_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
}

// As the library reads it: a whole number of seconds above 0.
TimeNs seconds_of(const char* name, TimeNs otherwise) {
  constexpr long kMost = 86'400;
  const char* const text = std::getenv(name);
  const long seconds = text == nullptr ? 0 : std::strtol(text, nullptr, 10);
  return seconds <= 0 ? otherwise : std::min(seconds, kMost) * kSecond;
}

// What elfutils/debuginfod.h declares.
class Library {
 public:
  static constexpr const char* kName = "libdebuginfod.so.1";
  using Progress = int (*)(void* client, long done, long all);
  using Find = int (*)(void* client, const unsigned char* build_id, int length, char** path);

  Library() : handle_(::dlopen(kName, RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) return;
    load(begin, "debuginfod_begin");
    load(end, "debuginfod_end");
    load(set_progress, "debuginfod_set_progressfn");
    load(find_file, "debuginfod_find_executable");
    load(find_debug_file, "debuginfod_find_debuginfo");
  }
  bool is_there() const { return handle_ != nullptr && !lacks_; }

  void* (*begin)() = nullptr;
  void (*end)(void* client) = nullptr;
  void (*set_progress)(void* client, Progress progress) = nullptr;
  Find find_file = nullptr, find_debug_file = nullptr;

 private:
  template <typename Function>
  void load(Function& to, const char* name) {
    to = reinterpret_cast<Function>(::dlsym(handle_, name));
    lacks_ = lacks_ || to == nullptr;
  }

  void* handle_;  // stays: its threads and those of its libraries may run until the end
  bool lacks_ = false;
};

// Of one file: whether it goes on.
class Patience {
 public:
  Patience(TimeNs quiet, TimeNs most) : quiet_(quiet), ends_(steady_now() + most) {}

  // `done`: bytes that came; before that, how often this was called.
  bool has(long done) {
    const TimeNs now = steady_now();
    if (done > done_ + 1) last_ = now;
    done_ = done;
    lost_ = lost_ || now >= ends_ || now - last_ >= quiet_;
    return !lost_;
  }
  bool is_lost() const { return lost_; }

 private:
  const TimeNs quiet_, ends_;
  TimeNs last_ = steady_now();
  long done_ = 0;
  bool lost_ = false;
};

thread_local Patience* patience_of_thread = nullptr;  // NULL: nobody asks

// The library calls it about once a second, and gives up if it is not 0.
int go_on(void*, long done, long) {
  return patience_of_thread == nullptr || patience_of_thread->has(done) ? 0 : 1;
}

// Where the library keeps what it fetched; "": nowhere that is known here.
std::string cache_folder() {
  const auto value = [](const char* name) {
    const char* const text = std::getenv(name);
    return std::string(text == nullptr ? "" : text);
  };
  if (const std::string told = value("DEBUGINFOD_CACHE_PATH"); !told.empty()) return told;
  if (const std::string cache = value("XDG_CACHE_HOME"); !cache.empty()) return cache + "/debuginfod_client";
  const std::string home = value("HOME");
  return home.empty() ? home : home + "/.cache/debuginfod_client";
}

// The library notes a search that was given up as one for a file that no server has, by an empty file, and
// would say that for the next minutes.
void forget_given_up(DebugFinder::What what, const std::string& build_id) {
  const std::string folder = cache_folder();
  if (folder.empty()) return;
  const std::string path = fmt::format("{}/{}/{}", folder, build_id,
                                       what == DebugFinder::What::kFile ? "executable" : "debuginfo");
  struct stat facts{};
  if (::lstat(path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_size == 0)
    (void)::unlink(path.c_str());
}

Debuginfod::Answer ask_library(const Library& library, DebugFinder::What what, const std::string& build_id,
                               Patience patience) {
  if (!library.is_there())
    return {-ELIBACC, fmt::format("{} cannot be loaded (package libdebuginfod1)", Library::kName)};
  void* const client = library.begin();
  if (client == nullptr) return {-ENOMEM, "its client cannot begin"};
  library.set_progress(client, go_on);
  patience_of_thread = &patience;
  const Library::Find find = what == DebugFinder::What::kFile ? library.find_file : library.find_debug_file;
  char* path = nullptr;
  // Without a length it is text.
  const int file = find(client, reinterpret_cast<const unsigned char*>(build_id.c_str()), 0, &path);
  patience_of_thread = nullptr;
  library.end(client);
  std::free(path);
  if (file < 0 && patience.is_lost()) {
    forget_given_up(what, build_id);
    return {-ETIME, "it took too long"};
  }
  return {file, file < 0 ? std::strerror(-file) : ""};
}

bool is_build_id(const std::string& text) {
  constexpr std::size_t kLongest = 128;
  return !text.empty() && text.size() <= kLongest && text.size() % 2 == 0 &&
         text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

}  // namespace

DebuginfodLimits DebuginfodLimits::of_environment() {
  DebuginfodLimits out;
  out.quiet = seconds_of("DEBUGINFOD_TIMEOUT", out.quiet);
  out.of_a_file = seconds_of("DEBUGINFOD_MAXTIME", out.of_a_file);
  out.of_all = std::max(out.of_all, out.of_a_file);
  return out;
}

Debuginfod::Ask ask_by_library(TimeNs quiet) {
  return [quiet](DebugFinder::What what, const std::string& build_id, TimeNs most) {
    static const Library library;
    return ask_library(library, what, build_id, Patience(quiet, most));
  };
}

Debuginfod::Debuginfod(Ask ask, DebuginfodLimits limits, Now now)
    : ask_(std::move(ask)), limits_(limits), now_(now ? std::move(now) : steady_now) {}

std::unique_ptr<DebugFinder> Debuginfod::of_environment() {
  const char* const urls = std::getenv("DEBUGINFOD_URLS");
  const bool named =
      urls != nullptr && std::string_view(urls).find_first_not_of(" \t\n") != std::string_view::npos;
  if (!named) return nullptr;
  const DebuginfodLimits limits = DebuginfodLimits::of_environment();
  return std::make_unique<Debuginfod>(ask_by_library(limits.quiet), limits);
}

// That a server does not have a file is no failure.
DebugFinder::Found Debuginfod::find(What what, const std::string& build_id) {
  const std::string none = "debuginfod has no file for its build id";
  if (!is_build_id(build_id)) return {{}, none};
  const std::lock_guard lock(mutex_);
  if (!stopped_.empty()) return {{}, stopped_};
  const TimeNs began = now_();
  Answer answer = ask_(what, build_id, std::min(limits_.of_a_file, limits_.of_all - spent_));
  spent_ += now_() - began;
  UniqueFd file(answer.file >= 0 ? answer.file : -1);
  if (!file && answer.file != -ENOENT) stopped_ = fmt::format("debuginfod gave nothing: {}", answer.why);
  if (stopped_.empty() && spent_ >= limits_.of_all)
    stopped_ = fmt::format("debuginfod was not asked any more: it took {} s", spent_ / kSecond);
  if (file) return {std::move(file), ""};
  return {{}, answer.file == -ENOENT ? none : stopped_};
}

namespace {

std::unique_ptr<DebugFinder>& finder_in_use() {
  static std::unique_ptr<DebugFinder> finder;
  return finder;
}

}  // namespace

DebugFinder* debug_finder() {
  return finder_in_use().get();
}

void use_debug_finder(std::unique_ptr<DebugFinder> finder) {
  finder_in_use() = std::move(finder);
}

}  // namespace tailor::query
