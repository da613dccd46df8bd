// From an HTTP path and its parameters to a request. Pure; takes any bytes.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/serve/request.h"
#include "proto/base/result.h"

namespace tailor::serve {

using Parameters = std::vector<std::pair<std::string, std::string>>;

struct Routed {
  Request request;
  std::chrono::milliseconds timeout{10'000};
};

// `path` begins with "/api/v1/". Not found for a path that does not exist; invalid for a parameter that the
// path does not take, that comes twice, or whose value makes no sense (the message says what would).
Result<Routed> route(std::string_view path, const Parameters& parameters);

// The methods that a path has, "GET" mostly; empty for a path that does not exist.
std::string_view methods_of(std::string_view path);

// Unix milliseconds, or RFC 3339 with a zone, as nanoseconds.
Result<std::uint64_t> parse_time(const std::string& text);

}  // namespace tailor::serve
