#include "daemon/pipeline/kernel_code.h"

#include <algorithm>
#include <utility>

namespace tailor::pipeline {
namespace {

constexpr std::size_t kLongestName = 512;  // KSYM_NAME_LEN of the kernel
constexpr std::uint64_t kKernelBegin = std::uint64_t{1} << 63;

bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= kLongestName &&
         std::ranges::all_of(name, [](char c) { return c > ' ' && c < 0x7F && c != '/'; });
}

bool makes_sense(const KernelSymbol& symbol) {
  return symbol.size != 0 && profile::is_kernel_address(symbol.begin) &&
         symbol.begin <= UINT64_MAX - symbol.size && (symbol.unloaded || is_name(symbol.name));
}

}  // namespace

bool KernelCode::add(const KernelSymbol& symbol) {
  if (!makes_sense(symbol)) return false;
  if (given_up_ || (lost_ != kTimeMin && symbol.time <= lost_)) return true;
  if (symbol.unloaded) {
    unload(symbol);
  } else {
    load(symbol);
  }
  return true;
}

void KernelCode::lost(TimeNs time) {
  lost_ = std::max(lost_, time);
  if (!given_up_ && !ranges_.all().empty()) forget(time);
}

void KernelCode::load(const KernelSymbol& symbol) {
  const std::uint64_t end = symbol.begin + symbol.size;
  profile::KernelRanges::Range range{end, symbol.bpf ? profile::kBpfCode : profile::kOtherKernelCode};
  range.path += symbol.name;
  // One that is late says nothing of what is there now.
  if (symbol.time < newest_) return tell(symbol.time, symbol.begin, end, range.path);
  newest_ = symbol.time;
  if (ranges_.has(symbol.begin, range)) return;
  clear(symbol.time, symbol.begin, end);
  tell(symbol.time, symbol.begin, end, range.path);
  if (!given_up_) ranges_.put(symbol.begin, std::move(range));
}

void KernelCode::unload(const KernelSymbol& symbol) {
  const std::uint64_t end = symbol.begin + symbol.size;
  bool all_told = false;
  if (symbol.time >= newest_) {
    newest_ = symbol.time;
    all_told = clear(symbol.time, symbol.begin, end);
  }
  if (!all_told) tell(symbol.time, symbol.begin, end, "");
}

// Whether one range that was there had all of it.
bool KernelCode::clear(TimeNs time, std::uint64_t begin, std::uint64_t end) {
  bool all = false;
  for (const auto& [from, to] : ranges_.cut(begin, end)) {
    tell(time, from, to, "");
    all = all || (from == begin && to >= end);
  }
  return all;
}

// As for mappings of a process: what lives longer may load more.
bool KernelCode::has_room(TimeNs time) {
  constexpr std::uint64_t kOneMoreEach = 50'000'000;
  if (first_ == kTimeMin) first_ = time;
  // Any two times of a file, however far apart.
  const std::uint64_t since =
      time > first_ ? static_cast<std::uint64_t>(time) - static_cast<std::uint64_t>(first_) : 0;
  return told_ < kMostTold + static_cast<std::size_t>(since / kOneMoreEach) &&
         ranges_.all().size() < kMostAtOnce;
}

void KernelCode::tell(TimeNs time, std::uint64_t begin, std::uint64_t end, const std::string& path) {
  if (given_up_) return;
  if (has_room(time)) {
    ++told_;
    return sink_.on_mapping({{}, time, begin, end - begin, 0, path});
  }
  given_up_ = true;
  forget(time);
}

void KernelCode::forget(TimeNs time) {
  ranges_.clear();
  sink_.on_mapping({{}, time, kKernelBegin, UINT64_MAX - kKernelBegin, 0, ""});
}

}  // namespace tailor::pipeline
