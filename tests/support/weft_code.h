// The queries that come with weft, generated and compiled outside an engine, so that a test can look at every
// step of the lineage.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compiler/llvm/jit.h"
#include "compiler/llvm/query_module.h"
#include "compiler/weft/plan/operator.h"
#include "compiler/weft/storage/database.h"
#include "compiler/weft/tool/query_library.h"

namespace tailor::weft {

// All queries that come with weft: what the claims about lineage are checked on.
std::vector<NamedQuery> lineage_queries();

// The tables at scale factor 0.01, generated if they are not there. Where they cannot be, says why and ends
// the process with 77, which ctest shows as skipped.
const Database& test_tables();

// What is asserted of generated code is of the same code whatever host the tests run on: any with AVX2. The
// figures in docs/lineage.md are of the first.
inline constexpr const char* kTestCpus[] = {"znver3", "skylake", "x86-64-v3"};
inline constexpr const char* kTestCpu = kTestCpus[0];

// For which CPU code is made, and with which effort: the parameter of a test.
struct CodeKind {
  const char* cpu;
  jit::OptLevel level;
};
std::string name_of(const CodeKind& kind);  // "znver3_O2"

// What lineage is checked on: O2 and O3 for each CPU; in the long form for the first and for the host.
std::vector<CodeKind> kinds_of_code();

// A compiler that knows the runtime's functions, for a CPU by LLVM's name for it.
std::unique_ptr<jit::Jit> make_test_jit(const char* cpu = kTestCpu);

// The long form of a test was asked for (TAILOR_LONG_TESTS is set).
bool long_tests();

// A query up to its IR. Aborts on errors: the queries are known to be good.
struct GeneratedQuery {
  static constexpr LevelIndex kTaskLevel = 1, kIrLevel = 2;

  GeneratedQuery(const NamedQuery& query, const jit::QueryModuleOptions& options);
  // The same plan generated again: code has addresses of a plan's constants in it.
  GeneratedQuery(const GeneratedQuery& query, const jit::QueryModuleOptions& options);

  // The tasks that IR components belong to, ascending.
  std::vector<ComponentId> tasks_of(std::span<const ComponentId> instructions) const;

  std::shared_ptr<const Plan> plan;
  tagging::DictionaryBuilder dictionary;
  jit::SealedModule sealed;  // clone it to compile it several times
};

}  // namespace tailor::weft
