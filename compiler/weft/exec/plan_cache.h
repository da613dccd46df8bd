// Compiled queries by their text, so that a text that comes again runs at once.
#pragma once

#include <list>
#include <memory>

#include "compiler/weft/exec/compiled_query.h"
#include "proto/base/result.h"

namespace tailor::weft {

// One thread. What is handed out stays good until the next call of get().
class PlanCache {
 public:
  static constexpr std::size_t kMostQueries = 64;

  // Keeps at most `most` queries, at least the last one.
  explicit PlanCache(std::size_t most = kMostQueries) : most_(most) {}

  struct Found {
    const CompiledQuery* query;
    bool compiled;  // just now
  };
  // Compiles where no query of the same text (but for blanks around it) and settings (but for its name) is
  // kept; the one that was not used for longest goes. Fails as CompiledQuery::make does, and keeps nothing
  // then.
  Result<Found> get(const QueryText& sql, const Database& database, jit::Jit& jit,
                    const CompileSettings& settings);

 private:
  std::size_t most_;
  std::list<std::unique_ptr<CompiledQuery>> queries_;  // used last first
};

}  // namespace tailor::weft
