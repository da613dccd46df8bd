#include "compiler/weft/optimizer/join_graph.h"

#include <algorithm>
#include <bit>
#include <map>

#include "compiler/weft/optimizer/cardinality.h"

namespace tailor::weft {

namespace {

std::string table_name(const Logical& node) {
  if (node.kind == LogicalKind::kSelect || node.kind == LogicalKind::kMap) return table_name(node.input());
  if (node.kind != LogicalKind::kGet) return {};
  return node.alias.empty() ? node.table->name : node.alias;
}

}  // namespace

JoinGraph::JoinGraph(LogicalPtr root) {
  flatten(std::move(root));
  for (Member& member : members) member.name = table_name(*member.node);
}

std::optional<MemberSet> JoinGraph::named(const JoinTree& tree) const {
  MemberSet set = 0;
  for (const JoinTree& input : tree.inputs) {
    std::optional<MemberSet> part = named(input);
    if (!part || (*part & set) != 0) return {};
    set |= *part;
  }
  if (!tree.inputs.empty()) return set;
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (members[i].name == tree.table) return MemberSet(1) << i;
  }
  return {};
}

void JoinGraph::flatten(LogicalPtr node) {
  if (node->kind == LogicalKind::kSelect) {
    for (ExprPtr& e : node->conjuncts) predicates.push_back({std::move(e), 0});
    return flatten(std::move(node->inputs[0]));
  }
  Member member;
  if (node->kind != LogicalKind::kJoin) {
    member.ius = available(*node);
    member.node = std::move(node);
    members.push_back(std::move(member));
    return;
  }
  flatten(std::move(node->inputs[0]));
  if (node->join == JoinKind::kInner) {
    for (ExprPtr& e : node->conjuncts) predicates.push_back({std::move(e), 0});
    return flatten(std::move(node->inputs[1]));
  }
  member.join = node->join;
  member.condition = std::move(node->conjuncts);
  member.mark = node->mark;
  member.node = std::move(node->inputs[1]);
  if (member.join == JoinKind::kMark) member.ius.insert(member.mark);
  if (member.join == JoinKind::kOuter || member.join == JoinKind::kSingle)
    member.ius = available(*member.node);
  members.push_back(std::move(member));
}

MemberSet JoinGraph::members_of(const IuSet& ius) const {
  MemberSet set = 0;
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (intersects(ius, members[i].ius)) set |= MemberSet(1) << i;
  }
  return set;
}

void JoinGraph::finish() {
  // Predicates over one inner member belong to it.
  std::vector<std::vector<ExprPtr>> own(members.size());
  for (auto& predicate : predicates) {
    predicate.members = members_of(ius_of(*predicate.expr));
    bool one = std::has_single_bit(predicate.members);
    std::size_t index = one ? std::countr_zero(predicate.members) : 0;
    if (members.size() == 1) one = true;
    if (one && members[index].join == JoinKind::kInner) own[index].push_back(std::move(predicate.expr));
  }
  std::erase_if(predicates, [](const Predicate& p) { return p.expr == nullptr; });
  MemberSet inner = 0;
  for (std::size_t i = 0; i < members.size(); ++i) {
    Member& member = members[i];
    member.node = make_select(std::move(member.node), std::move(own[i]));
    member.rows = estimate(*member.node);
    if (member.join == JoinKind::kInner) inner |= MemberSet(1) << i;
  }
  for (std::size_t i = 0; i < members.size(); ++i) {
    Member& member = members[i];
    if (member.join == JoinKind::kInner) continue;
    IuSet used;
    collect_ius(member.condition, &used);
    member.needs = members_of(used) & ~(MemberSet(1) << i);
    // A join without a condition on the left still needs a left side.
    if (member.needs == 0) member.needs = MemberSet(1) << std::countr_zero(inner);
    Logical join(LogicalKind::kJoin);
    join.join = member.join;
    join.conjuncts = std::move(member.condition);
    join.inputs.push_back(nullptr);
    join.inputs.push_back(std::move(member.node));
    if (member.join == JoinKind::kSemi) member.factor = match_share(join, member.rows);
    if (member.join == JoinKind::kAnti) member.factor = 1 - match_share(join, member.rows);
    member.condition = std::move(join.conjuncts);
    member.node = std::move(join.inputs[1]);
  }
  derive_equalities();
  add_edges();
}

void JoinGraph::add_edges() {
  std::map<MemberSet, std::vector<const Expr*>> by_members;
  std::map<MemberSet, double> of_equalities;
  for (const auto& predicate : predicates) {
    by_members[predicate.members].push_back(predicate.expr.get());
    double& accounted = of_equalities.try_emplace(predicate.members, 1).first->second;
    if (predicate.equality >= 0) accounted *= selectivity(*predicate.expr);
  }
  for (const auto& [set, exprs] : by_members) {
    Edge edge{set, 1};
    if (std::popcount(set) == 2) {
      int first = std::countr_zero(set), second = 31 - std::countl_zero(set);
      edge.selectivity = join_selectivity(exprs, *members[first].node, *members[second].node);
    } else {
      for (const Expr* e : exprs) edge.selectivity *= selectivity(*e);
    }
    edge.selectivity /= of_equalities[set];
    edges.push_back(edge);
  }
}

double JoinGraph::rows(MemberSet set) const {
  double rows = 1;
  for (std::size_t i = 0; i < members.size(); ++i) {
    if ((set >> i & 1) == 0) continue;
    rows *= members[i].join == JoinKind::kInner ? members[i].rows : members[i].factor;
  }
  for (const Edge& edge : edges) {
    if ((edge.members & set) == edge.members) rows *= edge.selectivity;
  }
  for (const Equality& equality : equalities) rows *= equality_selectivity(equality, set);
  return std::max(rows, 1.0);
}

bool JoinGraph::connected(MemberSet a, MemberSet b) const {
  return std::any_of(edges.begin(), edges.end(), [&](const Edge& edge) {
    return (edge.members & a) != 0 && (edge.members & b) != 0 && (edge.members & ~(a | b)) == 0;
  });
}

bool JoinGraph::is_valid(MemberSet set) const {
  for (std::size_t i = 0; i < members.size(); ++i) {
    if ((set >> i & 1) != 0 && (members[i].needs & ~set) != 0) return false;
  }
  return true;
}

}  // namespace tailor::weft
