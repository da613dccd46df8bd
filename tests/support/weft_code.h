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
std::vector<NamedQuery> LineageQueries();

// The tables at scale factor 0.01, generated if they are not there. Where they cannot be, says why and ends
// the process with 77, which ctest shows as skipped.
const Database& TestTables();

// A compiler that knows the runtime's functions.
std::unique_ptr<jit::Jit> MakeTestJit();

// The long form of a test was asked for (TAILOR_LONG_TESTS is set).
bool LongTests();

// A query up to its IR. Aborts on errors: the queries are known to be good.
struct GeneratedQuery {
  static constexpr LevelIndex kTaskLevel = 1, kIrLevel = 2;

  GeneratedQuery(const NamedQuery& query, const jit::QueryModuleOptions& options);
  // The same plan generated again: code has addresses of a plan's constants in it.
  GeneratedQuery(const GeneratedQuery& query, const jit::QueryModuleOptions& options);

  // The tasks that IR components belong to, ascending.
  std::vector<ComponentId> TasksOf(std::span<const ComponentId> instructions) const;

  std::shared_ptr<const Plan> plan;
  tagging::DictionaryBuilder dictionary;
  jit::SealedModule sealed;  // clone it to compile it several times
};

}  // namespace tailor::weft
