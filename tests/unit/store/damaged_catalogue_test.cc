// A catalogue that changed on disk: whatever it answers is right, or it says that it is damaged.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <random>

#include "daemon/store/catalogue_pages.h"
#include "daemon/store/catalogue_terms.h"
#include "daemon/store/checked_pages.h"
#include "tests/support/sample_profile.h"
#include "tests/unit/store/store_fixture.h"

namespace tailor::store {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr std::size_t kPage = kPageBytes;

using Damage = std::function<void(std::string& bytes)>;

Damage flipped(std::size_t byte, int bit) {
  return [=](std::string& bytes) { bytes[byte] = static_cast<char>(bytes[byte] ^ (1 << bit)); };
}

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void put(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

// Through SQLite alone. nullptr: its own VFS, which checks nothing.
std::optional<std::string> rows_of(const std::string& path, const char* vfs, const std::string& sql) {
  sqlite3* db = nullptr;
  std::string out;
  int code = sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READWRITE, vfs);
  const auto add = [](void* to, int columns, char** values, char**) {
    for (int i = 0; i < columns; ++i)
      *static_cast<std::string*>(to) += std::string(values[i] == nullptr ? "NULL" : values[i]) + "|";
    return 0;
  };
  if (code == SQLITE_OK) code = sqlite3_exec(db, sql.c_str(), add, &out, nullptr);
  sqlite3_close_v2(db);
  return code == SQLITE_OK ? std::optional(out) : std::nullopt;
}

constexpr const char* kAllRows =
    "SELECT *, hex(record) FROM execution; SELECT * FROM segment; SELECT * FROM cost; SELECT * FROM entry;"
    "SELECT * FROM use; SELECT * FROM share; SELECT * FROM owner; SELECT * FROM removed;"
    "SELECT * FROM part; SELECT * FROM cut; SELECT * FROM rate";

class DamagedCatalogueTest : public StoreTest {
 protected:
  // Pages of every kind: of tables and indexes on several levels, behind long texts, and free ones.
  void SetUp() override {
    StoreTest::SetUp();
    auto writer = open();
    ASSERT_TRUE(writer);
    test::give_profile(*writer, 3);
    for (ExecutionHandle handle = 100; handle < 700; ++handle) writer->on_execution(execution(handle));
    ASSERT_TRUE(writer->finish());
    writer.reset();
    path_ = catalogue_path(directory_);
    auto catalogue = Catalogue::open(path_, Catalogue::Mode::kWrite);
    ASSERT_TRUE(catalogue);
    ASSERT_TRUE(catalogue->note_removed({1000, 5, 6, kWall, kWall}));
    ASSERT_TRUE(catalogue->remove_executions(1000, 150));
    whole_ = contents(path_);
    answers_ = answers();
    ASSERT_TRUE(answers_);
    rows_ = rows_of(path_, nullptr, kAllRows);
    ASSERT_TRUE(rows_);
  }

