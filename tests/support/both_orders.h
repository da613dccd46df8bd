// Writes the same numbers as a machine of each byte order has them, from the numbers alone: no bytes that
// were written are turned round.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

namespace tailor::test {

class BothOrders {
 public:
  struct BitField {
    unsigned first, width;  // in bits, in the order of their declaration
    std::uint64_t value;
  };

  std::vector<std::byte> little, big;

  BothOrders& u8(std::uint8_t value) { return put(value, value); }
  BothOrders& u16(std::uint16_t value) { return put(value, value); }
  BothOrders& u32(std::uint32_t value) { return put(value, value); }
  BothOrders& u64(std::uint64_t value) { return put(value, value); }
  BothOrders& u64s(std::initializer_list<std::uint64_t> values) {
    for (const std::uint64_t value : values) u64(value);
    return *this;
  }
  // A word of bit fields: the first is the lowest bits on a little-endian machine, else the highest.
  BothOrders& bits(std::initializer_list<BitField> fields) {
    std::uint64_t low = 0, high = 0;
    for (const BitField& field : fields) {
      low |= field.value << field.first;
      high |= field.value << (64 - field.first - field.width);
    }
    return put(low, high);
  }
  BothOrders& raw(std::string_view bytes) {
    for (const char each : bytes) u8(static_cast<std::uint8_t>(each));
    return *this;
  }
  // Ended and filled up with zeros, as the kernel does.
  BothOrders& text(std::string_view value) {
    raw(value);
    do u8(0);
    while ((little.size() - record_) % 8 != 0);
    return *this;
  }
  BothOrders& begin(std::uint32_t type, std::uint16_t misc = 0) {
    record_ = little.size();
    return u32(type).u16(misc).u16(0);
  }
  BothOrders& end() {
    const auto size = static_cast<std::uint16_t>(little.size() - record_);
    const std::array bytes = {static_cast<std::byte>(size & 255), static_cast<std::byte>(size >> 8)};
    std::copy(bytes.begin(), bytes.end(), little.begin() + static_cast<std::ptrdiff_t>(record_ + 6));
    std::copy(bytes.rbegin(), bytes.rend(), big.begin() + static_cast<std::ptrdiff_t>(record_ + 6));
    return *this;
  }

 private:
  template <std::unsigned_integral T>
  BothOrders& put(T to_little, T to_big) {
    for (unsigned i = 0; i < sizeof(T); ++i) {
      little.push_back(static_cast<std::byte>(to_little >> 8 * i & 255));
      big.push_back(static_cast<std::byte>(to_big >> 8 * (sizeof(T) - 1 - i) & 255));
    }
    return *this;
  }
  std::size_t record_ = 0;  // where the last one begins
};

}  // namespace tailor::test
