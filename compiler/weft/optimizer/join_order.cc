#include "compiler/weft/optimizer/join_order.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>

#include "compiler/weft/optimizer/join_graph.h"

namespace tailor::weft {
namespace {

constexpr double kCrossPenalty = 100;

struct Best {
  double cost = std::numeric_limits<double>::infinity();
  double rows = 0;
  MemberSet left = 0;  // 0: a single member
  MemberSet right = 0;
};

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

std::vector<Best> plan_all(const JoinGraph& graph) {
  std::vector<Best> table(std::size_t(1) << graph.members.size());
  for (std::size_t i = 0; i < graph.members.size(); ++i) table[std::size_t(1) << i] = single(graph, i);
  for (MemberSet set = 1; set < table.size(); ++set) {
    if (std::has_single_bit(set) || !graph.is_valid(set)) continue;
    Best& best = table[set];
    best.rows = graph.rows(set);
    for (MemberSet right = (set - 1) & set; right != 0; right = (right - 1) & set) {
      MemberSet left = set & ~right;
      if (std::isinf(table[left].cost) || std::isinf(table[right].cost)) continue;
      auto cost = cost_of(graph, table[left], left, table[right], right, best.rows);
      if (cost && *cost < best.cost) best = {*cost, best.rows, left, right};
    }
  }
  return table;
}

// Takes what the plan is built from out of the graph.
class TreeBuilder {
 public:
  TreeBuilder(JoinGraph* graph, const std::vector<Best>& table) : graph_(*graph), table_(table) {}

  LogicalPtr build(MemberSet set) {
    if (std::has_single_bit(set)) return std::move(graph_.members[std::countr_zero(set)].node);
    const Best& best = table_[set];
    return join(best.left, build(best.left), best.right, build(best.right));
  }

  LogicalPtr join(MemberSet left_set, LogicalPtr left, MemberSet right_set, LogicalPtr right) {
    MemberSet set = left_set | right_set;
    std::vector<ExprPtr> now;
    for (auto& predicate : graph_.predicates) {
      bool applies = predicate.expr != nullptr && (predicate.members & ~set) == 0;
      if (applies) now.push_back(std::move(predicate.expr));
    }
    std::erase_if(graph_.predicates, [](const auto& p) { return p.expr == nullptr; });
    if (special(graph_, right_set) == nullptr) {
      return make_join(JoinKind::kInner, std::move(left), std::move(right), std::move(now));
    }
    auto& member = graph_.members[std::countr_zero(right_set)];
    LogicalPtr node = make_join(member.join, std::move(left), std::move(right), std::move(member.condition));
    node->mark = member.mark;
    return make_select(std::move(node), std::move(now));
  }

 private:
  JoinGraph& graph_;
  const std::vector<Best>& table_;
};

// Joins the cheapest pair of partial plans until one is left.
LogicalPtr order_greedily(JoinGraph* graph) {
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
  TreeBuilder builder(graph, no_table);
  for (Part& part : parts) part.node = builder.build(part.set);
  while (parts.size() > 1) {
    double least = std::numeric_limits<double>::infinity();
    std::size_t a = 0, b = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      for (std::size_t j = 0; j < parts.size(); ++j) {
        if (i == j) continue;
        double rows = graph->rows(parts[i].set | parts[j].set);
        auto cost = cost_of(*graph, parts[i].best, parts[i].set, parts[j].best, parts[j].set, rows);
        if (cost && *cost < least) std::tie(least, a, b) = std::tuple(*cost, i, j);
      }
    }
    Part& left = parts[a];
    Part& right = parts[b];
    left.node = builder.join(left.set, std::move(left.node), right.set, std::move(right.node));
    left.set |= right.set;
    left.best = {least, graph->rows(left.set), 0, 0};
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(b));
  }
  return std::move(parts[0].node);
}

}  // namespace

double join_cost(double build_rows, double probe_rows, double output_rows) {
  constexpr double kCachedRows = 20000;
  double miss = 1 + 0.4 * std::log2(std::max(build_rows / kCachedRows, 1.0));
  return (2 * build_rows + probe_rows) * miss + 0.5 * output_rows;
}

LogicalPtr order_joins(LogicalPtr root) {
  if (root->kind != LogicalKind::kJoin && root->kind != LogicalKind::kSelect) {
    for (auto& input : root->inputs) input = order_joins(std::move(input));
    return root;
  }
  JoinGraph graph(std::move(root));
  for (auto& member : graph.members) member.node = order_joins(std::move(member.node));
  graph.finish();
  if (graph.members.size() == 1) return std::move(graph.members[0].node);
  if (graph.members.size() > kMaxDynamic) return order_greedily(&graph);
  std::vector<Best> table = plan_all(graph);
  return TreeBuilder(&graph, table).build(graph.everything());
}

}  // namespace tailor::weft
