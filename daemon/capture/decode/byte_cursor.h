// Reads little-endian fields out of untrusted bytes without ever reading past them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace tailor::capture {

// Consecutive 64-bit words inside a record, at any alignment.
class WordView {
 public:
  WordView() = default;
  WordView(const std::byte* first, std::size_t count) : first_(first), count_(count) {}
  std::size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  std::uint64_t operator[](std::size_t index) const {
    std::uint64_t word;
    std::memcpy(&word, first_ + index * sizeof word, sizeof word);
    return word;
  }

 private:
  const std::byte* first_ = nullptr;
  std::size_t count_ = 0;
};

// A read past the end gives zeros and makes ok() false for good: check once, after the last field.
class ByteCursor {
 public:
  explicit ByteCursor(std::span<const std::byte> bytes) : bytes_(bytes) {}

  bool ok() const { return ok_; }
  bool at_end() const { return bytes_.empty(); }
  std::size_t remaining() const { return bytes_.size(); }

  std::uint64_t u64() { return number<std::uint64_t>(); }
  std::uint32_t u32() { return number<std::uint32_t>(); }
  std::uint16_t u16() { return number<std::uint16_t>(); }
  std::uint8_t u8() { return number<std::uint8_t>(); }
  std::int32_t i32() { return number<std::int32_t>(); }

  std::span<const std::byte> take(std::uint64_t count) {
    if (count > bytes_.size()) {
      fail();
      return {};
    }
    auto front = bytes_.first(count);
    bytes_ = bytes_.subspan(count);
    return front;
  }

  WordView words(std::uint64_t count) {
    if (count > bytes_.size() / sizeof(std::uint64_t)) {
      fail();
      return {};
    }
    return {take(count * sizeof(std::uint64_t)).data(), count};
  }

  // All that is left, as text up to its terminating zero; without one the cursor fails.
  std::string_view rest_as_text() {
    auto rest = take(bytes_.size());
    const void* zero = rest.empty() ? nullptr : std::memchr(rest.data(), 0, rest.size());
    if (zero == nullptr) {
      fail();
      return {};
    }
    auto first = reinterpret_cast<const char*>(rest.data());
    return {first, static_cast<std::size_t>(static_cast<const char*>(zero) - first)};
  }

 private:
  template <typename T>
  T number() {
    T value{};
    if (sizeof(T) > bytes_.size()) {
      fail();
      return value;
    }
    std::memcpy(&value, bytes_.data(), sizeof value);
    bytes_ = bytes_.subspan(sizeof value);
    return value;
  }

  void fail() {
    ok_ = false;
    bytes_ = {};
  }

  std::span<const std::byte> bytes_;
  bool ok_ = true;
};

}  // namespace tailor::capture
