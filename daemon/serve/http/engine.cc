#include "daemon/serve/http/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <sstream>
#include <string>

#include "daemon/serve/error_json.h"
#include "daemon/serve/http/assets.h"
#include "daemon/serve/http/live_events.h"
#include "daemon/serve/route.h"

namespace tailor::serve {
namespace {

constexpr const char* kJson = "application/json";
constexpr std::size_t kMostAnswerBytes = std::size_t{256} << 20;

// httplib's view of our streams.
class Stream : public httplib::Stream {
 public:
  explicit Stream(ByteStream& bytes) : bytes_(bytes) {}
  bool is_readable() const override { return bytes_.readable(); }
  bool is_writable() const override { return bytes_.writable(); }
  ssize_t read(char* to, std::size_t size) override { return bytes_.read(to, size); }
  // All of it: a socket takes what fits.
  ssize_t write(const char* from, std::size_t size) override {
    for (std::size_t done = 0; done < size;) {
      const ssize_t sent = bytes_.write(from + done, size - done);
      if (sent <= 0) return -1;
      done += static_cast<std::size_t>(sent);
    }
    return static_cast<ssize_t>(size);
  }
  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}
  socket_t socket() const override { return INVALID_SOCKET; }

 private:
  ByteStream& bytes_;
};

void put_text(httplib::Response& response, const std::string& text, const char* type) {
  response.status = 200;
  response.set_content(text, type);
}

void put(httplib::Response& response, int status, const Json& json) {
  response.status = status;
  response.set_content(json.dump(-1, ' ', false, Json::error_handler_t::replace), kJson);
}

void refuse(httplib::Response& response, const Error& error, int status = 0) {
  put(response, status != 0 ? status : http_status(error.kind), error_json(error));
}

void common_headers(httplib::Response& response) {
  response.set_header("X-Content-Type-Options", "nosniff");
  response.set_header("Referrer-Policy", "no-referrer");
  response.set_header("Cross-Origin-Resource-Policy", "same-origin");
  response.set_header("Cross-Origin-Opener-Policy", "same-origin");
  response.set_header("X-Frame-Options", "DENY");
  response.set_header("Content-Security-Policy",
                      "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
                      "worker-src 'self' blob:; frame-ancestors 'none'; base-uri 'none'; form-action 'self'");
  if (!response.has_header("Cache-Control")) response.set_header("Cache-Control", "no-store");
}

Visitor visitor_of(const httplib::Request& request, const Peer& peer) {
  return {peer.local,
          peer.uid,
          request.get_header_value("Host"),
          request.get_header_value("Origin"),
          request.get_header_value("Sec-Fetch-Site"),
          request.get_header_value("Authorization"),
          request.method != "GET" && request.method != "HEAD"};
}

// At the door for metrics there is nothing else, for anybody.
bool is_at_metrics_door(Needs needs) {
  return needs == Needs::kMetrics || needs == Needs::kNothingAnywhere;
}

bool takes(const Path& path, std::string_view method) {
  const std::string methods = fmt::format(" {},", path.methods);
  return methods.find(fmt::format(" {},", method == "HEAD" ? "GET" : method)) != std::string::npos;
}

void refuse_method(httplib::Response& response, const Path& path, const std::string& asked) {
  response.set_header("Allow", std::string(path.methods));
  refuse(response, invalid(fmt::format("{} takes {}", asked.substr(0, 100), path.methods)), 405);
}

// Not httplib's: it takes what follows the last "=" for the value, and label=tenant=b has two.
Parameters parameters_of(const httplib::Request& request) {
  Parameters parameters;
  const std::size_t question = request.target.find('?');
  if (question == std::string::npos) return parameters;
  std::istringstream rest(request.target.substr(question + 1, request.target.find('#') - question - 1));
  for (std::string one; std::getline(rest, one, '&');) {
    if (one.empty()) continue;
    const std::size_t equal = std::min(one.find('='), one.size());
    const std::string value = equal < one.size() ? one.substr(equal + 1) : std::string();
    parameters.emplace_back(httplib::detail::decode_url(one.substr(0, equal), true),
                            httplib::detail::decode_url(value, true));
  }
  return parameters;
}

}  // namespace

