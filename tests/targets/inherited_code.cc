// A runtime whose code goes on without the process, or the program, that generated it:
//
//   inherited_code fork|grandchild|exec map|agent SECONDS
//
// fork: in_parent() runs for a third of the SECONDS of CPU time, and then in_child() for the rest, in a
// forked child. The parent generated both. grandchild: the child forks another one, which runs in_child(),
// and ends at once, most likely without a sample. exec: first_image() runs for a third. Then the program
// executes itself, and generates second_image(), which runs for the rest. Code is named in a perf map or by
// the agent. The number of the process, and what each function used by the CPU clock of its thread, are
// printed as JSON.
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <tailor/agent.h>
#include <tailor/dictionary.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr std::size_t kPage = 4096, kPlace = 256;
// A perf map has no times, so what the two programs generate has places of its own.
constexpr std::uintptr_t kFirstPlaces = 0x2000'0000'0000, kSecondPlaces = 0x2001'0000'0000;

struct Piece {
  const char* name;
  std::uint8_t* code;
};

std::int64_t cpu_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// Loops that count rdi down. Empty: there is no memory.
std::vector<Piece> compile(std::uintptr_t where, const std::vector<const char*>& names) {
  constexpr std::uint8_t kLoop[] = {0x48, 0xFF, 0xCF, 0x75, 0xFB, 0xC3};  // dec rdi; jnz; ret
  constexpr int kAll = PROT_READ | PROT_WRITE | PROT_EXEC;
  constexpr int kThere = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
  void* memory = ::mmap(reinterpret_cast<void*>(where), kPage, kAll, kThere, -1, 0);
  std::vector<Piece> pieces;
  if (memory == MAP_FAILED) return pieces;
  for (const char* name : names) {
    std::uint8_t* code = static_cast<std::uint8_t*>(memory) + pieces.size() * kPlace;
    std::memset(code, 0x90, kPlace);
    std::memcpy(code, kLoop, sizeof kLoop);
    pieces.push_back({name, code});
  }
  return pieces;
}

bool tell_map(const std::vector<Piece>& pieces) {
  std::FILE* map = std::fopen(("/tmp/perf-" + std::to_string(::getpid()) + ".map").c_str(), "w");
  if (map == nullptr) return false;
  for (const Piece& piece : pieces)
    std::fprintf(map, "%zx %zx %s\n", reinterpret_cast<std::size_t>(piece.code), kPlace, piece.name);
  return std::fclose(map) == 0;
}

bool tell_agent(const std::vector<Piece>& pieces) {
  tailor_agent_options options{};
  options.size = sizeof options;
  options.engine_name = "inherited_code";
  tailor_agent_start(&options);
  for (const Piece& piece : pieces) {
    tailor_code_builder* builder = tailor_code_builder_new(0, piece.code, kPlace);
    tailor_code_builder_set_name(builder, piece.name);
    tailor_code_builder_add_symbol(builder, 0, kPlace, piece.name);
    const int error = tailor_code_builder_load(builder, tailor_code_new());
    tailor_code_builder_free(builder);
    if (error != 0) return false;
  }
  return tailor_agent_barrier(30'000) == 1;
}

bool tell(std::string_view names, const std::vector<Piece>& pieces) {
  if (pieces.empty()) return false;
  return names == "agent" ? tell_agent(pieces) : tell_map(pieces);
}

// What it used.
std::int64_t run_for(const Piece& piece, double seconds) {
  constexpr std::uint64_t kTurns = 500'000;
  const auto wanted = static_cast<std::int64_t>(seconds * 1e9);
  const auto function = reinterpret_cast<void (*)(std::uint64_t)>(piece.code);
  const std::int64_t begin = cpu_ns();
  std::int64_t used = 0;
  for (; used < wanted; used = cpu_ns() - begin) function(kTurns);
  return used;
}

void print(const char* first, std::int64_t of_first, const char* second, std::int64_t of_second) {
  std::printf("{\"pid\": %d, \"%s\": %lld, \"%s\": %lld}\n", ::getpid(), first,
              static_cast<long long>(of_first), second, static_cast<long long>(of_second));
}

// Waits for all children, those of children too that have ended. False: one has failed.
bool wait_for_all() {
  int status = 0;
  while (::wait(&status) > 0) {
    if (status != 0) return false;
  }
  return errno == ECHILD;
}

int run_in_child(std::string_view names, double seconds, bool grandchild) {
  const std::vector<Piece> pieces = compile(kFirstPlaces, {"in_parent", "in_child"});
  void* shared = ::mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED || !tell(names, pieces)) return 1;
  auto* of_child = static_cast<std::int64_t*>(shared);
  const std::int64_t of_parent = run_for(pieces[0], seconds / 3);
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) return 1;
  const pid_t child = ::fork();
  if (child < 0) return 1;
  if (child == 0) {
    const pid_t next = grandchild ? ::fork() : 0;
    if (next != 0) ::_exit(next < 0 ? 1 : 0);
    *of_child = run_for(pieces[1], seconds * 2 / 3);
    ::_exit(0);
  }
  if (!wait_for_all()) return 1;
  tailor_agent_stop(2000);
  print(pieces[0].name, of_parent, pieces[1].name, *of_child);
  return 0;
}

int run_first(const std::string& names, const std::string& seconds) {
  const std::vector<Piece> pieces = compile(kFirstPlaces, {"first_image"});
  if (!tell(names, pieces)) return 1;
  const std::string used = std::to_string(run_for(pieces[0], std::atof(seconds.c_str()) / 3));
  constexpr const char* kSelf = "/proc/self/exe";
  ::execl(kSelf, "inherited_code", "second", names.c_str(), seconds.c_str(), used.c_str(), nullptr);
  return 1;
}

int run_second(std::string_view names, double seconds, std::int64_t of_first) {
  const std::vector<Piece> pieces = compile(kSecondPlaces, {"never_run", "second_image"});
  if (!tell(names, pieces)) return 1;
  const std::int64_t used = run_for(pieces[1], seconds * 2 / 3);
  tailor_agent_stop(2000);
  print("first_image", of_first, pieces[1].name, used);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view how = argc > 1 ? argv[1] : "";
  if (argc == 4 && (how == "fork" || how == "grandchild"))
    return run_in_child(argv[2], std::atof(argv[3]), how == "grandchild");
  if (argc == 4 && how == "exec") return run_first(argv[2], argv[3]);
  if (argc == 5 && how == "second") return run_second(argv[2], std::atof(argv[3]), std::atoll(argv[4]));
  return 2;
}
