#include "daemon/unwind/file_arguments.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace tailor::unwind {
namespace {

// What a function costs to know, beside its places.
constexpr std::size_t kEntryBytes = 128;
// Where a function begins, the stack pointer has moved by the return address alone. Parts that a compiler has
// put elsewhere begin in the middle.
constexpr std::int64_t kCfaAtBegin = 8;

bool begins_function(const CfiTable& table, std::uint64_t begin) {
  const auto rules = table.rules_at(begin);
  return rules && rules->cfa_expression.empty() && rules->cfa_register == kSp &&
         rules->cfa_offset == kCfaAtBegin;
}

}  // namespace

FileArguments::FileArguments(std::shared_ptr<const ElfCfi> table, const std::vector<std::string>& paths)
    : table_(std::move(table)) {
  for (const std::string& path : paths) {
    file_.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (file_) return;
  }
}

const FirstArgument* FileArguments::at(std::uint64_t address) {
  const auto range = table_->table.range_at(address);
  if (!range || !file_) return nullptr;
  const auto known = functions_.find(range->begin);
  if (known != functions_.end()) return &known->second;
  if (range->end - range->begin > kMostCode || bytes_ > kMostBytes) return nullptr;
  const auto word = [this](std::uint64_t at) -> std::optional<std::int32_t> {
    const auto bytes = read(at, sizeof(std::int32_t));
    std::int32_t value = 0;
    if (bytes.size() != sizeof value) return std::nullopt;
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  };
  FirstArgument found;
  if (begins_function(table_->table, range->begin))
    found = FirstArgument::find(read(range->begin, range->end - range->begin), range->begin, word);
  bytes_ += found.bytes() + kEntryBytes;
  return &functions_.emplace(range->begin, std::move(found)).first->second;
}

std::vector<std::byte> FileArguments::read(std::uint64_t address, std::uint64_t size) const {
  std::vector<std::byte> bytes;
  for (const ElfCfi::Segment& segment : table_->segments) {
    if (address < segment.address || address - segment.address >= segment.size) continue;
    const std::uint64_t inside = address - segment.address;
    bytes.resize(std::min(size, segment.size - inside));
    const ssize_t got =
        ::pread(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(segment.offset + inside));
    bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    break;
  }
  return bytes;
}

}  // namespace tailor::unwind
