#include "daemon/foreign/jitdump.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "daemon/foreign/perf_map.h"

namespace tailor::foreign {
namespace {

constexpr std::uint32_t kMagic = 0x4A695444;  // "JiTD" in the writer's byte order
constexpr std::uint32_t kMagicSwapped = 0x4454694A;
constexpr std::uint64_t kFlagTscTimestamps = 1;
constexpr std::uint32_t kRecordLoad = 0, kRecordMove = 1, kRecordDebugInfo = 2;
constexpr std::size_t kHeaderSize = 40, kPrefixSize = 16;
// A debug entry names every line of a function; no function has more.
constexpr std::uint64_t kMaxDebugEntries = 1u << 20;

// Takes fields off the front of bytes that are not trusted.
class Cursor {
 public:
  explicit Cursor(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <typename T>
  std::optional<T> take() {
    if (bytes_.size() < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data(), sizeof(T));
    bytes_ = bytes_.subspan(sizeof(T));
    return value;
  }

  std::optional<std::string_view> take_string() {
    const auto* begin = reinterpret_cast<const char*>(bytes_.data());
    const auto* end = static_cast<const char*>(std::memchr(begin, 0, bytes_.size()));
    if (end == nullptr) return std::nullopt;
    std::string_view text(begin, static_cast<std::size_t>(end - begin));
    bytes_ = bytes_.subspan(text.size() + 1);
    return text;
  }

  std::span<const std::byte> rest() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

bool plausible(std::uint64_t address, std::uint64_t size) {
  return size != 0 && size <= kMaxJitCode && address <= UINT64_MAX - size;
}

// Reads the records of one dump.
class Reader {
 public:
  explicit Reader(JitSymbols& out) : out_(out) {}

  void record(std::uint32_t id, std::uint64_t timestamp, std::span<const std::byte> body) {
    bool good = true;
    if (id == kRecordLoad) good = load(timestamp, Cursor(body));
    if (id == kRecordMove) good = move(timestamp, Cursor(body));
    if (id == kRecordDebugInfo) good = debug_info(Cursor(body));
    if (!good) ++out_.malformed;
  }

 private:
  bool load(std::uint64_t timestamp, Cursor body) {
    auto pid = body.take<std::uint32_t>();
    auto tid = body.take<std::uint32_t>();
    auto vma = body.take<std::uint64_t>();
    auto address = body.take<std::uint64_t>();
    auto size = body.take<std::uint64_t>();
    auto index = body.take<std::uint64_t>();
    auto name = body.take_string();
    if (!pid || !tid || !vma || !address || !size || !index || !name) return false;
    if (!plausible(*address, *size) || body.rest().size() < *size || full()) return false;
    JitSymbol symbol;
    symbol.address = *address;
    symbol.size = *size;
    symbol.name = name->substr(0, kMaxJitName);
    symbol.timestamp_ns = timestamp;
    const auto* code = reinterpret_cast<const std::uint8_t*>(body.rest().data());
    symbol.code.assign(code, code + *size);
    // Debug information comes before the code it speaks of.
    if (auto lines = lines_.extract(*address); !lines.empty()) {
      symbol.lines = std::move(lines.mapped());
      std::erase_if(symbol.lines, [&](const SourceLine& line) { return line.offset >= *size; });
    }
    by_index_[*index] = out_.symbols.size();
    out_.symbols.push_back(std::move(symbol));
    return true;
  }

  bool move(std::uint64_t timestamp, Cursor body) {
    auto pid = body.take<std::uint32_t>();
    auto tid = body.take<std::uint32_t>();
    auto vma = body.take<std::uint64_t>();
    auto old_address = body.take<std::uint64_t>();
    auto address = body.take<std::uint64_t>();
    auto size = body.take<std::uint64_t>();
    auto index = body.take<std::uint64_t>();
    if (!pid || !tid || !vma || !old_address || !address || !size || !index) return false;
    auto known = by_index_.find(*index);
    if (known == by_index_.end() || !plausible(*address, *size) || full()) return false;
    JitSymbol symbol = out_.symbols[known->second];
    if (symbol.size != *size) return false;
    symbol.address = *address;
    symbol.timestamp_ns = timestamp;
    known->second = out_.symbols.size();
    out_.symbols.push_back(std::move(symbol));
    return true;
  }

  bool debug_info(Cursor body) {
    auto address = body.take<std::uint64_t>();
    auto count = body.take<std::uint64_t>();
    if (!address || !count || *count > kMaxDebugEntries || lines_.size() >= kMaxJitSymbols) return false;
    std::vector<SourceLine> lines;
    std::string file;
    for (std::uint64_t i = 0; i < *count; ++i) {
      auto at = body.take<std::uint64_t>();
      auto line = body.take<std::uint32_t>();
      auto discriminator = body.take<std::uint32_t>();
      auto name = body.take_string();
      if (!at || !line || !discriminator || !name) return false;
      if (*at < *address || *at - *address >= kMaxJitCode) continue;
      if (*name != "\xFF") file = name->substr(0, kMaxJitName);  // 0xFF: the same file as before
      lines.push_back({static_cast<std::uint32_t>(*at - *address), *line, file});
    }
    std::ranges::stable_sort(lines, {}, &SourceLine::offset);
    lines_[*address] = std::move(lines);
    return true;
  }

  bool full() const { return out_.symbols.size() >= kMaxJitSymbols; }

  JitSymbols& out_;
  std::unordered_map<std::uint64_t, std::size_t> by_index_;
  std::unordered_map<std::uint64_t, std::vector<SourceLine>> lines_;
};

}  // namespace

Result<JitDump> parse_jitdump(std::span<const std::byte> file) {
  Cursor header(file);
  auto magic = header.take<std::uint32_t>();
  auto version = header.take<std::uint32_t>();
  auto header_size = header.take<std::uint32_t>();
  auto machine = header.take<std::uint32_t>();
  auto padding = header.take<std::uint32_t>();
  auto pid = header.take<std::uint32_t>();
  auto timestamp = header.take<std::uint64_t>();
  auto flags = header.take<std::uint64_t>();
  if (magic == kMagicSwapped) return Error{"the jitdump was written on a machine of the other byte order"};
  if (magic != kMagic) return Error{"not a jitdump: it does not begin with the magic JiTD"};
  if (!version || !header_size || !machine || !padding || !pid || !timestamp || !flags)
    return Error{"the jitdump ends inside its header"};
  if (*version != 1)
    return Error{"jitdump version " + std::to_string(*version) + ": only version 1 is known"};
  if (*header_size < kHeaderSize || *header_size > file.size())
    return Error{"the jitdump's header size is impossible"};

  JitDump dump;
  dump.pid = *pid;
  dump.tsc_timestamps = (*flags & kFlagTscTimestamps) != 0;
  Reader reader(dump.code);
  for (auto rest = file.subspan(*header_size); !rest.empty();) {
    Cursor prefix(rest);
    auto id = prefix.take<std::uint32_t>();
    auto size = prefix.take<std::uint32_t>();
    auto time = prefix.take<std::uint64_t>();
    if (!id || !size || !time || *size > rest.size()) {
      dump.code.cut = true;
      break;
    }
    if (*size < kPrefixSize) {
      // Nothing says where the next record begins.
      ++dump.code.malformed;
      break;
    }
    reader.record(*id, *time, rest.subspan(kPrefixSize, *size - kPrefixSize));
    rest = rest.subspan(*size);
  }
  return dump;
}

}  // namespace tailor::foreign