HttpEngine::HttpEngine(Service& service, Gate& gate, Workers& workers, const HttpOptions& options,
                       Shares& streams)
    : service_(service), gate_(gate), workers_(workers), options_(options), streams_(streams) {
  set_payload_max_length(0);
  // httplib ends every stream of a server that has no socket; ours are not known to it.
  svr_sock_ = 0;
  set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
    current_->understood = true;
    handle(request, response, *current_);
    return HandlerResponse::Handled;
  });
  set_error_handler([this](const httplib::Request& request, httplib::Response& response) {
    if (!current_->understood) not_understood(request, response);
  });
}

// httplib calls the handler on the thread that serves the request, with nothing but the request.
thread_local HttpEngine::Exchange* HttpEngine::current_ = nullptr;

bool HttpEngine::serve_one(ByteStream& bytes, const Peer& peer) {
  Exchange exchange{&bytes, &peer, false};
  current_ = &exchange;
  Stream stream(bytes);
  bool closed = false;
  const bool good = process_request(stream, false, closed, [&](httplib::Request& request) {
    // What comes behind the headers is not read, so the connection cannot go on behind it.
    const std::string length = request.get_header_value("Content-Length");
    exchange.has_body = (!length.empty() && length != "0") || request.has_header("Transfer-Encoding");
    request.ranges.clear();
  });
  // Where a request ends that was not understood nobody knows: what follows is not to be taken for another.
  return good && !closed && !exchange.has_body && exchange.understood;
}

