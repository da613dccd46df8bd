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

inline void append64(std::vector<std::byte>& out, std::uint64_t word) {
  for (int i = 0; i < 8; ++i) out.push_back(static_cast<std::byte>(word >> (8 * i)));
}

// The same function as a .debug_frame has it. `version`: of its common part (1, 3 or 4); `wide`: records of
// 64-bit DWARF.
inline std::vector<std::byte> small_debug_frame(std::uint64_t code = kCode, int version = 1,
                                                bool wide = false) {
  std::vector<std::byte> bytes;
  const auto record = [&](std::uint64_t id, const std::vector<std::byte>& body) {
    if (wide) append32(bytes, 0xFFFFFFFF);
    const std::uint64_t size = body.size() + (wide ? 8 : 4);
    wide ? append64(bytes, size) : append32(bytes, static_cast<std::uint32_t>(size));
    wide ? append64(bytes, id) : append32(bytes, static_cast<std::uint32_t>(id));
    bytes.insert(bytes.end(), body.begin(), body.end());
  };
  std::vector<std::byte> common, entry;
  append(common, {version, 0});                       // no augmentation
  if (version == 4) append(common, {8, 0});           // sizes of an address and of a segment
  append(common, {1, 0x78, 16});                      // data alignment -8
  append(common, {0x0C, 7, 8, 0x90, 1, 0, 0, 0, 0});  // CFA = rsp + 8, return address at CFA - 8
  record(UINT64_MAX, common);
  append64(entry, code);
  append64(entry, 0x40);
  append(entry, {0x41, 0x0E, 16, 0x86, 2, 0x43, 0x0D, 6});
  record(0, entry);  // its common part is the section's first record
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
