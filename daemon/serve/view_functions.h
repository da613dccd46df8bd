// Functions and their call trees as JSON, small enough for a page that asks again whenever its reader chooses
// something else (docs/http-api.md, "functions").
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>

#include "daemon/query/sums/named_functions.h"
#include "daemon/serve/view.h"
#include "daemon/serve/view_options.h"
#include "daemon/serve/views.h"

namespace tailor::serve {

// Of an answer, in bytes: of one that would be larger it has fewer nodes.
inline constexpr std::size_t kMostFunctionBytes = 200'000;

// The view must have been loaded with Detail::kFunctions; `names` are those of its profile.
Result<Json> functions_json(const View& view, const query::NamedFunctions& names,
                            const FunctionsRequest& request);

// The names of the profile that was asked for last: to make them may take reading many files. Any thread.
class KnownNames {
 public:
  explicit KnownNames(query::NamesFrom from) : from_(from) {}
  std::shared_ptr<const query::NamedFunctions> of(const std::shared_ptr<const query::Profile>& profile);

 private:
  const query::NamesFrom from_;
  std::mutex mutex_;
  std::weak_ptr<const query::Profile> profile_;
  std::shared_ptr<const query::NamedFunctions> names_;
};

}  // namespace tailor::serve
