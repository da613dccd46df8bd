#include "compiler/weft/optimizer/join_order.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include "compiler/weft/optimizer/join_graph.h"

namespace tailor::weft {
namespace {

constexpr double kCrossPenalty = 100;
const char* const kImpossible = "the hint leading asks for an order that this query cannot be joined in";

struct Best {
  double cost = std::numeric_limits<double>::infinity();
  double rows = 0;
  MemberSet left = 0;  // 0: a single member
  MemberSet right = 0;
};

// What a hint demands: these two sets are joined, the first is built.
struct Forced {
  MemberSet first;
  MemberSet second;
  MemberSet both() const { return first | second; }
};

void collect_forced(const JoinGraph& graph, const JoinTree& tree, std::vector<Forced>* forced) {
  if (tree.inputs.empty()) return;
  forced->push_back({*graph.named(tree.inputs[0]), *graph.named(tree.inputs[1])});
  for (const JoinTree& input : tree.inputs) collect_forced(graph, input, forced);
}

// Whether the set may be an intermediate result: it may neither cut through a forced join from outside nor
// mix parts of its two inputs.
bool is_allowed(MemberSet set, const std::vector<Forced>& forced) {
  return std::all_of(forced.begin(), forced.end(), [&](const Forced& f) {
    bool apart = (set & f.both()) == 0;
    bool around = (f.both() & ~set) == 0;
    bool inside = (set & ~f.first) == 0 || (set & ~f.second) == 0;
    return apart || around || inside;
  });
}

bool is_allowed(MemberSet left, MemberSet right, const std::vector<Forced>& forced) {
  return std::all_of(forced.begin(), forced.end(), [&](const Forced& f) {
    bool same = left == f.first || left == f.second;
    return (left | right) != f.both() || same;
  });
}

// The member that a set consists of if it is joined in another way than inner, else null.
const JoinGraph::Member* special(const JoinGraph& graph, MemberSet set) {
  if (!std::has_single_bit(set)) return nullptr;
  const auto& member = graph.members[std::countr_zero(set)];
  return member.join == JoinKind::kInner ? nullptr : &member;
}

// Cost of joining two planned sets, or nothing if they cannot be joined.
std::optional<double> cost_of(const JoinGraph& graph, const Best& left, MemberSet left_set, const Best& right,
                              MemberSet right_set, double rows) {
  if (special(graph, left_set) != nullptr) return {};
  double cost = left.cost + right.cost;
  if (const auto* member = special(graph, right_set)) {
    if ((member->needs & ~left_set) != 0) return {};
    return cost + join_cost(std::min(left.rows, right.rows), std::max(left.rows, right.rows), rows);
  }
  double own = join_cost(std::min(left.rows, right.rows), std::max(left.rows, right.rows), rows);
  bool one_row = left.rows <= 1 || right.rows <= 1;
  if (!graph.connected(left_set, right_set) && !one_row) own *= kCrossPenalty;
  return cost + own;
}

Best single(const JoinGraph& graph, std::size_t index) {
  return {0, graph.members[index].rows, 0, 0};
}

std::vector<Best> plan_all(const JoinGraph& graph, const std::vector<Forced>& forced) {
  std::vector<Best> table(std::size_t(1) << graph.members.size());
  for (std::size_t i = 0; i < graph.members.size(); ++i) table[std::size_t(1) << i] = single(graph, i);
  for (MemberSet set = 1; set < table.size(); ++set) {
    if (std::has_single_bit(set) || !graph.is_valid(set) || !is_allowed(set, forced)) continue;
    Best& best = table[set];
    best.rows = graph.rows(set);
    for (MemberSet right = (set - 1) & set; right != 0; right = (right - 1) & set) {
      MemberSet left = set & ~right;
      if (std::isinf(table[left].cost) || std::isinf(table[right].cost)) continue;
      if (!is_allowed(left, right, forced)) continue;
      auto cost = cost_of(graph, table[left], left, table[right], right, best.rows);
      if (cost && *cost < best.cost) best = {*cost, best.rows, left, right};
    }
  }
  return table;
}

// Takes what the plan is built from out of the graph.
class TreeBuilder {
 public:
  TreeBuilder(JoinGraph* graph, const std::vector<Best>& table, const std::vector<Forced>& forced)
      : graph_(*graph), table_(table), forced_(forced) {}

  LogicalPtr build(MemberSet set) {
    if (std::has_single_bit(set)) return std::move(graph_.members[std::countr_zero(set)].node);
    const Best& best = table_[set];
    return join(best.left, build(best.left), best.right, build(best.right));
  }

