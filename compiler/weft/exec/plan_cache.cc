#include "compiler/weft/exec/plan_cache.h"

#include <algorithm>

namespace tailor::weft {

Result<PlanCache::Found> PlanCache::Get(const std::string& sql, const Database& database, jit::Jit& jit,
                                        const CompileSettings& settings) {
  auto found = std::ranges::find_if(queries_, [&](const auto& query) {
    CompileSettings known = query->settings();
    known.name = settings.name;
    return query->sql() == sql && &query->database() == &database && known == settings;
  });
  if (found != queries_.end()) {
    queries_.splice(queries_.begin(), queries_, found);
    return Found{queries_.front().get(), false};
  }
  auto query = CompiledQuery::Make(sql, database, jit, settings);
  if (!query.ok()) return std::move(query).error();
  queries_.push_front(std::move(*query));
  if (queries_.size() > std::max<std::size_t>(most_, 1)) queries_.pop_back();
  return Found{queries_.front().get(), true};
}

}  // namespace tailor::weft
