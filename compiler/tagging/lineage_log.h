// What one lowering step wrote: for every component of the lower level, its owners on the upper one
// (Tailored Profiling, section 4.2.2: "Log A", "Log B").
#pragma once

#include <span>
#include <vector>

#include "compiler/tagging/deprecated_names.h"
#include "compiler/tagging/link_pool.h"

namespace tailor::tagging {

// Not thread-safe. Lower ids are dense from 1; a component that was never recorded has no owner.
class LineageLog : public DeprecatedLogNames<LineageLog> {
 public:
  // `lower` descends from `uppers`. Recording again replaces what was known.
  void record(ComponentId lower, std::span<const ComponentId> uppers);
  // Components first, first + 1 ... descend from what `links` lead to in `pool`, another pool than this
  // log's.
  void record_run(ComponentId first, std::span<const Link> links, const LinkPool& pool);
  // `lower` also descends from `uppers`: what instruction fusing and merging of common code do.
  void extend(ComponentId lower, std::span<const ComponentId> uppers);

  Link link_of(ComponentId lower) const;
  // Its owners, ascending.
  std::vector<ComponentId> owners(ComponentId lower) const;

  // links()[id - 1] is the link of component id; may be shorter than the level.
  const std::vector<Link>& links() const { return links_; }
  const LinkPool& pool() const { return pool_; }

 private:
  void put(ComponentId lower, Link link);

  std::vector<Link> links_;
  LinkPool pool_;
};

}  // namespace tailor::tagging
