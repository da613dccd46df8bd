#include "agent/jvm/vm_structs.h"

#include <dlfcn.h>

#include <cstring>
#include <unordered_map>

namespace tailor::jvm {
namespace {

template <typename T>
T read(std::uint64_t address) {
  T value;
  std::memcpy(&value, reinterpret_cast<const void*>(address), sizeof value);
  return value;
}

std::uint64_t exported(const char* name) {
  const void* variable = ::dlsym(RTLD_DEFAULT, name);
  return variable ? read<std::uint64_t>(reinterpret_cast<std::uintptr_t>(variable)) : 0;
}

constexpr int kMostEntries = 65536;

// The sizes of the types that HotSpot describes, by name.
std::unordered_map<std::string_view, std::uint32_t> sizes_of_types() {
  std::unordered_map<std::string_view, std::uint32_t> sizes;
  const std::uint64_t stride = exported("gHotSpotVMTypeEntryArrayStride");
  const std::uint64_t type = exported("gHotSpotVMTypeEntryTypeNameOffset");
  const std::uint64_t size = exported("gHotSpotVMTypeEntrySizeOffset");
  std::uint64_t at = exported("gHotSpotVMTypes");
  if (at == 0 || stride == 0) return sizes;
  for (int i = 0; i < kMostEntries; ++i, at += stride) {
    const auto* name = read<const char*>(at + type);
    if (!name) break;
    sizes.emplace(name, static_cast<std::uint32_t>(read<std::uint64_t>(at + size)));
  }
  return sizes;
}

}  // namespace

std::vector<VmField> vm_fields() {
  std::vector<VmField> fields;
  const std::uint64_t stride = exported("gHotSpotVMStructEntryArrayStride");
  const std::uint64_t type = exported("gHotSpotVMStructEntryTypeNameOffset");
  const std::uint64_t field = exported("gHotSpotVMStructEntryFieldNameOffset");
  const std::uint64_t kind = exported("gHotSpotVMStructEntryTypeStringOffset");
  const std::uint64_t offset = exported("gHotSpotVMStructEntryOffsetOffset");
  std::uint64_t at = exported("gHotSpotVMStructs");
  if (at == 0 || stride == 0) return fields;
  const auto sizes = sizes_of_types();
  for (int i = 0; i < kMostEntries; ++i, at += stride) {
    const auto* type_name = read<const char*>(at + type);
    const auto* field_name = read<const char*>(at + field);
    if (!type_name || !field_name) break;
    const auto* kind_text = read<const char*>(at + kind);
    const std::string_view kind_name = kind_text ? kind_text : "";
    const auto size = sizes.find(kind_name);
    fields.push_back({type_name, field_name, kind_name, read<std::int64_t>(at + offset),
                      size == sizes.end() ? 0 : size->second});
  }
  return fields;
}

}  // namespace tailor::jvm
