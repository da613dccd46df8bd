#include "daemon/query/symbols/elf_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <type_traits>

#include "daemon/os/content_id.h"
#include "daemon/os/elf_build_id.h"
#include "proto/base/errors.h"

namespace tailor::query {
namespace {

// Of either size of words: the members have the same names.
template <typename To, typename From>
To header_of(const From& from) {
  To out{};
  std::memcpy(out.e_ident, from.e_ident, sizeof out.e_ident);
  out.e_type = from.e_type;
  out.e_machine = from.e_machine;
  out.e_phoff = from.e_phoff;
  out.e_shoff = from.e_shoff;
  out.e_phentsize = from.e_phentsize;
  out.e_phnum = from.e_phnum;
  out.e_shentsize = from.e_shentsize;
  out.e_shnum = from.e_shnum;
  out.e_shstrndx = from.e_shstrndx;
  return out;
}

template <typename From>
Elf64_Phdr part_of(const From& from) {
  return {from.p_type,  from.p_flags,  from.p_offset, from.p_vaddr,
          from.p_paddr, from.p_filesz, from.p_memsz,  from.p_align};
}

template <typename From>
Elf64_Shdr section_of(const From& from) {
  return {from.sh_name, from.sh_type, from.sh_flags, from.sh_addr,      from.sh_offset,
          from.sh_size, from.sh_link, from.sh_info,  from.sh_addralign, from.sh_entsize};
}

std::int64_t ns_of(std::int64_t seconds, std::int64_t ns) {
  return seconds * 1'000'000'000 + ns;
}

// Packages and copies keep the time of the content, so a file that takes another's place may be older by
// that. 0 where the file system does not know.
std::int64_t made_ns(int fd) {
  struct statx facts{};
  if (::statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &facts) != 0 || (facts.stx_mask & STATX_BTIME) == 0)
    return 0;
  return ns_of(facts.stx_btime.tv_sec, facts.stx_btime.tv_nsec);
}

}  // namespace

Result<ElfFile> ElfFile::open(const std::string& path) {
  ElfFile file;
  // Without O_NONBLOCK a FIFO of that name would wait for a writer.
  file.fd_.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.fd_) return os_error(fmt::format("cannot open {}: {}", path, std::strerror(errno)), errno);
  struct stat facts{};
  if (::fstat(file.fd_.get(), &facts) != 0 || !S_ISREG(facts.st_mode))
    return invalid(path + " is no regular file");
  file.size_ = static_cast<std::uint64_t>(facts.st_size);
  file.written_ns_ = std::max(ns_of(facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec), made_ns(file.fd_.get()));
  if (Status read = file.read_headers(path); !read) return read.error();
  return file;
}

Result<ElfFile> ElfFile::of_bytes(std::vector<char> bytes, const std::string& what) {
  ElfFile file;
  file.bytes_ = std::move(bytes);
  file.size_ = file.bytes_.size();
  if (Status read = file.read_headers(what); !read) return read.error();
  return file;
}

Status ElfFile::read_headers(const std::string& what) {
  const auto ident = read<unsigned char>(0, EI_NIDENT);
  const bool elf = !ident.empty() && std::memcmp(ident.data(), ELFMAG, SELFMAG) == 0;
  if (!elf || ident[EI_DATA] != ELFDATA2LSB) return invalid(what + " is no ELF file that can be read here");
  small_ = ident[EI_CLASS] == ELFCLASS32;
  if (small_) return read_tables<Elf32_Ehdr, Elf32_Phdr, Elf32_Shdr>(what);
  if (ident[EI_CLASS] == ELFCLASS64) return read_tables<Elf64_Ehdr, Elf64_Phdr, Elf64_Shdr>(what);
  return invalid(what + " is an ELF file of a class that is not known");
}

