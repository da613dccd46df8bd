#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "daemon/os/kernel_identity.h"
#include "daemon/query/symbols/symbols.h"

namespace tailor::query {
namespace {

constexpr const char* kKernel = "[kernel]";
constexpr const char* kBpf = "[bpf]";
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

bool is_code(std::string_view type) {
  return std::string_view("tTwW").find(type[0]) != std::string_view::npos;
}

// They say where something ends, and have no code themselves.
bool is_end_mark(std::string_view name) {
  return name == "_etext" || name == "_einittext" || name == "_end" || name == "__init_end" ||
         name == "_edata" || name.ends_with("_text_end");
}

bool same_boot_by_clock(const profile::RecordingInfo& info) {
  if (info.wall_clock_ns == 0) return false;
  const std::int64_t booted = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC_RAW);
  return std::llabs(booted - (static_cast<std::int64_t>(info.wall_clock_ns) - info.start)) <= kSameBoot;
}

// Why the kernel that runs here is not that of the recording; "": nothing says so.
std::string why_another(const profile::RecordingInfo& info, const os::KernelIdentity& here) {
  if (!info.machine.empty() && info.machine != here.machine)
    return fmt::format("the kernel was that of another machine ({})", info.machine);
  if (info.kernel != here.release)
    return fmt::format("the kernel was another one ({})", info.kernel.empty() ? "not known" : info.kernel);
  if (!info.kernel_build_id.empty() && !here.build_id.empty() && info.kernel_build_id != here.build_id)
    return "the kernel was another build";
  return {};
}

}  // namespace

void KernelNames::add_line(std::string_view line,
                           std::map<std::string, std::uint32_t, std::less<>>& objects) {
  const std::string_view address = next_field(line), type = next_field(line), name = next_field(line),
                         module = next_field(line);
  Symbol symbol{};
  const auto [end, error] =
      std::from_chars(address.data(), address.data() + address.size(), symbol.address, 16);
  if (error != std::errc() || end != address.data() + address.size() || symbol.address == 0) return;
  if (type.size() != 1 || name.empty() || text_.size() + name.size() >= UINT32_MAX) return;
  const std::string_view object = module.empty() ? std::string_view(kKernel) : module;
  auto known = objects.find(object);
  if (known == objects.end()) {
    known = objects.emplace(object, static_cast<std::uint32_t>(objects_.size())).first;
    objects_.emplace_back(object);
  }
  symbol.object = known->second;
  symbol.name = static_cast<std::uint32_t>(text_.size());
  symbol.end = is_code(type) && !is_end_mark(name) ? UINT64_MAX : symbol.address;
  text_.append(name).push_back('\0');
  symbols_.push_back(symbol);
}

// Data ends what is before it. Behind the last function of an object there is at most the rest of its page
// and one more, as perf takes it (tools/perf/util/symbol.c, symbols__fixup_end).
void KernelNames::find_ends() {
  constexpr std::uint64_t kPage = 4096, kLongest = std::uint64_t{1} << 18;
  std::ranges::stable_sort(symbols_, [](const Symbol& a, const Symbol& b) { return a.address < b.address; });
  std::size_t next = symbols_.size();  // the first with a higher address
  for (std::size_t i = symbols_.size(); i-- > 0;) {
    if (i + 1 < symbols_.size() && symbols_[i + 1].address > symbols_[i].address) next = i + 1;
    Symbol& symbol = symbols_[i];
    if (symbol.end == symbol.address) continue;
    const std::uint64_t room = UINT64_MAX - symbol.address;
    const std::uint64_t last = symbol.address + std::min(room, 2 * kPage - symbol.address % kPage);
    const bool of_another = next == symbols_.size() || symbols_[next].object != symbol.object;
    symbol.end = of_another ? last : symbol.address + std::min(room, kLongest);
    if (next < symbols_.size()) symbol.end = std::min(symbol.end, symbols_[next].address);
  }
}

KernelNames KernelNames::parse(std::string_view kallsyms) {
  KernelNames out;
  std::map<std::string, std::uint32_t, std::less<>> objects;
  while (!kallsyms.empty()) {
    const std::string_view line = kallsyms.substr(0, kallsyms.find('\n'));
    kallsyms.remove_prefix(std::min(line.size() + 1, kallsyms.size()));
    out.add_line(line, objects);
  }
  out.find_ends();
  return out;
}

KernelNames KernelNames::none(std::string why) {
  KernelNames out;
  out.why_ = std::move(why);
  return out;
}

KernelNames KernelNames::of_recording(const profile::RecordingInfo& info, const KernelAt& where) {
  const os::KernelIdentity here = os::kernel_identity(where.proc, where.sys);
  if (std::string why = why_another(info, here); !why.empty()) return none(std::move(why));
  const bool same_boot = info.boot_id.empty() ? same_boot_by_clock(info) : info.boot_id == here.boot_id;
  // Old recordings say nothing of the layout.
  if (!same_boot && info.kernel_anchor.empty()) return none("the kernel has been booted since");
  std::ifstream file(where.proc / "kallsyms");
  std::stringstream text;
  text << file.rdbuf();
  KernelNames out = parse(text.str());
  if (out.empty()) return none("the kernel hides its symbols (/proc/sys/kernel/kptr_restrict)");
  if (!info.kernel_anchor.empty() && !out.fits(info.kernel_anchor))
    return none("the kernel had another layout");
  out.with_modules_ = same_boot;
  return out;
}

bool KernelNames::fits(const std::string& anchor) const {
  const std::size_t sign = anchor.find('=');
  if (sign == std::string::npos) return false;
  const std::uint64_t address = address_of(std::string_view(anchor).substr(0, sign));
  return address != 0 && fmt::format("{:x}", address) == anchor.substr(sign + 1);
}

std::uint64_t KernelNames::address_of(std::string_view symbol) const {
  for (const Symbol& each : symbols_) {
    if (text_.c_str() + each.name == symbol && objects_[each.object] == kKernel) return each.address;
  }
  return 0;
}

KernelNames::Function KernelNames::at(std::uint64_t address) const {
  if (symbols_.empty()) return {"", kKernel, 0, why_};
  const auto after = std::ranges::upper_bound(symbols_, address, {}, &Symbol::address);
  // Several may begin at one address: the first that is code and reaches.
  const Symbol* found = nullptr;
  if (after != symbols_.begin()) {
    auto each = std::ranges::lower_bound(symbols_, std::prev(after)->address, {}, &Symbol::address);
    while (each != after && address >= each->end) ++each;
    if (each != after) found = &*each;
  }
  if (found == nullptr) return {"", kKernel, 0, "no function of the kernel is there now"};
  const std::string_view object = objects_[found->object];
  // kallsyms says which programs there are now, and not since when.
  if (object == kBpf) return {"", kBpf, 0, "code of a BPF program, whose name was not recorded"};
  if (object != kKernel && !with_modules_) return {"", object, 0, "the kernel has been booted since"};
  return {text_.c_str() + found->name, object, found->address, {}, found->end};
}

}  // namespace tailor::query