  static profile::ExecutionRecord execution(ExecutionHandle handle) {
    profile::ExecutionRecord e;
    e.process = {7, 1};
    e.handle = handle;
    e.uid = 1000;
    e.begin = static_cast<TimeNs>(handle) * kSecond;
    e.end = e.begin + 1;
    for (std::size_t i = 0; i < e.id.bytes.size(); ++i)
      e.id.bytes[i] = static_cast<std::uint8_t>(handle * 0x9E37'79B9'7F4A'7C15ull >> (i % 8 * 8));
    const std::size_t length = handle % 50 == 0 ? 20'000 : 40;
    e.labels = {{"query", "select " + std::to_string(handle) + std::string(length, 'q')}};
    return e;
  }

  // A writer that finds the catalogue damaged renames it, and says so.
  void open_that_puts_aside() {
    std::vector<std::string> told;
    StoreOptions options;
    options.on_put_aside = [&](const std::string& what) { told.push_back(what); };
    ASSERT_TRUE(open(options));
    ASSERT_EQ(told.size(), 1u);
    EXPECT_THAT(told[0], testing::AllOf(HasSubstr("damaged"), HasSubstr(path_ + ".bad")));
  }

  // All that can be asked of it; nothing where it says that something is wrong, which says_ has.
  std::optional<std::string> answers() {
    auto catalogue = Catalogue::open(path_, Catalogue::Mode::kRead);
    if (!catalogue) return said(catalogue.error());
    std::string out;
    const auto add_rows = [&](const Result<std::vector<ExecutionRow>>& rows) {
      for (const ExecutionRow& row : *rows) {
        out +=
            fmt::format("{} {} {} {} {} {} {} {}\n", row.recording, id_text(row.record.id), row.record.begin,
                        row.wall_begin_ns, row.plan_name, row.cost.samples, row.cost.cpu_ns, row.comm);
        for (const auto& [key, value] : row.record.labels) out += fmt::format("{}={}\n", key, value);
      }
    };
    for (const WallRange& range : {WallRange{}, WallRange{kWall + 200 * kNs, kWall + 300 * kNs, true}}) {
      const auto rows = catalogue->executions(10'000, range);
      if (!rows) return said(rows.error());
      add_rows(rows);
    }
    for (ExecutionHandle handle : {111u, 300u, 600u}) {
      const auto rows = catalogue->find_executions(id_text(execution(handle).id).substr(0, 10));
      if (!rows) return said(rows.error());
      add_rows(rows);
    }
    const auto segments = catalogue->segments();
    if (!segments) return said(segments.error());
    for (const SegmentRow& row : *segments) {
      out += fmt::format("{} {} {} {} {} {}\n", row.number, row.recording, row.first, row.last, row.bytes,
                         row.samples);
      const auto used = catalogue->used_dictionaries(row.number);
      if (!used) return said(used.error());
      for (std::uint64_t number : *used) out += fmt::format("uses {}\n", number);
    }
    const auto uses = catalogue->uses();
    if (!uses) return said(uses.error());
    for (const UserUse& use : *uses) out += fmt::format("{} {} {}\n", use.executions, use.names, use.bytes());
    const auto removed = catalogue->removed();
    if (!removed) return said(removed.error());
    for (const RemovedOfUser& each : *removed) out += fmt::format("{} {}\n", each.executions, each.names);
    const auto disk = catalogue->disk_uses();
    if (!disk) return said(disk.error());
    for (const DiskUse& use : *disk) out += fmt::format("{} of the disk\n", use.bytes);
    return out;
  }
  std::optional<std::string> said(const Error& error) {
    says_ = error.message;
    return std::nullopt;
  }

  // How many of these damages were said. Whatever is answered is right.
  int said_of(const std::vector<Damage>& all) {
    int noticed = 0;
    for (const Damage& damage : all) {
      put_damaged(damage);
      const auto now = answers();
      if (now) {
        EXPECT_TRUE(now == answers_) << "a wrong answer, and no word";
      } else {
        ++noticed;
        EXPECT_THAT(says_, HasSubstr("catalogue.sqlite"));
        by_checksum_ += says_.find("does not fit its checksum") != std::string::npos ? 1 : 0;
      }
      const auto rows = rows_of(path_, checked_pages(), kAllRows);
      EXPECT_TRUE(!rows || rows == rows_) << "a wrong row, and no word";
    }
    put(path_, whole_);
    return noticed;
  }
  // The same without checksums: how many wrong answers nobody notices.
  int wrong_without(const std::vector<Damage>& all) {
    int wrong = 0;
    for (const Damage& damage : all) {
      put_damaged(damage);
      const auto rows = rows_of(path_, nullptr, kAllRows);
      wrong += rows && rows != rows_ ? 1 : 0;
    }
    put(path_, whole_);
    return wrong;
  }

  std::vector<Damage> flipped_bits(int count) const {
    std::mt19937 random(1);
    std::vector<Damage> out;
    for (int i = 0; i < count; ++i) {
      const std::size_t byte = random() % whole_.size();
      out.push_back(flipped(byte, static_cast<int>(random() % 8)));
    }
    return out;
  }
  // For the begin of each page of the file.
  std::vector<Damage> of_each_page(const std::function<void(std::string&, std::size_t)>& damage) const {
    std::vector<Damage> out;
    for (std::size_t at = 0; at < whole_.size(); at += kPage)
      out.push_back([=](std::string& bytes) { damage(bytes, at); });
    return out;
  }
  void put_damaged(const Damage& damage) const {
    std::string bytes = whole_;
    damage(bytes);
    put(path_, bytes);
  }

  // The file as version 1 wrote it: without checksums.
  void make_old() {
    const std::string old = path_ + ".old";
    std::string sql = "ATTACH '" + path_ + "' AS now; PRAGMA journal_mode=OFF;";
    const auto made_of = [&](bool tables) {
      const auto made = rows_of(path_, nullptr,
                                fmt::format("SELECT sql||';' FROM sqlite_master WHERE sql NOT NULL AND "
                                            "(type='table')={} ORDER BY type, rowid",
                                            tables ? 1 : 0));
      std::string out = made.value_or("");
      for (std::size_t at = 0; (at = out.find(";|", at)) != std::string::npos;) out.replace(at, 2, ";\n");
      return out;
    };
    sql += made_of(true);
    for (const char* table :
         {"segment", "execution", "cost", "entry", "use", "share", "owner", "removed", "part", "cut", "rate"})
      sql += fmt::format("INSERT INTO main.{0} SELECT * FROM now.{0};", table);
    sql += made_of(false) + "PRAGMA user_version=1";
    put(old, "");
    ASSERT_TRUE(rows_of(old, nullptr, sql));
    fs::rename(old, path_);
    ASSERT_EQ(contents(path_)[20], 0) << "no bytes are reserved";
  }
  static constexpr std::uint64_t kNs = 1'000'000'000;
  std::string path_, whole_, says_;
  int by_checksum_ = 0;  // of those that were said
  std::optional<std::string> answers_, rows_;
};

TEST_F(DamagedCatalogueTest, HasPagesOfEveryKind) {
  EXPECT_EQ(contents(path_)[20], kPageReserved);
  EXPECT_GT(whole_.size(), 60 * kPage);
  EXPECT_EQ(rows_of(path_, checked_pages(), "PRAGMA user_version"), "2|");
  EXPECT_EQ(rows_of(path_, checked_pages(), "PRAGMA integrity_check"), "ok|");
  EXPECT_NE(rows_of(path_, checked_pages(), "PRAGMA freelist_count"), "0|");
}

TEST_F(DamagedCatalogueTest, AFlippedBitIsSaidOrWithoutEffect) {
  const std::vector<Damage> all = flipped_bits(400);
  EXPECT_GT(said_of(all), 160);
  EXPECT_GT(by_checksum_, 160);
  // So there is something to notice.
  EXPECT_GT(wrong_without(all), 50);
}

// The header of the file says how large pages are, whether they have checksums, and which version wrote it.
TEST_F(DamagedCatalogueTest, EveryBitOfTheHeaderIsSaid) {
  std::vector<Damage> all;
  for (std::size_t byte = 0; byte < 100; ++byte) {
    for (int bit = 0; bit < 8; ++bit) all.push_back(flipped(byte, bit));
  }
  EXPECT_EQ(said_of(all), 800);
  for (const Damage& damage : all) {
    put_damaged(damage);
    EXPECT_FALSE(Catalogue::open(path_, Catalogue::Mode::kWrite));
  }
}

TEST_F(DamagedCatalogueTest, AWriterSaysWhateverIsInUse) {
  std::size_t refused = 0, pages = 0;
  const auto change = [](std::string& bytes, std::size_t at) { bytes[at + 2000] ^= 4; };
  for (const Damage& damage : of_each_page(change)) {
    put_damaged(damage);
    refused += Catalogue::open(path_, Catalogue::Mode::kWrite) ? 0 : 1;
    ++pages;
  }
  put(path_, whole_);
  const auto free = rows_of(path_, checked_pages(), "PRAGMA freelist_count");
  ASSERT_TRUE(free);
  EXPECT_GE(refused + std::stoul(*free), pages) << "all but those that hold nothing";
}

TEST_F(DamagedCatalogueTest, PagesThatAreEmptyOrInAnotherPlace) {
  const auto empty = [](std::string& bytes, std::size_t at) { bytes.replace(at, kPage, kPage, '\0'); };
  EXPECT_GT(said_of(of_each_page(empty)), 20);
  // A whole page, with its checksum, that was written where another belongs.
  const auto other = [this](std::string& bytes, std::size_t at) {
    bytes.replace(at, kPage, whole_, (at + 5 * kPage) % whole_.size(), kPage);
  };
  EXPECT_GT(said_of(of_each_page(other)), 20);
}

TEST_F(DamagedCatalogueTest, OneThatWasCutIsSaid) {
  std::vector<Damage> all;
  const auto cut_at = [&](std::size_t size) {
    all.push_back([=](std::string& bytes) { bytes.resize(size); });
  };
  for (std::size_t size = 0; size < kPage; size += size < 110 ? 1 : 97) cut_at(size);
  for (std::size_t size = kPage; size < whole_.size(); size += kPage) {
    for (const std::size_t more : {0, 1, 4095}) cut_at(size + more);
  }
  EXPECT_EQ(said_of(all), static_cast<int>(all.size()));
}

TEST_F(DamagedCatalogueTest, ATailordMakesItAgain) {
  put_damaged(flipped(2 * kPage + 4000, 0));
  ASSERT_NO_FATAL_FAILURE(open_that_puts_aside());
  auto catalogue = Catalogue::open(path_, Catalogue::Mode::kRead);
  ASSERT_TRUE(catalogue);
  const auto rows = catalogue->executions(10'000);
  ASSERT_TRUE(rows);
  EXPECT_EQ(rows->size(), 601u) << "those that were removed lie in the segments, too";
}

// The pages that a change of a killed writer is taken back with.
TEST_F(DamagedCatalogueTest, AJournalIsChecked) {
  std::string journal;
  {
    auto catalogue = Catalogue::open(path_, Catalogue::Mode::kWrite);
    ASSERT_TRUE(catalogue);
    ASSERT_TRUE(catalogue->begin());
    ASSERT_TRUE(catalogue->remove_executions(1000, 300));
    journal = contents(path_ + "-journal");
    catalogue->rollback();
  }
  EXPECT_EQ(contents(path_), whole_) << "what is taken back is as it was";
  ASSERT_GT(journal.size(), 10 * kPage);
  std::mt19937 random(1);
  int noticed = 0;
  for (int i = 0; i < 200; ++i) {
    std::string bytes = journal;
    // In a page, but for the first try: a record is the number, the page, and SQLite's checksum.
    const std::size_t header = bytes.size() % (kPage + 8), pages = bytes.size() / (kPage + 8);
    const std::size_t at = header + random() % pages * (kPage + 8) + 4 + random() % kPage;
    if (i > 0) flipped(at, static_cast<int>(random() % 8))(bytes);
    put(path_, whole_);
    put(path_ + "-journal", bytes);
    const auto now = answers();
    if (i == 0) {
      ASSERT_TRUE(now) << says_;
    }
    EXPECT_TRUE(!now || now == answers_);
    noticed += now ? 0 : 1;
  }
  EXPECT_EQ(noticed, 199);
}

TEST_F(DamagedCatalogueTest, AnOlderOneIsReadAsItIs) {
  make_old();
  const std::string before = contents(path_);
  EXPECT_EQ(answers(), answers_);
  EXPECT_EQ(contents(path_), before);
}

TEST_F(DamagedCatalogueTest, AWriterGivesAnOlderOneChecksums) {
  make_old();
  fs::permissions(path_, fs::perms(0600));
  put(path_ + ".new", "of an attempt that failed");
  put(path_ + ".new-journal", "its journal");
  auto reader = Catalogue::open(path_, Catalogue::Mode::kRead);
  ASSERT_TRUE(reader);
  ASSERT_TRUE(open());
  EXPECT_EQ(contents(path_)[20], kPageReserved);
  const char* pragmas = "PRAGMA user_version; PRAGMA auto_vacuum; PRAGMA integrity_check";
  EXPECT_EQ(rows_of(path_, checked_pages(), pragmas), "2|2|ok|");
  EXPECT_FALSE(fs::exists(path_ + ".new"));
  EXPECT_FALSE(fs::exists(path_ + ".new-journal"));
  EXPECT_FALSE(fs::exists(path_ + ".bad"));
  EXPECT_EQ(fs::status(path_).permissions() & fs::perms(0137), fs::perms::none) << "closed to others";
  auto catalogue = Catalogue::open(path_, Catalogue::Mode::kRead);
  ASSERT_TRUE(catalogue);
  EXPECT_EQ(catalogue->executions(10'000)->size(), 451u) << "what was removed stays so";
  EXPECT_EQ(catalogue->removed()->size(), 1u);
  EXPECT_EQ(reader->executions(10'000)->size(), 451u) << "who reads goes on";
}

// SQLite copies it without a word, and the copy would be whole: with fewer rows.
TEST_F(DamagedCatalogueTest, ADamagedOlderOneGetsNoChecksums) {
  make_old();
  const std::string old = contents(path_), copy = path_ + ".copy";
  bool fewer = false;
  for (std::size_t page = kPage; page < old.size() && !fewer; page += kPage) {
    std::string bytes = old;
    const bool is_leaf = bytes[page] == 0x0D || bytes[page] == 0x0A;
    if (!is_leaf || bytes[page + 4] == 0) continue;
    --bytes[page + 4];  // how many rows it has
    put(path_, bytes);
    const auto copied = rows_of(path_, nullptr, fmt::format("VACUUM INTO '{}'", copy));
    fewer = copied && rows_of(copy, nullptr, kAllRows) != rows_;
    fs::remove(copy);
  }
  ASSERT_TRUE(fewer) << "there is something to notice";
  ASSERT_NO_FATAL_FAILURE(open_that_puts_aside());
  EXPECT_FALSE(fs::exists(path_ + ".new"));
  EXPECT_EQ(contents(path_)[20], kPageReserved);
  auto catalogue = Catalogue::open(path_, Catalogue::Mode::kRead);
  ASSERT_TRUE(catalogue);
  EXPECT_EQ(catalogue->executions(10'000)->size(), 601u) << "as the segments have them";
}

// It is as good as it was, and the log says it.
TEST_F(DamagedCatalogueTest, WhereThereIsNoRoomTheOlderOneStays) {
  make_old();
  fs::create_directories(path_ + ".new/in the way");
  std::vector<std::string> told;
  StoreOptions options;
  options.on_put_aside = [&](const std::string& what) { told.push_back(what); };
  ASSERT_TRUE(open(options));
  EXPECT_EQ(contents(path_)[20], 0);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_THAT(told[0], HasSubstr(path_ + " stays without checksums"));
  EXPECT_FALSE(fs::exists(path_ + ".bad"));
}

// Changes larger than what SQLite keeps in memory, pages that are used again, and a file that shrinks.
TEST_F(DamagedCatalogueTest, LargeChangesLeavePagesThatFit) {
  const std::string path = directory_ + "/own.sqlite";
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, checked_pages()),
            SQLITE_OK);
  ASSERT_TRUE(prepare_for_checksums(db));
  const std::string sql =
      "PRAGMA cache_size=10; CREATE TABLE a(x); CREATE TABLE b(x); BEGIN;"
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<400) INSERT INTO a SELECT "
      "zeroblob(3000) FROM n; DELETE FROM a; WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n "
      "WHERE i<100) INSERT INTO b SELECT randomblob(9000) FROM n; COMMIT; VACUUM; DELETE FROM b WHERE "
      "rowid%3=0; PRAGMA incremental_vacuum(20);";
  EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
  EXPECT_TRUE(has_checksums(db));
  sqlite3_close_v2(db);
  EXPECT_EQ(rows_of(path, checked_pages(), "PRAGMA integrity_check"), "ok|");
}

}  // namespace
}  // namespace tailor::store