void HttpEngine::not_understood(const httplib::Request& request, httplib::Response& response) {
  const bool method =
      !request.method.empty() && request.method.size() <= 32 &&
      std::all_of(request.method.begin(), request.method.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
  const std::string path = request.target.substr(0, request.target.find('?'));
  const Path* known = find_path(path);
  constexpr int kTooLong = 414;
  const bool alone =
      response.status == 400 && method && known != nullptr && request.version.starts_with("HTTP/1.");
  if (alone && takes(*known, request.method)) {
    // Nothing else is wrong with it: httplib reads no line that is longer.
    refuse(response,
           invalid(fmt::format("a header is longer than {} bytes, or is none", CPPHTTPLIB_HEADER_MAX_LENGTH)),
           431);
  } else if (alone) {
    refuse_method(response, *known, path);
  } else if (response.status == kTooLong) {
    refuse(response,
           invalid(fmt::format("the address is longer than {} bytes: give fewer or shorter parameters",
                               CPPHTTPLIB_REQUEST_URI_MAX_LENGTH)),
           kTooLong);
  } else {
    refuse(response, invalid("this is no request that HTTP/1.1 knows"), response.status);
  }
  response.set_header("Connection", "close");
  common_headers(response);
}

void HttpEngine::handle(const httplib::Request& request, httplib::Response& response, Exchange& exchange) {
  if (exchange.has_body) response.set_header("Connection", "close");
  const Path* path = find_path(request.path);
  const bool metrics_door = exchange.peer->metrics_only;
  if (path == nullptr || (metrics_door && !is_at_metrics_door(path->needs))) {
    refuse(response, not_found(fmt::format("there is no {}", request.path.substr(0, 100))));
  } else if (!takes(*path, request.method)) {
    refuse_method(response, *path, request.path);
  } else {
    Visitor visitor = visitor_of(request, *exchange.peer);
    // A visitor who follows a link comes from elsewhere, and the page has nothing to hide.
    if (path->answerer == Answerer::kPage) visitor.fetch_site.clear();
    const Status origin = gate_.check_origin(visitor);
    if (!origin.ok() && !metrics_door) {
      refuse(response, origin.error());
    } else {
      let_in(*path, request, response, exchange, visitor);
    }
  }
  common_headers(response);
}

void HttpEngine::let_in(const Path& path, const httplib::Request& request, httplib::Response& response,
                        const Exchange& exchange, const Visitor& visitor) {
  const auto access = access_for(path.needs, visitor, *exchange.peer);
  if (!access) {
    response.set_header("WWW-Authenticate", "Bearer");
    return refuse(response, denied("a valid token is needed (docs/security.md)"), 401);
  }
  if (Status may = check(path.needs, *access); !may.ok()) return refuse(response, may.error());
  switch (path.answerer) {
    case Answerer::kPage:
      return page(request, response);
    case Answerer::kSession:
      return session(request, response, visitor);
    case Answerer::kHealth:
      return health(response, *access);
    case Answerer::kMetrics:
      return metrics(response);
    case Answerer::kContract:
      return put_text(response, std::string(openapi_document()), kJson);
    case Answerer::kLive:
      return live(response, *access);
    case Answerer::kService:
      return api(request, response, exchange, *access);
  }
}

// Nothing: it is nobody we know.
std::optional<Access> HttpEngine::access_for(Needs needs, const Visitor& visitor, const Peer& peer) {
  const bool anybody = peer.metrics_only || needs == Needs::kNothing || needs == Needs::kNothingAnywhere;
  if (anybody) return Access{std::nullopt, {}, true, false, false};
  return gate_.identify(visitor);
}

void HttpEngine::health(httplib::Response& response, const Access& access) {
  Stop stop;
  auto answer = service_.answer(HealthRequest{}, access, stop);
  answer.ok() ? put(response, 200, *answer) : refuse(response, answer.error());
}

void HttpEngine::metrics(httplib::Response& response) {
  if (!options_.metrics)
    return refuse(response, not_found("there are no metrics: this is a file, not a daemon"));
  put_text(response, options_.metrics(), "text/plain; version=0.0.4; charset=utf-8");
}

void HttpEngine::api(const httplib::Request& request, httplib::Response& response, const Exchange& exchange,
                     const Access& access) {
  auto routed = route(request.path, parameters_of(request));
  if (!routed) return refuse(response, routed.error());
  const auto stop = std::make_shared<Stop>(Stop::Clock::now() + routed->timeout);
  // It may go on behind the end of this engine: it knows the service alone.
  const auto work = [service = &service_, wanted = std::move(routed->request),
                     access](const Stop& until) -> Result<std::string> {
    auto answer = service->answer(wanted, access, until);
    if (!answer) return answer.error();
    std::string text = answer->dump(-1, ' ', false, Json::error_handler_t::replace);
    if (text.size() > kMostAnswerBytes)
      return exhausted(fmt::format("the answer is larger than {} MB: ask for less", kMostAnswerBytes >> 20));
    return text;
  };
  auto text = workers_.run(access.asker, stop, work, [&] { return exchange.stream->closed_by_peer(); });
  if (!text) return refuse(response, text.error());
  put_text(response, *text, kJson);
}

void HttpEngine::session(const httplib::Request& request, httplib::Response& response,
                         const Visitor& visitor) {
  if (request.method == "DELETE") {
    gate_.close_session(visitor);
    response.status = 204;
    return;
  }
  const auto secret = gate_.open_session(visitor);
  if (!secret) {
    response.set_header("WWW-Authenticate", "Bearer");
    return refuse(
        response,
        denied("a session is opened with a bearer token; that of a link of `tailor web` works once, "
               "for ten minutes"),
        401);
  }
  put(response, 200, {{"session", *secret}});
}

void HttpEngine::live(httplib::Response& response, const Access& access) {
  if (!service_.live()) return refuse(response, not_found("a file has no live events"));
  if (!streams_.take(access.asker)) {
    return refuse(response, exhausted(fmt::format(
                                "too many streams of live events: of {} one asker has {} at most, and all "
                                "together but root and the daemon's user have {}; close one and ask again",
                                streams_.all(), streams_.of_one(), streams_.of_strangers())));
  }
  response.status = 200;
  response.set_header("Cache-Control", "no-store");
  auto events = std::make_shared<LiveEvents>(service_, access);
  response.set_chunked_content_provider(
      "text/event-stream",
      [events](std::size_t, httplib::DataSink& sink) {
        const std::string text = events->next();
        return sink.is_writable() && sink.write(text.data(), text.size());
      },
      [this, asker = access.asker](bool) { streams_.give_back(asker); });
}

void HttpEngine::page(const httplib::Request& request, httplib::Response& response) {
  const Asset* asset = find_asset(request.path == "/" ? "/index.html" : request.path);
  if (asset == nullptr) return refuse(response, not_found("there is no such file"));
  response.status = 200;
  // Names of what is below assets/ change with the content.
  if (request.path.starts_with("/assets/"))
    response.set_header("Cache-Control", "public, max-age=31536000, immutable");
  response.set_content(asset->content.data(), asset->content.size(), std::string(asset->type));
}

}  // namespace tailor::serve
