#include "daemon/serve/error_json.h"

namespace tailor::serve {
namespace {

struct Meaning {
  std::string_view key;
  int status, exit;
};

Meaning meaning(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kInvalid:
      return {"invalid", 400, 2};
    case ErrorKind::kDenied:
      return {"denied", 403, 1};
    case ErrorKind::kNotFound:
      return {"not_found", 404, 3};
    case ErrorKind::kExhausted:
      return {"exhausted", 429, 1};
    case ErrorKind::kUnavailable:
      return {"unavailable", 503, 1};
    case ErrorKind::kInternal:
      break;
  }
  return {"internal", 500, 1};
}

}  // namespace

std::string_view error_key(ErrorKind kind) {
  return meaning(kind).key;
}

int http_status(ErrorKind kind) {
  return meaning(kind).status;
}

int exit_code(ErrorKind kind) {
  return meaning(kind).exit;
}

query::Json error_json(const Error& error) {
  return {{"error", {{"kind", error_key(error.kind)}, {"message", error.message}}}};
}

}  // namespace tailor::serve
