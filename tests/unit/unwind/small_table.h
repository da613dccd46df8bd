// Call frame information made by hand, and pieces of stack.
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <vector>

namespace tailor::test {

inline void append(std::vector<std::byte>& out, std::initializer_list<int> bytes) {
  for (int byte : bytes) out.push_back(static_cast<std::byte>(byte));
}
inline void append32(std::vector<std::byte>& out, std::uint32_t word) {
  for (int i = 0; i < 4; ++i) out.push_back(static_cast<std::byte>(word >> (8 * i)));
}

// An .eh_frame at kTable of one function of 0x40 bytes at `code`: push %rbp (1 byte), mov %rsp, %rbp (3
// bytes).
inline constexpr std::uint64_t kTable = 0x1000, kCode = 0x2000;
inline std::vector<std::byte> small_table(std::uint64_t code = kCode) {
  std::vector<std::byte> bytes;
  append32(bytes, 20);
  append32(bytes, 0);
  append(bytes, {1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1B});  // data alignment -8, pc-relative pointers
  append(bytes, {0x0C, 7, 8, 0x90, 1, 0, 0});             // CFA = rsp + 8, return address at CFA - 8
  append32(bytes, 24);
  append32(bytes, 28);
  append32(bytes, static_cast<std::uint32_t>(code - (kTable + bytes.size())));
  append32(bytes, 0x40);
  append(bytes, {0});                                                // no augmentation
  append(bytes, {0x41, 0x0E, 16, 0x86, 2, 0x43, 0x0D, 6, 0, 0, 0});  // after the push, after the mov
  append32(bytes, 0);
  return bytes;
}

inline std::vector<std::byte> words(std::initializer_list<std::uint64_t> values) {
  std::vector<std::byte> bytes(values.size() * 8);
  std::size_t at = 0;
  for (std::uint64_t value : values) {
    std::memcpy(bytes.data() + at, &value, 8);
    at += 8;
  }
  return bytes;
}

}  // namespace tailor::test
