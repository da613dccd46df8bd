// The wire format of protobuf, read in place: https://protobuf.dev/programming-guides/encoding/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tailor::store {

// Reads forward. A read that does not fit gives false, and nothing can be read after it.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : at_(bytes.data()), end_(at_ + bytes.size()) {}

  bool done() const { return at_ == end_; }
  const char* position() const { return at_; }

  // Of a field whose number is below 16: the number times 8, and the type.
  std::uint8_t tag() { return static_cast<std::uint8_t>(*at_++); }

  bool varint(std::uint64_t& out) {
    std::uint64_t value = 0;
    for (unsigned shift = 0; at_ != end_ && shift < 70; shift += 7) {
      const auto byte = static_cast<std::uint8_t>(*at_++);
      value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) {
        out = value;
        return true;
      }
    }
    return fail();
  }

  // An sint64.
  bool zigzag(std::int64_t& out) {
    std::uint64_t value = 0;
    if (!varint(value)) return false;
    out = static_cast<std::int64_t>(value >> 1 ^ (~(value & 1) + 1));
    return true;
  }

  // A string, or a message within the message.
  bool bytes(std::string_view& out) {
    std::uint64_t size = 0;
    if (!varint(size) || size > static_cast<std::size_t>(end_ - at_)) return fail();
    out = {at_, static_cast<std::size_t>(size)};
    at_ += size;
    return true;
  }

 private:
  bool fail() {
    at_ = end_;
    return false;
  }

  const char* at_;
  const char* end_;
};

}  // namespace tailor::store
