#include <fmt/format.h>
#include <zstd.h>

#include "daemon/formats/perf_fields.h"
#include "proto/base/errors.h"

namespace tailor::formats {
namespace {

// Records of perf itself (tools/perf/util/event.h). Two of them carry bytes after the record.
enum : std::uint32_t {
  kToolRecords = 64,
  kToolAttr = 64,
  kToolTracingData = 66,
  kToolBuildId = 67,
  kToolFinishedRound = 68,
  kToolAuxTrace = 71,
  kToolEventUpdate = 78,
  kToolFeature = 80,
  kToolCompressed = 81,
  kToolCompressed2 = 83,
  kSimpleperf = 32768,
};
constexpr std::uint64_t kUpdateName = 2;
constexpr unsigned kEventDescriptions = 12;
constexpr std::size_t kUnpackedPiece = std::size_t{256} << 10;
// Records of a busy machine pack to a third, those of an idle one to a fiftieth. zstd can name a file of
// zeros in a thirty thousandth: nobody recorded that.
constexpr std::uint64_t kMostGrowth = 512, kGrowsFreely = std::uint64_t{16} << 20;

std::uint64_t bytes_after(std::uint32_t type, PerfCursor cursor) {
  if (type == kToolTracingData) return (std::uint64_t{cursor.fixed<std::uint32_t>()} + 7) & ~std::uint64_t{7};
  if (type == kToolAuxTrace) return cursor.fixed<std::uint64_t>();
  return 0;
}

// Records of simpleperf itself, from Android, may be large. The place of the flags has the upper half of
// their size (system/extras/simpleperf/record.h).
std::uint32_t size_of(const perf_event_header& header) {
  const bool large = header.type >= kSimpleperf;
  return header.size | (large ? std::uint32_t{header.misc} << 16 : 0);
}

}  // namespace

struct PerfRecords::Unpacker {
  Unpacker() : context(ZSTD_createDStream()), piece(kUnpackedPiece) {}
  ~Unpacker() { ZSTD_freeDStream(context); }
  Unpacker(const Unpacker&) = delete;
  Unpacker& operator=(const Unpacker&) = delete;

