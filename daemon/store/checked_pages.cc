#include "daemon/store/checked_pages.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>

#include "daemon/store/crc32c.h"

namespace tailor::store {
namespace {

// The header of a database, at the begin of its first page.
constexpr int kHeaderBytes = 100, kReservedAt = 20, kUserVersionAt = 60;
constexpr std::size_t kNumberAt = kPageBytes - 8, kSumAt = kPageBytes - 4;

using Page = std::array<std::uint8_t, kPageBytes>;

// What SQLite takes for its file. That of the system's VFS lies behind it.
struct CheckedFile {
  sqlite3_file base;
  CheckedFile* database;  // of a journal: the one whose pages it holds
  bool checked;           // of a database: its pages have checksums
  bool damaged;           // of a database: one of them did not fit
  int lock;

  sqlite3_file* inner() { return reinterpret_cast<sqlite3_file*>(this + 1); }
  const sqlite3_io_methods& methods() { return *inner()->pMethods; }
  // Either says it, so that a change of one of them is noticed. Another number of bytes is of a program that
  // is not known here.
  void learn(const std::uint8_t* header) {
    const std::uint8_t* version = header + kUserVersionAt;
    const bool ours = version[0] == 0 && version[1] == 0 && version[2] == 0 && version[3] == kCheckedVersion;
    checked = ours || header[kReservedAt] == kPageReserved;
  }
};
static_assert(sizeof(CheckedFile) % alignof(void*) == 0);

CheckedFile& of(sqlite3_file* file) {
  return *reinterpret_cast<CheckedFile*>(file);
}

std::uint32_t load_u32(const std::uint8_t* page, std::size_t at) {
  std::uint32_t value = 0;
  std::memcpy(&value, page + at, sizeof value);
  return value;
}

void store_u32(std::uint8_t* page, std::size_t at, std::uint32_t value) {
  std::memcpy(page + at, &value, sizeof value);
}

std::uint32_t number_of(sqlite3_int64 offset) {
  return static_cast<std::uint32_t>(offset / kPageBytes + 1);
}

std::uint32_t sum_of(const std::uint8_t* page) {
  return crc32c(std::span(page, kSumAt));
}

void seal(std::uint8_t* page, sqlite3_int64 offset) {
  store_u32(page, kNumberAt, number_of(offset));
  store_u32(page, kSumAt, sum_of(page));
}

int damage(CheckedFile& database) {
  database.damaged = true;
  return SQLITE_IOERR_DATA;
}

// A page of a checked database.
int read_page(CheckedFile& file, std::uint8_t* page, sqlite3_int64 offset) {
  const int code = file.methods().xRead(file.inner(), page, kPageBytes, offset);
  if (code == SQLITE_IOERR_SHORT_READ) {
    // SQLite takes what is behind the end for zeros. That is right only for what a writer has not written
    // yet: all other pages are there, see fill_gap().
    sqlite3_int64 size = 0;
    if (const int failed = file.methods().xFileSize(file.inner(), &size); failed != SQLITE_OK) return failed;
    return size <= offset && file.lock >= SQLITE_LOCK_RESERVED ? code : damage(file);
  }
  if (code != SQLITE_OK) return code;
  const bool fits = load_u32(page, kNumberAt) == number_of(offset) && load_u32(page, kSumAt) == sum_of(page);
  return fits ? SQLITE_OK : damage(file);
}

// Newer SQLites read parts of pages; they are checked as wholes.
int read_checked(CheckedFile& file, std::uint8_t* out, int amount, sqlite3_int64 offset) {
  int result = SQLITE_OK;
  while (amount > 0) {
    const int within = static_cast<int>(offset % kPageBytes);
    const int part = std::min(amount, kPageBytes - within);
    Page page;
    std::uint8_t* into = part == kPageBytes ? out : page.data();
    const int code = read_page(file, into, offset - within);
    if (code == SQLITE_IOERR_SHORT_READ) result = code;
    if (code != SQLITE_OK && code != SQLITE_IOERR_SHORT_READ) return code;
    if (into != out) std::memcpy(out, into + within, static_cast<std::size_t>(part));
    out += part;
    offset += part;
    amount -= part;
  }
  return result;
}

int read_database(sqlite3_file* base, void* out, int amount, sqlite3_int64 offset) {
  CheckedFile& file = of(base);
  if (offset == 0 && amount >= kHeaderBytes) {
    std::array<std::uint8_t, kHeaderBytes> header{};
    const int code = file.methods().xRead(file.inner(), header.data(), kHeaderBytes, 0);
    if (code == SQLITE_OK) file.learn(header.data());
  }
  // The header alone is read without a lock, and only to see whether the first page must be read again.
  if (!file.checked || offset + amount <= kHeaderBytes)
    return file.methods().xRead(file.inner(), out, amount, offset);
  return read_checked(file, static_cast<std::uint8_t*>(out), amount, offset);
}

// SQLite leaves out pages that hold nothing. With zeros that have a checksum, every page of the file can be
// checked.
int fill_gap(CheckedFile& file, sqlite3_int64 until) {
  sqlite3_int64 size = 0;
  if (const int code = file.methods().xFileSize(file.inner(), &size); code != SQLITE_OK) return code;
  for (sqlite3_int64 at = size - size % kPageBytes; at < until; at += kPageBytes) {
    Page page{};
    seal(page.data(), at);
    if (const int code = file.methods().xWrite(file.inner(), page.data(), kPageBytes, at); code != SQLITE_OK)
      return code;
  }
  return SQLITE_OK;
}

int write_database(sqlite3_file* base, const void* in, int amount, sqlite3_int64 offset) {
  CheckedFile& file = of(base);
  if (offset == 0 && amount >= kHeaderBytes) file.learn(static_cast<const std::uint8_t*>(in));
  if (file.checked) {
    if (amount != kPageBytes || offset % kPageBytes != 0) return SQLITE_IOERR_WRITE;
    if (const int code = fill_gap(file, offset); code != SQLITE_OK) return code;
    // Into the page that SQLite keeps: it is what is on disk then. No such page lies in constant memory.
    seal(static_cast<std::uint8_t*>(const_cast<void*>(in)), offset);
  }
  return file.methods().xWrite(file.inner(), in, amount, offset);
}

// Pages that a killed writer's change is taken back with would get a new checksum, damaged or not. SQLite's
// own checksum of them looks at every 200th byte.
int read_journal(sqlite3_file* base, void* out, int amount, sqlite3_int64 offset) {
  CheckedFile& file = of(base);
  const int code = file.methods().xRead(file.inner(), out, amount, offset);
  if (code != SQLITE_OK || amount != kPageBytes || !file.database->checked) return code;
  const auto* page = static_cast<const std::uint8_t*>(out);
  return load_u32(page, kSumAt) == sum_of(page) ? SQLITE_OK : damage(*file.database);
}

int write_journal(sqlite3_file* base, const void* in, int amount, sqlite3_int64 offset) {
  CheckedFile& file = of(base);
  if (amount == kPageBytes && file.database->checked) {
    // Pages that hold nothing any more are not written to the database, so their checksum may be an old one.
    auto* page = static_cast<std::uint8_t*>(const_cast<void*>(in));
    store_u32(page, kSumAt, sum_of(page));
  }
  return file.methods().xWrite(file.inner(), in, amount, offset);
}

int lock(sqlite3_file* base, int level) {
  CheckedFile& file = of(base);
  const int code = file.methods().xLock(file.inner(), level);
  if (code == SQLITE_OK) file.lock = std::max(file.lock, level);
  return code;
}

int unlock(sqlite3_file* base, int level) {
  CheckedFile& file = of(base);
  file.lock = std::min(file.lock, level);
  return file.methods().xUnlock(file.inner(), level);
}

// What reads or writes other than in whole pages is not promised.
int characteristics(sqlite3_file* base) {
  constexpr int kKept = SQLITE_IOCAP_SAFE_APPEND | SQLITE_IOCAP_SEQUENTIAL |
                        SQLITE_IOCAP_UNDELETABLE_WHEN_OPEN | SQLITE_IOCAP_POWERSAFE_OVERWRITE;
  CheckedFile& file = of(base);
  return file.methods().xDeviceCharacteristics(file.inner()) & kKept;
}

void barrier(sqlite3_file* base) {
  of(base).methods().xShmBarrier(of(base).inner());
}

template <auto kMethod, typename... Arguments>
int pass(sqlite3_file* base, Arguments... arguments) {
  return (of(base).methods().*kMethod)(of(base).inner(), arguments...);
}

// Version 2: with a write-ahead log, which newer programs may use, and without memory maps, which nobody
// would check.
constexpr sqlite3_io_methods methods_of(bool journal) {
  using Methods = sqlite3_io_methods;
  Methods methods{};
  methods.iVersion = 2;
  methods.xClose = pass<&Methods::xClose>;
  methods.xRead = journal ? read_journal : read_database;
  methods.xWrite = journal ? write_journal : write_database;
  methods.xTruncate = pass<&Methods::xTruncate>;
  methods.xSync = pass<&Methods::xSync>;
  methods.xFileSize = pass<&Methods::xFileSize>;
  methods.xLock = lock;
  methods.xUnlock = unlock;
  methods.xCheckReservedLock = pass<&Methods::xCheckReservedLock>;
  methods.xFileControl = pass<&Methods::xFileControl>;
  methods.xSectorSize = pass<&Methods::xSectorSize>;
  methods.xDeviceCharacteristics = characteristics;
  methods.xShmMap = pass<&Methods::xShmMap>;
  methods.xShmLock = pass<&Methods::xShmLock>;
  methods.xShmBarrier = barrier;
  methods.xShmUnmap = pass<&Methods::xShmUnmap>;
  return methods;
}

constexpr sqlite3_io_methods kDatabase = methods_of(false), kJournal = methods_of(true);

sqlite3_vfs* the_systems() {
  static sqlite3_vfs* const found = sqlite3_vfs_find(nullptr);
  return found;
}

int open(sqlite3_vfs*, const char* name, sqlite3_file* base, int flags, int* out_flags) {
  sqlite3_vfs* system = the_systems();
  const bool database = (flags & SQLITE_OPEN_MAIN_DB) != 0;
  if (!database && (flags & SQLITE_OPEN_MAIN_JOURNAL) == 0)
    return system->xOpen(system, name, base, flags, out_flags);
  CheckedFile& file = of(base);
  std::memset(base, 0, sizeof(CheckedFile) + static_cast<std::size_t>(system->szOsFile));
  int code = system->xOpen(system, name, file.inner(), flags, out_flags);
  sqlite3_int64 size = 0;
  if (code == SQLITE_OK && database) code = file.methods().xFileSize(file.inner(), &size);
  if (code != SQLITE_OK) {
    if (file.inner()->pMethods != nullptr) file.methods().xClose(file.inner());
    return code;
  }
  // Pages of a new one may be written before the first, which says it.
  file.checked = size == 0;
  file.database = database ? &file : &of(sqlite3_database_file_object(name));
  file.base.pMethods = database ? &kDatabase : &kJournal;
  return SQLITE_OK;
}

// nullptr: it could not be opened.
const CheckedFile* file_of(sqlite3* db) {
  sqlite3_file* file = nullptr;
  const int code = sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
  return code == SQLITE_OK && file != nullptr && file->pMethods != nullptr ? &of(file) : nullptr;
}

}  // namespace

const char* checked_pages() {
  static const char* const name = [] {
    static sqlite3_vfs vfs = *the_systems();
    vfs.pNext = nullptr;
    vfs.zName = "tailor-checked-pages";
    vfs.szOsFile = static_cast<int>(sizeof(CheckedFile)) + the_systems()->szOsFile;
    vfs.xOpen = open;
    sqlite3_vfs_register(&vfs, 0);
    return vfs.zName;
  }();
  return name;
}

bool has_checksums(sqlite3* db) {
  const CheckedFile* file = file_of(db);
  return file != nullptr && file->checked;
}

bool found_damage(sqlite3* db) {
  const CheckedFile* file = file_of(db);
  return file != nullptr && file->damaged;
}

}  // namespace tailor::store
