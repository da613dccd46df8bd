#include <sys/utsname.h>
#include <time.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "daemon/query/symbols.h"

namespace tailor::query {
namespace {

constexpr const char* kKernel = "[kernel]";
constexpr std::int64_t kSameBoot = 30'000'000'000;  // clocks are set, and drift

std::int64_t clock_ns(clockid_t id) {
  timespec now{};
  ::clock_gettime(id, &now);
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

std::string_view next_field(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  const std::string_view out = line.substr(0, line.find_first_of(" \t"));
  line.remove_prefix(out.size());
  return out;
}

}  // namespace

KernelNames KernelNames::parse(std::string_view kallsyms) {
  KernelNames out;
  std::map<std::string, std::uint32_t, std::less<>> objects;
  while (!kallsyms.empty()) {
    std::string_view line = kallsyms.substr(0, kallsyms.find('\n'));
    kallsyms.remove_prefix(std::min(line.size() + 1, kallsyms.size()));
    const std::string_view address = next_field(line), type = next_field(line), name = next_field(line),
                           module = next_field(line);
    Symbol symbol{};
    const auto [end, error] =
        std::from_chars(address.data(), address.data() + address.size(), symbol.address, 16);
    if (error != std::errc() || end != address.data() + address.size() || symbol.address == 0) continue;
    if (type.size() != 1 || std::string_view("tTwW").find(type[0]) == std::string_view::npos || name.empty())
      continue;
    if (out.text_.size() + name.size() >= UINT32_MAX) break;
    const std::string_view object = module.empty() ? std::string_view(kKernel) : module;
    auto known = objects.find(object);
    if (known == objects.end()) {
      known = objects.emplace(object, static_cast<std::uint32_t>(out.objects_.size())).first;
      out.objects_.emplace_back(object);
    }
    symbol.object = known->second;
    symbol.name = static_cast<std::uint32_t>(out.text_.size());
    out.text_.append(name).push_back('\0');
    out.symbols_.push_back(symbol);
  }
  std::ranges::stable_sort(out.symbols_, {}, &Symbol::address);
  return out;
}

KernelNames KernelNames::of_recording(const std::string& kernel, std::int64_t boot_wall_ns) {
  utsname here{};
  if (::uname(&here) != 0 || kernel != here.release) return {};
  const std::int64_t booted = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC_RAW);
  if (std::llabs(booted - boot_wall_ns) > kSameBoot) return {};
  std::ifstream file("/proc/kallsyms");
  std::stringstream text;
  text << file.rdbuf();
  return parse(text.str());
}

KernelNames::Function KernelNames::at(std::uint64_t address) const {
  const auto after = std::ranges::upper_bound(symbols_, address, {}, &Symbol::address);
  if (after == symbols_.begin()) return {"", kKernel};
  const Symbol& symbol = *std::prev(after);
  return {text_.c_str() + symbol.name, objects_[symbol.object]};
}

}  // namespace tailor::query
