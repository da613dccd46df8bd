// From an HTTP path and its parameters to a request. Pure; takes any bytes.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/serve/access.h"
#include "daemon/serve/request.h"
#include "proto/base/result.h"

namespace tailor::serve {

using Parameters = std::vector<std::pair<std::string, std::string>>;

// Who answers: the service, by a request, or the transport itself.
enum class Answerer : std::uint8_t { kService, kHealth, kSession, kLive, kMetrics, kContract, kPage };

struct Path {
  std::string_view pattern;  // {...} stands for one part of the path, * at the end for anything
  std::string_view methods;  // as the header Allow has them; GET stands for HEAD too
  Needs needs;
  Answerer answerer;
  std::string_view schema;  // of its answer, in openapi.json; "": no JSON, or any
};

// Every path that there is.
std::vector<Path> paths();
// Null: there is none. It lives for ever.
const Path* find_path(std::string_view path);

struct Routed {
  Request request;
  std::chrono::milliseconds timeout{10'000};
};

// Of a path that the service answers. Not found for any other; invalid for a parameter that the path does not
// take, that comes twice, or whose value makes no sense (the message says what would).
Result<Routed> route(std::string_view path, const Parameters& parameters);

// Unix milliseconds, or RFC 3339 with a zone, as nanoseconds.
Result<std::uint64_t> parse_time(const std::string& text);

}  // namespace tailor::serve
