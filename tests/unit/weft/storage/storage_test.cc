#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "compiler/weft/storage/csv_import.h"
#include "compiler/weft/storage/database.h"
#include "compiler/weft/storage/delimited_parser.h"
#include "compiler/weft/storage/distinct_sketch.h"
#include "compiler/weft/storage/field_parser.h"
#include "compiler/weft/storage/table_file.h"

namespace tailor::weft {
namespace {

TEST(FieldParser, TakesWholeValuesOnly) {
  EXPECT_EQ(parse_integer("-12"), -12);
  EXPECT_FALSE(parse_integer("12x"));
  EXPECT_FALSE(parse_integer(""));
  EXPECT_FALSE(parse_integer("99999999999999999999"));
  EXPECT_EQ(parse_decimal("-0.07", 2), -7);
  EXPECT_EQ(parse_decimal("5", 2), 500);
  EXPECT_EQ(parse_decimal("1.5000", 2), 150);
  EXPECT_FALSE(parse_decimal("1.505", 2));
  EXPECT_FALSE(parse_decimal(".", 2));
  EXPECT_EQ(parse_date("1970-01-02"), 1);
  EXPECT_EQ(parse_date("1996-02-29"), 9555);
  EXPECT_FALSE(parse_date("1995-02-29"));
}

TEST(DistinctSketch, IsWithinFivePercent) {
  for (std::int64_t count : {1, 100, 5000, 300000}) {
    DistinctSketch sketch;
    for (std::int64_t i = 0; i < count * 3; ++i) sketch.add(i % count);
    EXPECT_NEAR(static_cast<double>(sketch.estimate()), static_cast<double>(count),
                static_cast<double>(count) * 0.05);
  }
}

class TableFiles : public testing::Test {
 protected:
  TableFiles() { std::filesystem::create_directories(folder_); }
  ~TableFiles() override { std::filesystem::remove_all(folder_); }

  TableDefinition definition() const {
    return {"t",
            {{"id", {.kind = ColumnKind::kInt64}},
             {"price", {.kind = ColumnKind::kDecimal, .precision = 12, .scale = 2, .nullable = true}},
             {"flag", {.kind = ColumnKind::kChar, .length = 1}},
             {"note", {.kind = ColumnKind::kVarchar, .nullable = true}}},
            1};
  }
  Status write(std::string_view text) {
    auto groups = parse_delimited(text, "text", definition().columns, {}, 2, {});
    if (!groups.ok()) return groups.error();
    return write_table_file(path_, definition(), *groups, 2);
  }

  std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) / ("tables." + std::to_string(::getpid()));
  std::string path_ = (folder_ / "t.weft").string();
};

TEST_F(TableFiles, KeepValuesStatisticsAndKeys) {
  ASSERT_TRUE(write("1|10.50|A|first|\n300|||\n|").ok() == false) << "an id must not be empty";
  ASSERT_TRUE(write("1|10.50|A|first|\n300||B||\n7|-2.25|A|third|\n").ok());
  auto database = Database::open(folder_.string());
  ASSERT_TRUE(database.ok());
  const Table* table = (*database)->find("t");
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(table->rows, 3u);
  EXPECT_EQ(table->columns[0].storage, StorageKind::kInt16) << "300 does not fit a byte";
  EXPECT_EQ(table->columns[2].storage, StorageKind::kChar);
  EXPECT_EQ(read_value(table->columns[1], 0).integer, 1050);
  EXPECT_TRUE(read_value(table->columns[1], 1).null);
  EXPECT_TRUE(read_value(table->columns[3], 1).null);
  EXPECT_EQ(read_value(table->columns[3], 2).text, "third");
  const TableInfo* info = (*database)->catalog().find("t");
  ASSERT_NE(info, nullptr);
  EXPECT_EQ(info->columns[1].range, (Range{-225, 1050}));
  EXPECT_EQ(info->columns[3].max_length, 5u);
  ASSERT_EQ(info->unique_keys.size(), 1u);
  EXPECT_EQ(info->unique_keys[0], std::vector<std::uint32_t>{0});
}

TEST_F(TableFiles, NameTheLineOfAnError) {
  Status status = write("1|1.00|A|x|\n2|oops|B|y|\n");
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "text, line 2: column price cannot hold 'oops'");
}

TEST_F(TableFiles, RefuseWhatIsDamaged) {
  ASSERT_TRUE(write("1|10.50|A|first|\n2|1.00|B|second|\n").ok());
  auto whole = std::filesystem::file_size(path_);
  for (std::size_t at :
       {std::size_t{0}, std::size_t{8}, std::size_t{16}, std::size_t{130}, std::size_t{200}}) {
    ASSERT_TRUE(write("1|10.50|A|first|\n2|1.00|B|second|\n").ok());
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(at));
    file.put('\x5A');
    file.close();
    EXPECT_FALSE(open_table_file(path_).ok()) << "byte " << at;
  }
  ASSERT_TRUE(write("1|10.50|A|first|\n2|1.00|B|second|\n").ok());
  for (auto size : {whole - 1, whole / 2, std::uintmax_t{100}, std::uintmax_t{3}, std::uintmax_t{0}}) {
    std::filesystem::resize_file(path_, size);
    EXPECT_FALSE(open_table_file(path_).ok()) << size << " bytes";
  }
}

TEST(DelimitedParser, UnquotesAcrossLines) {
  std::vector<ColumnDefinition> columns = {{"a", {.kind = ColumnKind::kVarchar}},
                                           {"b", {.kind = ColumnKind::kInt64}}};
  DelimitedFormat csv{.delimiter = ',', .trailing_delimiter = false, .header = true, .quotes = true};
  auto groups = parse_delimited("a,b\n\"x, \"\"y\"\"\nz\",1\nplain,2\n", "csv", columns, csv, 1, {});
  ASSERT_TRUE(groups.ok()) << groups.error().message;
  ASSERT_EQ(groups->size(), 1u);
  EXPECT_EQ((*groups)[0][0].rows(), 2u);
  std::string heap((*groups)[0][0].heap_bytes(), 0);
  (*groups)[0][0].copy_heap(heap.data());
  EXPECT_EQ(heap, "x, \"y\"\nzplain");
}

TEST(CsvImport, InfersTypesFromAllRows) {
  DelimitedFormat csv{.delimiter = ',', .trailing_delimiter = false, .header = true, .quotes = true};
  auto table = infer_table(
      "Id,Price "
      "(EUR),Day,Open,Grade,Note,Mixed\n1,2.5,2024-02-29,true,A,,1\n2,-10,2024-03-01,false,B,x,2024-01-01\n",
      "My Table", csv);
  ASSERT_TRUE(table.ok()) << table.error().message;
  EXPECT_EQ(table->name, "my_table");
  EXPECT_EQ(table->columns[1].name, "price__eur_");
  ColumnKind kinds[] = {ColumnKind::kInt64, ColumnKind::kDecimal, ColumnKind::kDate,   ColumnKind::kBool,
                        ColumnKind::kChar,  ColumnKind::kVarchar, ColumnKind::kVarchar};
  for (std::size_t i = 0; i < 7; ++i) EXPECT_EQ(table->columns[i].type.kind, kinds[i]) << i;
  EXPECT_EQ(table->columns[1].type.scale, 1);
  EXPECT_TRUE(table->columns[5].type.nullable);
  EXPECT_FALSE(infer_table("a,b\n1\n", "t", csv).ok());
  EXPECT_FALSE(infer_table("a,A\n1,2\n", "t", csv).ok());
  EXPECT_FALSE(infer_table("", "t", csv).ok());
}

}  // namespace
}  // namespace tailor::weft
