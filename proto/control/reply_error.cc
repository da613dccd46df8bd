#include "proto/control/reply_error.h"

#include <utility>

namespace tailor::control {
namespace {

constexpr std::pair<ErrorKind, v1::ErrorKind> kKinds[] = {
    {ErrorKind::kInternal, v1::ERROR_INTERNAL},       {ErrorKind::kNotFound, v1::ERROR_NOT_FOUND},
    {ErrorKind::kDenied, v1::ERROR_DENIED},           {ErrorKind::kInvalid, v1::ERROR_INVALID},
    {ErrorKind::kUnavailable, v1::ERROR_UNAVAILABLE}, {ErrorKind::kExhausted, v1::ERROR_EXHAUSTED},
};

}  // namespace

void set_error(v1::ControlReply& reply, const Error& error) {
  reply.Clear();
  reply.set_error(error.message);
  for (const auto& [kind, wire] : kKinds) {
    if (kind == error.kind) reply.set_error_kind(wire);
  }
}

Error error_of(const v1::ControlReply& reply) {
  for (const auto& [kind, wire] : kKinds) {
    if (wire == reply.error_kind()) return {reply.error(), 0, kind};
  }
  return {reply.error(), 0, ErrorKind::kInternal};
}

}  // namespace tailor::control
