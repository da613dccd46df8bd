// The file of tokens (docs/security.md, "Tokens").
#include <fmt/format.h>
#include <sys/stat.h>
#include <toml++/toml.h>
#include <unistd.h>

#include "daemon/serve/http/gate.h"

namespace tailor::serve {
namespace {

Error wrong(const std::string& path, const toml::node& where, std::string_view what) {
  return invalid(fmt::format("{}, line {}: {}", path, where.source().begin.line, what));
}

bool parse_digest(std::string_view text, std::array<std::uint8_t, 32>& out) {
  auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return -1;
  };
  if (text.size() != out.size() * 2) return false;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    out[i] = static_cast<std::uint8_t>(high << 4 | low);
  }
  return true;
}

Status read_value(const std::string& path, std::string_view key, const toml::node& value, Token& token) {
  if (key == "name" && value.is_string()) {
    token.name = **value.as_string();
  } else if (key == "sha256" && value.is_string()) {
    if (!parse_digest(**value.as_string(), token.digest))
      return wrong(path, value,
                   "sha256 is 64 hexadecimal digits in lower case: the digest of the token, not the token");
  } else if (key == "see" && value.is_string()) {
    if (**value.as_string() != "all") return wrong(path, value, "see can be \"all\" only");
    token.access.see_all = true;
  } else if (key == "metrics" && value.is_boolean()) {
    token.access.metrics_only = **value.as_boolean();
  } else if (key == "control" && value.is_boolean()) {
    token.access.control = **value.as_boolean();
  } else if (key == "uids" && value.is_array()) {
    token.access.uids.emplace();
    for (const toml::node& uid : *value.as_array()) {
      const auto number = uid.value<std::int64_t>();
      if (!number || *number < 0 || *number > UINT32_MAX)
        return wrong(path, uid, "uids are numbers of users");
      token.access.uids->insert(static_cast<std::uint32_t>(*number));
    }
  } else if (key == "labels" && value.is_table()) {
    for (const auto& [name, text] : *value.as_table()) {
      if (!text.is_string()) return wrong(path, text, "a label's value is a text");
      token.access.labels.emplace_back(name.str(), **text.as_string());
    }
  } else {
    return wrong(path, value, fmt::format("\"{}\" is not known here, or has a value of another kind", key));
  }
  return Ok{};
}

// A key that would do nothing is refused: who wrote it expects something of it.
std::string_view useless_control(const Access& access) {
  if (access.metrics_only) return "a token with metrics = true is for /metrics alone: leave control out";
  if (access.see_all || (access.uids && !access.uids->empty())) return "";
  return "control needs see = \"all\", or uids: they say whose processes the token may change";
}

Result<Token> read_token(const std::string& path, const toml::node& node) {
  const toml::table* table = node.as_table();
  if (table == nullptr) return wrong(path, node, "a token is a table: [[token]]");
  Token token;
  token.access.see_all = false;
  bool has_digest = false;
  for (const auto& [key, value] : *table) {
    has_digest = has_digest || key.str() == "sha256";
    if (Status done = read_value(path, key.str(), value, token); !done.ok()) return done.error();
  }
  if (!has_digest) return wrong(path, node, "sha256 is missing: the digest of the token");
  if (token.access.control) {
    if (const std::string_view problem = useless_control(token.access); !problem.empty())
      return wrong(path, *table->get("control"), problem);
  }
  return token;
}

}  // namespace

Result<std::vector<Token>> read_tokens(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return not_found(fmt::format("cannot read the tokens in {}", path));
  const bool ours = info.st_uid == 0 || info.st_uid == ::geteuid();
  if (!ours || (info.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return denied(fmt::format("{} can be written by others: chown it to root and chmod 0644", path));
  toml::table file;
  try {
    file = toml::parse_file(path);
  } catch (const toml::parse_error& problem) {
    return invalid(fmt::format("{}, line {}: {}", path, problem.source().begin.line, problem.description()));
  }
  std::vector<Token> tokens;
  for (const auto& [key, value] : file) {
    if (key.str() != "token" || !value.is_array()) return wrong(path, value, "only [[token]] is known here");
    for (const toml::node& node : *value.as_array()) {
      auto token = read_token(path, node);
      if (!token) return token.error();
      tokens.push_back(std::move(*token));
    }
  }
  return tokens;
}

}  // namespace tailor::serve
