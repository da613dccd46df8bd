// Gives every distinct set of components one number, so that a link to many costs as much as a link to one.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "compiler/tagging/link.h"

namespace tailor::tagging {

// Not thread-safe. Sets are numbered from 0 in the order in which they are first seen.
class LinkPool {
 public:
  // The link to `ids`: none if empty, a plain link if it names one component, else a set. The order of the
  // ids and repetitions do not matter; 0 (no component) is left out.
  Link Intern(std::span<const ComponentId> ids) {
    return ids.size() == 1 ? Link::One(ids.front()) : InternMany(ids);
  }

  // The link to the owners of both.
  Link Union(Link a, Link b) {
    if (a == b || b.none()) return a;
    return a.none() ? b : UniteOwners(a, b);
  }

  // Appends the components of `link` to `out`, ascending.
  void Expand(Link link, std::vector<ComponentId>& out) const;

  const std::vector<std::vector<ComponentId>>& sets() const { return sets_; }

 private:
  Link InternMany(std::span<const ComponentId> ids);
  Link UniteOwners(Link a, Link b);

  std::vector<std::vector<ComponentId>> sets_;
  std::map<std::vector<ComponentId>, std::uint32_t> numbers_;
};

}  // namespace tailor::tagging
