#include "daemon/store/store_versions.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <span>

#include "daemon/store/block.h"
#include "daemon/store/file_io.h"
#include "daemon/store/store_directory.h"
#include "daemon/store/summary_files.h"
#include "proto/base/errors.h"

namespace tailor::store {
namespace {

Status check(const std::string& path) {
  auto input = open_file(path);
  if (!input) return Ok{};
  std::array<std::uint8_t, kFileHeaderSize> head{};
  const auto got = (*input)->read_at(0, head);
  if (!got) return Ok{};
  const auto header = decode_file_header(std::span(head).first(*got));
  if (header || header.error().code != ENOTSUP) return Ok{};
  Error other = invalid(fmt::format(
      "{}: {}. The store was not changed: use the tailord that wrote it, or name another store (--store)",
      path, header.error().message));
  other.code = ENOTSUP;
  return other;
}

}  // namespace

Status check_store_versions(const std::string& directory) {
  auto segments = list_segments(directory);
  if (!segments) return segments.error();
  for (const SegmentFile& each : *segments) {
    if (auto ok = check(segment_path(directory, each.number, each.kind)); !ok) return ok;
  }
  const auto summaries = list_summaries(directory);
  if (!summaries) return Ok{};
  for (const SummaryFile& each : *summaries) {
    if (auto ok = check(summary_path(directory, each)); !ok) return ok;
  }
  return Ok{};
}

}  // namespace tailor::store
