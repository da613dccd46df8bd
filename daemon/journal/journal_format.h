// The journal file: a header of 16 bytes ("TAILJRNL", version as 4 bytes, 4 bytes of zero), then records:
// length of the payload and its CRC-32C, 4 bytes each, and the payload, a serialised tailor.v1.JournalRecord.
// Numbers are little endian. Only ever appended to; a reader stops with an error at the first record that is
// cut short, too long, fails its checksum or does not decode. A file without the end record is one whose
// writer died.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tailor::journal {

inline constexpr std::string_view kMagic = "TAILJRNL";
inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::size_t kHeaderBytes = 16;
inline constexpr std::size_t kFrameBytes = 8;
inline constexpr std::uint32_t kMaxPayload = 256u << 20;

}  // namespace tailor::journal
