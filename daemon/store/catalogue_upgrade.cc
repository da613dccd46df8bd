#include "daemon/store/catalogue_upgrade.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>

#include <cerrno>
#include <filesystem>
#include <memory>

#include "daemon/store/catalogue_pages.h"
#include "daemon/store/catalogue_shares.h"
#include "daemon/store/checked_pages.h"
#include "daemon/store/sqlite_statement.h"
#include "daemon/store/store_directory.h"
#include "proto/base/errors.h"
#include "proto/base/unique_fd.h"

namespace tailor::store {
namespace {

constexpr int kWaitsMs = 2000;

using Database = std::unique_ptr<sqlite3, decltype(&sqlite3_close_v2)>;

Result<Database> open_database(const std::string& path) {
  sqlite3* db = nullptr;
  const int code =
      sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, checked_pages());
  Database opened(db, &sqlite3_close_v2);
  if (code == SQLITE_OK) {
    sqlite3_busy_timeout(db, kWaitsMs);
    return opened;
  }
  return db == nullptr ? exhausted("catalogue: out of memory") : catalogue_error(db);
}

Result<bool> is_unchecked(sqlite3* db) {
  Statement version(db, "PRAGMA user_version");
  auto row = version.next();
  if (!row) return row.error();
  return *row && version.integer(0) == kUncheckedVersion;
}

// The copy of a damaged one would lack rows and look whole.
Status check_whole(sqlite3* db) {
  Statement check(db, "PRAGMA quick_check(1)");
  auto row = check.next();
  if (!row) return row.error();
  if (!*row || check.text(0) != "ok") return internal("the catalogue is damaged");
  return Ok{};
}

// `fresh` is there and empty.
Status copy_with_checksums(sqlite3* db, const std::string& fresh) {
  if (auto ok = prepare_for_checksums(db); !ok) return ok;
  {
    Statement copy(db, "VACUUM INTO ?");
    copy << std::string_view(fresh);
    if (auto ok = copy.run(); !ok) return ok;
  }
  auto copied = open_database(fresh);
  if (!copied) return copied.error();
  // Half of it is of no use, so nothing needs to be taken back.
  return execute(copied->get(),
                 fmt::format("PRAGMA journal_mode=OFF; PRAGMA user_version={}", kCheckedVersion).c_str());
}

Status sync_file(const std::string& path, os::Files& files) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return os_error("cannot open " + path, errno);
  return files.sync(fd.get());
}

// On a full disk SQLite leaves the journal of what it could not make, too.
void discard(const std::string& fresh, os::Files& files) {
  (void)files.remove(fresh);
  (void)files.remove(fresh + "-journal");
}

}  // namespace

Status upgrade_catalogue(const std::string& path, os::Files& files) {
  const std::string fresh = path + ".new";
  auto db = open_database(path);
  if (!db) return db.error();
  auto unchecked = is_unchecked(db->get());
  if (!unchecked) return unchecked.error();
  if (!*unchecked) return Ok{};
  discard(fresh, files);  // of an attempt that failed
  Status made = check_whole(db->get());
  if (made) made = make_private_file(fresh);
  if (made) made = copy_with_checksums(db->get(), fresh);
  if (made) made = sync_file(fresh, files);
  if (made) made = files.rename(fresh, path);
  if (!made) {
    discard(fresh, files);
    return made;
  }
  // If this fails, a power failure may bring the former one back, which is as good.
  (void)files.sync_directory(std::filesystem::path(path).parent_path());
  return Ok{};
}

}  // namespace tailor::store
