// How the catalogue knows who has how much of it. Triggers count, so that whoever adds or deletes rows need
// not, programs of before among them. For the catalogue only.
#pragma once

#include <cstdint>
#include <optional>

#include "proto/base/result.h"

struct sqlite3;

namespace tailor::store {

// A user as a key of the tables: -1 where he is not known.
inline std::int64_t user_key(std::optional<std::uint32_t> uid) {
  return uid ? std::int64_t{*uid} : -1;
}

Status execute(sqlite3* db, const char* sql);

// Makes what is missing of it, and counts what an older program has written. May be called within a
// transaction.
Status make_shares(sqlite3* db);

}  // namespace tailor::store
