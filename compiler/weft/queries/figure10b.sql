-- Figure 10 of "Profiling Dataflow Systems on Multiple Abstraction Levels" (EuroSys 2021), second plan: probe
-- orders first. figure10a.sql forces the other order.
select /*+ leading(partsupp (orders lineitem)) */ count(*), sum(ps_supplycost * l_quantity)
from lineitem, orders, partsupp
where l_orderkey = o_orderkey
  and l_partkey = ps_partkey
  and l_suppkey = ps_suppkey
  and o_orderdate < date '1995-03-15';
