#include "daemon/import/perf_streams.h"

#include <algorithm>
#include <utility>

namespace tailor::importer {
namespace {

// The pieces are those in which records wait: PerfFeed.
constexpr std::size_t kPiece = std::size_t{256} << 10;

// How many of the bytes behind `from` the file has.
Result<std::uint64_t> bytes_there(store::Input& file, std::uint64_t from, std::uint64_t bytes) {
  constexpr std::uint64_t kLastPlace = INT64_MAX - 1;
  std::uint64_t some = 0, most = from > kLastPlace ? 0 : std::min(bytes, kLastPlace - from);
  for (std::uint64_t next = most; some < most; next = some + (most - some + 1) / 2) {
    std::uint8_t byte;
    auto got = file.read_at(from + next - 1, {&byte, 1});
    if (!got) return got.error();
    if (*got == 1) some = next;
    if (*got == 0) most = next - 1;
  }
  return some;
}

}  // namespace

Result<std::vector<std::byte>> read_piece(store::Input& file, std::uint64_t offset, std::uint64_t size) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(size));
  std::size_t have = 0;
  while (have < bytes.size()) {
    auto* at = reinterpret_cast<std::uint8_t*>(bytes.data()) + have;
    auto got = file.read_at(offset + have, {at, bytes.size() - have});
    if (!got) return got.error();
    if (*got == 0) break;
    have += *got;
  }
  bytes.resize(have);
  return bytes;
}

void PerfStreams::add(store::Input& file, formats::PerfSection where, bool sized, std::string name) {
  streams_.push_back({file, where, sized, std::move(name),
                      std::make_unique<formats::PerfRecords>(feed_, where.offset, order_)});
}

void PerfStreams::end(Stream& stream, PerfReading& out) {
  stream.over = true;
  const bool broken = stream.records->broken();
  const std::uint64_t at = stream.records->offset();
  stream.records->finish();
  out.tool_records += stream.records->tool_records();
  if (broken && !out.broken) {
    out.broken = true;
    out.broken_at = at;
    out.broken_file = stream.name;
  }
  if (broken) return;
  out.cut += stream.records->cut_bytes();
  out.missing += stream.sized ? stream.where.size - std::min(stream.done, stream.where.size)
                              : stream.records->missing_bytes();
}

Status PerfStreams::step(Stream& stream, PerfReading& out) {
  const std::uint64_t left = stream.where.size - stream.done;
  auto piece =
      read_piece(stream.file, stream.where.offset + stream.done, std::min<std::uint64_t>(kPiece, left));
  if (!piece) return piece.error();
  if (piece->empty()) {
    end(stream, out);
    return Ok{};
  }
  if (Status fed = stream.records->feed(*piece); !fed) return fed;
  stream.done += piece->size();
  out.bytes += piece->size();
  stream.newest = std::max(stream.newest, feed_.newest_of_piece());
  if (Status passed = pass_over(stream, out); !passed || stream.over) return passed;
  if (stream.done == stream.where.size || stream.records->broken()) end(stream, out);
  return Ok{};
}

// Trace data of the hardware may be larger than all records, and is not read.
Status PerfStreams::pass_over(Stream& stream, PerfReading& out) {
  const std::uint64_t ahead = std::min(stream.records->ahead(), stream.where.size - stream.done);
  if (ahead == 0) return Ok{};
  const std::uint64_t from = stream.where.offset + stream.done;
  auto there = bytes_there(stream.file, from, ahead);
  if (!there) return there.error();
  stream.records->pass_over(*there);
  stream.done += *there;
  if (*there < ahead) end(stream, out);
  return Ok{};
}

Result<PerfReading> PerfStreams::read(const std::function<Status(std::uint64_t)>& after) {
  PerfReading out;
  for (;;) {
    Stream* next = nullptr;
    for (Stream& stream : streams_) {
      if (!stream.over && (next == nullptr || stream.newest < next->newest)) next = &stream;
    }
    if (next == nullptr) return out;
    if (Status done = step(*next, out); !done) return done.error();
    if (streams_.size() > 1) {
      if (Status delivered = feed_.deliver(); !delivered) return delivered.error();
    }
    if (Status go_on = after(out.bytes); !go_on) return go_on.error();
  }
}

}  // namespace tailor::importer
