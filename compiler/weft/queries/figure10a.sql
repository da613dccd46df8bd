-- Figure 10 of "Profiling Dataflow Systems on Multiple Abstraction Levels" (EuroSys 2021), first plan: probe
-- the smaller hash table first. figure10b.sql forces the other order.
select /*+ leading(orders (partsupp lineitem)) */ count(*), sum(ps_supplycost * l_quantity)
from lineitem, orders, partsupp
where l_orderkey = o_orderkey
  and l_partkey = ps_partkey
  and l_suppkey = ps_suppkey
  and o_orderdate < date '1995-03-15';
