#include "compiler/weft/optimizer/common_subexpressions.h"

#include <algorithm>
#include <map>

#include "compiler/weft/plan/make.h"
#include "compiler/weft/plan/print.h"
#include "compiler/weft/plan/rewrite.h"

namespace tailor::weft {
namespace {

struct Occurrence {
  const Expr* expr = nullptr;
  std::size_t count = 0;
  std::size_t first = 0;  // computation it occurs in first
};

bool can_be_shared(const Expr& e) {
  if (e.may_overflow || e.kind() == ExprKind::kBurn) return false;
  for (const ExprPtr& child : e.children) {
    if (!can_be_shared(*child)) return false;
  }
  return true;
}

bool is_worth_sharing(const Expr& e) {
  switch (e.kind()) {
    case ExprKind::kArithmetic:
    case ExprKind::kCase:
    case ExprKind::kLike:
    case ExprKind::kInList:
    case ExprKind::kExtractYear:
    case ExprKind::kSubstring:
      return can_be_shared(e);
    default:
      return false;
  }
}

void count(const Expr& e, std::size_t computation, std::map<std::string, Occurrence>* seen) {
  if (is_worth_sharing(e)) {
    Occurrence& o = (*seen)[identity_of(e)];
    if (o.count++ == 0) o = {&e, 1, computation};
  }
  for (const ExprPtr& child : e.children) count(*child, computation, seen);
}

// The largest repeated subexpression, so that its own parts are not taken out separately.
std::pair<std::string, Occurrence> largest_repeated(const std::vector<Map::Computation>& computations) {
  std::map<std::string, Occurrence> seen;
  for (std::size_t i = 0; i < computations.size(); ++i) count(*computations[i].expr, i, &seen);
  std::pair<std::string, Occurrence> best;
  for (const auto& candidate : seen) {
    if (candidate.second.count > 1 && candidate.first.size() > best.first.size()) best = candidate;
  }
  return best;
}

}  // namespace

void share_common(std::vector<Map::Computation>* computations, IuPool* ius) {
  for (;;) {
    auto [identity, occurrence] = largest_repeated(*computations);
    if (occurrence.expr == nullptr) return;
    Map::Computation shared{nullptr, occurrence.expr->clone()};
    // A computation that is just this one lends its unit.
    auto own = std::find_if(computations->begin(), computations->end(),
                            [&, &id = identity](const auto& c) { return identity_of(*c.expr) == id; });
    if (own != computations->end()) {
      shared.iu = own->iu;
      computations->erase(own);
    } else {
      shared.iu = ius->make(to_string(*shared.expr), shared.expr->type, shared.expr->range);
    }
    for (auto& c : *computations) {
      replace_nodes(&c.expr, [&, &id = identity](const Expr& e) -> ExprPtr {
        return is_worth_sharing(e) && identity_of(e) == id ? make_iu(shared.iu) : nullptr;
      });
    }
    // Erasing `own` cannot have moved the first occurrence: it is that one or a later one.
    computations->insert(computations->begin() + static_cast<std::ptrdiff_t>(occurrence.first),
                         std::move(shared));
  }
}

}  // namespace tailor::weft