  ZSTD_DStream* context;
  std::vector<std::byte> piece;
};

PerfRecords::PerfRecords(Taker& taker, std::uint64_t offset, ByteOrder order)
    : taker_(taker), order_(order), offset_(offset) {}
PerfRecords::~PerfRecords() = default;

Status PerfRecords::feed(PerfBytes bytes) {
  offset_ += bytes.size();
  return feed(outer_, bytes, false);
}

void PerfRecords::pass_over(std::uint64_t bytes) {
  outer_.skip -= std::min(bytes, outer_.skip);
  offset_ += bytes;
}

void PerfRecords::finish() {
  cut_bytes_ += outer_.waiting.size() + inner_.waiting.size();
  missing_bytes_ += outer_.skip;
  outer_ = {};
  inner_ = {};
}

Status PerfRecords::feed(Stream& stream, PerfBytes bytes, bool inner) {
  if (stream.broken) {
    cut_bytes_ += bytes.size();
    return Ok{};
  }
  const auto passed = static_cast<std::size_t>(std::min<std::uint64_t>(stream.skip, bytes.size()));
  stream.skip -= passed;
  bytes = bytes.subspan(passed);
  // What waits becomes whole first: a record is at most 64 KiB.
  if (!stream.waiting.empty()) {
    stream.waiting.insert(stream.waiting.end(), bytes.begin(), bytes.end());
    const std::vector<std::byte> all = std::exchange(stream.waiting, {});
    auto used = take_all(stream, all, inner);
    if (!used) return used.error();
    stream.waiting.assign(all.begin() + static_cast<std::ptrdiff_t>(*used), all.end());
    return Ok{};
  }
  auto used = take_all(stream, bytes, inner);
  if (!used) return used.error();
  const PerfBytes rest = bytes.subspan(*used);
  stream.waiting.assign(rest.begin(), rest.end());
  return Ok{};
}

// How many bytes were whole records, or are to be passed over.
Result<std::size_t> PerfRecords::take_all(Stream& stream, PerfBytes bytes, bool inner) {
  std::size_t at = 0, kernel_from = 0;
  std::vector<std::byte> turned;  // records of the kernel in our order, where the file has the other
  if (order_ == ByteOrder::kOther) turned.assign(bytes.begin(), bytes.end());
  const PerfBytes kernels = order_ == ByteOrder::kOther ? PerfBytes(turned) : bytes;
  const auto hand_over = [&]() -> Status {
    if (kernel_from == at) return Ok{};
    return taker_.kernel_records(kernels.subspan(kernel_from, at - kernel_from));
  };
  const auto pass_over = [&](std::uint64_t size) {
    const auto here = static_cast<std::size_t>(std::min<std::uint64_t>(size, bytes.size() - at));
    at += here;
    stream.skip = size - here;
    kernel_from = at;
  };
  while (bytes.size() - at >= sizeof(perf_event_header)) {
    const perf_event_header header = PerfCursor(bytes.subspan(at), order_).record_header();
    const std::uint32_t size = size_of(header);
    if (size < sizeof header) {
      Status given = hand_over();
      if (!given) return given.error();
      stream.broken = true;
      broken_at_ = offset_ - (inner ? 0 : bytes.size() - at);
      cut_bytes_ += bytes.size() - at;
      return bytes.size();
    }
    if (header.type >= kSimpleperf) {
      if (Status given = hand_over(); !given) return given.error();
      ++tool_records_;
      pass_over(size);
      continue;
    }
    if (size > bytes.size() - at) break;
    if (header.type < kToolRecords) {
      if (order_ == ByteOrder::kOther) taker_.to_our_order(std::span(turned).subspan(at, size));
      const bool own =
          header.type == PERF_RECORD_LOST_SAMPLES && taker_.recorders_losses(kernels.subspan(at, size));
      if (own) {
        if (Status given = hand_over(); !given) return given.error();
        ++tool_records_;
        kernel_from = at + size;
      }
      at += size;
      continue;
    }
    Status given = hand_over();
    if (!given) return given.error();
    const PerfBytes payload = bytes.subspan(at + sizeof header, size - sizeof header);
    Status taken = tool_record(header, payload, inner);
    if (!taken) return taken.error();
    at += size;
    pass_over(bytes_after(header.type, PerfCursor(payload, order_)));
  }
  Status given = hand_over();
  if (!given) return given.error();
  return at;
}

Status PerfRecords::tool_record(const perf_event_header& header, PerfBytes payload, bool inner) {
  ++tool_records_;
  PerfCursor cursor(payload, order_);
  switch (header.type) {
    case kToolBuildId:
      if (auto id = parse_perf_build_id(cursor, header.misc)) {
        description_.build_ids = {*std::move(id)};
        taker_.described(description_);
        description_.build_ids.clear();
      }
      return Ok{};
    case kToolAttr: {
      auto attr = take_perf_attr(cursor);
      if (!attr) return internal("perf.data: an event does not fit the file");
      return taker_.event({*attr, take_perf_ids(cursor), {}});
    }
    case kToolEventUpdate: {
      const auto what = cursor.fixed<std::uint64_t>();
      const auto id = cursor.fixed<std::uint64_t>();
      if (cursor.ok() && what == kUpdateName) taker_.event_name(id, perf_text(cursor.rest()));
      return Ok{};
    }
    case kToolFeature: {
      const auto feature = cursor.fixed<std::uint64_t>();
      if (!cursor.ok()) return Ok{};
      if (feature == kEventDescriptions) {
        for (auto& [id, name] : parse_perf_event_names(cursor)) taker_.event_name(id, std::move(name));
        return Ok{};
      }
      describe_perf_feature(static_cast<unsigned>(std::min<std::uint64_t>(feature, 64)), cursor,
                            description_);
      taker_.described(description_);
      description_.build_ids.clear();
      return Ok{};
    }
    case kToolFinishedRound:
      return taker_.round();
    case kToolCompressed:
      if (inner) return internal("perf.data: compressed records in compressed records");
      return unpack(payload);
    case kToolCompressed2: {
      if (inner) return internal("perf.data: compressed records in compressed records");
      const auto size = cursor.fixed<std::uint64_t>();
      return unpack(
          cursor.rest().first(static_cast<std::size_t>(std::min<std::uint64_t>(size, cursor.rest().size()))));
    }
    default:
      return Ok{};
  }
}

Status PerfRecords::check_growth(std::size_t packed) const {
  if (unpacked_ <= kGrowsFreely || (unpacked_ - kGrowsFreely) / kMostGrowth <= packed_ + packed) return Ok{};
  return exhausted(fmt::format(
      "perf.data: the compressed records before byte {} grow to more than {} times their size: no "
      "recorder writes such a file",
      offset_, kMostGrowth));
}

// One stream over all such records: what they hold may end inside of a record.
Status PerfRecords::unpack(PerfBytes packed) {
  if (unpacker_ == nullptr) unpacker_ = std::make_unique<Unpacker>();
  if (unpacker_->context == nullptr) return exhausted("perf.data: no memory to decompress");
  ZSTD_inBuffer in{packed.data(), packed.size(), 0};
  bool full = true;
  while (in.pos < in.size || full) {
    ZSTD_outBuffer out{unpacker_->piece.data(), unpacker_->piece.size(), 0};
    const std::size_t done = ZSTD_decompressStream(unpacker_->context, &out, &in);
    if (ZSTD_isError(done))
      return internal(fmt::format("perf.data: compressed records before byte {} are damaged: {}", offset_,
                                  ZSTD_getErrorName(done)));
    unpacked_ += out.pos;
    if (Status fits = check_growth(in.pos); !fits) return fits;
    Status fed = feed(inner_, PerfBytes(unpacker_->piece).first(out.pos), true);
    if (!fed) return fed;
    full = out.pos == out.size;
    if (out.pos == 0 && in.pos == in.size) break;
  }
  packed_ += packed.size();
  return Ok{};
}

}  // namespace tailor::formats
