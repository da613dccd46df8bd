// Gives every distinct set of components one number, so that a link to many costs as much as a link to one.
#pragma once

#include <array>
#include <map>
#include <span>
#include <vector>

#include "compiler/tagging/deprecated_link_names.h"
#include "compiler/tagging/link.h"

namespace tailor::tagging {

// Not thread-safe. Sets are numbered from 0 in the order in which they are first seen.
class LinkPool : public DeprecatedPoolNames<LinkPool, Link> {
 public:
  // The link to `ids`: none if empty, a plain link if it names one component, else a set. The order of the
  // ids and repetitions do not matter; 0 (no component) is left out.
  Link intern(std::span<const ComponentId> ids) {
    if (ids.size() == 1) return Link::one(ids.front());
    return ids.empty() ? Link() : intern_many(ids);
  }

  // The link to the owners of both.
  Link united(Link a, Link b) {
    if (a == b || b.none()) return a;
    if (a.none()) return b;
    United& known = united_[(a.wire() * 31 + b.wire()) % united_.size()];
    if (known.a != a || known.b != b) known = {a, b, unite_owners(a, b)};
    return known.both;
  }

  // Appends the components of `link` to `out`, ascending.
  void expand(Link link, std::vector<ComponentId>& out) const;

  const std::vector<std::vector<ComponentId>>& sets() const { return sets_; }

 private:
  // A union that was asked for: the same are asked for again and again.
  struct United {
    Link a, b, both;
  };

  Link intern_many(std::span<const ComponentId> ids);
  Link intern_set(std::vector<ComponentId> set);  // sorts it
  Link unite_owners(Link a, Link b);

  std::vector<std::vector<ComponentId>> sets_;
  std::map<std::vector<ComponentId>, std::uint32_t> numbers_;
  std::array<United, 64> united_{};
  // What intern_many() was asked for last, and its answer.
  std::vector<ComponentId> last_;
  Link last_link_;
};

}  // namespace tailor::tagging
