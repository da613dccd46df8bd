#include "daemon/formats/jitdump.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "daemon/formats/perf_map.h"
#include "proto/base/errors.h"

namespace tailor::formats {
namespace {

constexpr std::uint32_t kMagic = 0x4A695444;  // "JiTD" in the writer's byte order
constexpr std::uint32_t kMagicSwapped = 0x4454694A;
constexpr std::uint64_t kFlagTscTimestamps = 1;
constexpr std::uint32_t kRecordLoad = 0, kRecordMove = 1, kRecordDebugInfo = 2, kRecordUnwindingInfo = 4;
constexpr std::size_t kHeaderSize = 40, kMaxHeader = 4096, kPrefixSize = 16;
// A debug entry names every line of a function; no function has more.
constexpr std::uint64_t kMaxDebugEntries = 1u << 20;
// Nothing we read is larger; what claims to be is passed over.
constexpr std::uint64_t kMaxRecord = kMaxJitCode + (std::uint64_t{1} << 20);

// Takes fields off the front of bytes that are not trusted.
class Cursor {
 public:
  explicit Cursor(std::span<const std::byte> bytes, ByteOrder order = ByteOrder::kOurs)
      : bytes_(bytes), order_(order) {}

  // The fields, one behind the other; false if the bytes end before.
  template <typename... T>
  bool take(T&... fields) {
    return (take_one(fields) && ...);
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
  template <typename T>
  bool take_one(T& field) {
    if (bytes_.size() < sizeof(T)) return false;
    std::memcpy(&field, bytes_.data(), sizeof(T));
    field = from_order(order_, field);
    bytes_ = bytes_.subspan(sizeof(T));
    return true;
  }

  std::span<const std::byte> bytes_;
  ByteOrder order_;
};

bool plausible(std::uint64_t address, std::uint64_t size) {
  return size != 0 && size <= kMaxJitCode && address <= UINT64_MAX - size;
}

}  // namespace

Status JitDumpParser::feed(std::span<const std::byte> bytes) {
  if (stopped_) return Ok{};
  const auto passed = static_cast<std::size_t>(std::min<std::uint64_t>(skip_, bytes.size()));
  skip_ -= passed;
  bytes = bytes.subspan(passed);
  waiting_.insert(waiting_.end(), bytes.begin(), bytes.end());
  if (!has_header_) {
    if (Status read = header(); !read.ok()) {
      stopped_ = true;
      waiting_.clear();
      return read;
    }
  }
  if (has_header_) records();
  return Ok{};
}

std::vector<JitSymbol> JitDumpParser::take() {
  return std::exchange(fresh_, {});
}

Status JitDumpParser::header() {
  std::uint32_t magic = 0, version = 0, header_size = 0, machine = 0, padding = 0, pid = 0;
  std::uint64_t timestamp = 0, flags = 0;
  if (Cursor first(waiting_); first.take(magic) && magic == kMagicSwapped) order_ = ByteOrder::kOther;
  Cursor cursor(waiting_, order_);
  if (!cursor.take(magic)) return Ok{};
  if (magic != kMagic) return invalid("not a jitdump: it does not begin with the magic JiTD");
  if (!cursor.take(version)) return Ok{};
  if (version != 1)
    return invalid("jitdump version " + std::to_string(version) + ": only version 1 is known");
  if (!cursor.take(header_size)) return Ok{};
  if (header_size < kHeaderSize || header_size > kMaxHeader)
    return internal("the jitdump's header size is impossible");
  if (!cursor.take(machine, padding, pid, timestamp, flags)) return Ok{};
  if (waiting_.size() < header_size) return Ok{};
  pid_ = pid;
  tsc_timestamps_ = (flags & kFlagTscTimestamps) != 0;
  // CPython leaves it 0.
  foreign_code_ = machine != EM_NONE && machine != EM_X86_64;
  has_header_ = true;
  waiting_.erase(waiting_.begin(), waiting_.begin() + header_size);
  return Ok{};
}

void JitDumpParser::records() {
  std::span<const std::byte> rest = waiting_;
  while (!stopped_) {
    Cursor prefix(rest, order_);
    std::uint32_t id = 0, size = 0;
    std::uint64_t time = 0;
    if (!prefix.take(id, size, time)) break;
    if (size < kPrefixSize) {
      // Nothing says where the next record begins.
      ++malformed_;
      stopped_ = true;
    } else if (size > kMaxRecord) {
      ++malformed_;
      const auto here = std::min<std::size_t>(size, rest.size());
      skip_ = size - here;
      rest = rest.subspan(here);
    } else if (size > rest.size()) {
      break;
    } else {
      record(id, time, rest.subspan(kPrefixSize, size - kPrefixSize));
      rest = rest.subspan(size);
    }
  }
  if (stopped_) rest = {};
  waiting_.erase(waiting_.begin(), waiting_.end() - static_cast<std::ptrdiff_t>(rest.size()));
}

void JitDumpParser::record(std::uint32_t id, std::uint64_t timestamp, std::span<const std::byte> body) {
  bool good = true;
  if (id == kRecordLoad) good = load(timestamp, body);
  if (id == kRecordMove) good = move(timestamp, body);
  if (id == kRecordDebugInfo) good = debug_info(body);
  if (id == kRecordUnwindingInfo) good = unwinding_info(body);
  if (!good) ++malformed_;
}

bool JitDumpParser::load(std::uint64_t timestamp, std::span<const std::byte> bytes) {
  Cursor body(bytes, order_);
  std::vector<std::byte> frames = std::exchange(frames_, {});
  std::uint32_t pid = 0, tid = 0;
  std::uint64_t vma = 0, address = 0, size = 0, index = 0;
  if (!body.take(pid, tid, vma, address, size, index)) return false;
  auto name = body.take_string();
  if (!name || !plausible(address, size) || body.rest().size() < size || full()) return false;
  JitSymbol symbol;
  symbol.address = address;
  symbol.size = size;
  symbol.name = name->substr(0, kMaxJitName);
  symbol.timestamp_ns = timestamp;
  const auto* code = reinterpret_cast<const std::uint8_t*>(body.rest().data());
  if (!foreign_code_) symbol.code.assign(code, code + size);
  // Debug information comes before the code it speaks of.
  if (auto lines = lines_.extract(address); !lines.empty()) {
    symbol.lines = std::move(lines.mapped());
    std::erase_if(symbol.lines, [&](const SourceLine& line) { return line.offset >= size; });
  }
  symbol.frames = std::move(frames);
  by_index_[index] = {symbol.name, symbol.size, symbol.lines, symbol.frames};
  name_bytes_ += symbol.name.size();
  fresh_.push_back(std::move(symbol));
  ++symbols_;
  return true;
}

bool JitDumpParser::move(std::uint64_t timestamp, std::span<const std::byte> bytes) {
  Cursor body(bytes, order_);
  std::uint32_t pid = 0, tid = 0;
  std::uint64_t vma = 0, old_address = 0, address = 0, size = 0, index = 0;
  if (!body.take(pid, tid, vma, old_address, address, size, index)) return false;
  const auto known = by_index_.find(index);
  if (known == by_index_.end() || known->second.size != size) return false;
  if (!plausible(address, size) || full()) return false;
  JitSymbol symbol;
  symbol.address = address;
  symbol.size = size;
  symbol.name = known->second.name;
  symbol.lines = known->second.lines;
  symbol.frames = known->second.frames;
  symbol.timestamp_ns = timestamp;
  name_bytes_ += symbol.name.size();
  fresh_.push_back(std::move(symbol));
  ++symbols_;
  return true;
}

bool JitDumpParser::debug_info(std::span<const std::byte> bytes) {
  Cursor body(bytes, order_);
  std::uint64_t address = 0, count = 0;
  if (!body.take(address, count) || count > kMaxDebugEntries || lines_.size() >= kMaxJitSymbols) return false;
  std::vector<SourceLine> lines;
  std::string file;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint64_t at = 0;
    std::uint32_t line = 0, discriminator = 0;
    if (!body.take(at, line, discriminator)) return false;
    auto name = body.take_string();
    if (!name) return false;
    if (at < address || at - address >= kMaxJitCode) continue;
    if (*name != "\xFF") file = name->substr(0, kMaxJitName);  // 0xFF: the same file as before
    line_bytes_ += sizeof(SourceLine) + file.size();
    if (line_bytes_ > kMaxJitLineBytes) return false;
    lines.push_back({static_cast<std::uint32_t>(at - address), line, file});
  }
  std::ranges::stable_sort(lines, {}, &SourceLine::offset);
  lines_[address] = std::move(lines);
  return true;
}

// It comes before the code it speaks of. The index of it that follows the table is not needed.
bool JitDumpParser::unwinding_info(std::span<const std::byte> bytes) {
  frames_.clear();
  Cursor body(bytes, order_);
  std::uint64_t size = 0, index_size = 0, mapped_size = 0;
  if (!body.take(size, index_size, mapped_size) || size > body.rest().size() || index_size > size)
    return false;
  const auto table = body.rest().first(size - index_size);
  if (table.size() > kMaxJitFrames || frame_bytes_ + table.size() > kMaxJitFrameBytes) return false;
  frame_bytes_ += table.size();
  frames_.assign(table.begin(), table.end());
  return true;
}

bool JitDumpParser::full() const {
  return symbols_ >= kMaxJitSymbols || name_bytes_ >= kMaxJitNameBytes;
}

std::size_t JitDumpParser::memory() const {
  constexpr std::size_t kNode = 96;  // of a map
  return waiting_.capacity() + name_bytes_ + line_bytes_ + frame_bytes_ +
         kNode * (by_index_.size() + lines_.size());
}

}  // namespace tailor::formats
