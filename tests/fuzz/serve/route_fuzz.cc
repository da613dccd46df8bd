// Any path and any parameters of a request over HTTP, below the reader of HTTP: a line with the path, then
// lines `key=value`. What is refused says why, and what is taken has a method.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "daemon/serve/route.h"

namespace {

void check(bool holds) {
  if (!holds) std::abort();
}

std::string_view next_line(std::string_view& rest) {
  const std::string_view line = rest.substr(0, rest.find('\n'));
  rest.remove_prefix(std::min(line.size() + 1, rest.size()));
  return line;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tailor;
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  const std::string path = "/api/v1/" + std::string(next_line(rest));
  serve::Parameters parameters;
  while (!rest.empty()) {
    const std::string_view line = next_line(rest);
    const std::size_t equals = std::min(line.find('='), line.size());
    parameters.emplace_back(line.substr(0, equals), line.substr(std::min(equals + 1, line.size())));
  }
  const auto routed = serve::route(path, parameters);
  if (routed) {
    check(serve::find_path(path) != nullptr);
    check(routed->timeout.count() > 0);
    return 0;
  }
  check(!routed.error().message.empty());
  check(routed.error().kind == ErrorKind::kInvalid || routed.error().kind == ErrorKind::kNotFound);
  return 0;
}
