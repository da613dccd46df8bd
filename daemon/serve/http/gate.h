// The gate of the server: tokens, sessions, and the checks that keep other people's web pages out
// (docs/security.md).
#pragma once

#include <array>
#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/serve/access.h"
#include "proto/base/result.h"

namespace tailor::serve {

// One who may come in over TCP. Of the token only its SHA-256 is kept.
struct Token {
  std::string name;
  std::array<std::uint8_t, 32> digest{};
  Access access;
};

// What a request brings along to be judged by.
struct Visitor {
  bool local = false;                                   // came over the UNIX socket
  std::uint32_t uid = 0;                                // then: of the peer, as the kernel says
  std::string host, origin, fetch_site, authorization;  // headers; empty: not sent
  bool changes = false;                                 // a method that is no GET or HEAD
};

struct GateOptions {
  std::vector<Token> tokens;
  std::set<std::string> hosts;  // names in Host besides those of this machine's loopback
};

// Any thread.
class Gate {
 public:
  explicit Gate(GateOptions options) : options_(std::move(options)) {}

  // Denied for a foreign Host or Origin.
  Status check_origin(const Visitor& visitor) const;
  // None: nobody we know. On the UNIX socket root and the daemon's own user see everything, others what is
  // theirs. It names its asker: the user, or the token, whose sessions count as it does.
  std::optional<Access> identify(const Visitor& visitor);

  // The secret of a new session for the visitor's bearer token, which is one of GateOptions::tokens or one of
  // issue_start_token(). None for any other. The secret is a bearer token as well. It is no cookie: browsers
  // send the cookies of a host to all of its ports, so to servers of other users.
  std::optional<std::string> open_session(const Visitor& visitor);
  // A session of `owner` (a token's name), who may do `access`. Sessions end after 12 hours. Each owner has
  // at most 100; another one ends the oldest.
  std::string open_session(const std::string& owner, const Access& access);
  void close_session(const Visitor& visitor);

  // A token for one session, within ten minutes, that may do everything.
  std::string issue_start_token();

 private:
  const Token* find(std::string_view bearer) const;
  bool take_start_token(std::string_view token);

  using Clock = std::chrono::steady_clock;
  struct Session {
    std::string owner;
    Access access;
    Clock::time_point until;
  };
  static constexpr std::size_t kMostSessions = 100;  // of an owner

  const GateOptions options_;
  std::mutex mutex_;
  std::map<std::string, Session> sessions_;                // by SHA-256 of the secret
  std::map<std::string, Clock::time_point> start_tokens_;  // the same
};

// 32 random bytes in hexadecimal.
std::string random_secret();

// The tokens of a configuration file (docs/security.md). Fails, with its place, for a file that others can
// write, that makes no sense, or that holds a token in plain text.
Result<std::vector<Token>> read_tokens(const std::string& path);

}  // namespace tailor::serve
