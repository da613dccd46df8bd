#include "compiler/weft/tool/query_library.h"

namespace tailor::weft {
namespace {

const NamedQuery kQueries[] = {
// One line a file of compiler/weft/queries, written by the build.
#include "weft_queries.inc"
};

}  // namespace

std::span<const NamedQuery> query_library() {
  return kQueries;
}

const NamedQuery* find_query(std::string_view name) {
  for (const NamedQuery& query : kQueries) {
    if (query.name == name) return &query;
  }
  return nullptr;
}

}  // namespace tailor::weft
