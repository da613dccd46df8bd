#include "daemon/query/symbols/data_addresses.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

namespace tailor::query {
namespace {

// Bounds of what is looked through: a file may have as many sections and relocations as it likes.
constexpr std::size_t kMostRelocations = std::size_t{1} << 22;
constexpr std::uint64_t kMostData = std::uint64_t{256} << 20;
constexpr std::size_t kMostPlaces = 64;

std::uint32_t relative_type(std::uint16_t machine) {
  switch (machine) {
    case EM_X86_64:
      return R_X86_64_RELATIVE;
    case EM_AARCH64:
      return R_AARCH64_RELATIVE;
    default:
      return UINT32_MAX;
  }
}

}  // namespace

DataAddresses::DataAddresses(const ElfFile& file, unsigned word_size)
    : file_(file), word_size_(word_size), left_(kMostRelocations) {
  for (const Elf64_Shdr& section : file.sections()) add(section);
  std::ranges::sort(moved_);
}

std::uint64_t DataAddresses::at(std::uint64_t place) const {
  const auto moved = std::ranges::lower_bound(moved_, place, {}, &Moved::first);
  if (moved != moved_.end() && moved->first == place) return moved->second;
  return word(file_.loaded(place, word_size_), 0);
}

std::vector<std::uint64_t> DataAddresses::places_of(std::uint64_t address) const {
  std::vector<std::uint64_t> out;
  for (const auto& [place, said] : moved_)
    if (said == address && out.size() < kMostPlaces) out.push_back(place);
  std::uint64_t left = kMostData;
  for (const Elf64_Shdr& section : file_.sections()) {
    const bool data = section.sh_type == SHT_PROGBITS &&
                      (section.sh_flags & (SHF_ALLOC | SHF_WRITE | SHF_EXECINSTR)) == (SHF_ALLOC | SHF_WRITE);
    if (!data || section.sh_size > left) continue;
    left -= section.sh_size;
    const auto bytes = file_.read<std::uint8_t>(section.sh_offset, section.sh_size);
    for (std::size_t i = 0; i + word_size_ <= bytes.size() && out.size() < kMostPlaces; i += word_size_)
      if (word(bytes, i) == address) out.push_back(section.sh_addr + i);
  }
  return out;
}

void DataAddresses::add(const Elf64_Shdr& section) {
  const bool loaded = section.sh_type == SHT_RELA && (section.sh_flags & SHF_ALLOC) != 0;
  if (!loaded || section.sh_size / sizeof(Elf32_Rela) > left_) return;
  left_ -= section.sh_size / sizeof(Elf32_Rela);
  for (const Elf64_Rela& each : file_.relocations(section))
    if (ELF64_R_TYPE(each.r_info) == relative_type(file_.machine()))
      moved_.emplace_back(each.r_offset, static_cast<std::uint64_t>(each.r_addend));
}

std::uint64_t DataAddresses::word(const std::vector<std::uint8_t>& bytes, std::size_t at) const {
  std::uint64_t out = 0;
  if (at + word_size_ <= bytes.size()) std::memcpy(&out, bytes.data() + at, word_size_);
  return out;
}

}  // namespace tailor::query
