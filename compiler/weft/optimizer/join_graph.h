// A region of joins as a graph: members, and predicates over sets of members.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/weft/optimizer/options.h"
#include "compiler/weft/plan/logical.h"

namespace tailor::weft {

using MemberSet = std::uint32_t;

class JoinGraph {
 public:
  struct Member {
    LogicalPtr node;
    std::string name;  // of the table it reads, as the query names it; empty if it is more than a table
    JoinKind join = JoinKind::kInner;  // how it is joined; not kInner: as right input, alone
    std::vector<ExprPtr> condition;    // of a join that is not inner
    const Iu* mark = nullptr;
    MemberSet needs = 0;  // members of the left that its condition refers to
    double rows = 0;
    double factor = 1;  // what joining it multiplies the row count by, if it is not inner
    IuSet ius;          // what predicates above may use of it
  };
  struct Predicate {
    ExprPtr expr;
    MemberSet members = 0;
    int equality = -1;  // the class of equal units that it belongs to, if any
  };
  // Units of different members that the predicates make equal: a = b and b = c give {a, b, c}.
  struct Equality {
    std::vector<std::pair<std::size_t, const Iu*>> units;  // member, unit
  };
  struct Edge {  // all predicates over the same two members or set of members
    MemberSet members = 0;
    double selectivity = 1;  // but for what their classes of equal units account for
  };

  // Takes the region rooted at `root` apart. Members' own subtrees are left as they are.
  explicit JoinGraph(LogicalPtr root);

  // The set of the members that a tree names; nothing if one of them is not here.
  std::optional<MemberSet> named(const JoinTree& tree) const;

  // Call after the members' subtrees have been optimized: computes needs, rows, factors and edges.
  void finish();

  MemberSet members_of(const IuSet& ius) const;
  double rows(MemberSet set) const;
  bool connected(MemberSet a, MemberSet b) const;
  // Members that are not inner must have their needs inside of the set.
  bool is_valid(MemberSet set) const;
  MemberSet everything() const { return (MemberSet(1) << members.size()) - 1; }

  std::vector<Member> members;
  std::vector<Predicate> predicates;
  std::vector<Edge> edges;
  std::vector<Equality> equalities;

 private:
  void flatten(LogicalPtr node);
  // Finds the classes and adds the equalities that follow from others (join_equalities.cc).
  void derive_equalities();
  double equality_selectivity(const Equality& equality, MemberSet set) const;
  void add_edges();
};

}  // namespace tailor::weft
