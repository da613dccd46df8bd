#include "daemon/unwind/file_arguments.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

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

FileArguments::FileArguments(FileWork& work, std::uint32_t user, std::shared_ptr<const ElfCfi> table,
                             Paths paths)
    : work_(work), user_(user), code_(std::make_shared<Code>()) {
  code_->table = std::move(table);
  code_->paths = std::move(paths);
}

FileArguments::~FileArguments() {
  work_.drop(user_, std::move(code_));
}

const FirstArgument* FileArguments::at(std::uint64_t address) {
  const auto range = code_->table->table.range_at(address);
  if (!range) return nullptr;
  auto known = functions_.find(range->begin);
  if (known == functions_.end()) {
    if (range->end - range->begin > kMostCode || code_->bytes > kMostBytes) return nullptr;
    auto finding =
        work_.begin<Function>(user_, [code = code_, range = *range] { return Function{code->find(range)}; });
    if (finding == nullptr) {
      work_.lack(nullptr);
      return nullptr;
    }
    known = functions_.emplace(range->begin, std::move(finding)).first;
  }
  const Awaited<Function>& found = *known->second;
  if (!found.is_done()) {
    work_.lack(known->second);
    return nullptr;
  }
  if (!found.refused) return found.value.argument ? &*found.value.argument : nullptr;
  functions_.erase(known);
  work_.lack(nullptr);
  return nullptr;
}

std::size_t FileArguments::Function::bytes() const {
  return kEntryBytes + (argument ? argument->bytes() : 0);
}

void FileArguments::Code::open() {
  if (std::exchange(opened, true)) return;
  for (const std::string& path : paths()) {
    file.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (file) return;
  }
}

std::optional<FirstArgument> FileArguments::Code::find(const CfiTable::Range& function) {
  open();
  if (!file) return std::nullopt;
  const auto word = [this](std::uint64_t at) -> std::optional<std::int32_t> {
    const auto got = read(at, sizeof(std::int32_t));
    std::int32_t value = 0;
    if (got.size() != sizeof value) return std::nullopt;
    std::memcpy(&value, got.data(), sizeof value);
    return value;
  };
  FirstArgument found;
  if (begins_function(table->table, function.begin))
    found = FirstArgument::find(read(function.begin, function.end - function.begin), function.begin, word);
  bytes += found.bytes() + kEntryBytes;
  return found;
}

std::vector<std::byte> FileArguments::Code::read(std::uint64_t address, std::uint64_t size) const {
  std::vector<std::byte> out;
  for (const ElfCfi::Segment& segment : table->segments) {
    if (address < segment.address || address - segment.address >= segment.size) continue;
    const std::uint64_t inside = address - segment.address;
    out.resize(std::min(size, segment.size - inside));
    const ssize_t got =
        ::pread(file.get(), out.data(), out.size(), static_cast<off_t>(segment.offset + inside));
    out.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    break;
  }
  return out;
}

}  // namespace tailor::unwind
