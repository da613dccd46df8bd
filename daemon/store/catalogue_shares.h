// How the catalogue knows who has how much of it. Triggers count, so programs that add or delete rows need
// not, those of before among them. For the catalogue only.
#pragma once

#include <cstdint>
#include <optional>

#include "proto/base/result.h"

struct sqlite3;

namespace tailor::store {

// A user as a key of the tables: -1 where it is not known.
inline std::int64_t user_key(std::optional<std::uint32_t> uid) {
  return uid ? std::int64_t{*uid} : -1;
}

inline std::optional<std::uint32_t> user_of_key(std::int64_t key) {
  return key < 0 ? std::nullopt : std::optional(static_cast<std::uint32_t>(key));
}

// The order in which executions of a user go. The words are those of the index.
inline constexpr const char* kGoFirst = "sampled, ended=9223372036854775807, recording, begin";

Status execute(sqlite3* db, const char* sql);

// Makes what is missing of it, and counts what an older program has written. May be called within a
// transaction.
Status make_shares(sqlite3* db);
// The same of how much each process has of each segment.
Status make_parts(sqlite3* db);

}  // namespace tailor::store
