#include "daemon/unwind/elf_cfi.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "daemon/unwind/cfi_cursor.h"
#include "proto/base/errors.h"
#include "proto/base/unique_fd.h"

namespace tailor::unwind {
namespace {

constexpr std::size_t kMostSegments = 256;
constexpr std::uint64_t kMostBytes = 64u << 20;  // of .eh_frame; the largest known is a tenth of it

std::vector<std::byte> read_at(int fd, std::uint64_t offset, std::uint64_t size) {
  std::vector<std::byte> bytes(size);
  std::size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t got =
        ::pread(fd, bytes.data() + have, bytes.size() - have, static_cast<off_t>(offset + have));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    have += static_cast<std::size_t>(got);
  }
  bytes.resize(have);
  return bytes;
}

template <typename T>
bool read_struct(int fd, std::uint64_t offset, T& out) {
  const auto bytes = read_at(fd, offset, sizeof out);
  if (bytes.size() != sizeof out) return false;
  std::memcpy(&out, bytes.data(), sizeof out);
  return true;
}

// Where the program headers say that the unwind table is, 0: they do not.
std::uint64_t table_by_header(int fd, const Elf64_Phdr& frames) {
  const auto start = read_at(fd, frames.p_offset, std::min<std::uint64_t>(frames.p_filesz, 16));
  CfiCursor cursor(start, frames.p_vaddr);
  const auto version = cursor.fixed<std::uint8_t>();
  const auto encoding = cursor.fixed<std::uint8_t>();
  cursor.skip(2);
  const std::uint64_t address = cursor.pointer(encoding);
  return cursor.ok() && version == 1 ? address : 0;
}

// A static program has no use for the header of the table: there the section's name tells. 0: there is none.
std::uint64_t table_by_section(int fd, const Elf64_Ehdr& header) {
  constexpr std::size_t kMostSections = 4096, kMostNames = std::size_t{1} << 20;
  constexpr std::string_view kName = ".eh_frame";
  if (header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shstrndx >= header.e_shnum) return 0;
  Elf64_Shdr names{};
  if (!read_struct(fd, header.e_shoff + header.e_shstrndx * sizeof names, names)) return 0;
  const auto text = read_at(fd, names.sh_offset, std::min<std::uint64_t>(names.sh_size, kMostNames));
  const std::string_view all(reinterpret_cast<const char*>(text.data()), text.size());
  const std::size_t count = std::min<std::size_t>(header.e_shnum, kMostSections);
  for (std::size_t i = 0; i < count; ++i) {
    Elf64_Shdr section{};
    if (!read_struct(fd, header.e_shoff + i * sizeof section, section)) break;
    if (section.sh_name >= all.size() || (section.sh_flags & SHF_ALLOC) == 0) continue;
    const std::string_view name = all.substr(section.sh_name);
    if (name.substr(0, name.find('\0')) == kName) return section.sh_addr;
  }
  return 0;
}

bool is_ours(const Elf64_Ehdr& header) {
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
         header.e_machine == EM_X86_64 && header.e_phentsize == sizeof(Elf64_Phdr);
}

}  // namespace

std::optional<std::uint64_t> ElfCfi::bias(std::uint64_t address, std::uint64_t file_offset) const {
  for (const Segment& segment : segments) {
    // Mappings begin at a page, segments need not.
    // A page of the file may hold the end of one segment and the start of the next, and is then mapped twice.
    if (!segment.executable) continue;
    const std::uint64_t first = segment.offset & ~std::uint64_t{4095};
    if (file_offset < first || file_offset - first >= segment.size + (segment.offset - first)) continue;
    return address - (segment.address + (file_offset - segment.offset));
  }
  return std::nullopt;
}

Result<ElfCfi> read_elf_cfi(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd) return os_error(fmt::format("cannot open {}", path), errno);
  struct stat file{};
  Elf64_Ehdr header{};
  if (::fstat(fd.get(), &file) != 0 || !S_ISREG(file.st_mode) || !read_struct(fd.get(), 0, header) ||
      !is_ours(header)) {
    return invalid(fmt::format("{} is no ELF file of x86-64", path));
  }
  ElfCfi elf;
  std::optional<Elf64_Phdr> frames;
  const std::size_t count = std::min<std::size_t>(header.e_phnum, kMostSegments);
  for (std::size_t i = 0; i < count; ++i) {
    Elf64_Phdr segment{};
    if (!read_struct(fd.get(), header.e_phoff + i * sizeof segment, segment)) break;
    if (segment.p_type == PT_LOAD)
      elf.segments.push_back(
          {segment.p_offset, segment.p_vaddr, segment.p_filesz, (segment.p_flags & PF_X) != 0});
    if (segment.p_type == PT_GNU_EH_FRAME) frames = segment;
  }
  const Error none{fmt::format("{} has no unwind table", path)};
  const std::uint64_t address =
      frames ? table_by_header(fd.get(), *frames) : table_by_section(fd.get(), header);
  if (address == 0) return none;
  for (const ElfCfi::Segment& segment : elf.segments) {
    if (address < segment.address || address - segment.address >= segment.size) continue;
    const std::uint64_t inside = address - segment.address;
    const auto bytes =
        read_at(fd.get(), segment.offset + inside, std::min(segment.size - inside, kMostBytes));
    elf.table = CfiTable::parse(bytes, address);
    return elf;
  }
  return none;
}

}  // namespace tailor::unwind
