// Result<T>: a value or an Error, for everything recoverable. Broken invariants abort instead.
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace tailor {

// What sort of failure it is: exit codes of `tailor` and HTTP statuses follow from it, nothing else does.
enum class ErrorKind : unsigned char {
  kInternal,     // the operating system refused, a defect, or nobody has said which of the others it is
  kNotFound,     // there is no such thing, or nothing to show
  kDenied,       // the asker may not
  kInvalid,      // the request makes no sense; another one would
  kUnavailable,  // not now: no daemon, the deadline passed, the asker has gone
  kExhausted,    // a limit was reached; the message names it
};

// What went wrong, in one sentence that says what, where, and what to do.
// `code` is an errno value where the operating system said no, else 0.
struct Error {
  std::string message;
  int code = 0;
  ErrorKind kind = ErrorKind::kInternal;
};

inline Error not_found(std::string message) {
  return {std::move(message), 0, ErrorKind::kNotFound};
}
inline Error denied(std::string message) {
  return {std::move(message), 0, ErrorKind::kDenied};
}
inline Error invalid(std::string message) {
  return {std::move(message), 0, ErrorKind::kInvalid};
}
inline Error unavailable(std::string message) {
  return {std::move(message), 0, ErrorKind::kUnavailable};
}
inline Error exhausted(std::string message) {
  return {std::move(message), 0, ErrorKind::kExhausted};
}

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const& { return std::get<1>(state_); }
  Error&& error() && { return std::get<1>(std::move(state_)); }

 private:
  std::variant<T, Error> state_;
};

// Success or an Error, where there is no value to give.
struct Ok {};
using Status = Result<Ok>;

}  // namespace tailor
