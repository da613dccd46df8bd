// Properties of the optimizer's rules, on plans of many forms.
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <sstream>

#include "compiler/weft/optimizer/cardinality.h"
#include "compiler/weft/optimizer/planner.h"
#include "compiler/weft/optimizer/push_down.h"
#include "compiler/weft/optimizer/unnest.h"
#include "compiler/weft/plan/print.h"
#include "compiler/weft/sql/binder.h"
#include "compiler/weft/sql/parser.h"
#include "tests/support/tpch_catalog.h"
#include "tests/unit/weft/optimizer/plan_check.h"

namespace tailor::weft {
namespace {

const char* const kSubqueries[] = {
    "select 1 from orders where exists (select 1 from lineitem where l_orderkey = o_orderkey)",
    "select 1 from orders where not exists (select 1 from lineitem where l_orderkey = o_orderkey and l_tax > "
    "0.05)",
    "select 1 from orders where o_custkey in (select c_custkey from customer where c_acctbal < o_totalprice)",
    "select 1 from orders where o_totalprice > (select avg(l_extendedprice) from lineitem where l_orderkey = "
    "o_orderkey)",
    "select (select count(*) from lineitem where l_orderkey = o_orderkey) from orders",
    "select (select count(*) from lineitem where l_orderkey < o_orderkey) from orders",
    "select (select sum(l_tax) + 1 from lineitem where l_orderkey = o_orderkey and l_partkey < o_custkey) "
    "from orders",
    "select 1 from orders where exists (select 1 from lineitem where l_orderkey = o_orderkey) or o_custkey = "
    "3",
    "select 1 from customer where exists (select 1 from orders where o_custkey = c_custkey and exists"
    " (select 1 from lineitem where l_orderkey = o_orderkey and l_suppkey = c_nationkey))",
    "select 1 from customer where c_acctbal > (select sum(o_totalprice) from orders where o_custkey = "
    "c_custkey and"
    " o_totalprice > (select avg(l_extendedprice) from lineitem where l_orderkey = o_orderkey and l_suppkey "
    "= c_nationkey))",
    "select 1 from orders where o_custkey not in (select c_custkey from customer left join nation on "
    "c_nationkey = n_nationkey"
    " where c_nationkey = o_shippriority)",
    "select 1 from orders where exists (select l_suppkey from lineitem where l_orderkey = o_orderkey group "
    "by l_suppkey"
    " having count(*) > 1)",
    "select 1 from part where p_size = (select max(c) from (select count(*) as c from partsupp group by "
    "ps_partkey) as t)",
};

class Optimizer : public testing::Test {
 protected:
  Query bound(const std::string& sql) {
    auto tree = parse_select(sql);
    EXPECT_TRUE(tree.ok()) << sql << (tree ? "" : tree.error().message);
    auto query = bind_select(**tree, sql, *catalog);
    EXPECT_TRUE(query.ok()) << sql << (query ? "" : query.error().message);
    return *std::move(query);
  }
  std::string plan(const std::string& sql) {
    auto result = plan_query(sql, *catalog);
    return result ? to_string(*result) : result.error().message;
  }
  std::unique_ptr<MemoryCatalog> catalog = tpch_catalog();
};

void visit(const Logical& node, const std::function<void(const Logical&)>& check) {
  check(node);
  for (const auto& input : node.inputs) visit(*input, check);
}

TEST_F(Optimizer, NoSubtreeDependsOnAnotherAfterUnnesting) {
  for (const char* sql : kSubqueries) {
    Query query = bound(sql);
    unnest(&query.root, &query.ius);
    visit(*query.root, [&](const Logical& node) {
      for (const auto& input : node.inputs)
        EXPECT_TRUE(free_units(*input).empty()) << sql << "\n" << to_string(*query.root);
    });
  }
}

TEST_F(Optimizer, SubqueriesGetSoundPlans) {
  for (const char* sql : kSubqueries) {
    auto result = plan_query(sql, *catalog);
    ASSERT_TRUE(result.ok()) << sql << result.error().message;
    EXPECT_EQ(broken_promise(*result), "") << sql << "\n" << to_string(*result);
  }
}

TEST_F(Optimizer, EmptyGroupsCountZero) {
  // The count of no rows is 0, so the binding without rows must survive: an outer join and a case.
  std::string text = plan("select (select count(*) from lineitem where l_orderkey = o_orderkey) from orders");
  EXPECT_NE(text.find("case when count(*) is null then 0"), std::string::npos) << text;
  // A sum of no rows is null, as is a missing row.
  text = plan("select (select sum(l_tax) from lineitem where l_orderkey = o_orderkey) from orders");
  EXPECT_EQ(text.find("case"), std::string::npos) << text;
}

TEST_F(Optimizer, SelectionsReachTheirTables) {
  Query query = bound(
      "select 1 from customer, orders, lineitem where c_custkey = o_custkey and l_orderkey = o_orderkey"
      " and c_acctbal > 0 and o_totalprice > 100 and l_tax = 0.01");
  query.root = push_down(std::move(query.root));
  visit(*query.root, [](const Logical& node) {
    EXPECT_TRUE(node.kind != LogicalKind::kSelect || node.input().kind == LogicalKind::kGet);
    if (node.kind == LogicalKind::kJoin) {
      for (const ExprPtr& e : node.conjuncts) {
        EXPECT_FALSE(is_subset(ius_of(*e), available(*node.inputs[0]))) << to_string(*e);
        EXPECT_FALSE(is_subset(ius_of(*e), available(*node.inputs[1]))) << to_string(*e);
      }
    }
  });
}

TEST_F(Optimizer, OuterJoinsBecomeInnerOnlyWhenNullsAreRejected) {
  const std::string base = "select c_name from customer left join orders on c_custkey = o_custkey where ";
  EXPECT_EQ(plan(base + "o_totalprice > 3").find("outer"), std::string::npos);
  EXPECT_NE(plan(base + "o_totalprice is null").find("outer"), std::string::npos);
  EXPECT_NE(plan(base + "c_acctbal > 3").find("outer"), std::string::npos);
  // A predicate of the right side may be tested before an outer join only if it is part of its condition.
  EXPECT_NE(plan(base + "coalesce(o_totalprice, 0) < 3").find("Filter"), std::string::npos);
}

TEST_F(Optimizer, KeysThatFollowAreNotCompared) {
  std::string text = plan(
      "select c_custkey, c_name, c_address, sum(o_totalprice) from customer, orders, lineitem"
      " where c_custkey = o_custkey and o_orderkey = l_orderkey group by c_custkey, c_name, c_address");
  EXPECT_NE(text.find("any(c_name)"), std::string::npos) << text;
  EXPECT_NE(text.find("any(c_address)"), std::string::npos) << text;
}

TEST_F(Optimizer, GroupjoinNeedsTheKeyOfTheBuildSide) {
  const std::string join = " from customer, orders where c_custkey = o_custkey group by ";
  EXPECT_NE(plan("select c_custkey, sum(o_totalprice)" + join + "c_custkey").find("Groupjoin"),
            std::string::npos);
  EXPECT_NE(plan("select o_custkey, sum(o_totalprice)" + join + "o_custkey").find("Groupjoin"),
            std::string::npos);
  EXPECT_EQ(plan("select c_nationkey, sum(o_totalprice)" + join + "c_nationkey").find("Groupjoin"),
            std::string::npos);
  EXPECT_EQ(plan("select c_custkey, o_orderdate, sum(o_totalprice)" + join + "c_custkey, o_orderdate")
                .find("Groupjoin"),
            std::string::npos);
  EXPECT_EQ(plan("select c_custkey, sum(c_acctbal)" + join + "c_custkey").find("Groupjoin"),
            std::string::npos);
  EXPECT_EQ(
      plan("select /*+ no_groupjoin */ c_custkey, sum(o_totalprice)" + join + "c_custkey").find("Groupjoin"),
      std::string::npos);
}

TEST_F(Optimizer, HintsForceOrderAndBuildSide) {
  const std::string rest =
      " count(*) from lineitem, orders, partsupp where l_orderkey = o_orderkey and"
      " l_partkey = ps_partkey and l_suppkey = ps_suppkey";
  auto tables = [&](const std::string& hint) {
    std::string text = plan("select /*+ " + hint + " */" + rest), order;
    for (std::size_t at = text.find("Scan "); at != std::string::npos; at = text.find("Scan ", at + 1)) {
      order += text.substr(at + 5, text.find(' ', at + 5) - at - 5) + " ";
    }
    return order.empty() ? text : order;
  };
  EXPECT_EQ(tables("leading(orders (partsupp lineitem))"), "orders partsupp lineitem ");
  EXPECT_EQ(tables("leading(partsupp (orders lineitem))"), "partsupp orders lineitem ");
  EXPECT_EQ(tables("leading((lineitem partsupp) orders)"), "lineitem partsupp orders ");
  EXPECT_EQ(tables("leading(orders nation)"),
            "line 1, column 12: the tables of the hint leading are not joined in one place");
  EXPECT_EQ(tables("leading(orders)"), "line 1, column 26: a join in leading has two inputs");
  EXPECT_EQ(tables("hurry"), "line 1, column 12: hurry is no hint");
}

// Figure 10 of "Profiling Dataflow Systems on Multiple Abstraction Levels": two plans of one query, which
// hints in its text choose. Lineitem probes either the join with partsupp first or the one with orders.
TEST_F(Optimizer, HintsGiveTheTwoPlansOfFigure10) {
  auto shape = [&](const std::string& name) {
    std::ifstream file(std::string(WEFT_QUERIES) + "/" + name + ".sql");
    std::stringstream text;
    text << file.rdbuf();
    auto result = plan_query(text.str(), *catalog);
    EXPECT_TRUE(result.ok()) << result.error().message;
    std::string out;
    auto visit = [&](auto& self, const Operator& op) -> void {
      bool join = op.kind() == OperatorKind::kHashJoin;
      if (join) out += "(";
      if (op.kind() == OperatorKind::kScan) out += as<Scan>(op).table->name;
      for (std::size_t i = 0; i < op.inputs.size(); ++i) {
        if (i > 0) out += " ";
        self(self, *op.inputs[i]);
      }
      if (join) out += ")";
    };
    visit(visit, *result->root);
    return out;
  };
  // The build side stands first.
  EXPECT_EQ(shape("figure10a"), "(orders (partsupp lineitem))");
  EXPECT_EQ(shape("figure10b"), "(partsupp (orders lineitem))");
}

TEST_F(Optimizer, HintsInQuotesAndCommentsDoNotCount) {
  EXPECT_EQ(plan("select n_name from nation where n_name = '/*+ hurry */'").find("hint"), std::string::npos);
  EXPECT_EQ(plan("select n_name -- /*+ hurry */\n from nation").find("hint"), std::string::npos);
}

TEST_F(Optimizer, RangesOfOneColumnAreNotIndependent) {
  Query query = bound(
      "select 1 from orders where o_orderdate >= date '1994-01-01' and o_orderdate < date '1995-01-01'");
  query.root = push_down(std::move(query.root));
  double rows = estimate(*query.root);
  EXPECT_GT(rows, 1500000 / 8);
  EXPECT_LT(rows, 1500000 / 5);
}

TEST_F(Optimizer, SamplesDecideWhereFormulasCannot) {
  TableInfo table{"t", {{"a", Type::int64(), {0, 9}, 10, 0, 0}}, 1000, {}, {}};
  for (int i = 0; i < 100; ++i) table.sample.push_back({Value::int64(i < 90 ? 0 : i % 10)});
  catalog->add(std::move(table));
  Query query = bound("select 1 from t where a = 0");
  query.root = push_down(std::move(query.root));
  EXPECT_NEAR(estimate(*query.root), 910, 1);
}

TEST_F(Optimizer, EqualitiesThatFollowOpenJoinOrders) {
  // Only c_nationkey = s_nationkey = n_nationkey is said; nation and customer can be joined all the same.
  std::string text = plan(
      "select /*+ leading(supplier (nation customer)) */ count(*) from customer, supplier, nation"
      " where c_nationkey = s_nationkey and s_nationkey = n_nationkey");
  EXPECT_NE(text.find("n_nationkey = c_nationkey"), std::string::npos) << text;
  EXPECT_EQ(text.find("Cross product"), std::string::npos) << text;
}

TEST_F(Optimizer, EqualUnitsOfOneTableStayTested) {
  // Both equalities have to be tested: together they say that two columns of one table are equal.
  std::string text =
      plan("select count(*) from lineitem, part where l_partkey = p_partkey and l_suppkey = p_partkey");
  EXPECT_NE(text.find("p_partkey = l_partkey"), std::string::npos) << text;
  EXPECT_NE(text.find("p_partkey = l_suppkey"), std::string::npos) << text;
}

TEST_F(Optimizer, MembershipWithNullsIsATestButNotAValue) {
  const std::string in =
      "n_regionkey in (select r_regionkey from region left join supplier on r_regionkey = s_suppkey"
      " where s_nationkey = n_nationkey)";
  const std::string nullable = "s_suppkey in (select r_regionkey from region)";
  const std::string from = " from nation left join supplier on n_nationkey = s_nationkey ";
  EXPECT_NE(plan("select n_name" + from + "where " + nullable + " or n_name = 'X'").find("(mark)"),
            std::string::npos);
  EXPECT_NE(
      plan("select n_name" + from + "where not (" + nullable + " or n_name = 'X')").find("not below not"),
      std::string::npos);
  EXPECT_NE(plan("select n_name from nation where " + in + " or n_name = 'X'").find("(mark)"),
            std::string::npos);
}

TEST_F(Optimizer, ManyTablesAreOrderedGreedily) {
  std::string sql = "select count(*) from region r0";
  for (int i = 1; i < 16; ++i) sql += ", region r" + std::to_string(i);
  sql += " where r0.r_regionkey = r1.r_regionkey";
  for (int i = 2; i < 16; ++i)
    sql += " and r" + std::to_string(i - 1) + ".r_regionkey = r" + std::to_string(i) + ".r_regionkey";
  auto result = plan_query(sql, *catalog);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(broken_promise(*result), "");
  EXPECT_EQ(to_string(*result).find("Cross product"), std::string::npos);
}

}  // namespace
}  // namespace tailor::weft
