#include "daemon/tailord/web.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <charconv>
#include <map>

#include "daemon/metrics/exposition.h"
#include "daemon/tailord/user_status.h"

namespace tailor::tailord {
namespace {

constexpr std::chrono::seconds kFresh{1};

// "127.0.0.1:19187", "[::1]:19187"
Result<serve::Listener> parse_listener(const std::string& text, bool metrics_only) {
  const std::size_t colon = text.rfind(':');
  serve::Listener listener;
  listener.metrics_only = metrics_only;
  if (colon != std::string::npos) {
    listener.address = text.substr(0, colon);
    const char* end = text.data() + text.size();
    const auto [rest, problem] = std::from_chars(text.data() + colon + 1, end, listener.port);
    if (listener.address.starts_with('[') && listener.address.ends_with(']'))
      listener.address = listener.address.substr(1, listener.address.size() - 2);
    if (problem == std::errc() && rest == end) {
      in6_addr ignored{};
      const bool is_address = ::inet_pton(AF_INET, listener.address.c_str(), &ignored) == 1 ||
                              ::inet_pton(AF_INET6, listener.address.c_str(), &ignored) == 1;
      if (is_address) return listener;
      return invalid(fmt::format("\"{}\": \"{}\" is no IP address", text, listener.address));
    }
  }
  return invalid(fmt::format("\"{}\" is no ADDRESS:PORT", text));
}

std::map<std::string, double> kinds_of(metrics::OperatorMeter& meter) {
  std::map<std::string, double> ns = meter.read().by_kind;
  for (auto& [key, sum] : ns) sum *= 1e9;
  return ns;
}

}  // namespace

Result<serve::HttpOptions> http_options(const WebOptions& options) {
  serve::HttpOptions http;
  http.connections = options.connections;
  http.streams = options.streams;
  if (!options.socket.empty()) http.listeners.push_back({options.socket, "", 0, false});
  for (const auto& [texts, metrics_only] : {std::pair{&options.listen, false}, {&options.metrics, true}}) {
    for (const std::string& text : *texts) {
      auto listener = parse_listener(text, metrics_only);
      if (!listener.ok()) return listener.error();
      http.listeners.push_back(std::move(*listener));
    }
  }
  if (!options.listen.empty() && options.tokens.empty())
    return invalid("over TCP everybody needs a token: name a file of them (--tokens, docs/security.md)");
  if (!options.tokens.empty()) {
    auto tokens = serve::read_tokens(options.tokens);
    if (!tokens.ok()) return tokens.error();
    http.gate.tokens = std::move(*tokens);
  }
  http.gate.hosts.insert(options.hosts.begin(), options.hosts.end());
  return http;
}

Result<std::unique_ptr<Web>> Web::start(serve::HttpOptions http, Daemon daemon,
                                        metrics::OperatorMeter& meter) {
  if (http.listeners.empty()) return std::unique_ptr<Web>();
  std::unique_ptr<Web> web(new Web(std::move(daemon)));
  http.metrics = [raw = web.get(), &meter] { return metrics::exposition(meter.read(), raw->status()); };
  web->library_ = serve::open_store_library(
      web->daemon_.store, [raw = web.get()] { raw->flush(); }, web->daemon_.on_damage);
  web->service_ = std::make_unique<serve::Service>(
      *web->library_, serve::ServiceOptions{web->daemon_.version, [raw = web.get()] { return raw->status(); },
                                            web->daemon_.control, [&meter] { return kinds_of(meter); }});
  auto server = serve::HttpServer::start(*web->service_, std::move(http));
  if (!server.ok()) return server.error();
  web->server_ = std::move(*server);
  return web;
}

void Web::tell_use(v1::DaemonStatus& out) const {
  tell_http(server_->uses(), out);
}

v1::DaemonStatus Web::status() {
  std::lock_guard lock(mutex_);
  if (Stop::Clock::now() >= status_until_) {
    status_ = daemon_.status();
    status_until_ = Stop::Clock::now() + kFresh;
  }
  return status_;
}

void Web::flush() {
  {
    std::lock_guard lock(mutex_);
    if (Stop::Clock::now() < flush_until_) return;
    flush_until_ = Stop::Clock::now() + kFresh;
  }
  daemon_.flush();
}

}  // namespace tailor::tailord