template <typename Header, typename Part, typename Section>
Status ElfFile::read_tables(const std::string& what) {
  const auto header = read<Header>(0, 1);
  if (header.empty()) return invalid(what + " ends within its header");
  header_ = header_of<Elf64_Ehdr>(header[0]);
  for (const Part& part : read<Part>(header_.e_phoff, header_.e_phnum)) parts_.push_back(part_of(part));
  if (header_.e_shoff == 0) return Ok{};
  std::uint64_t count = header_.e_shnum, names = header_.e_shstrndx;
  // More than the header has room for stand in the first section.
  if (const auto first = read<Section>(header_.e_shoff, 1); !first.empty()) {
    if (count == 0) count = first[0].sh_size;
    if (names == SHN_XINDEX) names = first[0].sh_link;
  }
  for (const Section& section : read<Section>(header_.e_shoff, count))
    sections_.push_back(section_of(section));
  if (names < sections_.size())
    section_names_ = read<char>(sections_[names].sh_offset, sections_[names].sh_size);
  return Ok{};
}

std::string_view ElfFile::name_of(const Elf64_Shdr& section) const {
  if (section.sh_name >= section_names_.size()) return {};
  constexpr std::size_t kLongest = 64;  // of those that are looked for
  const char* const at = &section_names_[section.sh_name];
  return {at, ::strnlen(at, std::min(kLongest, section_names_.size() - section.sh_name))};
}

const Elf64_Shdr* ElfFile::section(std::string_view name) const {
  for (const Elf64_Shdr& each : sections_) {
    if (name_of(each) == name) return &each;
  }
  return nullptr;
}

std::vector<Elf64_Sym> ElfFile::symbols(const Elf64_Shdr& table) const {
  if (!small_) return read<Elf64_Sym>(table.sh_offset, table.sh_size / sizeof(Elf64_Sym));
  std::vector<Elf64_Sym> out;
  for (const Elf32_Sym& each : read<Elf32_Sym>(table.sh_offset, table.sh_size / sizeof(Elf32_Sym)))
    out.push_back({each.st_name, each.st_info, each.st_other, each.st_shndx, each.st_value, each.st_size});
  return out;
}

std::vector<Elf64_Rela> ElfFile::relocations(const Elf64_Shdr& table) const {
  const bool addends = table.sh_type == SHT_RELA;
  if (!small_ && addends) return read<Elf64_Rela>(table.sh_offset, table.sh_size / sizeof(Elf64_Rela));
  std::vector<Elf64_Rela> out;
  if (!small_) {
    for (const Elf64_Rel& each : read<Elf64_Rel>(table.sh_offset, table.sh_size / sizeof(Elf64_Rel)))
      out.push_back({each.r_offset, each.r_info, 0});
    return out;
  }
  const auto info = [](std::uint32_t small) {
    return ELF64_R_INFO(std::uint64_t{ELF32_R_SYM(small)}, std::uint64_t{ELF32_R_TYPE(small)});
  };
  if (addends) {
    for (const Elf32_Rela& each : read<Elf32_Rela>(table.sh_offset, table.sh_size / sizeof(Elf32_Rela)))
      out.push_back({each.r_offset, info(each.r_info), each.r_addend});
  } else {
    for (const Elf32_Rel& each : read<Elf32_Rel>(table.sh_offset, table.sh_size / sizeof(Elf32_Rel)))
      out.push_back({each.r_offset, info(each.r_info), 0});
  }
  return out;
}

std::vector<char> ElfFile::names_of(const Elf64_Shdr& table) const {
  if (table.sh_link >= sections_.size()) return {};
  const Elf64_Shdr& text = sections_[table.sh_link];
  std::vector<char> names = read<char>(text.sh_offset, text.sh_size);
  if (!names.empty()) names.back() = '\0';
  return names;
}

std::vector<std::uint8_t> ElfFile::loaded(std::uint64_t address, std::uint64_t size) const {
  for (const Elf64_Phdr& part : parts_) {
    if (part.p_type != PT_LOAD || address < part.p_vaddr || address - part.p_vaddr >= part.p_filesz) continue;
    const std::uint64_t inside = address - part.p_vaddr;
    return read<std::uint8_t>(part.p_offset + inside, std::min(size, part.p_filesz - inside));
  }
  return {};
}

