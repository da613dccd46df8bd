#include "daemon/serve/http/gate.h"

#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "proto/base/hex.h"
#include "proto/base/sha256.h"

namespace tailor::serve {
namespace {

// The owner of sessions that a link of `tailor web` began; no token has this name.
const std::string kOfLinks = "\nlinks of tailor web";

std::string digest_of(std::string_view secret) {
  const Sha256Digest digest = sha256(secret);
  return hex_text(std::as_bytes(std::span(digest)));
}

// "localhost:8080" without its port, in lower case; of "[::1]:80" what is in brackets.
std::string host_name(std::string_view host) {
  if (host.starts_with('[')) return std::string(host.substr(0, host.find(']') + 1));
  std::string name(host.substr(0, host.find(':')));
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return name;
}

bool same(const Sha256Digest& a, const Sha256Digest& b) {
  unsigned different = 0;
  for (std::size_t i = 0; i < a.size(); ++i) different |= static_cast<unsigned>(a[i] ^ b[i]);
  return different == 0;
}

// What follows "Bearer"; "" where the request has none.
std::string_view bearer_of(const Visitor& visitor) {
  constexpr std::string_view kScheme = "Bearer ";
  const std::string_view header = visitor.authorization;
  return header.starts_with(kScheme) ? header.substr(kScheme.size()) : std::string_view{};
}

Access with_asker(Access access, Asker asker) {
  access.asker = std::move(asker);
  return access;
}

Access own_only(std::uint32_t uid) {
  Access access;
  access.see_all = false;
  access.uids = {uid};
  return access;
}

// Such a link is for the user of the program that made it.
Asker owner_of_token(const std::string& name) {
  return name == kOfLinks ? Asker{"links of tailor web", true} : Asker{"token " + name, false};
}

}  // namespace

std::string random_secret() {
  std::array<char, 32> bytes{};
  // Fails for no request of this size once the system has started.
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) std::abort();
  return hex_text(std::as_bytes(std::span(bytes)));
}

Status Gate::check_origin(const Visitor& visitor) const {
  const std::string name = host_name(visitor.host);
  const bool loopback = name == "localhost" || name == "127.0.0.1" || name == "[::1]";
  // Programs that ask over the UNIX socket name whatever they like, as long as no browser resolves it.
  const bool socket_name = visitor.local && (name.empty() || name == "tailor");
  if (!loopback && !socket_name && !options_.hosts.contains(name))
    return denied(fmt::format("this server is not called \"{}\": {}", name.substr(0, 100),
                              visitor.local ? "over its UNIX socket it is http://tailor/ (curl --unix-socket "
                                              "PATH http://tailor/api/v1/status)"
                                            : "use localhost, or name it with tailord --http-host"));
  if (!visitor.origin.empty() && visitor.origin != "http://" + visitor.host &&
      visitor.origin != "https://" + visitor.host)
    return denied("the request comes from a page of another origin");
  if (visitor.fetch_site == "cross-site" || (visitor.changes && visitor.fetch_site == "same-site"))
    return denied("the request comes from a page of another site");
  return Ok{};
}

const Token* Gate::find(std::string_view bearer) const {
  const Sha256Digest digest = sha256(bearer);
  for (const Token& token : options_.tokens) {
    if (same(token.digest, digest)) return &token;
  }
  return nullptr;
}

std::optional<Access> Gate::identify(const Visitor& visitor) {
  if (!visitor.authorization.empty()) {
    const std::string_view bearer = bearer_of(visitor);
    if (bearer.empty()) return std::nullopt;
    if (const Token* token = find(bearer); token != nullptr)
      return with_asker(token->access, owner_of_token(token->name));
    std::lock_guard lock(mutex_);
    const auto session = sessions_.find(digest_of(bearer));
    if (session == sessions_.end()) return std::nullopt;
    if (Clock::now() < session->second.until) return session->second.access;
    sessions_.erase(session);
    return std::nullopt;
  }
  if (!visitor.local) return std::nullopt;
  const Asker asker = asker_of_user(visitor.uid);
  return with_asker(asker.trusted ? Access::everything() : own_only(visitor.uid), asker);
}

std::optional<std::string> Gate::open_session(const Visitor& visitor) {
  const std::string_view bearer = bearer_of(visitor);
  if (bearer.empty()) return std::nullopt;
  if (const Token* token = find(bearer); token != nullptr) return open_session(token->name, token->access);
  if (!take_start_token(bearer)) return std::nullopt;
  return open_session(kOfLinks, Access::everything());
}

std::string Gate::open_session(const std::string& owner, const Access& access) {
  constexpr std::chrono::hours kLength{12};
  std::string secret = random_secret();
  std::lock_guard lock(mutex_);
  const Clock::time_point now = Clock::now();
  std::erase_if(sessions_, [&](const auto& each) { return now >= each.second.until; });
  std::size_t own = 0;
  auto oldest = sessions_.end();
  for (auto each = sessions_.begin(); each != sessions_.end(); ++each) {
    if (each->second.owner != owner) continue;
    ++own;
    if (oldest == sessions_.end() || each->second.until < oldest->second.until) oldest = each;
  }
  if (own >= kMostSessions) sessions_.erase(oldest);
  sessions_[digest_of(secret)] = {owner, with_asker(access, owner_of_token(owner)), now + kLength};
  return secret;
}

void Gate::close_session(const Visitor& visitor) {
  std::lock_guard lock(mutex_);
  sessions_.erase(digest_of(bearer_of(visitor)));
}

std::string Gate::issue_start_token() {
  constexpr std::chrono::minutes kLength{10};
  std::string secret = random_secret();
  std::lock_guard lock(mutex_);
  start_tokens_[digest_of(secret)] = Clock::now() + kLength;
  return secret;
}

bool Gate::take_start_token(std::string_view token) {
  std::lock_guard lock(mutex_);
  const auto found = start_tokens_.find(digest_of(token));
  if (found == start_tokens_.end()) return false;
  const bool in_time = Clock::now() < found->second;
  start_tokens_.erase(found);
  return in_time;
}

}  // namespace tailor::serve
