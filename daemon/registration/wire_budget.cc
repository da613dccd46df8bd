#include "daemon/registration/wire_budget.h"

#include <fmt/format.h>

#include <cstdint>
#include <optional>

#include "proto/base/utf8.h"

namespace tailor::registration {

namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

// The contracts nest to five levels.
constexpr int kMaxDepth = 16;

enum WireType : std::uint32_t { kVarint = 0, kFixed64 = 1, kLengthDelimited = 2, kFixed32 = 5 };

class Walker {
 public:
  explicit Walker(std::size_t budget) : left_(budget) {}

  bool walk(std::string_view bytes, const Descriptor& type, int depth) {
    if (depth > kMaxDepth) return fail("nested too deeply");
    while (!bytes.empty()) {
      auto key = varint(bytes);
      if (!key) return fail("ends within a number");
      if (*key >> 3 == 0) return fail("has a field without a number");
      if (!field(bytes, type, static_cast<std::uint32_t>(*key), depth)) return false;
    }
    return true;
  }

  const char* failure() const { return failure_; }

 private:
  bool field(std::string_view& bytes, const Descriptor& type, std::uint32_t key, int depth) {
    switch (key & 7) {
      case kVarint:
        return varint(bytes) ? true : fail("ends within a number");
      case kFixed64:
        return skip(bytes, 8);
      case kFixed32:
        return skip(bytes, 4);
      case kLengthDelimited:
        return element(bytes, type.FindFieldByNumber(static_cast<int>(key >> 3)), depth);
      default:
        return fail("has a field of unknown wire type");
    }
  }

  bool element(std::string_view& bytes, const FieldDescriptor* field, int depth) {
    auto length = varint(bytes);
    if (!length || *length > bytes.size()) return fail("ends within a field");
    if (left_-- == 0) return fail("has too many parts");
    std::string_view content = bytes.substr(0, *length);
    bytes.remove_prefix(*length);
    if (!field) return true;
    if (field->type() == FieldDescriptor::TYPE_STRING && !is_utf8(content))
      return fail("holds text that is not UTF-8");
    return field->type() != FieldDescriptor::TYPE_MESSAGE || walk(content, *field->message_type(), depth + 1);
  }

  bool skip(std::string_view& bytes, std::size_t size) {
    if (bytes.size() < size) return fail("ends within a number");
    bytes.remove_prefix(size);
    return true;
  }

  static std::optional<std::uint64_t> varint(std::string_view& bytes) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes.size() && i < 10; ++i) {
      auto byte = static_cast<std::uint8_t>(bytes[i]);
      value |= static_cast<std::uint64_t>(byte & 0x7F) << (7 * i);
      if ((byte & 0x80) == 0) {
        bytes.remove_prefix(i + 1);
        return value;
      }
    }
    return std::nullopt;
  }

  bool fail(const char* why) {
    failure_ = why;
    return false;
  }

  std::size_t left_;
  const char* failure_ = "";
};

}  // namespace

Status check_wire_budget(std::string_view bytes, const Descriptor& type, std::size_t max_elements) {
  Walker walker(max_elements);
  if (walker.walk(bytes, type, 0)) return Ok{};
  return invalid(fmt::format("message of {} bytes {}", bytes.size(), walker.failure()));
}

}  // namespace tailor::registration
