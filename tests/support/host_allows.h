// Whether this host lets anybody sample: asked of the kernel itself, and never of the recorder under test. So
// a recorder that is broken fails its tests, and only a host that denies lets them be skipped.
#pragma once

#include <gtest/gtest.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

#include "daemon/capture/select/event_spec.h"
#include "tests/support/disturbance.h"

namespace tailor::test {

// "" or why a timer of a millisecond is denied.
inline std::string perf_event_denied(pid_t pid, int cpu, bool kernel) {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_CPU_CLOCK;
  attr.sample_period = 1'000'000;
  attr.disabled = 1;
  attr.exclude_kernel = !kernel;
  attr.exclude_hv = !kernel;
  const long fd = ::syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
  if (fd < 0) return std::string("perf_event_open: ") + std::strerror(errno);
  ::close(static_cast<int>(fd));
  return {};
}

// "" or why this process may not sample the programs that it starts.
inline std::string sampling_denied() {
  return perf_event_denied(0, -1, false);
}

// "" or why this process may not load a BPF program that looks at all CPUs.
inline std::string bpf_denied() {
  if (::access("/sys/kernel/btf/vmlinux", R_OK) != 0) return "the kernel has no BTF";
  if (std::string why = perf_event_denied(-1, 0, true); !why.empty()) return "of all processes: " + why;
  bpf_insn program[2] = {};  // r0 = 0; exit
  program[0].code = BPF_ALU64 | BPF_MOV | BPF_K;
  program[1].code = BPF_JMP | BPF_EXIT;
  bpf_attr attr;
  std::memset(&attr, 0, sizeof attr);
  attr.prog_type = BPF_PROG_TYPE_PERF_EVENT;
  attr.insn_cnt = 2;
  attr.insns = reinterpret_cast<std::uint64_t>(program);
  attr.license = reinterpret_cast<std::uint64_t>("GPL");
  const long fd = ::syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof attr);
  if (fd < 0) return std::string("bpf: ") + std::strerror(errno);
  ::close(static_cast<int>(fd));
  return {};
}

// What a test says when it skips because the recorder refused, with `said`. Where the host allows what was
// asked for (`denied` is ""), the refusal is the recorder's fault: then the test has failed.
inline std::string skip_if_denied(const std::string& denied, const std::string& said) {
  if (!denied.empty()) return denied + " (" + said + ")";
  failed_for_good() = true;
  ADD_FAILURE() << "this host allows it, and yet: " << said;
  return said;
}
inline std::string skip_if_denied(capture::SampledBy by, capture::Placement placement,
                                  const std::string& said) {
  if (by == capture::SampledBy::kBpf) return skip_if_denied(bpf_denied(), said);
  const bool all = placement == capture::Placement::kPerCpu;
  return skip_if_denied(all ? perf_event_denied(-1, 0, true) : sampling_denied(), said);
}
inline std::string skip_if_denied(const capture::CaptureOptions& options, const std::string& said) {
  return skip_if_denied(options.sampled_by, options.placement, said);
}

}  // namespace tailor::test
