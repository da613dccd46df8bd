// A runtime that calls its functions through generated code and names that in a jitdump, as CPython does with
// -X perf_jit: trampolines framed|bare FOLDER SECONDS. With "framed" the dump has the call frame information
// of each trampoline. A trampoline leaves the frame pointer alone and moves the stack pointer: without that
// information nobody comes through it.
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <string_view>

namespace {

volatile unsigned long g_sink;

// sub $24, %rsp; call *%rdi; add $24, %rsp; ret
constexpr unsigned char kCode[] = {0x48, 0x83, 0xEC, 0x18, 0xFF, 0xD7, 0x48, 0x83, 0xC4, 0x18, 0xC3};

// An .eh_frame that lies 16 bytes behind the begin of the code, at the next multiple of 8.
constexpr unsigned char kFrames[] = {
    0x14, 0,  0, 0,    0,    0,    0,  0,    1,    'z',  'R',  0,    1,
    0x78, 16, 1, 0x1B,                 // data alignment -8, pc-relative
    0x0C, 7,  8, 0x90, 1,    0,    0,  // CFA = rsp + 8
    0x14, 0,  0, 0,    0x1C, 0,    0,  0,    0xD0, 0xFF, 0xFF, 0xFF, sizeof kCode,
    0,    0,  0, 0,    0x44, 0x0E, 32, 0x46, 0x0E, 8,    0};  // behind the sub, behind the add

std::uint64_t monotonic() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

class JitDump {
 public:
  bool open(const std::string& folder) {
    const std::string path = folder + "/jit-" + std::to_string(::getpid()) + ".dump";
    file_ = ::open(path.c_str(), O_CREAT | O_TRUNC | O_RDWR, 0600);
    if (file_ < 0) return false;
    for (const std::uint32_t word : {0x4A695444u, 1u, 40u, std::uint32_t{EM_X86_64}, 0u}) put(word);
    put(static_cast<std::uint32_t>(::getpid()));
    put(monotonic());
    put(std::uint64_t{0});
    flush();
    return ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file_, 0) != MAP_FAILED;
  }
  void frames() {
    begin(4, 24 + sizeof kFrames);
    put(std::uint64_t{sizeof kFrames});
    put(std::uint64_t{0});
    put(std::uint64_t{sizeof kFrames});
    bytes_.append(reinterpret_cast<const char*>(kFrames), sizeof kFrames);
    flush();
  }
  void load(const char* name, const void* code) {
    begin(0, 40 + std::strlen(name) + 1 + sizeof kCode);
    put(static_cast<std::uint32_t>(::getpid()));
    put(static_cast<std::uint32_t>(::getpid()));
    put(reinterpret_cast<std::uint64_t>(code));
    put(reinterpret_cast<std::uint64_t>(code));
    put(std::uint64_t{sizeof kCode});
    put(++index_);
    bytes_.append(name, std::strlen(name) + 1);
    bytes_.append(static_cast<const char*>(code), sizeof kCode);
    flush();
  }

 private:
  template <typename T>
  void put(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void begin(std::uint32_t kind, std::size_t size) {
    put(kind);
    put(static_cast<std::uint32_t>(16 + size));
    put(monotonic());
  }
  void flush() {
    if (::write(file_, bytes_.data(), bytes_.size()) < 0) std::perror("trampolines: write");
    bytes_.clear();
  }

  int file_ = -1;
  std::uint64_t index_ = 0;
  std::string bytes_;
};

using Trampoline = void (*)(void (*)());

}  // namespace

extern "C" {

[[gnu::noinline]] void called_back() {
  unsigned long sum = 1;
  for (int i = 0; i < 100'000; ++i) {
    sum = sum * 2862933555777941757UL + 3037000493UL;
    __asm__ volatile("" : "+r"(sum));
  }
  g_sink = sum;
}

[[gnu::noinline]] void calls_through(Trampoline trampoline) {
  trampoline(called_back);
  g_sink = g_sink + 1;  // no tail call
}

}  // extern "C"

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  constexpr std::size_t kTrampolines = 8, kPlace = 256;
  auto* memory =
      static_cast<unsigned char*>(::mmap(nullptr, kTrampolines * kPlace, PROT_READ | PROT_WRITE | PROT_EXEC,
                                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  JitDump dump;
  if (memory == MAP_FAILED || !dump.open(argv[2])) return 1;
  for (std::size_t i = 0; i < kTrampolines; ++i) {
    unsigned char* code = memory + i * kPlace;
    std::memcpy(code, kCode, sizeof kCode);
    if (std::string_view(argv[1]) == "framed") dump.frames();
    dump.load(("trampoline " + std::to_string(i)).c_str(), code);
  }
  const double end = std::atof(argv[3]) * CLOCKS_PER_SEC;
  for (std::size_t i = 0; static_cast<double>(std::clock()) < end; ++i) {
    unsigned char* code = memory + i % kTrampolines * kPlace;
    calls_through(reinterpret_cast<Trampoline>(code));
  }
  return 0;
}
