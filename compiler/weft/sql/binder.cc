#include "compiler/weft/sql/binder.h"

#include "compiler/weft/sql/sql_error.h"
#include "compiler/weft/sql/statement_binder.h"

namespace tailor::weft {

Result<Query> bind_select(const ast::Select& select, const QueryText& sql, const Catalog& catalog) {
  Query query;
  StatementBinder binder(catalog, &query.ius);
  StatementBinder::Bound bound = binder.select(select, nullptr);
  if (binder.failed()) return sql_error(sql, binder.location(), binder.message());
  query.root = std::move(bound.root);
  for (const NamedColumn& column : bound.columns) {
    query.columns.push_back(column.iu);
    query.names.push_back(column.name);
  }
  return query;
}

}  // namespace tailor::weft
