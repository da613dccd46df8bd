// Checksums of the catalogue's pages, as an SQLite VFS over that of the system: a page that changed on disk
// is an error where it is read. The last eight bytes of a page hold its number and the CRC-32C of what is
// before. Files without them, which programs of before wrote, are read and written as they are.
#pragma once

struct sqlite3;

namespace tailor::store {

// What every catalogue with checksums has.
inline constexpr int kPageBytes = 4096, kPageReserved = 8;
// PRAGMA user_version of those, and of those without.
inline constexpr int kCheckedVersion = 2, kUncheckedVersion = 1;

// The name of the VFS, for sqlite3_open_v2(). Call prepare_for_checksums() of catalogue_pages.h before the
// first table of a new file. A page that does not fit its checksum fails with SQLITE_IOERR_DATA. Thread-safe.
const char* checked_pages();

// Whether the database, which checked_pages() opened, has them. Ask when its first page is there.
bool has_checksums(sqlite3* db);

// Whether a page of it was found that does not fit: SQLite's error code does not always say it.
bool found_damage(sqlite3* db);

}  // namespace tailor::store
