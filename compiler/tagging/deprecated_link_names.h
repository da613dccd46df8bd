// The names that Link and LinkPool had in the first development version of 0.1. They go with 0.2: use the new
// ones, which are the same in lower case with underscores, but for Union. Apart from deprecated_names.h,
// which needs both classes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "proto/base/ids.h"

// NOLINTBEGIN(readability-identifier-naming): this is what they were called.
namespace tailor::tagging {

template <typename Link>
class DeprecatedLinkNames {
 public:
  [[deprecated("one")]] static constexpr Link One(ComponentId id) { return Link::one(id); }
  [[deprecated("set")]] static constexpr Link Set(std::uint32_t number) { return Link::set(number); }
  [[deprecated("from_wire")]] static constexpr Link FromWire(std::uint32_t wire) {
    return Link::from_wire(wire);
  }

 private:
  friend Link;
  DeprecatedLinkNames() = default;
  bool operator==(const DeprecatedLinkNames&) const = default;  // for that of Link
};

template <typename Pool, typename Link>
class DeprecatedPoolNames {
 public:
  [[deprecated("intern")]] Link Intern(std::span<const ComponentId> ids) { return self().intern(ids); }
  [[deprecated("united")]] Link Union(Link a, Link b) { return self().united(a, b); }
  [[deprecated("expand")]] void Expand(Link link, std::vector<ComponentId>& out) const {
    static_cast<const Pool&>(*this).expand(link, out);
  }

 private:
  friend Pool;
  DeprecatedPoolNames() = default;
  Pool& self() { return static_cast<Pool&>(*this); }
};

}  // namespace tailor::tagging
// NOLINTEND(readability-identifier-naming)
