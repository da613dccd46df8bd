#include "daemon/os/queue_time.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

namespace tailor::os {

QueueTime QueueTime::of_this_thread(const std::filesystem::path& proc) {
  QueueTime time;
  time.file_.reset(::open((proc / "thread-self/schedstat").c_str(), O_RDONLY | O_CLOEXEC));
  return time;
}

// "time on a CPU, time in the run queue, time slices" (Documentation/scheduler/sched-stats.rst).
std::uint64_t QueueTime::ns() const {
  char text[128];
  const ssize_t size = file_ ? ::pread(file_.get(), text, sizeof text - 1, 0) : 0;
  if (size <= 0) return 0;
  text[size] = '\0';
  unsigned long long on_cpu = 0, in_queue = 0;
  return std::sscanf(text, "%llu %llu", &on_cpu, &in_queue) == 2 ? in_queue : 0;
}

}  // namespace tailor::os
