// The daemon's HTTP side: who listens, what is answered, what is counted for /metrics.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "daemon/metrics/operator_meter.h"
#include "daemon/serve/http/http_server.h"
#include "proto/base/result.h"

namespace tailor::tailord {

struct WebOptions {
  std::string socket;                // a UNIX socket; empty: none
  std::vector<std::string> listen;   // "ADDRESS:PORT" over TCP, with tokens
  std::vector<std::string> metrics;  // "ADDRESS:PORT" for /metrics alone
  std::string tokens;                // a file; empty: none
  std::vector<std::string> hosts;    // names that Host may have besides the loopback's
  std::uint64_t connections = serve::HttpOptions().connections;
  std::uint64_t streams = serve::HttpOptions().streams;  // of live events
};

// The listeners, and who may ask them. Reads the file of the tokens; opens nothing else. Fails if an option
// is wrong, or the file is.
Result<serve::HttpOptions> http_options(const WebOptions& options);

class Web {
 public:
  struct Daemon {
    std::string version, store;
    std::function<v1::DaemonStatus()> status;  // any thread
    std::function<void()> flush;               // any thread: what happened so far goes to the store
    // Any thread: does what is asked, for who may ask it.
    std::function<Result<v1::ControlReply>(const v1::ControlRequest&, const serve::Access&)> control;
    std::function<void(const std::string& text)> on_damage;  // any thread: what of the store is damaged
  };
  // `http`: of http_options(). Null where nothing is to listen. `meter` must outlive it.
  static Result<std::unique_ptr<Web>> start(serve::HttpOptions http, Daemon daemon,
                                            metrics::OperatorMeter& meter);

  // Who uses it.
  void tell_use(v1::DaemonStatus& out) const;

 private:
  explicit Web(Daemon daemon) : daemon_(std::move(daemon)) {}
  // Of the last second: asking costs the control thread an interruption.
  v1::DaemonStatus status();
  void flush();

  const Daemon daemon_;
  std::mutex mutex_;
  Stop::Clock::time_point status_until_, flush_until_;
  v1::DaemonStatus status_;
  std::unique_ptr<serve::Library> library_;
  std::unique_ptr<serve::Service> service_;
  std::unique_ptr<serve::HttpServer> server_;
};

}  // namespace tailor::tailord
