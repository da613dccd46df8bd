// Reads the encodings of .eh_frame (Linux Standard Base, "Exception Frames"; DWARF 5, section 7.6) within
// bounds. After the first read that does not fit everything is 0 and ok() is false.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace tailor::unwind {

class CfiCursor {
 public:
  // `address` is that of the first byte, for pointers relative to themselves.
  CfiCursor(std::span<const std::byte> bytes, std::uint64_t address) : bytes_(bytes), address_(address) {}

  bool ok() const { return ok_; }
  bool at_end() const { return !ok_ || at_ == bytes_.size(); }
  std::size_t position() const { return at_; }
  std::uint64_t address() const { return address_ + at_; }

  template <typename T>
  T fixed() {
    T value{};
    if (!take(sizeof value)) return value;
    std::memcpy(&value, bytes_.data() + at_ - sizeof value, sizeof value);
    return value;
  }
  std::uint64_t uleb() {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const auto byte = fixed<std::uint8_t>();
      if (shift < 64) value |= std::uint64_t{byte & 0x7Fu} << shift;
      if (!ok_ || !(byte & 0x80)) return value;
    }
  }
  std::int64_t sleb() {
    std::uint64_t value = 0;
    for (unsigned shift = 0;;) {
      const auto byte = fixed<std::uint8_t>();
      if (shift < 64) value |= std::uint64_t{byte & 0x7Fu} << shift;
      shift += 7;
      if (!ok_) return 0;
      if (byte & 0x80) continue;
      if (shift < 64 && (byte & 0x40)) value |= ~std::uint64_t{0} << shift;
      return static_cast<std::int64_t>(value);
    }
  }
  // DW_EH_PE_*; relative to nothing or to itself. `plain`: the format only, as for lengths.
  std::uint64_t pointer(std::uint8_t encoding, bool plain = false) {
    const std::uint64_t own = address();
    std::uint64_t value = 0;
    switch (encoding & 0x0F) {
      case 0x00:
      case 0x04:
      case 0x0C:
        value = fixed<std::uint64_t>();
        break;
      case 0x01:
        value = uleb();
        break;
      case 0x02:
        value = fixed<std::uint16_t>();
        break;
      case 0x03:
        value = fixed<std::uint32_t>();
        break;
      case 0x09:
        value = static_cast<std::uint64_t>(sleb());
        break;
      case 0x0A:
        value = static_cast<std::uint64_t>(std::int64_t{fixed<std::int16_t>()});
        break;
      case 0x0B:
        value = static_cast<std::uint64_t>(std::int64_t{fixed<std::int32_t>()});
        break;
      default:
        ok_ = false;
    }
    if (plain) return ok_ ? value : 0;
    switch (encoding & 0x70) {
      case 0x00:
        return ok_ ? value : 0;
      case 0x10:
        return ok_ ? own + value : 0;
      default:
        ok_ = false;
        return 0;
    }
  }
  std::span<const std::byte> block(std::uint64_t size) {
    if (!take(size)) return {};
    return bytes_.subspan(at_ - size, size);
  }
  void skip(std::uint64_t size) { (void)take(size); }
  std::span<const std::byte> rest() { return ok_ ? bytes_.subspan(at_) : std::span<const std::byte>(); }

 private:
  bool take(std::uint64_t size) {
    if (!ok_ || size > bytes_.size() - at_) {
      ok_ = false;
      return false;
    }
    at_ += static_cast<std::size_t>(size);
    return true;
  }

  std::span<const std::byte> bytes_;
  std::uint64_t address_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

}  // namespace tailor::unwind
