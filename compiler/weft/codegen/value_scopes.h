// Which value a unit has at the place where code is being generated.
//
// A scope is opened for everything that runs under a condition (the body of an if or a loop, what a consumer
// generates): a value found there may not be used after it. Bindings may be lazy: the code that loads the
// value is generated where it is first needed, so that rows a filter or join drops never load it.
#pragma once

#include <functional>
#include <unordered_map>
#include <vector>

#include "compiler/weft/codegen/sql_value.h"
#include "compiler/weft/plan/iu.h"

namespace tailor::weft {

class ValueScopes {
 public:
  using Load = std::function<SqlValue()>;

  class [[nodiscard]] Scope {
   public:
    explicit Scope(ValueScopes& scopes) : scopes_(scopes) { scopes_.scopes_.emplace_back(); }
    Scope(const Scope&) = delete;
    ~Scope() { scopes_.scopes_.pop_back(); }

   private:
    ValueScopes& scopes_;
  };

  void bind(const Iu* iu, SqlValue value) { scopes_.back()[iu] = {value, nullptr}; }
  void bind_lazy(const Iu* iu, Load load) { scopes_.back()[iu] = {{}, std::move(load)}; }
  // Aborts if the unit is not bound: the plan asks for something its inputs do not give.
  SqlValue get(const Iu* iu);

 private:
  struct Binding {
    SqlValue value;
    Load load;
  };
  std::vector<std::unordered_map<const Iu*, Binding>> scopes_;
};

}  // namespace tailor::weft
