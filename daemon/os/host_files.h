// What /proc and /sys say of the host and of a process, read through an Os.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/os/cpu_time.h"
#include "daemon/os/os.h"

namespace tailor::os {

// A small file as text without the final newline. Fails past `limit` bytes.
Result<std::string> read_text(const std::filesystem::path& path, std::size_t limit = 1 << 20);

// A file that holds one integer.
std::optional<std::int64_t> read_number(const std::filesystem::path& path);

// "0-3,8,10-11" as the kernel writes lists of CPUs; an error for anything else.
Result<std::vector<int>> parse_cpu_list(std::string_view text);

// The CPUs that are online: not necessarily dense, not necessarily from 0.
Result<std::vector<int>> online_cpus(const Os& os);

// Threads of a process now, ascending. An error if there is no such process.
Result<std::vector<pid_t>> threads_of(const Os& os, pid_t pid);

// Those of its threads that run or could run now, and the CPU each is on. Empty if there is no such process.
std::vector<int> busy_cpus_of(const Os& os, pid_t pid);

// `roots` and all their descendants now, each once, ascending; those that have ended are left out where they
// are noticed. Where the kernel does not list children (CONFIG_PROC_CHILDREN), the roots alone.
std::vector<pid_t> family_of(const Os& os, const std::vector<pid_t>& roots);

// Who owns the directory of a process, such as /proc/PID: its effective user, or root where the process
// cannot be dumped. Nothing: it is gone.
std::optional<std::uint32_t> owner_of(const std::filesystem::path& process);

// CPU time of a process so far, of all its threads and those that have ended, without its children, in ns (to
// the kernel's clock tick); fields 14 and 15 of /proc/PID/stat.
Result<CpuTime> cpu_time_of(const Os& os, pid_t pid);
// Of that process, and an error where a later one has its pid.
Result<CpuTime> cpu_time_of(const Os& os, ProcessId process);

// CPU time the hypervisor gave to others while this host had work, since boot, of all CPUs together, in ns;
// nothing where the kernel does not tell.
std::optional<std::uint64_t> steal_time(const Os& os);

// Field 22 of /proc/PID/stat.
Result<std::uint64_t> start_time_of(const Os& os, pid_t pid);

// Whether that process has memory of its own now. One that ends gives it back before its events are closed.
bool has_memory(const Os& os, ProcessId process);

// The process of a thread; a number that is no thread's stays as it is.
pid_t process_of(const Os& os, pid_t thread);

// A process by its pid, and not a later process of the same pid.
Result<ProcessId> identify(const Os& os, pid_t pid);

}  // namespace tailor::os
