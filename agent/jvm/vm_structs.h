// The descriptions of HotSpot's structures that libjvm.so exports for tools (gHotSpotVMStructs).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace tailor::jvm {

// One field of one structure. The texts are libjvm.so's.
struct VmField {
  std::string_view type, field;
  std::string_view kind;  // the field's own type, as HotSpot writes it
  std::int64_t offset;
  std::uint32_t bytes = 0;  // of its own type, where HotSpot describes it (gHotSpotVMTypes); else 0
};

// All of them; none where this JVM does not describe its structures.
std::vector<VmField> vm_fields();

}  // namespace tailor::jvm