  LogicalPtr join(MemberSet left_set, LogicalPtr left, MemberSet right_set, LogicalPtr right) {
    MemberSet set = left_set | right_set;
    std::vector<ExprPtr> now;
    // Of a class of equal units one equality is enough: on either side they are equal already.
    std::set<int> settled;
    for (auto& predicate : graph_.predicates) {
      if ((predicate.members & ~set) != 0) continue;
      ExprPtr expr = std::move(predicate.expr);
      if (predicate.equality < 0 || settled.insert(predicate.equality).second) now.push_back(std::move(expr));
    }
    std::erase_if(graph_.predicates, [](const auto& p) { return p.expr == nullptr; });
    std::optional<bool> build_left;
    for (const Forced& f : forced_) {
      if (f.both() == set) build_left = f.first == left_set;
    }
    if (special(graph_, right_set) == nullptr) {
      LogicalPtr node = make_join(JoinKind::kInner, std::move(left), std::move(right), std::move(now));
      node->build_left = build_left;
      return node;
    }

    auto& member = graph_.members[std::countr_zero(right_set)];
    LogicalPtr node = make_join(member.join, std::move(left), std::move(right), std::move(member.condition));
    node->mark = member.mark;
    node->build_left = build_left;

    return make_select(std::move(node), std::move(now));
  }

 private:
  JoinGraph& graph_;
  const std::vector<Best>& table_;
  const std::vector<Forced>& forced_;
};

// Joins the cheapest pair of partial plans until one is left.
Result<LogicalPtr> order_greedily(JoinGraph* graph, const std::vector<Forced>& forced) {
  struct Part {
    MemberSet set;
    Best best;
    LogicalPtr node;
  };
  std::vector<Part> parts;
  for (std::size_t i = 0; i < graph->members.size(); ++i) {
    parts.push_back({MemberSet(1) << i, single(*graph, i), nullptr});
  }
  std::vector<Best> no_table;
  TreeBuilder builder(graph, no_table, forced);
  for (Part& part : parts) part.node = builder.build(part.set);
  while (parts.size() > 1) {
    double least = std::numeric_limits<double>::infinity();
    std::size_t a = 0, b = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      for (std::size_t j = 0; j < parts.size(); ++j) {
        if (i == j || !is_allowed(parts[i].set | parts[j].set, forced)) continue;
        if (!is_allowed(parts[i].set, parts[j].set, forced)) continue;

        double rows = graph->rows(parts[i].set | parts[j].set);
        auto cost = cost_of(*graph, parts[i].best, parts[i].set, parts[j].best, parts[j].set, rows);
        if (cost && *cost < least) std::tie(least, a, b) = std::tuple(*cost, i, j);
      }
    }
    if (std::isinf(least)) return invalid(kImpossible);
    Part& left = parts[a];
    Part& right = parts[b];
    left.node = builder.join(left.set, std::move(left.node), right.set, std::move(right.node));
    left.set |= right.set;
    left.best = {least, graph->rows(left.set), 0, 0};
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(b));
  }
  return std::move(parts[0].node);
}

class Orderer {
 public:
  explicit Orderer(const std::optional<JoinTree>& leading) : leading_(leading) {}

  Result<LogicalPtr> order(LogicalPtr root) {
    if (root->kind != LogicalKind::kJoin && root->kind != LogicalKind::kSelect) {
      for (auto& input : root->inputs) {
        auto ordered = order(std::move(input));
        if (!ordered) return ordered;
        input = *std::move(ordered);
      }
      return root;
    }
    JoinGraph graph(std::move(root));
    std::vector<Forced> forced;
    if (leading_ && graph.named(*leading_)) {
      used_ = true;
      collect_forced(graph, *leading_, &forced);
    }
    for (auto& member : graph.members) {
      auto ordered = order(std::move(member.node));
      if (!ordered) return ordered;
      member.node = *std::move(ordered);
    }
    graph.finish();
    if (graph.members.size() == 1) return std::move(graph.members[0].node);
    if (graph.members.size() > kMaxDynamic) return order_greedily(&graph, forced);
    std::vector<Best> table = plan_all(graph, forced);
    if (std::isinf(table[graph.everything()].cost)) return invalid(kImpossible);
    return TreeBuilder(&graph, table, forced).build(graph.everything());
  }

  bool used() const { return used_; }

 private:
  const std::optional<JoinTree>& leading_;
  bool used_ = false;
};

}  // namespace

double join_cost(double build_rows, double probe_rows, double output_rows) {
  constexpr double kCachedRows = 20000;
  double miss = 1 + 0.4 * std::log2(std::max(build_rows / kCachedRows, 1.0));
  return (2 * build_rows + probe_rows) * miss + 0.5 * output_rows;
}

Result<LogicalPtr> order_joins(LogicalPtr root, const std::optional<JoinTree>& leading) {
  Orderer orderer(leading);
  auto ordered = orderer.order(std::move(root));
  if (ordered && leading && !orderer.used())
    return invalid("the tables of the hint leading are not joined in one place");
  return ordered;
}

}  // namespace tailor::weft
