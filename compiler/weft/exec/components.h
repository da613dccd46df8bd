// Work of the engine that is no operator, as the profiler knows it: a report then adds up to the whole
// process.
#pragma once

#include <tailor/agent.h>

#include <cstdint>

namespace tailor::weft {

enum class EngineWork {
  kLoad,
  kParse,
  kOptimise,
  kGenerate,
  kCompile,
  kRegister,
  kSchedule,
  kMemory,
  kOutput,
  kSession,
  kExit
};

// The calling thread does this work while the scope lives; scopes nest.
class WorkScope {
 public:
  explicit WorkScope(EngineWork work);
  WorkScope(const WorkScope&) = delete;
  ~WorkScope() { tailor_mark_component_end(number_); }

 private:
  std::uint32_t number_;
};

// From here on the calling thread ends the process; the kernel's part of that is in it, so no call ends it.
void begin_exit();

}  // namespace tailor::weft
