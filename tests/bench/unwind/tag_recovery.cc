// How tags are found again that a library saved: by call frame information, which is what the daemon
// does, and by a scan of the stack for a word that fits, which it therefore does not do. The truth is known:
// this program runs C and C++ library calls under a tag in r15 that changes with every call, samples itself
// by a signal, and notes the tag that was on. Prints, per kind of work and in all: samples, how many had the
// register, and of the rest how many each way finds right, wrong (the tag of a call that is over) or not at
// all; and the nanoseconds each takes.
//
// This file is compiled with r15 reserved; the libraries are as the system has them.
#include <signal.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "daemon/unwind/stack_walk.h"

namespace {

using tailor::capture::AgentTag;
using tailor::capture::TagRegister;
namespace unwind = tailor::unwind;

constexpr std::uint64_t kKey = 0x5bd1e995a5a5a5a5;
constexpr std::size_t kStack = 4096, kMost = 20'000, kScanBytes = 512;

struct Sample {
  std::uint64_t tag;
  unwind::Frame frame;
  std::byte stack[kStack];
};
std::vector<Sample> samples(kMost);
volatile std::size_t taken = 0;
volatile std::uint64_t current_tag = 0;
std::uint64_t stack_end = 0;

void on_signal(int, siginfo_t*, void* context) {
  if (current_tag == 0 || taken >= kMost) return;
  const greg_t* regs = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  Sample& sample = samples[taken];
  sample.tag = current_tag;
  constexpr int kOrder[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
                            REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
  for (unsigned i = 0; i < unwind::kRegisters; ++i)
    sample.frame.set(i, static_cast<std::uint64_t>(regs[kOrder[i]]));
  const std::uint64_t sp = sample.frame.value[unwind::kSp];
  if (sp + kStack > stack_end) return;
  std::memcpy(sample.stack, reinterpret_cast<const void*>(sp), kStack);
  taken = taken + 1;
}

// The compiler leaves the register alone in this file.
void set_tag(std::uint64_t tag) {
  asm volatile("mov %0, %%r15" : : "r"(tag));
}

int compare(const void* a, const void* b) {
  return *static_cast<const int*>(a) < *static_cast<const int*>(b) ? -1 : 1;
}

std::uint64_t next_random() {
  static std::uint64_t state = 1;
  return state = state * 6364136223846793005 + 1442695040888963407;
}

void sort_in_c() {
  int numbers[400];
  for (int& number : numbers) number = static_cast<int>(next_random() >> 40);
  std::qsort(numbers, 400, sizeof(int), compare);
}
void print() {
  char line[256];
  for (int i = 0; i < 40; ++i) std::snprintf(line, sizeof line, "%s %d %.6f", "text", i, 1.0 / (i + 1));
}
void allocate() {
  void* blocks[200];
  for (void*& block : blocks) block = std::malloc(next_random() >> 52);
  for (void* block : blocks) std::free(block);
}
void grow_map() {
  std::map<std::string, int> map;
  for (int i = 0; i < 100; ++i) map[std::to_string(next_random())] = i;
}

struct Kind {
  const char* name;
  void (*work)();
};

struct Count {
  std::size_t right = 0, wrong = 0, none = 0;
  double ns = 0;
  void add(std::uint64_t found, std::uint64_t truth) {
    ++(found == 0 ? none : found == truth ? right : wrong);
  }
};

struct Result {
  std::size_t samples = 0, in_register = 0;
  Count unwound, scanned;
};

template <typename Find>
std::uint64_t timed(Count& count, Find find) {
  const auto start = std::chrono::steady_clock::now();
  const std::uint64_t found = find();
  count.ns += static_cast<double>((std::chrono::steady_clock::now() - start).count());
  return found;
}

// The first word near the stack pointer whose check fits.
std::uint64_t scan_for_tag(const unwind::StackView& stack, const AgentTag& tags) {
  for (std::size_t at = 0; at < kScanBytes; at += sizeof(std::uint64_t)) {
    const auto word = stack.read(stack.address + at);
    if (!word) break;
    if (tags.fits(*word)) return *word;
  }
  return 0;
}

void judge(const Sample& sample, unwind::ProcessCode& code, Result& result) {
  const AgentTag tags{kKey, TagRegister::kR15};
  ++result.samples;
  if (sample.frame.value[unwind::kR15] == sample.tag) {
    ++result.in_register;
    return;
  }
  const unwind::StackView stack{sample.frame.value[unwind::kSp], sample.stack};
  result.unwound.add(
      timed(result.unwound, [&] { return unwind::walk(sample.frame, stack, tags, code, 64, 0).tag; }),
      sample.tag);
  result.scanned.add(timed(result.scanned, [&] { return scan_for_tag(stack, tags); }), sample.tag);
}

void show(const char* name, const Result& r) {
  const std::size_t lost = r.samples - r.in_register;
  const double each = static_cast<double>(std::max<std::size_t>(lost, 1));
  std::printf("%-10s %7zu %9zu %7zu | %6zu %5zu %5zu %6.0f | %6zu %5zu %5zu %6.0f\n", name, r.samples,
              r.in_register, lost, r.unwound.right, r.unwound.wrong, r.unwound.none, r.unwound.ns / each,
              r.scanned.right, r.scanned.wrong, r.scanned.none, r.scanned.ns / each);
}

void add(Count& to, const Count& from) {
  to.right += from.right;
  to.wrong += from.wrong;
  to.none += from.none;
  to.ns += from.ns;
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 3;
  volatile char above[2 * kStack];  // so that a whole sample can be copied from any frame below
  above[0] = 0;
  stack_end = reinterpret_cast<std::uint64_t>(above) + sizeof above;
  struct sigaction action{};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigaction(SIGPROF, &action, nullptr);
  const itimerval every{{0, 1000}, {0, 1000}};
  setitimer(ITIMER_PROF, &every, nullptr);
  unwind::FileTables files;
  unwind::ProcessCode code("/proc", getpid(), files);
  Result all;
  std::printf("%-10s %7s %9s %7s | %25s | %25s\n", "work", "samples", "register", "lost",
              "frames: ok/wrong/no/ns", "scan: ok/wrong/no/ns");
  for (const Kind& kind :
       {Kind{"qsort", sort_in_c}, Kind{"snprintf", print}, Kind{"malloc", allocate}, Kind{"map", grow_map}}) {
    taken = 0;
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    while (std::chrono::steady_clock::now() < end) {
      for (std::uint32_t i = 0; i < 16; ++i) {
        const std::uint64_t tag =
            tailor_tag_make(kKey, 1, 1, 1 + static_cast<std::uint32_t>(next_random() >> 51), 1);
        set_tag(tag);
        current_tag = tag;
        kind.work();
        current_tag = 0;
        set_tag(0);
      }
    }
    Result result;
    for (std::size_t i = 0; i < taken; ++i) judge(samples[i], code, result);
    show(kind.name, result);
    all.samples += result.samples;
    all.in_register += result.in_register;
    add(all.unwound, result.unwound);
    add(all.scanned, result.scanned);
  }
  show("all", all);
  return 0;
}
