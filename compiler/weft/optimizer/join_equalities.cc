#include <algorithm>
#include <bit>
#include <map>

#include "compiler/weft/optimizer/join_graph.h"
#include "compiler/weft/plan/bounds.h"
#include "compiler/weft/plan/make.h"

namespace tailor::weft {
namespace {

using Classes = std::map<const Iu*, std::vector<const Iu*>, IuLess>;  // root -> units

// Merges the classes of two units.
void unite(Classes* classes, std::map<const Iu*, const Iu*>* roots, UnitPair pair) {
  for (const Iu* iu : {pair.left, pair.right}) {
    if (roots->try_emplace(iu, iu).second) (*classes)[iu].push_back(iu);
  }
  const Iu* into = roots->at(pair.left);
  const Iu* from = roots->at(pair.right);
  if (into == from) return;
  for (const Iu* iu : classes->at(from)) {
    (*roots)[iu] = into;
    (*classes)[into].push_back(iu);
  }
  classes->erase(from);
}

}  // namespace

void JoinGraph::derive_equalities() {
  // Units of members that are joined inner, by plain equality.
  auto eligible = [&](const Predicate& predicate) {
    UnitPair pair = equated_units(*predicate.expr);
    if (pair.left == nullptr || as<CompareExpr>(*predicate.expr).null_equal) return false;
    if (std::popcount(predicate.members) != 2) return false;
    for (std::size_t i = 0; i < members.size(); ++i) {
      if ((predicate.members >> i & 1) != 0 && members[i].join != JoinKind::kInner) return false;
    }
    return true;
  };
  Classes classes;
  std::map<const Iu*, const Iu*> roots;
  for (const auto& predicate : predicates) {
    if (eligible(predicate)) unite(&classes, &roots, equated_units(*predicate.expr));
  }
  for (const auto& [root, units] : classes) {
    Equality equality;
    MemberSet seen = 0;
    bool once = true;
    for (const Iu* iu : units) {
      MemberSet member = members_of({iu});
      // Two units of one member: the equalities also say that these are equal, so none may be left out.
      once &= (seen & member) == 0;
      seen |= member;
      equality.units.emplace_back(std::countr_zero(member), iu);
    }
    if (!once) continue;
    std::map<MemberSet, bool> said;
    for (auto& predicate : predicates) {
      if (!eligible(predicate) || roots.at(equated_units(*predicate.expr).left) != root) continue;
      predicate.equality = static_cast<int>(equalities.size());
      said[predicate.members] = true;
    }
    for (std::size_t a = 0; a < equality.units.size(); ++a) {
      for (std::size_t b = a + 1; b < equality.units.size(); ++b) {
        MemberSet pair = MemberSet(1) << equality.units[a].first | MemberSet(1) << equality.units[b].first;
        if (said[pair]) continue;
        auto expr = std::make_unique<CompareExpr>(CompareOp::kEqual, make_iu(equality.units[a].second),
                                                  make_iu(equality.units[b].second));
        predicates.push_back({std::move(expr), pair, static_cast<int>(equalities.size())});
      }
    }
    equalities.push_back(std::move(equality));
  }
}

// All units of the class in the set are equal: each but the one with the fewest values keeps one of its
// values.
double JoinGraph::equality_selectivity(const Equality& equality, MemberSet set) const {
  double share = 1, fewest = 0;
  for (const auto& [member, iu] : equality.units) {
    if ((set >> member & 1) == 0) continue;
    double distinct = iu->distinct > 0 ? iu->distinct : 100;
    share /= distinct;
    fewest = fewest == 0 ? distinct : std::min(fewest, distinct);
  }
  return fewest == 0 ? 1 : share * fewest;
}

}  // namespace tailor::weft
