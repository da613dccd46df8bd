// A link as the wire has it (Level.links in tailor/v1/dictionary.proto): nothing, one component, or a set.
#pragma once

#include <cstdint>

#include "compiler/tagging/deprecated_link_names.h"
#include "proto/base/ids.h"

namespace tailor::tagging {

class Link : public DeprecatedLinkNames<Link> {
 public:
  constexpr Link() = default;
  static constexpr Link one(ComponentId id) { return Link(id << 1); }
  static constexpr Link set(std::uint32_t number) { return Link(number << 1 | 1); }
  static constexpr Link from_wire(std::uint32_t wire) { return Link(wire); }

  constexpr bool none() const { return wire_ == 0; }
  constexpr bool is_set() const { return (wire_ & 1) != 0; }
  // The component, where !is_set(); the number of the set in its LinkPool, where is_set().
  constexpr std::uint32_t index() const { return wire_ >> 1; }
  constexpr std::uint32_t wire() const { return wire_; }
  constexpr bool operator==(const Link&) const = default;

 private:
  constexpr explicit Link(std::uint32_t wire) : wire_(wire) {}
  std::uint32_t wire_ = 0;
};

}  // namespace tailor::tagging
