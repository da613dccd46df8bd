#include "daemon/os/content_id.h"

#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <compare>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "daemon/os/elf_build_id.h"
#include "daemon/os/regular_file.h"
#include "proto/base/file_id.h"
#include "proto/base/hex.h"
#include "proto/base/sha256.h"

namespace tailor::os {
namespace {

constexpr std::size_t kIdBytes = 20;

// Of a file, in bytes.
struct Piece {
  std::uint64_t offset = 0, size = 0;
};

class Bytes {
 public:
  Bytes(int fd, std::uint64_t size) : fd_(fd), size_(size) {}

  // Empty if they are not all in the file.
  template <typename T>
  std::vector<T> read(std::uint64_t offset, std::uint64_t count) const {
    if (offset > size_ || count > (size_ - offset) / sizeof(T)) return {};
    std::vector<T> out(count);
    if (!read_all(offset, out.data(), count * sizeof(T))) out.clear();
    return out;
  }

 private:
  bool read_all(std::uint64_t offset, void* to, std::uint64_t bytes) const {
    auto* at = static_cast<char*>(to);
    for (std::uint64_t done = 0; done < bytes;) {
      const ssize_t n = ::pread(fd_, at + done, bytes - done, static_cast<off_t>(offset + done));
      if (n <= 0) return false;
      done += static_cast<std::uint64_t>(n);
    }
    return true;
  }

