// How a query module is compiled, and what is told of it afterwards. Needs no LLVM header.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "proto/base/ids.h"

namespace tailor::jit {

enum class OptLevel { kO0 = 0, kO1, kO2, kO3 };

// A check of the repair of lost locations: hides a random part of the recorded ones, repairs, and tells what
// was found instead; so often, each time with the next seed. Does not change what is compiled.
struct RepairTrial {
  unsigned seed = 1;
  unsigned rounds = 1;
  double hidden_fraction = 0.1;
  struct Guess {
    std::vector<ComponentId> recorded, inferred;  // IR components; inferred is empty where nothing was found
  };
  std::vector<Guess> guesses;  // filled by the compilation
};

struct CompileOptions {
  OptLevel level = OptLevel::kO2;
  RepairTrial* trial = nullptr;  // outlives the compilation; not owned
};

// Milliseconds of one compilation. `lineage` is the part of the others that only lineage needs: tracking
// values, repairing locations, writing and reading rows.
struct CompileTimes {
  double optimise = 0, codegen = 0, link = 0, lineage = 0;
};

struct FunctionRange {
  std::string name;
  std::uint32_t offset = 0;  // from the start of the code
  std::uint32_t size = 0;
};

// A symbol that the code takes from outside itself: a shared function, or one whose call LLVM inserted.
struct Import {
  std::string name;
  bool untagged =
      false;  // something calls it outside of call_shared and of the calls that LLVM inserts for a task
};

}  // namespace tailor::jit
