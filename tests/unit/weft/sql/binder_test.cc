#include "compiler/weft/sql/binder.h"

#include <gtest/gtest.h>

#include "compiler/weft/plan/bounds.h"
#include "compiler/weft/sql/parser.h"
#include "tests/support/tpch_catalog.h"

namespace tailor::weft {
namespace {

class Binder : public testing::Test {
 protected:
  Result<Query> bound(const std::string& sql) {
    auto tree = parse_select(sql);
    if (!tree) return tree.error();
    return bind_select(**tree, sql, *catalog);
  }
  std::string error(const std::string& sql) {
    auto query = bound(sql);
    return query ? "no error" : query.error().message;
  }
  std::unique_ptr<MemoryCatalog> catalog = tpch_catalog();
};

struct Case {
  const char* sql;
  const char* error;
};

TEST_F(Binder, ErrorsHaveAPlace) {
  const Case cases[] = {
      {"selec 1", "line 1, column 1: syntax error at or near \"selec\""},
      {"select n_name\nfrom nation where", "line 2, column 18: syntax error at end of input"},
      {"select n_nam from nation", "line 1, column 8: there is no column n_nam"},
      {"select x.n_name\nfrom nation n", "line 1, column 8: there is no column x.n_name"},
      {"select 1 from\n  nations", "line 2, column 3: there is no table nations"},
      {"select n_name from nation a, nation b", "line 1, column 8: n_name could be two columns"},
      {"select 1 from nation, nation", "line 1, column 23: the name nation is used twice in from"},
      {"select n_name + 1 from nation", "line 1, column 15: the sum of string and int64 is not defined"},
      {"select 1 from nation where n_name", "line 1, column 28: a condition has to be bool"},
      {"select 1 from nation where n_name = 3",
       "line 1, column 35: a comparison of string and int64 is not defined"},
      {"select n_name, count(*) from nation",
       "line 1, column 8: n_name has to be in group by or inside an aggregate"},
      {"select sum(n_name) from nation", "line 1, column 8: sum takes numbers, not string"},
      {"select 1 from nation where sum(n_nationkey) > 1", "line 1, column 28: sum is not possible here"},
      {"select foo(1, 2) from nation", "line 1, column 8: there is no function foo with 2 arguments"},
      {"select date '1995-02-30' from nation", "line 1, column 13: a date is written 'YYYY-MM-DD'"},
      {"select 1 from nation where n_name in (select r_regionkey, r_name from region)",
       "line 1, column 35: the subquery has 2 columns, not 1"},
      {"select 1 from nation order by 2", "line 1, column 31: there is no such column in the select list"},
      {"select n_name from nation union select r_name from region",
       "line 1, column 40: weft does not have union, intersect and except"},
      {"select rank() over (order by n_name) from nation",
       "line 1, column 8: weft does not have window functions"},
      {"\n delete from nation", "line 2, column 2: weft runs select statements only"},
      {"select 1; select 2", "line 1, column 11: one statement is expected"},
      {"", "line 1, column 1: a statement is expected"},
      {"select 1", "line 1, column 8: a select without from has no rows in weft"},
      {"select n_name from nation limit 1 offset 2", "line 1, column 42: weft does not have offset"},
      {"select distinct on (n_name) n_name from nation", "line 1, column 21: weft does not have distinct on"},
      {"select 1 from nation full join region on n_regionkey = r_regionkey",
       "line 1, column 32: weft does not have full outer joins"},
      {"select 1 from nation natural join region",
       "line 1, column 35: join with on: weft does not have natural or using"},
      {"select 1 from nation, lateral (select r_name from region) as r",
       "line 1, column 39: weft does not have lateral"},
      {"select 1 from generate_series(1, 2)",
       "line 1, column 15: weft does not have this kind of table in from"},
      {"select 1 from nation where n_nationkey in (select l_suppkey from lineitem\n"
       "where l_orderkey = n_nationkey limit 3)",
       "line 2, column 38: a limit in a correlated subquery is not supported"},
      {"select count(distinct n_name), sum(distinct n_nationkey) from nation",
       "line 1, column 32: distinct aggregates of different arguments in one select are not supported"},
  };
  for (const Case& c : cases) EXPECT_EQ(error(c.sql), c.error) << c.sql;
}

TEST_F(Binder, HostileTextIsAnErrorNotACrash) {
  EXPECT_NE(error(""), "no error");
  EXPECT_NE(error(std::string("select\0 1", 9)), "no error");
  EXPECT_NE(error("select " + std::string(100, '9') + " from nation"), "no error");
  EXPECT_NE(error("select 1 from nation limit 99999999999999999999999"), "no error");
  EXPECT_NE(error("select 1 from nation limit -1"), "no error");
  EXPECT_NE(error("select 1 from nation where n_nationkey = " + std::string(3000, '-') + "1"), "no error");
  std::string sum = "1";
  for (int i = 0; i < 5000; ++i) sum += "+n_nationkey";
  EXPECT_NE(error("select " + sum + " from nation"), "no error");
  EXPECT_NE(error("select * from nation where interval '1' hour > 1"), "no error");
  EXPECT_NE(error("select substring(n_name from 1 for n_nationkey) from nation"), "no error");
  EXPECT_NE(error("select \xff\xfe from nation"), "no error");
}

TEST_F(Binder, AggregatesAreFoundOnce) {
  auto query = bound("select sum(n_nationkey), avg(n_nationkey), count(*), sum(n_nationkey) + 1 from nation");
  ASSERT_TRUE(query.ok()) << query.error().message;
  const Logical* node = query->root.get();
  while (node->kind != LogicalKind::kGroup) node = &node->input();
  EXPECT_EQ(node->aggregates.size(), 2u);
}

TEST_F(Binder, SumsCoverTheRowsOfTheInput) {
  auto query = bound("select sum(l_extendedprice) from lineitem, orders where l_orderkey = o_orderkey");
  ASSERT_TRUE(query.ok());
  // The order is found by its key, so the join has no more rows than lineitem.
  EXPECT_EQ(query->columns[0]->range.max, Int128{10494950} * 6001215);
  EXPECT_EQ(query->columns[0]->width(), Width::k64);
  auto product = bound("select sum(l_extendedprice) from lineitem, orders");
  EXPECT_EQ(product->columns[0]->range.max, Int128{10494950} * 6001215 * 1500000);
  EXPECT_EQ(product->columns[0]->width(), Width::k128);
}

TEST_F(Binder, OuterJoinsMakeTheirRightSideNullable) {
  auto query = bound("select n_name, r_name from nation left join region on n_regionkey = r_regionkey");
  ASSERT_TRUE(query.ok());
  EXPECT_FALSE(query->columns[0]->type.nullable);
  EXPECT_TRUE(query->columns[1]->type.nullable);
}

TEST_F(Binder, NegativeNumbersKeepTheirValue) {
  auto query = bound("select - 5, -7, -1.5, 0, - -3 from nation where n_nationkey > -3");
  ASSERT_TRUE(query.ok());
  const Int128 expected[] = {-5, -7, -15, 0, 3};
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(query->columns[i]->range, Range::of(expected[i])) << i;
}

TEST_F(Binder, MonthsEndWhereTheyEnd) {
  auto query = bound("select 1 from orders where o_orderdate < date '1995-01-31' + interval '1' month");
  ASSERT_TRUE(query.ok());
  const Logical* node = query->root.get();
  while (node->kind != LogicalKind::kSelect) node = &node->input();
  EXPECT_EQ(as<ConstantExpr>(*node->conjuncts[0]->children[1]).value.integer, *parse_date("1995-02-28"));
}

}  // namespace
}  // namespace tailor::weft
