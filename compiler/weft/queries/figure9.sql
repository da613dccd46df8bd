-- Figure 9 of "Profiling Dataflow Systems on Multiple Abstraction Levels" (EuroSys 2021).
-- The hint keeps join and aggregation apart, as they are in the figure.
select /*+ no_groupjoin */ l_orderkey, avg(l_extendedprice)
from lineitem, orders
where o_orderdate < '1995-01-01'
  and l_orderkey = o_orderkey
group by l_orderkey;
