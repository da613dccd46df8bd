// The formats that samples are exported in: one table, which the command line follows.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "daemon/formats/trace.h"

namespace tailor::exporter {

struct ExportFormat {
  enum class Sources : std::uint8_t {
    kAll,
    kOne,  // it holds samples of one unit only: those of the trace's first source
  };
  enum class Content : std::uint8_t {
    kLines,   // of text
    kJson,    // a text too
    kBinary,  // nothing for a terminal
    kTables,  // a directory of files, which export_parquet() writes
  };

  std::string_view name;
  std::string (*write)(const formats::Trace&);  // null for kTables
  Sources sources = Sources::kAll;
  Content content = Content::kBinary;
  bool may_be_empty = false;   // without a sample it still has a head
  bool has_build_ids = false;  // and fingerprints: as TraceOptions
};

// Ordered by name.
std::span<const ExportFormat> export_formats();
// Null: there is none of that name.
const ExportFormat* find_export_format(std::string_view name);

}  // namespace tailor::exporter
