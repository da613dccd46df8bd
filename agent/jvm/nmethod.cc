#include "agent/jvm/nmethod.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <string_view>

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

// One field of one structure.
struct Entry {
  std::string_view type, field;
  std::int64_t offset;
  std::uint64_t address;  // of a static one
};

// Calls f(Entry) for all of them, until the nameless last one.
template <typename F>
void for_each_entry(F f) {
  const std::uint64_t table = exported("gHotSpotVMStructs");
  const std::uint64_t stride = exported("gHotSpotVMStructEntryArrayStride");
  const std::uint64_t type = exported("gHotSpotVMStructEntryTypeNameOffset");
  const std::uint64_t field = exported("gHotSpotVMStructEntryFieldNameOffset");
  const std::uint64_t offset = exported("gHotSpotVMStructEntryOffsetOffset");
  const std::uint64_t address = exported("gHotSpotVMStructEntryAddressOffset");
  if (table == 0 || stride == 0) return;
  constexpr int kMost = 65536;
  std::uint64_t at = table;
  for (int i = 0; i < kMost; ++i, at += stride) {
    const auto* type_name = read<const char*>(at + type);
    const auto* field_name = read<const char*>(at + field);
    if (!type_name || !field_name) return;
    f(Entry{type_name, field_name, read<std::int64_t>(at + offset), read<std::uint64_t>(at + address)});
  }
}

}  // namespace

NmethodReader::NmethodReader() {
  for_each_entry([this](const Entry& entry) {
    if (entry.type == "CodeBlob") {
      if (entry.field == "_code_begin") code_begin_ = entry.offset;
      if (entry.field == "_code_end") code_end_ = entry.offset;
      if (entry.field == "_frame_size") frame_size_ = entry.offset;
      if (entry.field == "_frame_complete_offset") frame_complete_ = entry.offset;
    }
    if (entry.type == "nmethod" && entry.field == "_comp_level") level_ = entry.offset;
    if (entry.type == "nmethod" && entry.field == "_entry_bci") entry_bci_ = entry.offset;
    if (entry.type == "CodeCache" && entry.field == "_low_bound")
      low_bound_ = reinterpret_cast<const std::uint64_t*>(entry.address);
  });
}

// The blob lies in front of its code, with relocations in between; it is known by the two addresses it keeps.
std::optional<NmethodFacts> NmethodReader::facts(std::uint64_t begin, std::uint32_t size) const {
  if (code_begin_ < 0 || code_end_ < 0 || !low_bound_ || *low_bound_ == 0) return std::nullopt;
  constexpr std::uint64_t kWord = 8, kFarthest = 1u << 18;
  const std::int64_t most =
      std::max({code_begin_, code_end_, frame_size_, frame_complete_, level_, entry_bci_});
  const std::uint64_t lowest = std::max(*low_bound_, begin - std::min(begin, kFarthest));
  for (std::uint64_t blob = (begin & ~(kWord - 1)) - kWord; blob >= lowest; blob -= kWord) {
    if (blob + static_cast<std::uint64_t>(most) + kWord > begin) continue;
    if (read<std::uint64_t>(blob + code_begin_) != begin) continue;
    if (read<std::uint64_t>(blob + code_end_) != begin + size) continue;
    NmethodFacts facts;
    if (level_ >= 0) facts.level = read<std::int32_t>(blob + level_);
    if (facts.level < 1 || facts.level > 4) facts.level = -1;
    if (entry_bci_ >= 0) facts.osr = read<std::int32_t>(blob + entry_bci_) >= 0;
    if (frame_size_ >= 0) facts.frame_words = read<std::uint32_t>(blob + frame_size_);
    if (frame_complete_ >= 0) facts.frame_complete = read<std::uint32_t>(blob + frame_complete_);
    return facts;
  }
  return std::nullopt;
}

}  // namespace tailor::jvm
