#include <fmt/format.h>
#include <linux/capability.h>

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "daemon/capture/host/event_offers.h"
#include "daemon/capture/host/host_pmu.h"
#include "daemon/os/host_files.h"
#include "viewer/cli/doctor.h"

namespace tailor::cli {
namespace {

using State = Finding::State;

// Older headers do not have these.
constexpr unsigned kPerfmon = 38, kBpf = 39;

// Effective capabilities of this process, a bit each; none where they cannot be read.
std::uint64_t capabilities(const os::Os& os) {
  const auto status = os::read_text(os.proc() / "self/status");
  if (!status) return 0;
  constexpr std::string_view kName = "CapEff:\t";
  const std::size_t at = status->find(kName);
  if (at == std::string::npos) return 0;
  std::uint64_t bits = 0;
  std::from_chars(status->data() + at + kName.size(), status->data() + status->size(), bits, 16);
  return bits;
}

bool has(std::uint64_t capabilities, unsigned number) {
  return (capabilities >> number & 1) != 0 || (capabilities >> CAP_SYS_ADMIN & 1) != 0;
}

Finding look_at_kernel(const os::Os& os) {
  const std::string release = os::read_text(os.proc() / "sys/kernel/osrelease").ok()
                                  ? *os::read_text(os.proc() / "sys/kernel/osrelease")
                                  : "";
  int major = 0, minor = 0;
  const char* end = release.data() + release.size();
  const auto first = std::from_chars(release.data(), end, major);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != '.' ||
      std::from_chars(first.ptr + 1, end, minor).ec != std::errc())
    return {State::kNote, "kernel", fmt::format("the kernel's version \"{}\" was not understood", release),
            ""};
  const int version = major * 1000 + minor;
  if (version < 5010)
    return {State::kProblem, "kernel", fmt::format("Linux {} is older than 5.10", release),
            "Tailor was never tried on it: use a newer kernel"};
  if (version < 5015)
    return {
        State::kNote, "kernel",
        fmt::format("Linux {}: before 5.15 BPF is not used, and recordings say what they give up", release),
        ""};
  return {State::kOk, "kernel", "Linux " + release, ""};
}

std::vector<Finding> look_at_events(os::Os& os) {
  const auto offers = capture::probe_events(os, capture::probe_pmu(os));
  const auto find = [&](std::string_view name) {
    return std::ranges::find(offers, name, &capture::EventOffer::name);
  };
  std::vector<Finding> out;
  const auto timer = find("cpu-clock");
  if (timer == offers.end() || !timer->available) {
    out.push_back({State::kProblem, "timer", "the kernel does not let this user sample CPU time",
                   timer == offers.end() ? "" : timer->detail});
  } else {
    out.push_back({State::kOk, "timer", "CPU time can be sampled", ""});
  }
  const auto precise = find("auto");
  const bool hardware = capture::probe_pmu(os).counters;
  if (!hardware) {
    out.push_back(
        {State::kNote, "counters",
         "this host shows no hardware counters: cycles, cache misses and precise addresses cannot be "
         "sampled; CPU time can",
         "if it is a virtual machine, its host can pass them on (a virtual PMU)"});
  } else if (precise != offers.end()) {
    out.push_back({precise->available ? State::kOk : State::kNote, "counters",
                   "this host has hardware counters", precise->available ? "" : precise->detail});
  }
  return out;
}

Finding look_at_kernel_samples(const os::Os& os, std::uint64_t mine) {
  const auto paranoid = os::read_number(os.proc() / "sys/kernel/perf_event_paranoid");
  if (!paranoid)
    return {State::kProblem, "perf_event", "this kernel has no perf_event_open",
            "use a kernel with CONFIG_PERF_EVENTS"};
  if (*paranoid <= 1 || has(mine, kPerfmon))
    return {State::kOk, "kernel time", "time in the kernel can be sampled", ""};
  return {State::kNote, "kernel time",
          fmt::format("time in the kernel cannot be sampled by this user (kernel.perf_event_paranoid is {})",
                      *paranoid),
          "let tailord record, which has CAP_PERFMON; or, as root: sysctl kernel.perf_event_paranoid=1"};
}

Finding look_at_kernel_names(const os::Os& os, std::uint64_t mine) {
  const auto restricted = os::read_number(os.proc() / "sys/kernel/kptr_restrict");
  if (restricted && (*restricted == 0 || (*restricted == 1 && has(mine, CAP_SYSLOG))))
    return {State::kOk, "kernel names", "functions of the kernel have names", ""};
  return {State::kNote, "kernel names",
          restricted
              ? fmt::format("functions of the kernel have no names (kernel.kptr_restrict is {})", *restricted)
              : "whether functions of the kernel have names is not known",
          "as root: sysctl kernel.kptr_restrict=0, or give CAP_SYSLOG where it is 1"};
}

Finding look_at_bpf(const os::Os& os, std::uint64_t mine) {
  std::error_code unknown;
  if (!std::filesystem::exists(os.sys() / "kernel/btf/vmlinux", unknown))
    return {State::kNote, "BPF", "the kernel does not describe its types (no BTF): perf takes the samples",
            "use a kernel with CONFIG_DEBUG_INFO_BTF"};
  if (!has(mine, kBpf) || !has(mine, kPerfmon))
    return {State::kNote, "BPF",
            "this user may not use BPF: perf takes the samples, and time off the CPU is not known",
            "let tailord record, which has CAP_BPF and CAP_PERFMON"};
  return {State::kOk, "BPF", "BPF can take the samples", ""};
}

Finding look_at_clock(const os::Os& os) {
  const auto clock = os::read_text(os.sys() / "devices/system/clocksource/clocksource0/current_clocksource");
  if (!clock) return {State::kNote, "clock", "the clock source of this host is not known", ""};
  if (*clock == "tsc") return {State::kOk, "clock", "the clock source is the time stamp counter", ""};
  return {State::kNote, "clock", fmt::format("the clock source is {}: times of marks are less exact", *clock),
          "use tsc where the CPU's counter is invariant (kernel parameter clocksource=tsc)"};
}

}  // namespace

Finding look_at_symbol_cache(const query::SymbolCache* cache) {
  const char* const kCheck = "symbol cache";
  if (cache == nullptr)
    return {State::kNote, kCheck, "functions of recorded files are not kept for later reports",
            "a home folder of this user's own, and TAILOR_SYMBOL_CACHE other than \"off\""};
  const query::SymbolCache::Usage usage = cache->usage();
  const double mb = static_cast<double>(usage.bytes) / 1e6;
  const double most = static_cast<double>(cache->limits().bytes) / 1e6;
  return {State::kOk, kCheck,
          fmt::format("{} has the functions of {} files, {:.1f} of at most {:.0f} MB",
                      cache->folder().string(), usage.files, mb, most),
          ""};
}

std::vector<Finding> look_at_host(os::Os& os) {
  const std::uint64_t mine = capabilities(os);
  std::vector<Finding> out = {look_at_kernel(os)};
  std::ranges::move(look_at_events(os), std::back_inserter(out));
  out.push_back(look_at_kernel_samples(os, mine));
  out.push_back(look_at_kernel_names(os, mine));
  out.push_back(look_at_bpf(os, mine));
  out.push_back(look_at_clock(os));
  return out;
}

}  // namespace tailor::cli
