// The threads of the JVM itself (compilers, collectors ...), found by the names it gives them: they cannot
// say what they work for.
#pragma once

#include <tailor/agent.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace tailor::jvm {

// What the agent itself does: on its thread, and where the JVM calls it.
inline constexpr const char* kAgentComponent = "tailor JVM agent";

// The engine component of a thread of that name, "" for one that is not known to be the JVM's. Names are
// those that the kernel keeps, of at most 15 bytes.
std::string_view component_of_thread(std::string_view name);

// What all threads of a program work for.
struct ProgramRun {
  std::uint64_t execution = 0, plan = 0;
};

// One thread.
class VmThreads {
 public:
  // `is_java` says whether a thread that runs Java has spoken for itself: such a thread may have any name.
  // With `late`, threads that are there at the first look and are not the JVM's work for `run` as well: they
  // began before the agent did.
  VmThreads(std::function<bool(std::uint32_t)> is_java, ProgramRun run, bool late)
      : is_java_(std::move(is_java)), run_(run), late_(late) {}

  // Looks for threads that have come and gone since.
  void look();

 private:
  struct Known {
    std::string name;
    tailor_other_thread* thread = nullptr;  // NULL: not the JVM's
    bool seen = false;
  };
  std::string name_of(const std::filesystem::path& task) const;
  void look_at(std::uint32_t tid, const std::filesystem::path& task);

  std::function<bool(std::uint32_t)> is_java_;
  ProgramRun run_;
  bool late_;
  std::map<std::uint32_t, Known> known_;
};

}  // namespace tailor::jvm
