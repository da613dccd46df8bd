#include "daemon/serve/fingerprint.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

#include "daemon/redact/sql_text.h"
#include "proto/base/hex.h"
#include "proto/base/sha256.h"

namespace tailor::serve {
namespace {

bool usable(std::string_view id) {
  return !id.empty() && id.size() <= 64 && std::all_of(id.begin(), id.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '-';
  });
}

// A 64-bit number in decimal, with or without a sign, and not the 0 of an engine that does not know it; as
// digits. As bytes stay the same, a signed and an unsigned way to write it are one.
std::optional<std::string> query_id(std::string_view text) {
  std::uint64_t id = 0;
  const char* const begin = text.begin();
  const char* const end = text.end();
  std::from_chars_result read{};
  if (text.starts_with('-')) {
    std::int64_t negative = 0;
    read = std::from_chars(begin, end, negative);
    id = static_cast<std::uint64_t>(negative);
  } else {
    read = std::from_chars(begin, end, id);
  }
  if (read.ec != std::errc() || read.ptr != end || id == 0) return std::nullopt;
  return fmt::format("{:016x}", id);
}

}  // namespace

std::string_view label_of(const store::ExecutionRow& row, std::string_view key) {
  for (const auto& [name, value] : row.record.labels) {
    if (name == key) return value;
  }
  return {};
}

std::string fingerprint_of(const store::ExecutionRow& row) {
  const std::string_view own = label_of(row, "fingerprint");
  if (usable(own)) return std::string(own);
  if (auto id = query_id(label_of(row, "query_id"))) return *id;
  const std::string_view text = label_of(row, "query");
  const std::string what = text.empty() ? "plan " + row.plan_name : "query " + redact::normalised(text);
  const Sha256Digest digest = sha256(what);
  return hex_text(std::as_bytes(std::span(digest).first(8)));
}

}  // namespace tailor::serve
