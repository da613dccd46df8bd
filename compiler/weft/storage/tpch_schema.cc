#include "compiler/weft/storage/tpch_schema.h"

namespace tailor::weft {
namespace {

ColumnDefinition Int(std::string name) {
  return {std::move(name), {.kind = ColumnKind::kInt32}};
}
ColumnDefinition Key(std::string name) {
  return {std::move(name), {.kind = ColumnKind::kInt64}};
}
ColumnDefinition Money(std::string name) {
  return {std::move(name), {.kind = ColumnKind::kDecimal, .precision = 15, .scale = 2}};
}
ColumnDefinition Date(std::string name) {
  return {std::move(name), {.kind = ColumnKind::kDate}};
}
ColumnDefinition Char(std::string name, std::uint32_t length) {
  return {std::move(name), {.kind = ColumnKind::kChar, .length = length}};
}
ColumnDefinition Text(std::string name, std::uint32_t length) {
  return {std::move(name), {.kind = ColumnKind::kVarchar, .length = length}};
}

std::vector<TableDefinition> MakeTables() {
  return {
      {"region", {Key("r_regionkey"), Char("r_name", 25), Text("r_comment", 152)}, 1},
      {"nation", {Key("n_nationkey"), Char("n_name", 25), Key("n_regionkey"), Text("n_comment", 152)}, 1},
      {"supplier",
       {Key("s_suppkey"), Char("s_name", 25), Text("s_address", 40), Key("s_nationkey"), Char("s_phone", 15),
        Money("s_acctbal"), Text("s_comment", 101)},
       1},
      {"customer",
       {Key("c_custkey"), Text("c_name", 25), Text("c_address", 40), Key("c_nationkey"), Char("c_phone", 15),
        Money("c_acctbal"), Char("c_mktsegment", 10), Text("c_comment", 117)},
       1},
      {"part",
       {Key("p_partkey"), Text("p_name", 55), Char("p_mfgr", 25), Char("p_brand", 10), Text("p_type", 25),
        Int("p_size"), Char("p_container", 10), Money("p_retailprice"), Text("p_comment", 23)},
       1},
      {"partsupp",
       {Key("ps_partkey"), Key("ps_suppkey"), Int("ps_availqty"), Money("ps_supplycost"),
        Text("ps_comment", 199)},
       3},
      {"orders",
       {Key("o_orderkey"), Key("o_custkey"), Char("o_orderstatus", 1), Money("o_totalprice"),
        Date("o_orderdate"), Char("o_orderpriority", 15), Char("o_clerk", 15), Int("o_shippriority"),
        Text("o_comment", 79)},
       1},
      {"lineitem",
       {Key("l_orderkey"), Key("l_partkey"), Key("l_suppkey"), Int("l_linenumber"), Money("l_quantity"),
        Money("l_extendedprice"), Money("l_discount"), Money("l_tax"), Char("l_returnflag", 1),
        Char("l_linestatus", 1), Date("l_shipdate"), Date("l_commitdate"), Date("l_receiptdate"),
        Char("l_shipinstruct", 25), Char("l_shipmode", 10), Text("l_comment", 44)},
       1 | 8},
  };
}

}  // namespace

std::span<const TableDefinition> TpchTables() {
  static const std::vector<TableDefinition> tables = MakeTables();
  return tables;
}

}  // namespace tailor::weft
