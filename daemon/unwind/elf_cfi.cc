#include "daemon/unwind/elf_cfi.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <string_view>

#include "daemon/unwind/cfi_cursor.h"
#include "proto/base/errors.h"
#include "proto/base/unique_fd.h"

namespace tailor::unwind {
namespace {

constexpr std::size_t kMostSegments = 256;
constexpr std::uint64_t kMostBytes = 64u << 20;  // of a section; the largest known is a tenth of it

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

std::optional<Elf64_Shdr> section_named(int fd, const Elf64_Ehdr& header, std::string_view wanted) {
  constexpr std::size_t kMostSections = 4096, kMostNames = std::size_t{1} << 20;
  if (header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shstrndx >= header.e_shnum) return std::nullopt;
  Elf64_Shdr names{};
  if (!read_struct(fd, header.e_shoff + header.e_shstrndx * sizeof names, names)) return std::nullopt;
  const auto text = read_at(fd, names.sh_offset, std::min<std::uint64_t>(names.sh_size, kMostNames));
  const std::string_view all(reinterpret_cast<const char*>(text.data()), text.size());
  const std::size_t count = std::min<std::size_t>(header.e_shnum, kMostSections);
  for (std::size_t i = 0; i < count; ++i) {
    Elf64_Shdr section{};
    if (!read_struct(fd, header.e_shoff + i * sizeof section, section)) break;
    if (section.sh_name >= all.size()) continue;
    const std::string_view name = all.substr(section.sh_name);
    if (name.substr(0, name.find('\0')) == wanted) return section;
  }
  return std::nullopt;
}

// A static program has no use for the header of the table: there the section's name tells. 0: there is none.
std::uint64_t table_by_section(int fd, const Elf64_Ehdr& header) {
  const auto section = section_named(fd, header, ".eh_frame");
  return section && (section->sh_flags & SHF_ALLOC) != 0 ? section->sh_addr : 0;
}

// Of a compressed section; nothing if it is not what it says.
std::vector<std::byte> inflated(std::span<const std::byte> bytes) {
  Elf64_Chdr header{};
  if (bytes.size() < sizeof header) return {};
  std::memcpy(&header, bytes.data(), sizeof header);
  const auto packed = bytes.subspan(sizeof header);
  if (header.ch_type != ELFCOMPRESS_ZLIB || header.ch_size > kMostBytes) return {};
  std::vector<std::byte> out(header.ch_size);
  uLongf size = out.size();
  const int done = ::uncompress(reinterpret_cast<Bytef*>(out.data()), &size,
                                reinterpret_cast<const Bytef*>(packed.data()), packed.size());
  if (done != Z_OK || size != out.size()) return {};
  return out;
}

// What debuggers read of code for which the program itself has no table.
std::vector<std::byte> debug_frame(int fd, const Elf64_Ehdr& header) {
  const auto section = section_named(fd, header, ".debug_frame");
  if (!section || section->sh_type != SHT_PROGBITS || section->sh_size > kMostBytes) return {};
  std::vector<std::byte> bytes = read_at(fd, section->sh_offset, section->sh_size);
  return (section->sh_flags & SHF_COMPRESSED) != 0 ? inflated(bytes) : bytes;
}

// Nothing: there is none.
std::optional<CfiTable> eh_frame(int fd, std::uint64_t address, std::span<const ElfCfi::Segment> segments) {
  for (const ElfCfi::Segment& segment : segments) {
    if (address == 0 || address < segment.address || address - segment.address >= segment.size) continue;
    const std::uint64_t inside = address - segment.address;
    const auto bytes = read_at(fd, segment.offset + inside, std::min(segment.size - inside, kMostBytes));
    return CfiTable::parse(bytes, address);
  }
  return std::nullopt;
}

std::vector<CfiTable::Range> code_of(std::span<const ElfCfi::Segment> segments) {
  std::vector<CfiTable::Range> code;
  for (const ElfCfi::Segment& each : segments)
    if (each.executable && each.address + each.size >= each.address)
      code.push_back({each.address, each.address + each.size});
  return code;
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
  const std::uint64_t address =
      frames ? table_by_header(fd.get(), *frames) : table_by_section(fd.get(), header);
  auto table = eh_frame(fd.get(), address, elf.segments);
  const auto further = debug_frame(fd.get(), header);
  if (!table && further.empty()) return not_found(fmt::format("{} has no unwind table", path));
  elf.table = table ? *std::move(table) : CfiTable::parse({}, 0);
  if (!further.empty()) elf.table.add_debug_frame(further, code_of(elf.segments));
  return elf;
}

}  // namespace tailor::unwind
