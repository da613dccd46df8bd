// The framing of profile files and store segments: docs/profile-format.md. Bytes in, bytes out; no files
// here.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "proto/base/result.h"

namespace tailor::store {

inline constexpr std::array<std::uint8_t, 8> kFileMagic = {0x89, 'T', 'A', 'I', 'L', 'O', 'R', '\n'};
inline constexpr std::uint16_t kVersionMajor = 1;  // a reader refuses another one
// Of a summary. Those of version 1 are read too, and no longer written.
inline constexpr std::uint16_t kSummaryVersionMajor = 2;
inline constexpr std::uint16_t kVersionMinor = 0;  // additions that an older reader may ignore
inline constexpr std::size_t kFileHeaderSize = 32;

inline constexpr std::array<std::uint8_t, 4> kBlockMagic = {0xB7, 'T', 'B', 'k'};
inline constexpr std::size_t kBlockHeaderSize = 32;

// Limits of what is read and therefore of what is written.
inline constexpr std::uint32_t kMaxBlockBytes = 64u << 20;  // of a payload, before and after compression
inline constexpr std::uint32_t kMaxBlockRows = 1u << 16;

// What a file is. Stored: never renumber.
enum class FileKind : std::uint16_t { kProfile = 1, kDataSegment = 2, kDictionarySegment = 3, kSummary = 4 };

// Stored: never renumber. A reader skips types it does not know and counts them.
enum class BlockType : std::uint8_t {
  kMeta = 1,
  kPlan = 2,
  kCode = 3,
  kSamples = 4,
  kActivity = 5,
  kEnd = 6,
  kSummary = 7,
  kSums = 8
};

struct FileHeader {
  FileKind kind = FileKind::kProfile;
  std::uint16_t version_minor = kVersionMinor;
  std::uint64_t number = 0;     // of a segment, 0 for a profile
  std::uint32_t recording = 0;  // how many segments before this one its recording began
  std::uint16_t version_major = kVersionMajor;
};

std::array<std::uint8_t, kFileHeaderSize> encode(const FileHeader& header);
// Fails, saying what is wrong, for anything but a header of a major version that is known for its kind; with
// ENOTSUP for another one.
Result<FileHeader> decode_file_header(std::span<const std::uint8_t> bytes);

struct BlockHeader {
  BlockType type = BlockType::kMeta;
  bool compressed = false;        // zstd
  std::uint32_t stored_size = 0;  // of the payload as it lies in the file
  std::uint32_t raw_size = 0;     // of the payload after decompression
  std::uint64_t sequence = 0;     // of blocks in the file, from 0
  std::uint32_t payload_crc = 0;  // crc32c of the payload as it lies in the file
};

std::array<std::uint8_t, kBlockHeaderSize> encode(const BlockHeader& header);
// False unless magic, checksum and limits hold.
bool decode_block_header(std::span<const std::uint8_t> bytes, BlockHeader& out);

// A block that lacks its number in the file.
struct PackedBlock {
  BlockHeader header;
  std::string bytes;  // room for the header, and the payload
};

// The payload is `raw`, compressed where that makes it smaller, unless it is to stay as it is. `raw` must not
// exceed kMaxBlockBytes. The same input always gives the same bytes. Any thread.
PackedBlock pack_block(BlockType type, std::string_view raw, bool as_it_is = false);
// Writes the header, with this number.
void number_block(PackedBlock& block, std::uint64_t sequence);
// Both: a whole block.
std::string make_block(BlockType type, std::uint64_t sequence, std::string_view raw);

// The payload of a block whose checksum has been checked, decompressed. Fails on bytes zstd rejects or that
// do not give exactly header.raw_size bytes.
Result<std::string> unpack(const BlockHeader& header, std::span<const std::uint8_t> payload);

}  // namespace tailor::store
