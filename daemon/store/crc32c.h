// CRC-32C (Castagnoli), as in RFC 3720, appendix B.4: the checksum of blocks.
#pragma once

#include <cstdint>
#include <span>

namespace tailor::store {

// The checksum of `bytes`. Pure; "123456789" gives 0xE3069283.
std::uint32_t crc32c(std::span<const std::uint8_t> bytes);
// The same, for CPUs without an instruction for it.
std::uint32_t crc32c_by_tables(std::span<const std::uint8_t> bytes);

}  // namespace tailor::store
