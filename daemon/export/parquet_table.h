// One table of an export, in a Parquet file of its own.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/formats/parquet_writer.h"
#include "proto/base/result.h"

namespace tailor::exporter {

// Where the bytes of one table go. Without close() the file is not whole.
class TableFile {
 public:
  virtual ~TableFile() = default;
  virtual Status write(std::string_view bytes) = 0;
  virtual Status close() = 0;
};

// Makes the file of a table; `name` is "samples", "plans" ... One that is there is replaced.
using OpenTable = std::function<Result<std::unique_ptr<TableFile>>(const std::string& name)>;

// The first failure of a file stays, and rows after it are forgotten: finish() says it. One thread.
class ParquetTable {
 public:
  ParquetTable(const OpenTable& open, const std::string& name, const std::string& producer,
               std::vector<formats::ParquetField> fields) {
    auto opened = open(name);
    if (opened) {
      file_ = *std::move(opened);
    } else {
      failed_ = opened.error();
    }
    writer_ = std::make_unique<formats::ParquetWriter>(
        std::move(fields), producer,
        std::vector<std::pair<std::string, std::string>>{{"tailor.table", name}, {"tailor.schema", kSchema}},
        [this](std::string_view bytes) { return file_ == nullptr ? Status(Ok{}) : file_->write(bytes); });
  }

  ParquetTable(const ParquetTable&) = delete;  // the writer calls it back
  ParquetTable& operator=(const ParquetTable&) = delete;

  // The version of the tables in docs/exports.md: it changes where a column changes its meaning or goes.
  static constexpr const char* kSchema = "1";

  // For the cells of the next row.
  formats::ParquetWriter& row() { return *writer_; }
  void end_row() { note(writer_->end_row()); }
  // Where something failed, so that a caller with many rows may stop.
  bool failed() const { return !failed_.ok(); }
  Status finish() {
    if (!failed_.ok()) return failed_;
    if (Status done = writer_->finish(); !done) return done;
    return file_->close();
  }

 private:
  void note(Status done) {
    if (failed_.ok() && !done.ok()) failed_ = std::move(done);
  }

  Status failed_ = Ok{};
  std::unique_ptr<TableFile> file_;
  std::unique_ptr<formats::ParquetWriter> writer_;
};

}  // namespace tailor::exporter