  int fd_;
  std::uint64_t size_;
};

// What names code lies in these, and in the texts that they refer to.
template <typename Section>
void add_symbols(const std::vector<Section>& sections, std::vector<Piece>& to) {
  for (const Section& section : sections) {
    if (section.sh_type != SHT_SYMTAB && section.sh_type != SHT_DYNSYM) continue;
    to.push_back({section.sh_offset, section.sh_size});
    if (section.sh_link >= sections.size()) continue;
    to.push_back({sections[section.sh_link].sh_offset, sections[section.sh_link].sh_size});
  }
}

// The pieces that count; nothing: it has no table of what is loaded.
template <typename Header, typename Part, typename Section>
std::vector<Piece> pieces_of(const Bytes& file) {
  const auto headers = file.read<Header>(0, 1);
  if (headers.empty()) return {};
  const Header& header = headers[0];
  const auto parts = file.read<Part>(header.e_phoff, header.e_phnum);
  if (parts.empty()) return {};
  std::vector<Piece> out = {{0, sizeof header}, {header.e_phoff, parts.size() * sizeof(Part)}};
  for (const Part& part : parts) {
    if (part.p_type == PT_LOAD && part.p_filesz > 0) out.push_back({part.p_offset, part.p_filesz});
  }
  if (header.e_shoff == 0) return out;
  std::uint64_t count = header.e_shnum;
  // More than the header has room for stand in the first section.
  if (const auto first = file.read<Section>(header.e_shoff, 1); count == 0 && !first.empty())
    count = first[0].sh_size;
  const auto sections = file.read<Section>(header.e_shoff, std::min(count, kMostOfContent / sizeof(Section)));
  out.push_back({header.e_shoff, sections.size() * sizeof(Section)});
  add_symbols(sections, out);
  return out;
}

std::vector<Piece> pieces_of(const Bytes& file) {
  const auto ident = file.read<unsigned char>(0, EI_NIDENT);
  const bool elf = !ident.empty() && std::memcmp(ident.data(), ELFMAG, SELFMAG) == 0;
  if (!elf || ident[EI_DATA] != ELFDATA2LSB) return {};
  if (ident[EI_CLASS] == ELFCLASS32) return pieces_of<Elf32_Ehdr, Elf32_Phdr, Elf32_Shdr>(file);
  if (ident[EI_CLASS] == ELFCLASS64) return pieces_of<Elf64_Ehdr, Elf64_Phdr, Elf64_Shdr>(file);
  return {};
}

// In the order of the file, each byte once, as far as the file goes.
std::vector<Piece> united(std::vector<Piece> pieces, std::uint64_t size) {
  std::ranges::sort(pieces, {}, [](const Piece& each) { return std::pair(each.offset, each.size); });
  std::vector<Piece> out;
  std::uint64_t done = 0;
  for (const Piece& each : pieces) {
    const std::uint64_t begin = std::max(done, std::min(each.offset, size));
    const std::uint64_t end =
        each.offset > size ? size : each.offset + std::min(each.size, size - each.offset);
    if (begin >= end) continue;
    if (!out.empty() && begin == done) {
      out.back().size += end - begin;
    } else {
      out.push_back({begin, end - begin});
    }
    done = end;
  }
  return out;
}

void add_number(std::string& to, std::uint64_t number) {
  for (int i = 0; i < 8; ++i) to += static_cast<char>(number >> (8 * i));
}

// "": it cannot be read.
std::string digest_of(const Bytes& file, const std::vector<Piece>& pieces) {
  constexpr std::uint64_t kAtOnce = std::uint64_t{1} << 20;
  std::string all;
  for (const Piece& piece : pieces) {
    for (std::uint64_t done = 0; done < piece.size;) {
      const std::uint64_t size = std::min(kAtOnce, piece.size - done);
      const auto bytes = file.read<char>(piece.offset + done, size);
      if (bytes.empty()) return {};
      const Sha256Digest digest = sha256({bytes.data(), bytes.size()});
      add_number(all, piece.offset + done);
      add_number(all, size);
      all.append(reinterpret_cast<const char*>(digest.data()), digest.size());
      done += size;
    }
  }
  const Sha256Digest digest = sha256(all);
  return hex_text(std::as_bytes(std::span(digest)).first(kIdBytes));
}

std::string read_id(int fd, std::uint64_t size) {
  const Bytes file(fd, size);
  const std::vector<Piece> pieces = united(pieces_of(file), size);
  std::uint64_t bytes = 0;
  for (const Piece& each : pieces) bytes += each.size;
  if (bytes == 0 || bytes > kMostOfContent) return {};
  const std::string digest = digest_of(file, pieces);
  return digest.empty() ? std::string() : std::string(kContentId) + digest;
}

// A file, and its state: nobody but the clock sets the time of change.
struct State {
  std::uint64_t device = 0, inode = 0, size = 0;
  std::int64_t written_s = 0, written_ns = 0, changed_s = 0, changed_ns = 0;
  auto operator<=>(const State&) const = default;
};

std::optional<State> state_of(int fd) {
  struct stat facts{};
  if (::fstat(fd, &facts) != 0 || !S_ISREG(facts.st_mode) || facts.st_size <= 0) return std::nullopt;
  return State{facts.st_dev,         facts.st_ino,          static_cast<std::uint64_t>(facts.st_size),
               facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec, facts.st_ctim.tv_sec,
               facts.st_ctim.tv_nsec};
}

// The ids that were read last: one program may be started thousands of times.
class KnownIds {
 public:
  std::optional<std::string> find(const State& state) {
    const std::lock_guard lock(mutex_);
    const auto known = ids_.find(state);
    return known == ids_.end() ? std::nullopt : std::optional(known->second);
  }
  void add(const State& state, const std::string& id) {
    const std::lock_guard lock(mutex_);
    if (ids_.size() >= kMost) ids_.clear();
    ids_.insert_or_assign(state, id);
  }

 private:
  static constexpr std::size_t kMost = 1024;
  std::mutex mutex_;
  std::map<State, std::string> ids_;
};

KnownIds& known_ids() {
  static KnownIds ids;
  return ids;
}

// Clocks of file systems go in steps: what changes again within one looks the same.
bool is_settled(const State& state) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec - state.changed_s > 1;
}

}  // namespace

std::string content_id(int fd) {
  const auto before = state_of(fd);
  if (!before) return {};
  if (auto known = known_ids().find(*before)) return *known;
  std::string id = read_id(fd, before->size);
  if (state_of(fd) != before) return {};
  if (is_settled(*before)) known_ids().add(*before, id);
  return id;
}

std::string content_id(const std::filesystem::path& path) {
  struct stat facts{};
  const UniqueFd file = open_regular(path, facts);
  return file ? content_id(file.get()) : std::string();
}

std::string file_id(const std::filesystem::path& path) {
  std::string id = elf_build_id(path);
  return id.empty() ? content_id(path) : id;
}

bool has_id(const std::filesystem::path& path, std::string_view id) {
  return (is_content_id(id) ? content_id(path) : elf_build_id(path)) == id;
}

}  // namespace tailor::os
