// From the bytes of one request to those of its answer, by cpp-httplib.
#pragma once

#include <httplib.h>

#include <optional>

#include "daemon/serve/http/byte_stream.h"
#include "daemon/serve/http/gate.h"
#include "daemon/serve/http/http_options.h"
#include "daemon/serve/route.h"
#include "daemon/serve/service.h"
#include "daemon/serve/shares.h"
#include "daemon/serve/workers.h"

namespace tailor::serve {

class HttpEngine : private httplib::Server {
 public:
  HttpEngine(Service& service, Gate& gate, Workers& workers, const HttpOptions& options, Shares& streams);

  // False if the connection is to be closed.
  bool serve_one(ByteStream& stream, const Peer& peer);

 private:
  // What is known of the request that this thread works on.
  struct Exchange {
    ByteStream* stream = nullptr;
    const Peer* peer = nullptr;
    bool has_body = false;
    bool understood = false;  // as far as the headers go
  };

  void handle(const httplib::Request& request, httplib::Response& response, Exchange& exchange);
  // One that the gate lets in, as far as its origin goes.
  void let_in(const Path& path, const httplib::Request& request, httplib::Response& response,
              const Exchange& exchange, const Visitor& visitor);
  std::optional<Access> access_for(Needs needs, const Visitor& visitor, const Peer& peer);
  // What httplib could not read a request in.
  void not_understood(const httplib::Request& request, httplib::Response& response);
  void api(const httplib::Request& request, httplib::Response& response, const Exchange& exchange,
           const Access& access);
  void health(httplib::Response& response, const Access& access);
  void metrics(httplib::Response& response);
  void session(const httplib::Request& request, httplib::Response& response, const Visitor& visitor);
  void live(httplib::Response& response, const Access& access);
  void page(const httplib::Request& request, httplib::Response& response);

  static thread_local Exchange* current_;
  Service& service_;
  Gate& gate_;
  Workers& workers_;
  const HttpOptions& options_;
  Shares& streams_;
};

}  // namespace tailor::serve