// The first that has one: files keep it also without a table of sections, and files of debug information keep
// it in a section only.
std::string ElfFile::build_id() const {
  for (const Elf64_Shdr& section : sections_) {
    if (section.sh_type != SHT_NOTE) continue;
    if (std::string id = build_id_in(section.sh_offset, section.sh_size); !id.empty()) return id;
  }
  for (const Elf64_Phdr& part : parts_) {
    if (part.p_type != PT_NOTE) continue;
    if (std::string id = build_id_in(part.p_offset, part.p_filesz); !id.empty()) return id;
  }
  return {};
}

std::string ElfFile::build_id_in(std::uint64_t offset, std::uint64_t size) const {
  constexpr std::uint64_t kMostOfNotes = 64 << 10;
  return os::build_id_in(read<std::byte>(offset, std::min(size, kMostOfNotes)));
}

std::string ElfFile::content_id() const {
  return fd_ ? os::content_id(fd_.get()) : std::string();
}

bool ElfFile::read_bytes(std::uint64_t offset, void* to, std::uint64_t bytes) const {
  if (bytes == 0) return true;
  if (!fd_) {
    std::memcpy(to, bytes_.data() + offset, bytes);
    return true;
  }
  auto* at = static_cast<char*>(to);
  for (std::uint64_t done = 0; done < bytes;) {
    const ssize_t n = ::pread(fd_.get(), at + done, bytes - done, static_cast<off_t>(offset + done));
    if (n <= 0) return false;
    done += static_cast<std::uint64_t>(n);
  }
  return true;
}

std::uint32_t ElfFile::checksum() const {
  constexpr std::uint64_t kPiece = std::uint64_t{1} << 20;
  constexpr std::uint64_t kMost = std::uint64_t{4} << 30;
  if (size_ > kMost) return 0;
  uLong sum = ::crc32(0, nullptr, 0);
  std::vector<unsigned char> piece(std::min(kPiece, size_));
  for (std::uint64_t done = 0; done < size_;) {
    const std::uint64_t here = std::min<std::uint64_t>(piece.size(), size_ - done);
    if (!read_bytes(done, piece.data(), here)) return 0;
    sum = ::crc32(sum, piece.data(), static_cast<uInt>(here));
    done += here;
  }
  return static_cast<std::uint32_t>(sum);
}

std::string machine_name(std::uint16_t machine) {
  switch (machine) {
    case EM_X86_64:
      return "x86_64";
    case EM_386:
      return "i686";
    case EM_AARCH64:
      return "aarch64";
    case EM_ARM:
      return "arm";
    case EM_RISCV:
      return "riscv64";
    case EM_PPC64:
      return "ppc64le";
    case EM_S390:
      return "s390x";
    default:
      return {};
  }
}

bool runs_on(std::uint16_t machine, const std::string& host) {
  const auto is = [&](std::initializer_list<const char*> names) {
    return std::ranges::any_of(names, [&](const char* name) { return host.starts_with(name); });
  };
  if (host.empty()) return true;
  if (is({"x86_64", "amd64"})) return machine == EM_X86_64 || machine == EM_386;
  if (is({"i386", "i486", "i586", "i686"})) return machine == EM_386;
  if (is({"aarch64", "arm64"})) return machine == EM_AARCH64 || machine == EM_ARM;
  if (is({"arm"})) return machine == EM_ARM;
  if (is({"riscv"})) return machine == EM_RISCV;
  if (is({"ppc"})) return machine == EM_PPC64 || machine == EM_PPC;
  if (is({"s390"})) return machine == EM_S390;
  if (is({"loongarch"})) return machine == 258;  // EM_LOONGARCH, which is newer than some headers
  if (is({"mips"})) return machine == EM_MIPS;
  // A perf.data of the other byte order that says no more (formats::kOtherOrderArch). Files of it are not
  // read.
  if (host == "big-endian") return false;
  return true;
}

}  // namespace tailor::query
