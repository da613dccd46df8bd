#include "daemon/store/store_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "daemon/store/file_io.h"
#include "daemon/store/store_directory.h"
#include "proto/base/errors.h"

namespace tailor::store {
namespace {

// A segment that is being written has no END, and that is no damage.
void merge(const ReadReport& one, bool sealed, ReadReport& all) {
  all.blocks += one.blocks;
  all.bytes += one.bytes;
  all.samples += one.samples;
  all.activity += one.activity;
  all.damaged_spots += one.damaged_spots;
  all.skipped_bytes += one.skipped_bytes;
  all.missing_blocks += one.missing_blocks;
  all.malformed_blocks += one.malformed_blocks;
  all.unknown_blocks += one.unknown_blocks;
  all.missing_samples += one.missing_samples;
  if (sealed) all.tail_bytes += one.tail_bytes;
  if (all.first_problem.empty()) all.first_problem = one.first_problem;
}

void merge_segment(ReadReport one, const std::string& path, bool sealed, ReadReport& all) {
  // The end of what is being written is no problem.
  if (!sealed && one.damaged_spots + one.malformed_blocks == 0) one.first_problem.clear();
  if (!one.first_problem.empty()) one.first_problem = fmt::format("{} {}", path, one.first_problem);
  merge(one, sealed, all);
}

// Created, but its header has not been written, or not as a whole: the writer is at it, or was killed.
bool has_no_header_yet(Input& input) {
  std::array<std::uint8_t, kFileHeaderSize> head{};
  auto got = input.read_at(0, head);
  return got && *got < head.size();
}

Status read_segment(const std::string& directory, std::uint64_t number, FileKind kind, bool sealed,
                    profile::ProfileSink& sink, ReadReport& report, SaidLoss& loss, const MayGoOn& may_go_on,
                    SumsTaker* taker = nullptr) {
  const std::string path = segment_path(directory, number, kind);
  auto input = open_file(path);
  if (!input && input.error().code == ENOENT) {
    ++report.missing_blocks;
    report.missing_segments.push_back(number);
    return Ok{};
  }
  if (!input) return input.error();
  ReadReport one;
  SaidLoss said;
  MayGoOn with_the_others;
  if (may_go_on) with_the_others = [&](std::uint64_t read) { return may_go_on(report.bytes + read); };
  if (auto ok = read_profile(**input, sink, one, said, with_the_others, taker); !ok) {
    if (ok.error().kind == ErrorKind::kUnavailable) return ok;  // who asks has no time left
    if (has_no_header_yet(**input)) return Ok{};
    return in_context(path + ": ", ok.error());
  }
  merge_segment(std::move(one), path, sealed, report);
  add_loss(said, loss);
  return Ok{};
}

bool overlaps(const SegmentRow& row, const StoreSelection& selection) {
  if (!selection.segments.empty() && !selection.segments.contains(row.number)) return false;
  // Of a segment at work the catalogue knows only a part; one without samples may hold records all the same.
  if (!row.sealed || row.first > row.last) return true;
  return row.last >= selection.from && row.first <= selection.to;
}

}  // namespace

Status read_dictionaries(const std::string& directory, const std::set<std::uint64_t>& segments,
                         profile::ProfileSink& sink, ReadReport& report, SaidLoss& loss,
                         const MayGoOn& may_go_on) {
  for (std::uint64_t number : segments) {
    auto ok =
        read_segment(directory, number, FileKind::kDictionarySegment, true, sink, report, loss, may_go_on);
    if (!ok) return ok;
  }
  return Ok{};
}

Status read_store(const std::string& directory, const Catalogue& catalogue, const StoreSelection& selection,
                  profile::ProfileSink& sink, ReadReport& report, SaidLoss& loss, const MayGoOn& may_go_on,
                  SumsTaker* taker) {
  auto rows = catalogue.segments();
  if (!rows) return rows.error();
  std::vector<SegmentRow> data;
  std::set<std::uint64_t> dictionaries;
  for (const SegmentRow& row : *rows) {
    if (row.recording != selection.recording) continue;
    // What is being written may be used already without the catalogue saying so.
    if (row.kind == FileKind::kDictionarySegment && !row.sealed) dictionaries.insert(row.number);
    if (row.kind != FileKind::kDataSegment || !overlaps(row, selection)) continue;
    data.push_back(row);
    auto used = catalogue.used_dictionaries(row.number);
    if (!used) return used.error();
    dictionaries.insert(used->begin(), used->end());
  }
  if (auto ok = read_dictionaries(directory, dictionaries, sink, report, loss, may_go_on); !ok) return ok;
  for (const SegmentRow& row : data) {
    if (auto ok =
            read_segment(directory, row.number, row.kind, row.sealed, sink, report, loss, may_go_on, taker);
        !ok)
      return ok;
  }
  // Their segments do not know that they are over.
  auto ended = catalogue.ended_with_daemon(selection.recording);
  if (!ended) return ended.error();
  for (const profile::ExecutionRecord& execution : *ended) {
    if (execution.end >= selection.from && execution.begin <= selection.to) sink.on_execution(execution);
  }
  report.finished = true;
  return Ok{};
}

Status check_segment(const std::string& directory, const SegmentRow& segment, ReadReport& report) {
  const std::string path = segment_path(directory, segment.number, segment.kind);
  auto input = open_file(path);
  if (!input && input.error().code == ENOENT) return Ok{};
  if (!input) return input.error();
  ReadReport one;
  BlockReader reader(**input, one);
  if (auto header = reader.open(); !header) {
    if (has_no_header_yet(**input)) return Ok{};
    return in_context(path + ": ", header.error());
  }
  reader.leave_out([](const BlockHeader&) { return BlockReader::Leave::kContents; });
  for (;;) {
    auto block = reader.next();
    if (!block) return in_context(path + ": ", block.error());
    if (!block->has_value()) break;
  }
  merge_segment(std::move(one), path, segment.sealed, report);
  return Ok{};
}

void add_loss(const SaidLoss& one, SaidLoss& all) {
  all.samples += one.samples;
  all.activity += one.activity;
  all.blocks += one.blocks;
  all.names += one.names;
  all.removed_samples += one.removed_samples;
  all.removed_activity += one.removed_activity;
  all.removed_records += one.removed_records;
  if (all.reason.empty()) all.reason = one.reason;
}

void add_report(const ReadReport& one, ReadReport& all) {
  merge(one, true, all);
}

}  // namespace tailor::store
