#include "daemon/serve/fingerprint.h"

#include <fmt/format.h>

#include <algorithm>

#include "daemon/redact/sql_text.h"
#include "proto/base/sha256.h"

namespace tailor::serve {
namespace {

bool usable(std::string_view id) {
  return !id.empty() && id.size() <= 64 && std::all_of(id.begin(), id.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '-';
  });
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
  const std::string_view text = label_of(row, "query");
  const std::string what = text.empty() ? "plan " + row.plan_name : "query " + redact::normalised(text);
  const Sha256Digest digest = sha256(what);
  std::string out;
  for (std::size_t i = 0; i < 8; ++i) out += fmt::format("{:02x}", digest[i]);
  return out;
}

}  // namespace tailor::serve
