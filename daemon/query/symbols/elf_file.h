// Bounded reads of an ELF file that is not trusted: nothing beyond its end, nothing too large, nothing
// mapped. Files of 32 bits are read too; all answers have the shapes of 64 bits.
#pragma once

#include <elf.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "proto/base/result.h"
#include "proto/base/unique_fd.h"

namespace tailor::query {

// System V Application Binary Interface, chapters 4 and 5. Only files in little-endian order.
class ElfFile {
 public:
  // Fails for what cannot be opened, and for what is no such file.
  static Result<ElfFile> open(const std::string& path);
  // The content of a file; `what` names it in errors.
  static Result<ElfFile> of_bytes(std::vector<char> bytes, const std::string& what);

  std::uint16_t type() const { return header_.e_type; }        // ET_EXEC ...
  std::uint16_t machine() const { return header_.e_machine; }  // EM_X86_64 ...
  bool has_32_bits() const { return small_; }
  // CLOCK_REALTIME: when its content last changed, or it was made, whichever is later.
  std::int64_t written_ns() const { return written_ns_; }
  const std::vector<Elf64_Phdr>& parts() const { return parts_; }
  const std::vector<Elf64_Shdr>& sections() const { return sections_; }
  std::string_view name_of(const Elf64_Shdr& section) const;  // "" if it has none; a long one is cut
  const Elf64_Shdr* section(std::string_view name) const;     // NULL: none

  // The entries of a table of symbols or relocations. The symbol and the type of a relocation are where
  // ELF64_R_SYM and ELF64_R_TYPE find them. Empty if they are not all in the file.
  std::vector<Elf64_Sym> symbols(const Elf64_Shdr& table) const;
  std::vector<Elf64_Rela> relocations(const Elf64_Shdr& table) const;
  // The text that a table of symbols has its names in; its last byte is 0. Empty: none can be read.
  std::vector<char> names_of(const Elf64_Shdr& table) const;
  // The part of the file that is loaded at that address, as far as it goes; empty: none is.
  std::vector<std::uint8_t> loaded(std::uint64_t address, std::uint64_t size) const;

  // Of a note, in hexadecimal; "" none.
  std::string build_id() const;
  // As os::content_id(); "" of bytes in memory.
  std::string content_id() const;
  // CRC-32 of the whole file, as debug links have it; 0 if it cannot be read.
  std::uint32_t checksum() const;

  // Empty if they are not all in the file.
  template <typename T>
  std::vector<T> read(std::uint64_t offset, std::uint64_t count) const {
    if (count > kMaxSection / sizeof(T) || offset > size_ || count * sizeof(T) > size_ - offset) return {};
    std::vector<T> out(count);
    if (!read_bytes(offset, out.data(), count * sizeof(T))) out.clear();
    return out;
  }

 private:
  static constexpr std::uint64_t kMaxSection = std::uint64_t{256} << 20;
  ElfFile() = default;
  Status read_headers(const std::string& what);
  template <typename Header, typename Part, typename Section>
  Status read_tables(const std::string& what);
  std::string build_id_in(std::uint64_t offset, std::uint64_t size) const;
  bool read_bytes(std::uint64_t offset, void* to, std::uint64_t bytes) const;

  UniqueFd fd_;
  std::vector<char> bytes_;  // of a file that is in memory
  std::uint64_t size_ = 0;
  std::int64_t written_ns_ = 0;
  bool small_ = false;
  Elf64_Ehdr header_{};
  std::vector<Elf64_Phdr> parts_;
  std::vector<Elf64_Shdr> sections_;
  std::vector<char> section_names_;
};

// "aarch64" for EM_AARCH64, as uname says it; "" for one that is not known here.
std::string machine_name(std::uint16_t machine);
// Whether a host of that kind (as uname says it) runs code of that machine. True where that is not known.
bool runs_on(std::uint16_t machine, const std::string& host);

}  // namespace tailor::query
