// Writes Thrift's compact protocol, as far as Parquet's metadata need it
// (https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tailor::formats {

// Appends to `out`, which must outlive it. Fields of a struct come in the order of their ids. One thread.
class ThriftWriter {
 public:
  enum Type : std::uint8_t {
    kTrue = 1,
    kFalse = 2,
    kByte = 3,
    kInt32 = 5,
    kInt64 = 6,
    kBytes = 8,
    kList = 9,
    kStruct = 12
  };

  // The outermost struct is begun here; end_struct() ends it.
  explicit ThriftWriter(std::string& out) : out_(out) {}

  void boolean(int id, bool value) { header(id, value ? kTrue : kFalse); }
  void byte(int id, std::int8_t value) {
    header(id, kByte);
    out_ += static_cast<char>(value);
  }
  void int32(int id, std::int32_t value) {
    header(id, kInt32);
    zigzag(value);
  }
  void int64(int id, std::int64_t value) {
    header(id, kInt64);
    zigzag(value);
  }
  void bytes(int id, std::string_view value) {
    header(id, kBytes);
    element(value);
  }
  void begin_struct(int id) {
    header(id, kStruct);
    last_ids_.push_back(0);
  }
  // Ends the innermost struct: of a field, of a list, or the outermost one.
  void end_struct() {
    out_ += '\0';
    last_ids_.pop_back();
  }
  // A struct without fields: an alternative of a union that says nothing else.
  void empty_struct(int id) {
    begin_struct(id);
    end_struct();
  }

  // `size` elements follow.
  void begin_list(int id, Type type, std::size_t size) {
    header(id, kList);
    if (size < 15) {
      out_ += static_cast<char>(size << 4 | type);
    } else {
      out_ += static_cast<char>(0xF0 | type);
      varint(size);
    }
  }
  void element(std::int32_t value) { zigzag(value); }
  void element(std::string_view value) {
    varint(value.size());
    out_ += value;
  }
  void begin_struct_element() { last_ids_.push_back(0); }

 private:
  void header(int id, Type type) {
    const int step = id - last_ids_.back();
    last_ids_.back() = id;
    if (step > 0 && step < 16) {
      out_ += static_cast<char>(step << 4 | type);
    } else {
      out_ += static_cast<char>(type);
      zigzag(id);
    }
  }
  void zigzag(std::int64_t value) {
    varint(static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63));
  }
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) out_ += static_cast<char>(value | 0x80);
    out_ += static_cast<char>(value);
  }

  std::string& out_;
  std::vector<int> last_ids_ = {0};
};

}  // namespace tailor::formats
