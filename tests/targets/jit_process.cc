// A runtime that compiles while it runs, knows nothing of Tailor, and names its code in one of perf's
// conventions: jit_process dump|map|none FOLDER
//
// It runs "early" until a byte arrives on its standard input. Then "one" takes early's place in memory and
// runs for 1 s of CPU time, and "two" takes that place and runs for 2 s. With a map, which has no times, the
// three have places of their own and are all named before the first one runs.
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <string>
#include <string_view>

namespace {

constexpr std::size_t kPlace = 256;

std::int64_t clock_ns(clockid_t id) {
  timespec time{};
  ::clock_gettime(id, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

class JitDump {
 public:
  bool open(const std::string& folder) {
    const std::string path = folder + "/jit-" + std::to_string(::getpid()) + ".dump";
    fd_ = ::open(path.c_str(), O_CREAT | O_TRUNC | O_RDWR, 0600);
    if (fd_ < 0) return false;
    put<std::uint32_t>(0x4A695444);
    put<std::uint32_t>(1);
    put<std::uint32_t>(40);
    put<std::uint32_t>(EM_X86_64);
    put<std::uint32_t>(0);
    put(static_cast<std::uint32_t>(::getpid()));
    put(static_cast<std::uint64_t>(clock_ns(CLOCK_MONOTONIC)));
    put<std::uint64_t>(0);
    flush();
    return ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd_, 0) != MAP_FAILED;
  }
  void load(const char* name, const void* code) {
    put<std::uint32_t>(0);
    put(static_cast<std::uint32_t>(16 + 40 + std::strlen(name) + 1 + kPlace));
    put(static_cast<std::uint64_t>(clock_ns(CLOCK_MONOTONIC)));
    put(static_cast<std::uint32_t>(::getpid()));
    put(static_cast<std::uint32_t>(::getpid()));
    put(reinterpret_cast<std::uint64_t>(code));
    put(reinterpret_cast<std::uint64_t>(code));
    put<std::uint64_t>(kPlace);
    put(++index_);
    bytes_.append(name, std::strlen(name) + 1);
    bytes_.append(static_cast<const char*>(code), kPlace);
    flush();
  }

 private:
  template <typename T>
  void put(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void flush() {
    if (::write(fd_, bytes_.data(), bytes_.size()) < 0) std::perror("jit_process: write");
    bytes_.clear();
  }

  int fd_ = -1;
  std::uint64_t index_ = 0;
  std::string bytes_;
};

// A loop that counts rdi down, with some no-ops so that functions differ.
void compile(std::uint8_t* place, std::size_t nops) {
  std::memset(place, 0x90, kPlace);
  const std::uint8_t loop[] = {0x48, 0xFF, 0xCF, 0x75, static_cast<std::uint8_t>(0xFB - nops), 0xC3};
  std::memcpy(place + nops, loop, sizeof loop);
}

void run_for(std::uint8_t* place, std::int64_t ns) {
  const std::int64_t end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + ns;
  while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end) reinterpret_cast<void (*)(std::uint64_t)>(place)(2'000'000);
}

bool byte_arrived() {
  char byte;
  return ::read(STDIN_FILENO, &byte, 1) == 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string_view mode = argv[1];
  auto* memory = static_cast<std::uint8_t*>(
      ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (memory == MAP_FAILED) return 1;
  const std::size_t step = mode == "map" ? kPlace : 0;
  const char* names[] = {"early", "one \x1b[31m", "two"};
  JitDump dump;
  if (mode == "dump" && !dump.open(argv[2])) return 1;
  if (mode == "map") {
    std::FILE* map = std::fopen(("/tmp/perf-" + std::to_string(::getpid()) + ".map").c_str(), "w");
    if (map == nullptr) return 1;
    for (std::size_t i = 0; i < 3; ++i)
      std::fprintf(map, "%zx %zx %s\n", reinterpret_cast<std::size_t>(memory + i * step), kPlace, names[i]);
    std::fclose(map);
  }
  ::fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
  for (std::size_t i = 0; i < 3; ++i) {
    std::uint8_t* place = memory + i * step;
    compile(place, i);
    if (mode == "dump") dump.load(names[i], place);
    if (i > 0) {
      run_for(place, static_cast<std::int64_t>(i) * 1'000'000'000);
      continue;
    }
    std::puts("running");
    std::fflush(stdout);
    while (!byte_arrived()) run_for(place, 10'000'000);
  }
  return 0;
}
