// The bytes of a table file; see table_file.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tailor::weft {

inline constexpr std::uint64_t kTableFileMagic = UINT64_C(0x4C4F435446455701);  // "\1WEFTCOL"
inline constexpr std::uint32_t kTableFileVersion = 1;

struct TableFileHeader {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t columns;
  std::uint64_t rows;
  std::uint64_t file_bytes;
  std::uint64_t primary_key;
  std::uint64_t names_offset;
  std::uint64_t names_bytes;  // the table's name, then the columns', one after the other
  std::uint64_t checksum;     // of everything up to the end of the names, this field being 0
  std::uint32_t table_name_bytes;
  std::uint32_t reserved[13];
};
static_assert(sizeof(TableFileHeader) == 120);

struct TableFileColumn {
  std::uint32_t name_bytes;
  std::uint8_t kind;
  std::uint8_t precision;
  std::uint8_t scale;
  std::uint8_t nullable;
  std::uint32_t length;
  std::uint8_t storage;
  std::uint8_t reserved[3];
  std::uint64_t values_offset, values_bytes;
  std::uint64_t heap_offset, heap_bytes;    // 0, 0 if the column has no texts of its own
  std::uint64_t nulls_offset, nulls_bytes;  // 0, 0 if no row is null
  std::int64_t min, max;
  std::uint64_t distinct, nulls;
};
static_assert(sizeof(TableFileColumn) == 96);

// FNV-1a over 64-bit words and the rest: a guard against torn and foreign files, not against an attacker.
inline std::uint64_t table_file_checksum(std::span<const std::byte> bytes) {
  std::uint64_t hash = UINT64_C(0xCBF29CE484222325);
  for (std::byte b : bytes) hash = (hash ^ static_cast<std::uint64_t>(b)) * UINT64_C(0x100000001B3);
  return hash;
}

}  // namespace tailor::weft
