// Addresses that stand in the data of a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "daemon/query/symbols/elf_file.h"

namespace tailor::query {

// Addresses in data, as they are before the file is moved. A relocation says them (System V ABI, AMD64
// supplement, section 4.4: R_X86_64_RELATIVE; the same for AArch64), or the file's bytes. The content is
// hostile: what is read and kept is bounded. `file` must outlive it.
class DataAddresses {
 public:
  // `word_size`: bytes of an address, 4 or 8.
  DataAddresses(const ElfFile& file, unsigned word_size);

  // The address that stands at `place`; 0 where the file has nothing there.
  std::uint64_t at(std::uint64_t place) const;
  // Where this address stands.
  std::vector<std::uint64_t> places_of(std::uint64_t address) const;

 private:
  using Moved = std::pair<std::uint64_t, std::uint64_t>;  // place and address

  void add(const Elf64_Shdr& section);
  std::uint64_t word(const std::vector<std::uint8_t>& bytes, std::size_t at) const;

  const ElfFile& file_;
  unsigned word_size_;
  std::size_t left_;
  std::vector<Moved> moved_;
};

}  // namespace tailor::query
