// What the builders of plans and of code objects share (tailor/dictionary.h).
#pragma once

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <map>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/wire.h"

namespace tailor::agent {

// What a daemon takes (daemon/registration/limits.h).
inline constexpr std::size_t kMostNameBytes = 4096;
inline constexpr std::size_t kMostTextBytes = 1024 * 1024;
inline constexpr std::size_t kMostMessageBytes = std::size_t{32} * 1024 * 1024;

// NULL is the empty text; cut to `limit` bytes.
inline std::string cut_text(const char* text, std::size_t limit) {
  return text ? std::string(text, ::strnlen(text, limit)) : std::string();
}

// Sets of components, each with one number: what a link leads to that has several owners.
class LinkSets {
 public:
  // The link to `ids`, as the wire has it: 0 none, id << 1 one component, (n << 1 | 1) set number n.
  std::uint32_t link_to(std::span<const std::uint32_t> ids);
  template <typename Wire>
  void write(Wire& wire, std::uint32_t field) const {
    for (const auto& set : sets_) {
      std::size_t begin = wire.begin(field);
      wire.packed(1, set.size(), [&](std::size_t i) { return set[i]; });
      wire.end(begin);
    }
  }

 private:
  std::vector<std::vector<std::uint32_t>> sets_;
  std::map<std::vector<std::uint32_t>, std::uint32_t> numbers_;
};

struct AttachedDocument {
  std::string kind;
  std::string content;
};
void write_attachment(GrowingWire& wire, std::uint32_t field, const AttachedDocument& document);
// Replaces the one of this kind, if there is one.
void attach(std::vector<AttachedDocument>& documents, const char* kind, const void* content,
            std::size_t size);

// The first error of a builder stays. f returns 0 or an error; an exception is -ENOMEM.
template <typename Builder, typename F>
int guarded(Builder* builder, F f) noexcept {
  if (!builder) return -EINVAL;
  if (builder->error != 0) return builder->error;
  try {
    builder->error = f(*builder);
  } catch (...) {
    builder->error = -ENOMEM;
  }
  return builder->error;
}

}  // namespace tailor::agent
