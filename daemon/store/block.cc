#include "daemon/store/block.h"

#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <memory>

#include "daemon/store/crc32c.h"
#include "proto/base/errors.h"

namespace tailor::store {
namespace {

static_assert(std::endian::native == std::endian::little, "the format is little endian");

constexpr int kZstdLevel = 3;
constexpr std::uint8_t kFlagZstd = 1;

template <typename T>
void put(std::span<std::uint8_t> out, std::size_t offset, T value) {
  std::memcpy(out.data() + offset, &value, sizeof value);
}

template <typename T>
T get(std::span<const std::uint8_t> in, std::size_t offset) {
  T value{};
  std::memcpy(&value, in.data() + offset, sizeof value);
  return value;
}

// Setting up a context costs more than compressing a small block, so each thread keeps one.
ZSTD_CCtx* compression_context() {
  thread_local std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)> context(ZSTD_createCCtx(), ZSTD_freeCCtx);
  return context.get();
}

// `raw` compressed, behind room for a header; nothing where that does not help.
std::string compress(std::string_view raw) {
  std::string block(kBlockHeaderSize + ZSTD_compressBound(raw.size()), '\0');
  const std::size_t size =
      ZSTD_compressCCtx(compression_context(), block.data() + kBlockHeaderSize,
                        block.size() - kBlockHeaderSize, raw.data(), raw.size(), kZstdLevel);
  if (ZSTD_isError(size) || size >= raw.size()) return {};
  block.resize(kBlockHeaderSize + size);
  return block;
}

std::span<const std::uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

}  // namespace

// Offsets as in docs/profile-format.md, "File header".
std::array<std::uint8_t, kFileHeaderSize> encode(const FileHeader& header) {
  std::array<std::uint8_t, kFileHeaderSize> out{};
  std::copy(kFileMagic.begin(), kFileMagic.end(), out.begin());
  put(out, 8, header.version_major);
  put(out, 10, header.version_minor);
  put(out, 12, static_cast<std::uint16_t>(header.kind));
  put(out, 16, header.number);
  put(out, 24, header.recording);
  put(out, 28, crc32c(std::span(out).first(28)));
  return out;
}

Result<FileHeader> decode_file_header(std::span<const std::uint8_t> bytes) {
  if (bytes.size() < kFileMagic.size() || !std::equal(kFileMagic.begin(), kFileMagic.end(), bytes.begin())) {
    return invalid("not a Tailor profile: it does not begin with the magic bytes 89 'TAILOR' 0a");
  }
  if (bytes.size() < kFileHeaderSize) return internal("the profile ends inside its file header");
  if (get<std::uint32_t>(bytes, 28) != crc32c(bytes.first(28))) {
    return internal("the profile's file header is damaged (its checksum does not fit)");
  }
  const auto major = get<std::uint16_t>(bytes, 8);
  const auto kind = static_cast<FileKind>(get<std::uint16_t>(bytes, 12));
  const std::uint16_t newest = kind == FileKind::kSummary ? kSummaryVersionMajor : kVersionMajor;
  if (major < kVersionMajor || major > newest) {
    Error other = invalid(
        fmt::format("the profile has format version {}, this program reads version {}: use the tailor "
                    "that recorded it, or a newer one",
                    major, newest));
    other.code = ENOTSUP;
    return other;
  }
  FileHeader header;
  header.version_major = major;
  header.version_minor = get<std::uint16_t>(bytes, 10);
  header.kind = kind;
  header.number = get<std::uint64_t>(bytes, 16);
  header.recording = get<std::uint32_t>(bytes, 24);
  return header;
}

// Offsets as in docs/profile-format.md, "Blocks".
std::array<std::uint8_t, kBlockHeaderSize> encode(const BlockHeader& header) {
  std::array<std::uint8_t, kBlockHeaderSize> out{};
  std::copy(kBlockMagic.begin(), kBlockMagic.end(), out.begin());
  out[4] = static_cast<std::uint8_t>(header.type);
  out[5] = header.compressed ? kFlagZstd : 0;
  put(out, 8, header.stored_size);
  put(out, 12, header.raw_size);
  put(out, 16, header.sequence);
  put(out, 24, header.payload_crc);
  put(out, 28, crc32c(std::span(out).first(28)));
  return out;
}

bool decode_block_header(std::span<const std::uint8_t> bytes, BlockHeader& out) {
  if (bytes.size() < kBlockHeaderSize) return false;
  if (!std::equal(kBlockMagic.begin(), kBlockMagic.end(), bytes.begin())) return false;
  if (get<std::uint32_t>(bytes, 28) != crc32c(bytes.first(28))) return false;
  out.type = static_cast<BlockType>(bytes[4]);
  out.compressed = (bytes[5] & kFlagZstd) != 0;
  out.stored_size = get<std::uint32_t>(bytes, 8);
  out.raw_size = get<std::uint32_t>(bytes, 12);
  out.sequence = get<std::uint64_t>(bytes, 16);
  out.payload_crc = get<std::uint32_t>(bytes, 24);
  const bool sizes_fit = out.compressed || out.raw_size == out.stored_size;
  return sizes_fit && out.stored_size <= kMaxBlockBytes && out.raw_size <= kMaxBlockBytes;
}

PackedBlock pack_block(BlockType type, std::string_view raw, bool as_it_is) {
  PackedBlock block;
  if (!as_it_is) block.bytes = compress(raw);
  block.header.compressed = !block.bytes.empty();
  if (!block.header.compressed) block.bytes.assign(kBlockHeaderSize, '\0').append(raw);
  const std::string_view payload = std::string_view(block.bytes).substr(kBlockHeaderSize);
  block.header.type = type;
  block.header.stored_size = static_cast<std::uint32_t>(payload.size());
  block.header.raw_size = static_cast<std::uint32_t>(raw.size());
  block.header.payload_crc = crc32c(bytes_of(payload));
  return block;
}

void number_block(PackedBlock& block, std::uint64_t sequence) {
  block.header.sequence = sequence;
  const auto head = encode(block.header);
  std::memcpy(block.bytes.data(), head.data(), head.size());
}

std::string make_block(BlockType type, std::uint64_t sequence, std::string_view raw) {
  PackedBlock block = pack_block(type, raw);
  number_block(block, sequence);
  return std::move(block.bytes);
}

Result<std::string> unpack(const BlockHeader& header, std::span<const std::uint8_t> payload) {
  if (!header.compressed) return std::string(reinterpret_cast<const char*>(payload.data()), payload.size());
  // The size is taken from the header, which is bounded, never from the compressed frame.
  std::string raw(header.raw_size, '\0');
  const std::size_t size = ZSTD_decompress(raw.data(), raw.size(), payload.data(), payload.size());
  if (ZSTD_isError(size)) return internal(fmt::format("zstd: {}", ZSTD_getErrorName(size)));
  if (size != raw.size()) return internal("the block decompresses to another size than it says");
  return raw;
}

}  // namespace tailor::store
