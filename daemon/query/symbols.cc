#include "daemon/query/symbols.h"

#include <cxxabi.h>
#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <span>

#include "proto/base/unique_fd.h"

namespace tailor::query {
namespace {

constexpr std::uint64_t kMaxSection = std::uint64_t{256} << 20;

// Reads of a file that is not trusted: nothing beyond its end, nothing too large.
class ElfFile {
 public:
  static Result<ElfFile> open(const std::string& path) {
    // Without O_NONBLOCK a FIFO of that name would wait for a writer.
    UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!fd) return Error{fmt::format("cannot open {}: {}", path, std::strerror(errno)), errno};
    struct stat facts{};
    if (::fstat(fd.get(), &facts) != 0 || !S_ISREG(facts.st_mode)) return Error{path + " is no regular file"};
    ElfFile file(std::move(fd), static_cast<std::uint64_t>(facts.st_size));
    file.changed_ns_ = facts.st_ctim.tv_sec * std::int64_t{1'000'000'000} + facts.st_ctim.tv_nsec;
    const auto header = file.read<Elf64_Ehdr>(0, 1);
    if (header.empty() || std::memcmp(header[0].e_ident, ELFMAG, SELFMAG) != 0 ||
        header[0].e_ident[EI_CLASS] != ELFCLASS64 || header[0].e_ident[EI_DATA] != ELFDATA2LSB) {
      return Error{path + " is no 64-bit ELF file"};
    }
    file.header_ = header[0];
    return file;
  }

  const Elf64_Ehdr& header() const { return header_; }
  std::int64_t changed_ns() const { return changed_ns_; }  // also when it got its name

  // Empty if they are not all in the file.
  template <typename T>
  std::vector<T> read(std::uint64_t offset, std::uint64_t count) const {
    if (count > kMaxSection / sizeof(T) || offset > size_ || count * sizeof(T) > size_ - offset) return {};
    std::vector<T> out(count);
    auto* at = reinterpret_cast<char*>(out.data());
    for (std::uint64_t done = 0, all = count * sizeof(T); done < all;) {
      const ssize_t n = ::pread(fd_.get(), at + done, all - done, static_cast<off_t>(offset + done));
      if (n <= 0) return {};
      done += static_cast<std::uint64_t>(n);
    }
    return out;
  }

 private:
  ElfFile(UniqueFd fd, std::uint64_t size) : fd_(std::move(fd)), size_(size) {}
  UniqueFd fd_;
  std::uint64_t size_;
  std::int64_t changed_ns_ = 0;
  Elf64_Ehdr header_{};
};

std::string readable(const char* name) {
  int status = 0;
  std::unique_ptr<char, void (*)(void*)> plain(abi::__cxa_demangle(name, nullptr, nullptr, &status),
                                               std::free);
  if (status != 0 || plain == nullptr) return name;
  // The arguments of a template or function make no better row of a table.
  std::string text(plain.get());
  const std::size_t arguments = text.find('(');
  return arguments == std::string::npos || arguments == 0 ? text : text.substr(0, arguments);
}

const Elf64_Shdr* symbol_section(std::span<const Elf64_Shdr> sections) {
  for (std::uint32_t type : {SHT_SYMTAB, SHT_DYNSYM}) {
    for (const Elf64_Shdr& section : sections) {
      if (section.sh_type == type && section.sh_link < sections.size()) return &section;
    }
  }
  return nullptr;
}

}  // namespace

Result<FunctionNames> FunctionNames::read(const std::string& path, std::int64_t mapped_ns) {
  auto file = ElfFile::open(path);
  if (!file) return file.error();
  if (file->changed_ns() > mapped_ns) return Error{path + " was changed since it was mapped"};
  FunctionNames out;
  for (const Elf64_Phdr& part : file->read<Elf64_Phdr>(file->header().e_phoff, file->header().e_phnum)) {
    if (part.p_type == PT_LOAD) out.segments_.push_back({part.p_offset, part.p_filesz, part.p_vaddr});
  }
  const auto sections = file->read<Elf64_Shdr>(file->header().e_shoff, file->header().e_shnum);
  const Elf64_Shdr* table = symbol_section(sections);
  if (table == nullptr) return out;
  const Elf64_Shdr& text = sections[table->sh_link];
  std::vector<char> names = file->read<char>(text.sh_offset, text.sh_size);
  if (names.empty()) return out;
  names.back() = '\0';
  for (const Elf64_Sym& symbol :
       file->read<Elf64_Sym>(table->sh_offset, table->sh_size / sizeof(Elf64_Sym))) {
    const unsigned type = ELF64_ST_TYPE(symbol.st_info);
    const bool code = type == STT_FUNC || type == STT_GNU_IFUNC;
    if (!code || symbol.st_shndx == SHN_UNDEF || symbol.st_size == 0 || symbol.st_name >= names.size())
      continue;
    if (symbol.st_value + symbol.st_size < symbol.st_value) continue;
    out.functions_.push_back({symbol.st_value, symbol.st_value + symbol.st_size, &names[symbol.st_name]});
  }
  std::stable_sort(out.functions_.begin(), out.functions_.end(),
                   [](const Function& a, const Function& b) { return a.begin < b.begin; });
  return out;
}

std::string FunctionNames::at(std::uint64_t file_offset) const {
  for (const Segment& segment : segments_) {
    if (file_offset < segment.offset || file_offset - segment.offset >= segment.size) continue;
    const std::uint64_t address = segment.address + (file_offset - segment.offset);
    auto after =
        std::upper_bound(functions_.begin(), functions_.end(), address,
                         [](std::uint64_t a, const Function& function) { return a < function.begin; });
    // A function may lie within another (an entry of an assembler routine); the innermost that reaches is
    // near.
    for (int tries = 0; tries < 8 && after != functions_.begin(); ++tries) {
      --after;
      if (address < after->end) return readable(after->name.c_str());
    }
  }
  return {};
}

std::string Symbols::name(const std::string& path, std::uint64_t file_offset, std::int64_t mapped_ns) {
  const auto [it, added] = files_.try_emplace(path);
  if (added) {
    if (auto read = FunctionNames::read(path, mapped_ns); read.ok())
      it->second = std::make_unique<FunctionNames>(*std::move(read));
  }
  const std::string file = path.substr(path.rfind('/') + 1);
  const std::string function = it->second == nullptr ? std::string() : it->second->at(file_offset);
  return function.empty() ? fmt::format("{}+{:#x}", file, file_offset)
                          : fmt::format("{} ({})", function, file);
}

}  // namespace tailor::query
