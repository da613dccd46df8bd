#include "daemon/capture/decode/kernel_symbols.h"

#include <algorithm>
#include <charconv>

#include "daemon/capture/decode/wait_names.h"

namespace tailor::capture {
namespace {

constexpr std::uint64_t kLongest = std::uint64_t{1} << 16;

}  // namespace

// Lines are "address type name", with a module's name behind; addresses of one object grow.
std::vector<KernelFunction> wait_functions(std::string_view kallsyms) {
  std::vector<KernelFunction> found;
  std::size_t open = 0;  // the first of `found` whose end was not seen yet
  while (!kallsyms.empty()) {
    const std::string_view line = kallsyms.substr(0, kallsyms.find('\n'));
    kallsyms.remove_prefix(std::min(kallsyms.size(), line.size() + 1));
    std::uint64_t address = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), address, 16);
    const std::string_view rest = line.substr(static_cast<std::size_t>(end - line.data()));
    if (error != std::errc{} || rest.size() < 4) continue;
    for (; open < found.size() && found[open].address < address; ++open) {
      found[open].size = static_cast<std::uint32_t>(std::min(address - found[open].address, kLongest));
    }
    if (rest[1] != 't' && rest[1] != 'T') continue;
    const std::string_view name = rest.substr(3, rest.find_first_of("\t ", 3) - 3);
    if (address != 0 && wait_in(name) != profile::Wait::kNone)
      found.push_back({address, 0, std::string(name)});
  }
  std::erase_if(found, [](const KernelFunction& function) { return function.size == 0; });
  return found;
}

std::vector<KernelFunction> bpf_functions(std::string_view kallsyms) {
  constexpr std::uint64_t kPage = 4096;
  std::vector<KernelFunction> found;
  std::vector<std::uint64_t> begins;  // of all symbols
  while (!kallsyms.empty()) {
    const std::string_view line = kallsyms.substr(0, kallsyms.find('\n'));
    kallsyms.remove_prefix(std::min(kallsyms.size(), line.size() + 1));
    std::uint64_t address = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), address, 16);
    const std::string_view rest = line.substr(static_cast<std::size_t>(end - line.data()));
    if (error != std::errc{} || rest.size() < 4 || address == 0) continue;
    begins.push_back(address);
    if (!rest.ends_with("\t[bpf]")) continue;
    found.push_back({address, 0, std::string(rest.substr(3, rest.find_first_of("\t ", 3) - 3))});
  }
  std::ranges::sort(begins);
  for (KernelFunction& each : found) {
    const auto next = std::ranges::upper_bound(begins, each.address);
    const std::uint64_t rest_of_page = kPage - each.address % kPage;
    const std::uint64_t room = next == begins.end() ? rest_of_page : *next - each.address;
    each.size = static_cast<std::uint32_t>(std::min(room, rest_of_page));
  }
  return found;
}

}  // namespace tailor::capture
