// Requests over HTTP (docs/http-api.md): listeners, connections, and from request to answer. cpp-httplib
// reads requests and writes answers; sockets, limits and threads are ours.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "daemon/serve/http/byte_stream.h"
#include "daemon/serve/http/connection_shares.h"
#include "daemon/serve/http/gate.h"
#include "daemon/serve/http/http_options.h"
#include "daemon/serve/http/lingering.h"
#include "daemon/serve/http/refused_connections.h"
#include "daemon/serve/service.h"
#include "daemon/serve/shares.h"
#include "daemon/serve/workers.h"
#include "proto/base/result.h"
#include "proto/base/unique_fd.h"

namespace tailor::serve {

class HttpEngine;

// What an asker has of the server now, and how often it was refused a connection, a place to wait or a
// stream.
struct HttpUse {
  std::size_t connections = 0;
  std::size_t running = 0, waiting = 0;  // requests that threads work at, and that wait for one
  std::size_t streams = 0;
  std::uint64_t refused = 0;
};

class HttpServer {
 public:
  // `service` must outlive it.
  static Result<std::unique_ptr<HttpServer>> start(Service& service, HttpOptions options);
  // Ends all connections.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Of the nth TCP listener.
  std::uint16_t port(std::size_t n = 0) const { return ports_.at(n); }
  Gate& gate() { return gate_; }
  // By asker (Asker::who), and of connections over TCP by address. Any thread.
  std::map<std::string, HttpUse> uses() const;

  // One request from `stream`; false if the connection is to be closed. For tests and the fuzzer too.
  bool serve_one(ByteStream& stream, const Peer& peer);

  // An instance that listens to nobody.
  static std::unique_ptr<HttpServer> without_listeners(Service& service, HttpOptions options);

 private:
  struct Open {
    UniqueFd fd;
    Listener listener;
    bool takes_descriptors = false;  // of a UNIX socket, where the kernel does not refuse them
  };

  // `wake`: an eventfd that ends the wait for connections.
  HttpServer(Service& service, HttpOptions options, UniqueFd wake);
  Status open(const Listener& listener);
  void accept_loop();
  void accept_one(const Open& from);
  // Whether one more may come from there.
  bool may_accept(const Open& from) const;
  // Strangers may connect to the UNIX sockets, or root and the daemon's own user alone.
  void let_strangers_connect(bool may);
  void begin(UniqueFd fd, const Peer& peer, const ConnectionShares::Guest& guest);
  void refuse(UniqueFd fd, const Peer& peer, const ConnectionShares::Guest& guest);
  bool has_room_for(const ConnectionShares::Guest& guest) const;  // with mutex_
  void connection(UniqueFd fd, const Peer& peer, const std::string& who);

  Service& service_;
  const HttpOptions options_;
  Gate gate_;
  Workers workers_;
  std::unique_ptr<HttpEngine> engine_;
  std::vector<Open> open_;
  std::vector<std::uint16_t> ports_;
  const std::shared_ptr<const UniqueFd> wake_;
  RefusedConnections refused_;
  bool strangers_may_connect_ = true;  // the acceptor's
  std::thread acceptor_;
  mutable std::mutex mutex_;
  std::condition_variable ended_;
  ConnectionShares connections_;  // those that are open
  const std::shared_ptr<Lingering> lingering_ = std::make_shared<Lingering>();
  Shares streams_;
  std::atomic<bool> stopping_{false};
};

}  // namespace tailor::serve
