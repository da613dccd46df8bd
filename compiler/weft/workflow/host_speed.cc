#include "compiler/weft/workflow/host_speed.h"

#include <emmintrin.h>
#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <ctime>
#include <fstream>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "compiler/weft/exec/worker_pool.h"

namespace tailor::weft::workflow {
namespace {

constexpr int kRounds = 5;  // the best one counts: everything else on the host only slows it down
constexpr std::uint64_t kWorkerBytes = std::uint64_t{64} << 20;
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;
constexpr std::uint64_t kMostCache = std::uint64_t{1} << 40;
constexpr unsigned kMostCaches = 16;    // of a CPU
constexpr std::size_t kLineBytes = 64;  // on all CPUs of x86-64

double thread_cpu_ns() {
  timespec time;
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

// An addition that needs the sum before it takes one cycle on all CPUs of x86-64.
double cycles_per_ns() {
  constexpr unsigned kLoops = 500'000, kAdditions = 16;
  double best = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::uint64_t sum = 1;
    const std::uint64_t by = 3;
    const double begin = thread_cpu_ns();
    for (unsigned i = 0; i < kLoops; ++i) {
      asm volatile(
          "add %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\t"
          "add %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\t"
          "add %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\t"
          "add %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\tadd %1, %0"
          : "+r"(sum)
          : "r"(by)
          : "cc");
    }
    const double took = thread_cpu_ns() - begin;
    if (took > 0) best = std::max(best, double{kLoops} * kAdditions / took);
  }
  return best;
}

// First line of a file, or what fits; "" if it cannot be read.
std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return file ? line : std::string();
}

// "32768K", as sysfs writes it. 0: it is something else.
std::uint64_t bytes_of(std::string_view text) {
  std::uint64_t kib = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), kib);
  const std::string_view rest = text.substr(static_cast<std::size_t>(end - text.data()));
  return error == std::errc() && rest == "K" && kib <= (kMostCache >> 10) ? kib << 10 : 0;
}

// The last cache of a CPU: the CPUs that share it, and its bytes.
std::pair<std::string, std::uint64_t> last_cache_of(unsigned cpu) {
  std::pair<std::string, std::uint64_t> out;
  int highest = 0;
  for (unsigned index = 0; index < kMostCaches; ++index) {
    const std::string folder = fmt::format("/sys/devices/system/cpu/cpu{}/cache/index{}/", cpu, index);
    const std::string level = first_line(folder + "level");
    if (level.size() != 1 || level[0] - '0' <= highest || first_line(folder + "type") == "Instruction")
      continue;
    highest = level[0] - '0';
    out = {first_line(folder + "shared_cpu_list"), bytes_of(first_line(folder + "size"))};
  }
  return out;
}

// Of all last caches that workers on the CPUs of this process may use.
std::uint64_t last_cache_bytes() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  std::map<std::string, std::uint64_t> caches;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) == 0)
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &allowed)) caches.insert(last_cache_of(cpu));
  std::uint64_t sum = 0;
  bool is_known = !caches.empty();
  for (const auto& [cpus, bytes] : caches) {
    is_known &= bytes > 0;
    sum += bytes;
  }
  if (is_known) return sum;
  // The C library asks the CPU. In a virtual machine that may answer for the whole processor around it.
  for (const int name : {_SC_LEVEL4_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE, _SC_LEVEL2_CACHE_SIZE}) {
    const long bytes = ::sysconf(name);
    if (bytes > 0) return static_cast<std::uint64_t>(bytes);
  }
  return 0;
}

// Four sums, so that no addition waits for the one before.
std::uint64_t sum_of(const std::uint64_t* words, std::size_t count) {
  std::uint64_t sums[4] = {};
  for (std::size_t i = 0; i + 4 <= count; i += 4)
    for (std::size_t j = 0; j < 4; ++j) sums[j] += words[i + j];
  return sums[0] + sums[1] + sums[2] + sums[3];
}

// Nothing of the words is in a cache after it.
void leave_caches(const std::uint64_t* words, std::size_t count) {
  for (std::size_t i = 0; i < count; i += kLineBytes / sizeof(std::uint64_t)) _mm_clflush(words + i);
  _mm_mfence();
}

// What a worker reads in a nanosecond while all read memory of their own, on average over them.
double bytes_per_ns(unsigned workers, std::uint64_t bytes) {
  const auto words = static_cast<std::size_t>(bytes / sizeof(std::uint64_t));
  std::vector<std::unique_ptr<std::uint64_t[]>> memory;
  for (unsigned i = 0; i < workers; ++i) memory.push_back(std::make_unique<std::uint64_t[]>(words));
  std::vector<double> rates(workers, 0);
  WorkerPool pool(workers);
  pool.run([&](unsigned worker) { std::fill_n(memory[worker].get(), words, worker + 1); });
  double best = 0;
  for (int round = 0; round < kRounds; ++round) {
    pool.run([&](unsigned worker) { leave_caches(memory[worker].get(), words); });
    pool.run([&](unsigned worker) {
      const auto begin = std::chrono::steady_clock::now();
      const std::uint64_t sum = sum_of(memory[worker].get(), words);
      asm volatile("" : : "r"(sum));
      const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
      rates[worker] =
          took.count() > 0 ? static_cast<double>(words * sizeof(std::uint64_t)) / took.count() : 0;
    });
    double sum = 0;
    for (const double each : rates) sum += each;
    best = std::max(best, sum / workers);
  }
  return best;
}

}  // namespace

HostSpeed measure_host(unsigned workers) {
  HostSpeed out;
  out.cycles_per_ns = cycles_per_ns();
  out.cache_bytes = last_cache_bytes();
  if (out.cache_bytes == 0 || workers == 0) return out;
  try {
    out.bytes_per_ns = bytes_per_ns(workers, std::min(kWorkerBytes, kMostBytes / workers));
  } catch (const std::bad_alloc&) {
    out.bytes_per_ns = 0;
  }
  return out;
}

}  // namespace tailor::weft::workflow
