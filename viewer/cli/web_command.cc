#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <string>

#include "daemon/serve/http/http_server.h"
#include "proto/base/unique_fd.h"
#include "viewer/cli/choose.h"
#include "viewer/cli/command.h"
#include "viewer/cli/daemon.h"

namespace tailor::cli {
namespace {

struct WebOptions {
  std::string file, store;
  std::uint16_t port = 0;
  bool no_browser = false;
};

// What the daemon says of itself, asked at most once a second; empty where none runs.
class AskedStatus {
 public:
  v1::DaemonStatus get() {
    std::lock_guard lock(mutex_);
    const auto now = Stop::Clock::now();
    if (now < until_) return status_;
    until_ = now + std::chrono::seconds(1);
    v1::ControlRequest request;
    request.mutable_status();
    auto client = connect_daemon();
    if (!client) return status_ = {};
    auto reply = client->ask(request, std::chrono::seconds(2));
    status_ = reply ? reply->status() : v1::DaemonStatus();
    return status_;
  }

 private:
  std::mutex mutex_;
  Stop::Clock::time_point until_;
  v1::DaemonStatus status_;
};

// Calls `work` once a second at most.
std::function<void()> seldom(std::function<void()> work) {
  struct State {
    std::mutex mutex;
    Stop::Clock::time_point until;
  };
  return [state = std::make_shared<State>(), work = std::move(work)] {
    {
      std::lock_guard lock(state->mutex);
      const auto now = Stop::Clock::now();
      if (now < state->until) return;
      state->until = now + std::chrono::seconds(1);
    }
    work();
  };
}

// A page that leads to the link, for its user alone: everybody on this host can read the arguments of a
// browser. It is gone with this object.
class LinkPage {
 public:
  explicit LinkPage(const std::string& link) {
    const char* runtime = std::getenv("XDG_RUNTIME_DIR");
    path_ = std::string(runtime != nullptr ? runtime : "/tmp") + "/tailor-web-XXXXXX.html";
    const UniqueFd file(::mkostemps(path_.data(), 5, O_CLOEXEC));  // mode 0600
    const std::string text = fmt::format(
        "<!doctype html><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" content=\"0; url={0}\">"
        "<a href=\"{0}\">Tailor</a>\n",
        link);
    written_ = file && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
  }
  ~LinkPage() { ::unlink(path_.c_str()); }
  LinkPage(const LinkPage&) = delete;
  LinkPage& operator=(const LinkPage&) = delete;

  // "" where it could not be written.
  std::string path() const { return written_ ? path_ : std::string(); }

 private:
  std::string path_;
  bool written_ = false;
};

bool has_desktop() {
  const bool desktop = std::getenv("DISPLAY") != nullptr || std::getenv("WAYLAND_DISPLAY") != nullptr;
  return desktop && ::isatty(STDOUT_FILENO) != 0;
}

// A browser that cannot be started is no error: the link is printed.
void show_in_browser(const std::string& page) {
  const pid_t child = page.empty() ? -1 : ::fork();
  if (child < 0) return;
  if (child == 0) {
    if (::fork() != 0) ::_exit(0);
    ::execlp("xdg-open", "xdg-open", page.c_str(), nullptr);
    ::_exit(127);
  }
  ::waitpid(child, nullptr, 0);
}

int run_web(const WebOptions& options) {
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGINT);
  ::sigaddset(&signals, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  const std::string directory = store_directory(options.store);
  std::unique_ptr<serve::Library> library =
      options.file.empty()
          ? serve::open_store_library(directory, seldom(flush_daemon), warn_of_damage(directory))
          : open_file(options.file);
  serve::ServiceOptions service_options{TAILOR_VERSION, {}};
  service_options.names_from = query::NamesFrom::kFilesToo;
  auto status = std::make_shared<AskedStatus>();
  if (options.file.empty()) service_options.status = [status] { return status->get(); };
  serve::Service service(*library, std::move(service_options));
  // A file that is not there or no profile is told here, not in a page.
  const Status readable = service.visit({}, serve::Access::everything(), Stop(),
                                        [](const store::ExecutionRow&) { return false; });
  if (!readable) return complain(readable.error());
  serve::HttpOptions http;
  http.listeners.push_back({"", "127.0.0.1", options.port, false});
  auto server = serve::HttpServer::start(service, std::move(http));
  if (!server) return complain(server.error());
  const std::uint16_t port = (*server)->port();
  const std::string link =
      fmt::format("http://127.0.0.1:{}/#start={}", port, (*server)->gate().issue_start_token());
  fmt::print("{}\n", link);
  fmt::print(
      "The link works once, for ten minutes. From another machine: ssh -L {0}:127.0.0.1:{0} HOST, then open "
      "it there.\nCtrl-C ends.\n",
      port);
  std::fflush(stdout);
  std::optional<LinkPage> page;
  if (!options.no_browser && has_desktop()) show_in_browser(page.emplace(link).path());
  const UniqueFd ended(::signalfd(-1, &signals, SFD_CLOEXEC));
  signalfd_siginfo info{};
  (void)!::read(ended.get(), &info, sizeof info);
  return kOk;
}

}  // namespace

void add_web(CLI::App& app, Action& action) {
  CLI::App& command = *app.add_subcommand("web", "Shows a profile or the daemon's store in the browser");
  auto options = std::make_shared<WebOptions>();
  command.add_option("file", options->file, "A profile (.tailor file; default: the daemon's store)");
  command.add_option("--port", options->port, "The port on 127.0.0.1 (default: one that is free)");
  command.add_option("--store", options->store,
                     "The directory of the store (default: that of the daemon, TAILOR_STORE)");
  command.get_option("--store")->excludes(command.get_option("file"));
  command.add_flag("--no-browser", options->no_browser, "Only print the link");
  command.callback([options, &action] { action = [options] { return run_web(*options); }; });
}

}  // namespace tailor::cli
