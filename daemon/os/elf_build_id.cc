#include "daemon/os/elf_build_id.h"

#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "daemon/os/regular_file.h"
#include "proto/base/hex.h"
#include "proto/base/unique_fd.h"

namespace tailor::os {
namespace {

// Linkers put the notes at the begin of a file.
std::string begin_of(const std::filesystem::path& path) {
  constexpr std::size_t kMost = 64 << 10;
  struct stat facts{};
  const UniqueFd file = open_regular(path, facts);
  if (!file) return {};
  std::string out(std::min<std::size_t>(kMost, static_cast<std::size_t>(facts.st_size)), '\0');
  std::size_t have = 0;
  while (have < out.size()) {
    const ssize_t n = ::pread(file.get(), &out[have], out.size() - have, static_cast<off_t>(have));
    if (n <= 0) break;
    have += static_cast<std::size_t>(n);
  }
  out.resize(have);
  return out;
}

template <typename T>
bool read_at(std::string_view bytes, std::uint64_t offset, T& to) {
  if (offset > bytes.size() || sizeof to > bytes.size() - offset) return false;
  std::memcpy(&to, bytes.data() + offset, sizeof to);
  return true;
}

template <typename Header, typename Part>
std::string id_of(std::string_view file) {
  Header header{};
  if (!read_at(file, 0, header)) return {};
  for (std::uint64_t i = 0; i < header.e_phnum; ++i) {
    Part part{};
    if (!read_at(file, header.e_phoff + i * sizeof part, part)) break;
    if (part.p_type != PT_NOTE || part.p_offset > file.size()) continue;
    const std::string_view notes = file.substr(part.p_offset, part.p_filesz);
    if (std::string id = build_id_in(std::as_bytes(std::span(notes))); !id.empty()) return id;
  }
  return {};
}

}  // namespace

std::string elf_build_id(const std::filesystem::path& path) {
  return elf_build_id_of(begin_of(path));
}

std::string elf_build_id_of(std::string_view file) {
  const bool elf = file.size() > EI_NIDENT && file.starts_with(ELFMAG) && file[EI_DATA] == ELFDATA2LSB;
  if (!elf) return {};
  return file[EI_CLASS] == ELFCLASS32 ? id_of<Elf32_Ehdr, Elf32_Phdr>(file)
                                      : id_of<Elf64_Ehdr, Elf64_Phdr>(file);
}

std::string build_id_in(std::span<const std::byte> notes) {
  constexpr std::size_t kLongest = 64;
  const auto padded = [](std::size_t n) { return (n + 3) & ~std::size_t{3}; };
  Elf64_Nhdr note{};
  while (notes.size() >= sizeof note) {
    std::memcpy(&note, notes.data(), sizeof note);
    notes = notes.subspan(sizeof note);
    const std::size_t name = padded(note.n_namesz);
    if (name > notes.size() || note.n_descsz > notes.size() - name) break;
    const bool gnu = note.n_namesz == 4 && std::memcmp(notes.data(), "GNU", 4) == 0;
    if (gnu && note.n_type == NT_GNU_BUILD_ID && note.n_descsz <= kLongest)
      return hex_text(notes.subspan(name, note.n_descsz));
    notes = notes.subspan(std::min(notes.size(), name + padded(note.n_descsz)));
  }
  return {};
}

}  // namespace tailor::os
