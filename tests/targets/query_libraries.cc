// An engine that compiles its queries into libraries: query_libraries FOLDER SECONDS. It loads the five
// libraries of FOLDER one after the other, runs each and unloads it. Number i runs for (i + 1) / 15 of the
// SECONDS of CPU time. What each one used by the thread's CPU clock, and where it was, is printed as JSON.
#include <dlfcn.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

namespace {

constexpr std::size_t kQueries = 5;
constexpr double kParts = 15;

struct Run {
  std::uintptr_t address = 0;
  std::int64_t ns = 0;
};

std::int64_t cpu_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// False, and a message: it could not be loaded.
bool run_query(const std::string& folder, std::size_t number, std::int64_t ns, Run& run) {
  const std::string name = "query_" + std::to_string(number);
  void* library = ::dlopen((folder + "/" + name + ".so").c_str(), RTLD_NOW);
  void* query = library == nullptr ? nullptr : ::dlsym(library, name.c_str());
  if (query == nullptr) {
    std::fprintf(stderr, "query_libraries: %s\n", ::dlerror());
    return false;
  }
  run.address = reinterpret_cast<std::uintptr_t>(query);
  const std::int64_t begin = cpu_ns();
  while (run.ns < ns) {
    reinterpret_cast<void (*)()>(query)();
    run.ns = cpu_ns() - begin;
  }
  return ::dlclose(library) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const double part = std::atof(argv[2]) / kParts;
  std::array<Run, kQueries> runs{};
  for (std::size_t i = 0; i < kQueries; ++i) {
    const double seconds = part * static_cast<double>(i + 1);
    if (!run_query(argv[1], i, static_cast<std::int64_t>(seconds * 1e9), runs[i])) return 1;
  }
  std::printf("[");
  for (std::size_t i = 0; i < kQueries; ++i) {
    const auto address = static_cast<unsigned long long>(runs[i].address);
    const auto ns = static_cast<long long>(runs[i].ns);
    std::printf("%s{\"address\": %llu, \"ns\": %lld}", i == 0 ? "" : ", ", address, ns);
  }
  std::printf("]\n");
  return 0;
}
