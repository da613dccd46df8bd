#include "compiler/weft/storage/tpch_schema.h"

namespace tailor::weft {
namespace {

ColumnDefinition int_column(std::string name) {
  return {std::move(name), {.kind = ColumnKind::kInt32}};
}
ColumnDefinition key(std::string name) {
  return {std::move(name), {.kind = ColumnKind::kInt64}};
}
ColumnDefinition money(std::string name) {
  return {std::move(name), {.kind = ColumnKind::kDecimal, .precision = 15, .scale = 2}};
}
ColumnDefinition date_column(std::string name) {
  return {std::move(name), {.kind = ColumnKind::kDate}};
}
ColumnDefinition char_column(std::string name, std::uint32_t length) {
  return {std::move(name), {.kind = ColumnKind::kChar, .length = length}};
}
ColumnDefinition text(std::string name, std::uint32_t length) {
  return {std::move(name), {.kind = ColumnKind::kVarchar, .length = length}};
}

std::vector<TableDefinition> make_tables() {
  return {
      {"region", {key("r_regionkey"), char_column("r_name", 25), text("r_comment", 152)}, 1},
      {"nation",
       {key("n_nationkey"), char_column("n_name", 25), key("n_regionkey"), text("n_comment", 152)},
       1},
      {"supplier",
       {key("s_suppkey"), char_column("s_name", 25), text("s_address", 40), key("s_nationkey"),
        char_column("s_phone", 15), money("s_acctbal"), text("s_comment", 101)},
       1},
      {"customer",
       {key("c_custkey"), text("c_name", 25), text("c_address", 40), key("c_nationkey"),
        char_column("c_phone", 15), money("c_acctbal"), char_column("c_mktsegment", 10),
        text("c_comment", 117)},
       1},
      {"part",
       {key("p_partkey"), text("p_name", 55), char_column("p_mfgr", 25), char_column("p_brand", 10),
        text("p_type", 25), int_column("p_size"), char_column("p_container", 10), money("p_retailprice"),
        text("p_comment", 23)},
       1},
      {"partsupp",
       {key("ps_partkey"), key("ps_suppkey"), int_column("ps_availqty"), money("ps_supplycost"),
        text("ps_comment", 199)},
       3},
      {"orders",
       {key("o_orderkey"), key("o_custkey"), char_column("o_orderstatus", 1), money("o_totalprice"),
        date_column("o_orderdate"), char_column("o_orderpriority", 15), char_column("o_clerk", 15),
        int_column("o_shippriority"), text("o_comment", 79)},
       1},
      {"lineitem",
       {key("l_orderkey"), key("l_partkey"), key("l_suppkey"), int_column("l_linenumber"),
        money("l_quantity"), money("l_extendedprice"), money("l_discount"), money("l_tax"),
        char_column("l_returnflag", 1), char_column("l_linestatus", 1), date_column("l_shipdate"),
        date_column("l_commitdate"), date_column("l_receiptdate"), char_column("l_shipinstruct", 25),
        char_column("l_shipmode", 10), text("l_comment", 44)},
       1 | 8},
  };
}

}  // namespace

std::span<const TableDefinition> tpch_tables() {
  static const std::vector<TableDefinition> tables = make_tables();
  return tables;
}

}  // namespace tailor::weft
