// What attribution keeps of a plan dictionary, and the check that the dictionary makes sense.
#pragma once

#include <cstdint>
#include <vector>

#include "daemon/process/limits.h"
#include "proto/base/ids.h"
#include "proto/base/result.h"
#include "tailor/v1/dictionary.pb.h"

namespace tailor::process {

struct PlanState {
  PlanId id = 0;
  std::uint32_t slot = 0;
  std::uint32_t generation = 0;
  std::uint32_t tag_upper_level = 0;
  std::uint32_t tag_lower_level = 0;
  bool has_tag_lower_level = false;
  std::vector<std::uint32_t> component_counts;  // by level, top first; never empty
  std::size_t attributes = 0;                   // a hash of what is said of its components
  TimeNs loaded = 0;
  TimeNs unloaded = kTimeMax;
  std::uint64_t seen = 0;  // the connection that spoke of it last

  LevelIndex lowest_level() const { return static_cast<LevelIndex>(component_counts.size() - 1); }
  bool live_at(TimeNs time) const { return loaded <= time && time < unloaded; }
};

// Checks every id, link and set of `plan`: all lead to components that exist, inputs and pipelines form no
// cycles, sizes are within `limits`. The error says what is wrong first. Pure; linear in the size of the
// plan.
Result<PlanState> check_plan(const v1::Plan& plan, const Limits& limits);

// Whether `link` (encoded as Level.links) leads to a component of a level of `components`, or to one of
// `sets`. Pure.
bool link_exists(std::uint32_t link, std::uint32_t components, std::uint32_t sets);

// "" if every set names only components up to `components`, and at least one; else what is wrong. Pure.
std::string check_link_sets(const google::protobuf::RepeatedPtrField<v1::LinkSet>& sets,
                            std::uint32_t components);

}  // namespace tailor::process
