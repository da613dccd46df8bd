// Protobuf's wire format (https://protobuf.dev/programming-guides/encoding): what the agent needs of it to
// write its messages and to read a daemon's. Nothing here throws, except where memory that grows is short
// (GrowingMemory).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "agent/utf8.h"

namespace tailor::agent {

// Memory that somebody else has reserved. Once something does not fit, it is full and takes nothing more.
class FixedMemory {
 public:
  explicit FixedMemory(std::span<char> memory) : memory_(memory) {}

  void append(const void* bytes, std::size_t count) noexcept {
    if (full_ || count > memory_.size() - size_) {
      full_ = true;
      return;
    }
    if (count != 0) std::memcpy(memory_.data() + size_, bytes, count);
    size_ += count;
  }
  void cut_to(std::size_t size) noexcept { size_ = size; }
  char* data() noexcept { return memory_.data(); }
  std::size_t size() const noexcept { return size_; }
  bool complete() const noexcept { return !full_; }

 private:
  std::span<char> memory_;
  std::size_t size_ = 0;
  bool full_ = false;
};

// May throw std::bad_alloc.
class GrowingMemory {
 public:
  void append(const void* bytes, std::size_t count) { text_.append(static_cast<const char*>(bytes), count); }
  void cut_to(std::size_t size) { text_.resize(size); }
  char* data() { return text_.data(); }
  std::size_t size() const { return text_.size(); }
  bool complete() const { return true; }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

// Writes fields. As in proto3, the plain forms leave out what is 0 or empty.
template <typename Memory>
class WireWriter {
 public:
  explicit WireWriter(Memory memory) : memory_(std::move(memory)) {}

  void number(std::uint32_t field, std::uint64_t value) {
    if (value != 0) number_even_if_zero(field, value);
  }
  void number_even_if_zero(std::uint32_t field, std::uint64_t value) {
    varint(std::uint64_t{field} << 3);
    varint(value);
  }
  void signed_number(std::uint32_t field, std::int64_t value) { number(field, zig_zag(value)); }
  void real_number(std::uint32_t field, double value) {
    varint(std::uint64_t{field} << 3 | kFixed64);
    memory_.append(&value, sizeof(value));
  }
  void bytes(std::uint32_t field, std::string_view bytes) {
    if (!bytes.empty()) bytes_even_if_empty(field, bytes);
  }
  void bytes_even_if_empty(std::uint32_t field, std::string_view bytes) {
    length(field, bytes.size());
    memory_.append(bytes.data(), bytes.size());
  }
  // Protobuf strings are UTF-8, and a receiver drops a whole message for one byte that is not; names come
  // from users' tables and may be anything, so such bytes are sent as '?'.
  void text(std::uint32_t field, std::string_view text) {
    if (!text.empty()) text_even_if_empty(field, text);
  }
  void text_even_if_empty(std::uint32_t field, std::string_view text) {
    std::size_t before = memory_.size();
    bytes_even_if_empty(field, text);
    if (memory_.size() >= before + text.size())
      sanitize_utf8({memory_.data() + memory_.size() - text.size(), text.size()});
  }
  // Packed repeated numbers; at(i) is the number i.
  template <typename At>
  void packed(std::uint32_t field, std::size_t count, At at) {
    if (count == 0) return;
    const std::size_t start = begin(field);
    for (std::size_t i = 0; i < count; ++i) varint(at(i));
    end(start);
  }
  // The head of a field of `bytes` bytes, which follow.
  void length(std::uint32_t field, std::size_t bytes) {
    varint(std::uint64_t{field} << 3 | kLengthDelimited);
    varint(bytes);
  }
  void raw(std::string_view bytes) { memory_.append(bytes.data(), bytes.size()); }

  // A message within the message: everything written between begin() and end().
  std::size_t begin(std::uint32_t field) {
    varint(std::uint64_t{field} << 3 | kLengthDelimited);
    static constexpr char kRoom[kMostLengthBytes] = {};
    memory_.append(kRoom, sizeof(kRoom));
    return memory_.size();
  }
  void end(std::size_t begin) {
    if (!memory_.complete()) return;
    std::size_t length = memory_.size() - begin;
    char head[kMostLengthBytes];
    std::size_t bytes = 0;
    std::uint64_t rest = length;
    for (; rest >= 0x80; rest >>= 7) head[bytes++] = static_cast<char>(rest | 0x80);
    head[bytes++] = static_cast<char>(rest);
    char* at = memory_.data() + begin - kMostLengthBytes;
    std::memcpy(at, head, bytes);
    std::memmove(at + bytes, memory_.data() + begin, length);
    memory_.cut_to(begin - kMostLengthBytes + bytes + length);
  }

  Memory& memory() { return memory_; }
  std::size_t size() const { return memory_.size(); }
  std::span<const char> bytes() { return {memory_.data(), memory_.size()}; }

  static constexpr std::uint64_t zig_zag(std::int64_t value) {
    return static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63);
  }

 private:
  static constexpr std::size_t kMostLengthBytes = 5;
  static constexpr std::uint32_t kFixed64 = 1, kLengthDelimited = 2;

  void varint(std::uint64_t value) {
    unsigned char bytes[10];
    std::size_t count = 0;
    for (; value >= 0x80; value >>= 7) bytes[count++] = static_cast<unsigned char>(value | 0x80);
    bytes[count++] = static_cast<unsigned char>(value);
    memory_.append(bytes, count);
  }

  Memory memory_;
};

using FixedWire = WireWriter<FixedMemory>;
using GrowingWire = WireWriter<GrowingMemory>;

// Reads fields, one after the other. What is not well-formed ends it, with ok() false.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : rest_(bytes) {}

  // The next field: its number, and its value where it is a number, or its bytes.
  bool next() noexcept {
    if (rest_.empty() || !ok_) return false;
    std::uint64_t key = varint();
    number_ = 0;
    bytes_ = {};
    field_ = static_cast<std::uint32_t>(key >> 3);
    switch (key & 7) {
      case 0:
        number_ = varint();
        break;
      case 1:
        take(8);
        break;
      case 2:
        bytes_ = take(varint());
        break;
      case 5:
        take(4);
        break;
      default:
        ok_ = false;
    }
    return ok_;
  }
  bool ok() const noexcept { return ok_; }
  std::uint32_t field() const noexcept { return field_; }
  std::uint64_t number() const noexcept { return number_; }
  std::string_view bytes() const noexcept { return bytes_; }

 private:
  std::uint64_t varint() noexcept {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      auto byte = static_cast<unsigned char>(rest_[0]);
      rest_.remove_prefix(1);
      value |= std::uint64_t{byte & 0x7Fu} << shift;
      if ((byte & 0x80) == 0) return value;
    }
    ok_ = false;
    return 0;
  }
  std::string_view take(std::uint64_t count) noexcept {
    if (!ok_ || count > rest_.size()) {
      ok_ = false;
      return {};
    }
    std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }

  std::string_view rest_;
  std::string_view bytes_;
  std::uint64_t number_ = 0;
  std::uint32_t field_ = 0;
  bool ok_ = true;
};

}  // namespace tailor::agent
