#include "daemon/session/cpu_accounts.h"

#include <time.h>

#include <algorithm>

#include "daemon/os/host_files.h"

namespace tailor::session {
namespace {

std::uint64_t own_cpu_ns() {
  timespec ts{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
  return static_cast<std::uint64_t>(ts.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(ts.tv_nsec);
}

}  // namespace

CpuAccounts::CpuAccounts(os::Os& os, pipeline::Pipeline& pipeline)
    : os_(os), pipeline_(pipeline), steal_before_(os::steal_time(os)), own_before_(own_cpu_ns()) {}

void CpuAccounts::begin(ProcessId process, bool user_mode_only) {
  user_mode_only_ = user_mode_only_ || user_mode_only;
  const auto used = os::cpu_time_of(os_, process.pid);
  if (!used.ok()) return;
  CpuCoverage before = used_of(*used, user_mode_only);
  before.sampled = sampled_ns(process);
  coverage_.begin(process, before);
}

void CpuAccounts::look(ProcessId process, bool user_mode_only) {
  const TimeNs now = os_.now();
  const auto used = os::cpu_time_of(os_, process);
  if (!used.ok()) return;
  coverage_.look(process, now, used_of(*used, user_mode_only));
}

void CpuAccounts::settle() {
  coverage_.settle(pipeline_.stats().watermark, [this](ProcessId process) -> std::optional<std::uint64_t> {
    if (pipeline_.processes().find(process) == nullptr) return std::nullopt;  // it ended, and was forgotten
    return sampled_ns(process);
  });
}

// PySpark leaves its JVM behind.
void CpuAccounts::note_command(const os::CpuTime& used) {
  command_used_ = used;
  pipeline_.processes().for_each([this](const pipeline::ProcessEntry& entry) {
    if (entry.id().start == 0 || entry.accounting.on_cpu_ns == 0) return;
    const auto of_child = os::cpu_time_of(os_, entry.id());
    if (!of_child.ok()) return;
    command_used_->user_ns += of_child->user_ns;
    command_used_->system_ns += of_child->system_ns;
  });
}

void CpuAccounts::tell(profile::RecordingInfo& recording) {
  settle();
  CpuCoverage coverage = coverage_.sum();
  if (command_used_) {
    coverage = used_of(*command_used_, user_mode_only_);
    coverage.sampled = pipeline_.total().on_cpu_ns;
    if (lacks_a_process(coverage)) coverage = {};
  }
  recording.kernel_not_sampled = user_mode_only_;
  recording.kernel_unsampled_ns = coverage.unsampled;
  const bool timed = std::ranges::any_of(recording.sources, [](const profile::Source& source) {
    return source.unit == profile::Unit::kNsOnCpu;
  });
  if (!timed) coverage = {};
  recording.cpu_used_ns = coverage.used;
  recording.cpu_sampled_ns = coverage.sampled;
  if (const auto now = os::steal_time(os_); now && steal_before_) recording.steal_ns = *now - *steal_before_;
  recording.own_cpu_ns = own_ns();
}

std::uint64_t CpuAccounts::own_ns() const {
  return own_cpu_ns() - own_before_;
}

std::uint64_t CpuAccounts::sampled_ns(ProcessId process) const {
  const pipeline::ProcessEntry* entry = pipeline_.processes().find(process);
  return entry == nullptr ? 0 : entry->accounting.on_cpu_ns;
}

}  // namespace tailor::session
