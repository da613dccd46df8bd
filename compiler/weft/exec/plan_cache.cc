#include "compiler/weft/exec/plan_cache.h"

#include <algorithm>
#include <string_view>

namespace tailor::weft {
namespace {

// A statement comes with the blanks in front of it, and in the place of explain.
std::string_view trimmed(std::string_view sql) {
  std::size_t begin = sql.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return sql.substr(begin, sql.find_last_not_of(" \t\r\n") + 1 - begin);
}

}  // namespace

Result<PlanCache::Found> PlanCache::get(const QueryText& sql, const Database& database, jit::Jit& jit,
                                        const CompileSettings& settings) {
  auto found = std::ranges::find_if(queries_, [&](const auto& query) {
    CompileSettings known = query->settings();
    known.name = settings.name;
    return trimmed(query->sql()) == trimmed(sql.text) && &query->database() == &database && known == settings;
  });
  if (found != queries_.end()) {
    queries_.splice(queries_.begin(), queries_, found);
    return Found{queries_.front().get(), false};
  }
  auto query = CompiledQuery::make(sql, database, jit, settings);
  if (!query.ok()) return std::move(query).error();
  queries_.push_front(std::move(*query));
  if (queries_.size() > std::max<std::size_t>(most_, 1)) queries_.pop_back();
  return Found{queries_.front().get(), true};
}

}  // namespace tailor::weft
