-- The scan-filter-join-aggregate query of "Profiling Compiled SQL Query Pipelines in Apache Spark" (2020),
-- Listing 3.1, with a commit date in the middle of the data.
select l_suppkey * 100 + s_nationkey, avg(l_extendedprice), sum(l_quantity), avg(l_extendedprice), avg(l_discount)
from lineitem
join (select * from supplier order by s_acctbal desc limit 10000) as top_suppliers on l_suppkey = s_suppkey
where l_commitdate > date '1995-06-17'
group by l_suppkey * 100 + s_nationkey;
