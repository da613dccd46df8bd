#include "daemon/store/crc32c.h"

#include <nmmintrin.h>

#include <array>
#include <bit>
#include <cstring>

namespace tailor::store {
namespace {

using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

// Table k gives the effect of a byte that is followed by k more bytes, so that eight bytes go in one step.
constexpr Tables make_tables() {
  Tables tables{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) ? 0x82F63B78u : 0u);
    tables[0][i] = crc;
  }
  for (std::uint32_t i = 0; i < 256; ++i) {
    for (std::size_t k = 1; k < 8; ++k) {
      tables[k][i] = (tables[k - 1][i] >> 8) ^ tables[0][tables[k - 1][i] & 0xFF];
    }
  }
  return tables;
}

constexpr Tables kTables = make_tables();

// Nearly all CPUs have an instruction for just this sum.
[[gnu::target("sse4.2")]] std::uint32_t by_instruction(std::span<const std::uint8_t> bytes) {
  std::uint64_t crc = ~0u;
  const std::uint8_t* p = bytes.data();
  std::size_t n = bytes.size();
  for (; n >= 8; p += 8, n -= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, p, 8);
    crc = _mm_crc32_u64(crc, word);
  }
  auto rest = static_cast<std::uint32_t>(crc);
  for (; n > 0; ++p, --n) rest = _mm_crc32_u8(rest, *p);
  return ~rest;
}

}  // namespace

std::uint32_t crc32c(std::span<const std::uint8_t> bytes) {
  static const bool has_instruction = __builtin_cpu_supports("sse4.2");
  return has_instruction ? by_instruction(bytes) : crc32c_by_tables(bytes);
}

std::uint32_t crc32c_by_tables(std::span<const std::uint8_t> bytes) {
  static_assert(std::endian::native == std::endian::little);
  std::uint32_t crc = ~0u;
  const std::uint8_t* p = bytes.data();
  std::size_t n = bytes.size();
  for (; n >= 8; p += 8, n -= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, p, 8);
    word ^= crc;
    crc = 0;
    for (std::size_t k = 0; k < 8; ++k) crc ^= kTables[7 - k][(word >> (8 * k)) & 0xFF];
  }
  for (; n > 0; ++p, --n) crc = (crc >> 8) ^ kTables[0][(crc ^ *p) & 0xFF];
  return ~crc;
}

}  // namespace tailor::store
