#include "daemon/export/export_formats.h"

#include <algorithm>

#include "daemon/formats/trace_writers.h"

namespace tailor::exporter {
namespace {

using Content = ExportFormat::Content;
using Sources = ExportFormat::Sources;

template <std::string (*write)(const formats::Trace&, std::uint16_t)>
std::string write_first_source(const formats::Trace& trace) {
  return write(trace, 0);
}

// A new format has its writer in daemon/formats, its line here, and its line in docs/exports.md.
constexpr ExportFormat kFormats[] = {
    {"csv", formats::write_csv, Sources::kAll, Content::kLines, true},
    {"firefox", write_first_source<formats::write_firefox>, Sources::kOne, Content::kJson},
    {"folded", write_first_source<formats::write_folded>, Sources::kOne, Content::kLines},
    {"otlp", formats::write_otlp, Sources::kAll, Content::kBinary, false, true},
    {"parquet", nullptr, Sources::kAll, Content::kTables},
    {"perfetto", formats::write_perfetto},
    {"pprof", formats::write_pprof},
    {"speedscope", formats::write_speedscope, Sources::kAll, Content::kJson},
};

}  // namespace

std::span<const ExportFormat> export_formats() {
  return kFormats;
}

const ExportFormat* find_export_format(std::string_view name) {
  const auto found = std::ranges::find(kFormats, name, &ExportFormat::name);
  return found == std::end(kFormats) ? nullptr : &*found;
}

}  // namespace tailor::exporter
