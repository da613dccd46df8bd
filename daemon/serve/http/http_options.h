// Where requests over HTTP come in, and who may ask what.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "daemon/serve/http/gate.h"

namespace tailor::serve {

struct Listener {
  std::string unix_path;              // or:
  std::string address = "127.0.0.1";  // numbers; with `port`
  std::uint16_t port = 0;             // 0: any that is free
  bool metrics_only = false;          // /metrics and /api/v1/health, for anybody who can connect
};

struct HttpOptions {
  std::vector<Listener> listeners;
  GateOptions gate;
  std::size_t connections = 64;
  std::size_t streams = 16;  // of live events
  // A request has no descriptors. From Linux 6.16 on the kernel refuses clients that send some; with this,
  // they are taken, as older kernels do it.
  bool takes_descriptors = false;
  std::function<void(int fd)> close_refused;  // RefusedConnections::Close
  std::function<std::string()> metrics;       // text of /metrics; empty: there are none
};

}  // namespace tailor::serve
