#include "daemon/registration/validate_link.h"

#include <fmt/format.h>

namespace tailor::registration {

Status validate_link_sets(const google::protobuf::RepeatedPtrField<v1::LinkSet>& sets,
                          std::uint32_t component_count) {
  for (int i = 0; i < sets.size(); ++i) {
    if (sets[i].ids_size() == 0) return invalid(fmt::format("has link set {} that is empty", i));
    for (std::uint32_t id : sets[i].ids()) {
      if (id == 0 || id > component_count) {
        return invalid(fmt::format("has link set {} with component {} of {}", i, id, component_count));
      }
    }
  }
  return Ok{};
}

}  // namespace tailor::registration
