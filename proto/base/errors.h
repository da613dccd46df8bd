// Ways to make an Error whose kind follows from something else: from errno, or from another Error.
// `./dev lint` refuses an Error{...} that does not say its kind (.dev/check_errors.py).
#pragma once

#include <cerrno>
#include <string>
#include <utility>

#include "proto/base/result.h"

namespace tailor {

// A defect, damaged data of our own, or an operating system that does not do what it should.
inline Error internal(std::string message) {
  return {std::move(message), 0, ErrorKind::kInternal};
}

// The kind of a failure for which the operating system gives `code`, an errno value.
inline ErrorKind kind_of_errno(int code) {
  switch (code) {
    case ENOENT:
    case ESRCH:
    case ENODEV:
    case ENXIO:
      return ErrorKind::kNotFound;
    case EACCES:
    case EPERM:
      return ErrorKind::kDenied;
    case EISDIR:
    case ENOTDIR:
    case ENAMETOOLONG:
      return ErrorKind::kInvalid;
    case ECONNREFUSED:
    case ECONNRESET:
    case EPIPE:
    case ETIMEDOUT:
    case EAGAIN:
    case EBUSY:
    case EADDRINUSE:
      return ErrorKind::kUnavailable;
    case ENOSPC:
    case EDQUOT:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
    case EFBIG:
      return ErrorKind::kExhausted;
    default:
      return ErrorKind::kInternal;
  }
}

// The operating system said no. `code`: errno.
inline Error os_error(std::string message, int code) {
  return {std::move(message), code, kind_of_errno(code)};
}

// The same failure, seen from further away: "<where><message>". Code and kind stay.
inline Error in_context(const std::string& where, Error error) {
  error.message = where + error.message;
  return error;
}

}  // namespace tailor
