#include "daemon/query/symbols/elf_debug_files.h"

#include <fmt/format.h>
#include <lzma.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

namespace tailor::query {
namespace {

struct DebugLink {
  std::string name;
  std::uint32_t checksum = 0;
};

std::optional<DebugLink> debug_link_of(const ElfFile& file) {
  const Elf64_Shdr* section = file.section(".gnu_debuglink");
  if (section == nullptr || section->sh_size < 8) return std::nullopt;
  const auto bytes = file.read<char>(section->sh_offset, std::min<std::uint64_t>(section->sh_size, 4096));
  const std::size_t length = ::strnlen(bytes.data(), bytes.size());
  const std::size_t at = (length + 4) & ~std::size_t{3};
  if (length == 0 || at + 4 > bytes.size()) return std::nullopt;
  DebugLink link{{bytes.data(), length}, 0};
  if (link.name.find('/') != std::string::npos) return std::nullopt;
  std::memcpy(&link.checksum, &bytes[at], sizeof link.checksum);
  return link;
}

class Unpacker {
 public:
  ~Unpacker() { ::lzma_end(&stream_); }
  Unpacker() = default;
  Unpacker(const Unpacker&) = delete;
  Unpacker& operator=(const Unpacker&) = delete;

  // Empty: it is damaged, or becomes too large.
  std::vector<char> unpack(const std::vector<std::uint8_t>& packed) {
    constexpr std::uint64_t kMostMemory = std::uint64_t{256} << 20;
    constexpr std::size_t kMostContent = std::size_t{256} << 20, kPiece = std::size_t{1} << 20;
    if (::lzma_stream_decoder(&stream_, kMostMemory, 0) != LZMA_OK) return {};
    stream_.next_in = packed.data();
    stream_.avail_in = packed.size();
    std::vector<char> out;
    for (lzma_ret done = LZMA_OK; done != LZMA_STREAM_END;) {
      const std::size_t have = out.size();
      if (have >= kMostContent) return {};
      out.resize(have + kPiece);
      stream_.next_out = reinterpret_cast<std::uint8_t*>(&out[have]);
      stream_.avail_out = kPiece;
      done = ::lzma_code(&stream_, LZMA_FINISH);
      out.resize(have + kPiece - stream_.avail_out);
      if (done != LZMA_OK && done != LZMA_STREAM_END) return {};
    }
    return out;
  }

 private:
  lzma_stream stream_ = LZMA_STREAM_INIT;
};

}  // namespace

std::optional<ElfFile> unpack_mini_debug(const ElfFile& file) {
  const Elf64_Shdr* section = file.section(".gnu_debugdata");
  if (section == nullptr) return std::nullopt;
  std::vector<char> content =
      Unpacker().unpack(file.read<std::uint8_t>(section->sh_offset, section->sh_size));
  if (content.empty()) return std::nullopt;
  auto inner = ElfFile::of_bytes(std::move(content), ".gnu_debugdata");
  if (!inner) return std::nullopt;
  return *std::move(inner);
}

std::optional<ElfFile> find_debug_file(const std::string& path, const ElfFile& file, const std::string& root,
                                       const std::string& within) {
  const std::string build_id = file.build_id();
  if (build_id.size() > 2) {
    auto found = ElfFile::open(
        fmt::format("{}{}/.build-id/{}/{}.debug", within, root, build_id.substr(0, 2), build_id.substr(2)));
    if (found.ok() && found->build_id() == build_id) return *std::move(found);
  }
  if (!path.starts_with('/')) return std::nullopt;  // it lies in no file
  if (const auto link = debug_link_of(file)) {
    const std::string folder = path.substr(0, path.rfind('/') + 1);
    for (const std::string& place : {folder, folder + ".debug/", root + folder}) {
      if (place + link->name == path) continue;
      auto found = ElfFile::open(within + place + link->name);
      if (found.ok() && found->checksum() == link->checksum) return *std::move(found);
    }
  }
  if (build_id.empty()) return std::nullopt;
  auto beside = ElfFile::open(within + path + ".debug");
  if (beside.ok() && beside->build_id() == build_id) return *std::move(beside);
  return std::nullopt;
}

}  // namespace tailor::query
