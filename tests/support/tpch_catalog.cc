#include "tests/support/tpch_catalog.h"

namespace tailor::weft {
namespace {

ColumnInfo key(const char* name, std::int64_t max, double distinct) {
  return {name, Type::int64(), {1, max}, distinct, 0, 0};
}
ColumnInfo integer(const char* name, std::int64_t min, std::int64_t max) {
  return {name, Type::int32(), {min, max}, static_cast<double>(max - min + 1), 0, 0};
}
ColumnInfo money(const char* name, std::int64_t min, std::int64_t max, double distinct) {
  return {name, Type::decimal(15, 2), {min, max}, distinct, 0, 0};
}
ColumnInfo date(const char* name, const char* min, const char* max) {
  Range range{*parse_date(min), *parse_date(max)};
  return {name, Type::date(), range, static_cast<double>(range.max - range.min + 1), 0, 0};
}
ColumnInfo character(const char* name, double distinct) {
  return {name, Type::char1(), Range::all(), distinct, 0, 1};
}
ColumnInfo text(const char* name, double distinct) {
  return {name, Type::string(), Range::all(), distinct, 0, 100};
}

}  // namespace

std::unique_ptr<MemoryCatalog> tpch_catalog() {
  auto catalog = std::make_unique<MemoryCatalog>();
  catalog->add({"region", {key("r_regionkey", 4, 5), text("r_name", 5), text("r_comment", 5)}, 5, {{0}}, {}});
  catalog->add(
      {"nation",
       {key("n_nationkey", 24, 25), text("n_name", 25), key("n_regionkey", 4, 5), text("n_comment", 25)},
       25,
       {{0}},
       {}});
  catalog->add({"supplier",
                {key("s_suppkey", 10000, 10000), text("s_name", 10000), text("s_address", 10000),
                 key("s_nationkey", 24, 25), text("s_phone", 10000), money("s_acctbal", -99822, 999972, 9955),
                 text("s_comment", 10000)},
                10000,
                {{0}},
                {}});
  catalog->add(
      {"customer",
       {key("c_custkey", 150000, 150000), text("c_name", 150000), text("c_address", 150000),
        key("c_nationkey", 24, 25), text("c_phone", 150000), money("c_acctbal", -99999, 999999, 140187),
        text("c_mktsegment", 5), text("c_comment", 150000)},
       150000,
       {{0}},
       {}});
  catalog->add({"part",
                {key("p_partkey", 200000, 200000), text("p_name", 200000), text("p_mfgr", 5),
                 text("p_brand", 25), text("p_type", 150), integer("p_size", 1, 50), text("p_container", 40),
                 money("p_retailprice", 90100, 209899, 20899), text("p_comment", 130000)},
                200000,
                {{0}},
                {}});
  catalog->add(
      {"partsupp",
       {key("ps_partkey", 200000, 200000), key("ps_suppkey", 10000, 10000), integer("ps_availqty", 1, 9999),
        money("ps_supplycost", 100, 100000, 99865), text("ps_comment", 800000)},
       800000,
       {{0, 1}},
       {}});
  catalog->add({"orders",
                {key("o_orderkey", 6000000, 1500000), key("o_custkey", 149999, 99996),
                 character("o_orderstatus", 3), money("o_totalprice", 85771, 55528516, 1464556),
                 date("o_orderdate", "1992-01-01", "1998-08-02"), text("o_orderpriority", 5),
                 text("o_clerk", 1000), integer("o_shippriority", 0, 0), text("o_comment", 1480000)},
                1500000,
                {{0}},
                {}});
  catalog->add(
      {"lineitem",
       {key("l_orderkey", 6000000, 1500000), key("l_partkey", 200000, 200000), key("l_suppkey", 10000, 10000),
        integer("l_linenumber", 1, 7), money("l_quantity", 100, 5000, 50),
        money("l_extendedprice", 90091, 10494950, 933900), money("l_discount", 0, 10, 11),
        money("l_tax", 0, 8, 9), character("l_returnflag", 3), character("l_linestatus", 2),
        date("l_shipdate", "1992-01-02", "1998-12-01"), date("l_commitdate", "1992-01-31", "1998-10-31"),
        date("l_receiptdate", "1992-01-04", "1998-12-31"), text("l_shipinstruct", 4), text("l_shipmode", 7),
        text("l_comment", 4500000)},
       6001215,
       {{0, 3}},
       {}});
  return catalog;
}

}  // namespace tailor::weft
