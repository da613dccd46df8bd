// Links as levels and row tables encode them: 0 none, (id << 1) a component, (n << 1 | 1) link set number n.
#pragma once

#include <google/protobuf/repeated_field.h>

#include <cstdint>

#include "proto/base/result.h"
#include "tailor/v1/dictionary.pb.h"

namespace tailor::registration {

inline bool link_in_range(std::uint64_t link, std::uint64_t component_count, int set_count) {
  return (link & 1) ? (link >> 1) < static_cast<std::uint64_t>(set_count) : (link >> 1) <= component_count;
}

// No set is empty, and all its components are in range.
Status validate_link_sets(const google::protobuf::RepeatedPtrField<v1::LinkSet>& sets,
                          std::uint32_t component_count);

}  // namespace tailor::registration
