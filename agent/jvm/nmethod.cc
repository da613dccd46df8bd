#include "agent/jvm/nmethod.h"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace tailor::jvm {
namespace {

template <typename T>
T number(const char* blob, std::int64_t offset) {
  T value;
  std::memcpy(&value, blob + offset, sizeof value);
  return value;
}

constexpr std::uint64_t kWord = 8;

}  // namespace

// Of a type that nobody describes it has the size that the type has in C++. Else it is no number that could
// be read.
NmethodReader::Number NmethodReader::number_at(const VmField& field) {
  std::uint32_t bytes = field.bytes;
  if (bytes == 0 && field.kind == "int") bytes = 4;
  if (bytes == 0 && field.kind == "int16_t") bytes = 2;
  if (bytes == 1 || bytes == 2 || bytes == 4) return {field.offset, bytes};
  return {};
}

std::int64_t NmethodReader::Number::in(const Bytes& blob) const {
  if (bytes == 1) return number<std::int8_t>(blob.bytes, offset);
  if (bytes == 2) return number<std::int16_t>(blob.bytes, offset);
  return number<std::int32_t>(blob.bytes, offset);
}

NmethodReader::NmethodReader(std::span<const VmField> fields) {
  for (const VmField& entry : fields) {
    if (entry.type == "CodeBlob") {
      if (entry.field == "_code_begin") code_begin_ = entry.offset;
      if (entry.field == "_code_end") code_end_ = entry.offset;
      if (entry.field == "_code_offset") code_offset_ = entry.offset;
      if (entry.field == "_data_offset") data_offset_ = entry.offset;
      if (entry.field == "_frame_size") frame_size_ = number_at(entry);
      if (entry.field == "_frame_complete_offset") frame_complete_ = number_at(entry);
    }
    if (entry.type == "nmethod" && entry.field == "_comp_level") level_ = number_at(entry);
    if (entry.type == "nmethod" && entry.field == "_entry_bci") entry_bci_ = number_at(entry);
  }
}

bool NmethodReader::is_of(const Bytes& blob, std::uint64_t begin, std::uint64_t end) const {
  if (code_begin_ >= 0) {
    return number<std::uint64_t>(blob.bytes, code_begin_) == begin &&
           number<std::uint64_t>(blob.bytes, code_end_) == end;
  }
  return blob.address + number<std::uint32_t>(blob.bytes, code_offset_) == begin &&
         blob.address + number<std::uint32_t>(blob.bytes, data_offset_) == end;
}

std::optional<NmethodFacts> NmethodReader::read_blob(const Bytes& blob, std::uint64_t begin,
                                                     std::uint64_t end) const {
  if (!is_of(blob, begin, end)) return std::nullopt;
  NmethodFacts facts;
  if (level_.known()) facts.level = static_cast<int>(level_.in(blob));
  if (facts.level < 1 || facts.level > 4) facts.level = -1;
  facts.osr = entry_bci_.known() && entry_bci_.in(blob) >= 0;
  if (frame_size_.known()) facts.frame_words = static_cast<std::uint32_t>(frame_size_.in(blob));
  if (frame_complete_.known()) {
    // Negative for stubs that do not say: all but their first instructions have the frame.
    facts.frame_complete = static_cast<std::uint32_t>(std::max(frame_complete_.in(blob), std::int64_t{0}));
  }
  // Other words of a blob can be the same two addresses: where a native method has no data, those of its
  // content.
  constexpr std::uint32_t kMostWords = 1u << 14;
  if (facts.frame_words > kMostWords || facts.frame_complete > end - begin) return std::nullopt;
  return facts;
}

// The blob lies in front of its code, with relocations in between; it is known by where it says its code is.
// What lies farther down may be no memory at all: the kernel reads, and says so where it is not. A stub's
// blob is shorter than a method's: what is read of it as a method's is of its code, and means nothing.
std::optional<NmethodFacts> NmethodReader::facts(std::uint64_t begin, std::uint32_t size) const {
  if ((code_begin_ < 0 || code_end_ < 0) && (code_offset_ < 0 || data_offset_ < 0)) return std::nullopt;
  constexpr std::uint64_t kWindow = 4096, kFarthest = 1u << 18;
  const auto blob_bytes = static_cast<std::uint64_t>(std::max(
                              {code_begin_, code_end_, code_offset_, data_offset_, frame_size_.offset,
                               frame_complete_.offset, level_.offset, entry_bci_.offset})) +
                          kWord;
  if (blob_bytes > kWindow / 2 || begin < 2 * kFarthest) return std::nullopt;
  std::array<char, 2 * kWindow> bytes;
  for (std::uint64_t top = begin & ~(kWord - 1); begin - top < kFarthest; top -= kWindow) {
    // Blobs that begin in the window below `top`, and may end above it.
    const std::uint64_t bottom = top - kWindow;
    const iovec to{bytes.data(), kWindow + blob_bytes};
    const iovec from{reinterpret_cast<void*>(static_cast<std::uintptr_t>(bottom)), kWindow + blob_bytes};
    const ssize_t length = ::process_vm_readv(::getpid(), &to, 1, &from, 1, 0);
    if (length < static_cast<ssize_t>(kWindow)) return std::nullopt;
    for (std::uint64_t at = kWindow; at >= kWord;) {
      at -= kWord;
      if (at + blob_bytes > static_cast<std::uint64_t>(length)) continue;
      const Bytes blob{bytes.data() + at, bottom + at};
      if (auto facts = read_blob(blob, begin, begin + size)) return facts;
    }
  }
  return std::nullopt;
}

}  // namespace tailor::jvm
