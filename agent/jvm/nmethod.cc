#include "agent/jvm/nmethod.h"

#include <dlfcn.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
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
};

// Calls f(Entry) for all of them, until the nameless last one.
template <typename F>
void for_each_entry(F f) {
  const std::uint64_t table = exported("gHotSpotVMStructs");
  const std::uint64_t stride = exported("gHotSpotVMStructEntryArrayStride");
  const std::uint64_t type = exported("gHotSpotVMStructEntryTypeNameOffset");
  const std::uint64_t field = exported("gHotSpotVMStructEntryFieldNameOffset");
  const std::uint64_t offset = exported("gHotSpotVMStructEntryOffsetOffset");
  if (table == 0 || stride == 0) return;
  constexpr int kMost = 65536;
  std::uint64_t at = table;
  for (int i = 0; i < kMost; ++i, at += stride) {
    const auto* type_name = read<const char*>(at + type);
    const auto* field_name = read<const char*>(at + field);
    if (!type_name || !field_name) return;
    f(Entry{type_name, field_name, read<std::int64_t>(at + offset)});
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
  });
}

std::optional<NmethodFacts> NmethodReader::read_blob(const char* blob, std::uint64_t begin,
                                                     std::uint64_t end) const {
  const auto number = [blob](std::int64_t offset, auto value) {
    std::memcpy(&value, blob + offset, sizeof value);
    return value;
  };
  if (number(code_begin_, std::uint64_t{}) != begin || number(code_end_, std::uint64_t{}) != end)
    return std::nullopt;
  NmethodFacts facts;
  if (level_ >= 0) facts.level = number(level_, std::int32_t{});
  if (facts.level < 1 || facts.level > 4) facts.level = -1;
  if (entry_bci_ >= 0) facts.osr = number(entry_bci_, std::int32_t{}) >= 0;
  if (frame_size_ >= 0) facts.frame_words = number(frame_size_, std::uint32_t{});
  if (frame_complete_ >= 0) facts.frame_complete = number(frame_complete_, std::uint32_t{});
  return facts;
}

// The blob lies in front of its code, with relocations in between; it is known by the two addresses it keeps.
// What lies farther down may be no memory at all: the kernel reads, and says so where it is not.
std::optional<NmethodFacts> NmethodReader::facts(std::uint64_t begin, std::uint32_t size) const {
  if (code_begin_ < 0 || code_end_ < 0) return std::nullopt;
  constexpr std::uint64_t kWord = 8, kWindow = 4096, kFarthest = 1u << 18;
  const auto blob_bytes = static_cast<std::uint64_t>(std::max(
                              {code_begin_, code_end_, frame_size_, frame_complete_, level_, entry_bci_})) +
                          kWord;
  if (blob_bytes > kWindow / 2 || begin < 2 * kFarthest) return std::nullopt;
  std::array<char, 2 * kWindow> bytes;
  for (std::uint64_t top = begin & ~(kWord - 1); begin - top < kFarthest; top -= kWindow) {
    // Blobs that begin in the window below `top`, and may end above it.
    const std::uint64_t length = std::min(kWindow + blob_bytes, begin - (top - kWindow));
    const iovec to{bytes.data(), length};
    const iovec from{reinterpret_cast<void*>(static_cast<std::uintptr_t>(top - kWindow)), length};
    if (::process_vm_readv(::getpid(), &to, 1, &from, 1, 0) != static_cast<ssize_t>(length))
      return std::nullopt;
    for (std::uint64_t at = kWindow; at >= kWord;) {
      at -= kWord;
      if (at + blob_bytes > length) continue;
      if (auto facts = read_blob(bytes.data() + at, begin, begin + size)) return facts;
    }
  }
  return std::nullopt;
}

}  // namespace tailor::jvm
