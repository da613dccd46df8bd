#include "daemon/store/catalogue_pages.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include "daemon/store/catalogue_shares.h"
#include "daemon/store/checked_pages.h"
#include "daemon/store/sqlite_statement.h"

namespace tailor::store {

// In this order: the size of pages takes the reserved bytes back, and what makes a file smaller makes the
// first page.
Status prepare_for_checksums(sqlite3* db) {
  if (auto ok = execute(db, fmt::format("PRAGMA page_size={}", kPageBytes).c_str()); !ok) return ok;
  int reserved = kPageReserved;
  if (sqlite3_file_control(db, "main", SQLITE_FCNTL_RESERVE_BYTES, &reserved) != SQLITE_OK)
    return catalogue_error(db);
  return execute(db, "PRAGMA auto_vacuum=INCREMENTAL");
}

}  // namespace tailor::store
