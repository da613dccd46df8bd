#include "daemon/capture/decode/kernel_symbols.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "daemon/capture/decode/wait_names.h"

namespace tailor::capture {
namespace {

constexpr std::uint64_t kLongest = std::uint64_t{1} << 16;

// A line of kallsyms: "address type name", with a tab and a module's name behind.
struct Line {
  std::uint64_t address = 0;
  char type = 0;
  std::string_view name, module;  // `module`: "" or "[name]"
};

std::optional<Line> line_of(std::string_view text) {
  Line line;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), line.address, 16);
  const std::string_view rest = text.substr(static_cast<std::size_t>(end - text.data()));
  if (error != std::errc{} || rest.size() < 4) return std::nullopt;
  line.type = rest[1];
  line.name = rest.substr(3, rest.find_first_of("\t ", 3) - 3);
  const std::size_t tab = rest.rfind('\t');
  if (tab != std::string_view::npos) line.module = rest.substr(tab + 1);
  return line;
}

template <typename Use>
void for_each_line(std::string_view kallsyms, const Use& use) {
  while (!kallsyms.empty()) {
    const std::string_view text = kallsyms.substr(0, kallsyms.find('\n'));
    kallsyms.remove_prefix(std::min(kallsyms.size(), text.size() + 1));
    if (const auto line = line_of(text)) use(*line);
  }
}

}  // namespace

// Addresses of one object grow.
std::vector<KernelFunction> wait_functions(std::string_view kallsyms) {
  std::vector<KernelFunction> found;
  std::size_t open = 0;  // the first of `found` whose end was not seen yet
  for_each_line(kallsyms, [&](const Line& line) {
    for (; open < found.size() && found[open].address < line.address; ++open) {
      found[open].size = static_cast<std::uint32_t>(std::min(line.address - found[open].address, kLongest));
    }
    if (line.type != 't' && line.type != 'T') return;
    if (line.address != 0 && wait_in(line.name) != profile::Wait::kNone)
      found.push_back({line.address, 0, std::string(line.name)});
  });
  std::erase_if(found, [](const KernelFunction& function) { return function.size == 0; });
  return found;
}

std::vector<KernelFunction> bpf_functions(std::string_view kallsyms) {
  constexpr std::uint64_t kPage = 4096;
  std::vector<KernelFunction> found;
  std::vector<std::uint64_t> begins;  // of all symbols
  for_each_line(kallsyms, [&](const Line& line) {
    if (line.address == 0) return;
    begins.push_back(line.address);
    if (line.module == "[bpf]") found.push_back({line.address, 0, std::string(line.name)});
  });
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
