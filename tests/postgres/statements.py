"""Statements of all node types, with probes in their expressions. Each k stands for one place of a statement."""

SETUP = """
create table t (a int primary key, b int, c text);
create table u (a int primary key, b int, c text);
create table few (a int, b int);
create table p (a int, b int) partition by range (a);
create table p1 partition of p for values from (0) to (1000);
create table p2 partition of p for values from (1000) to (2000);
create table p3 partition of p for values from (2000) to (10000);
create table parent (a int primary key, b int);
create table child (a int, b int references parent);
insert into t select i, i % 97, 'row ' || i from generate_series(1, 3000) i;
insert into u select i, i % 89, 'row ' || i from generate_series(1, 3000) i;
insert into few select i, i from generate_series(1, 20) i;
insert into p select i, i % 10 from generate_series(0, 2999) i;
insert into parent select i, i from generate_series(1, 50) i;
create index t_b on t (b); create index t_c on t (c); create index u_b on u (b); create index p_a on p (a);
create index t_brin on t using brin (a); create index t_hash on t using hash (b);
create table changed (a int, b int);
create function changed_row() returns trigger language plpgsql as
  'begin new.b := (select count(*) from few where few.a > 0); return new; end';
create trigger on_change before insert on changed for each row execute function changed_row();
create function inner_sql(x int) returns int language sql stable as 'select probe(40, few.b) from few where few.a = x limit 1';
create function inner_block(x int) returns int language plpgsql stable as
  'declare r int; begin select probe(41, f.b) into r from few f where f.a = x; return coalesce(r, 0); end';
create function failing(x int) returns int language plpgsql as $$
  begin
    begin
      perform 1 / (select count(*)::int - 20 from few f where probe(42, f.a) > 0);
    exception when division_by_zero then return x;
    end;
    return -1;
  end $$;
create function nested_failing(x int, deep int) returns int language plpgsql as $$
  declare r int;
  begin
    begin
      select nested_failing(f.a, deep - 1) into r from few f where deep > 0 and f.a = x;
      if deep = 0 then raise exception 'deep'; end if;
    exception when others then r := x;
    end;
    return r;
  end $$;
create function rows_of(n int) returns setof int language sql stable as 'select few.a from few where few.a <= n';
create view v as select probe(1, a) as a, b from t where probe(2, b) > 10;
create materialized view m as select a, b from t where a < 100;
analyze;
"""

OFF = {name: f"set local enable_{name} = off; " for name in
       ("seqscan", "indexscan", "bitmapscan", "indexonlyscan", "hashjoin", "mergejoin", "nestloop", "hashagg", "sort",
        "material", "memoize", "incremental_sort", "tidscan", "parallel_hash", "parallel_append", "gathermerge",
        "partition_pruning")}


def off(*names):
    return "".join(OFF[name] for name in names)


SCANS = [
    "select probe(1, a) from t where probe(2, b) > 5",
    "select probe(1, a) from t where probe(2, b) = 5 and c > ''",
    off("bitmapscan", "seqscan") + "select probe(1, a) from t where b = 7 and probe(2, a) > 5",
    off("bitmapscan", "seqscan") + "select probe(1, a) from t where b = 7 order by a",
    off("bitmapscan", "seqscan") + "select probe(1, a) from t where a = (select probe(2, max(a)) from few)",
    off("bitmapscan", "seqscan", "indexscan") + "select probe(1, b) from t where b < 30",
    off("seqscan", "indexscan", "indexonlyscan") + "select probe(1, a) from t where b = 7 and probe(2, a) > 5",
    off("seqscan", "indexscan") + "select probe(1, a) from t where (b = 7 or b = 8) and probe(2, a) > 5",
    off("seqscan", "indexscan") + "select probe(1, a) from t where b = 7 and c > 'row 5' and probe(2, a) > 5",
    off("seqscan", "indexscan") + "select probe(1, a) from t where a between 5 and 500 and probe(2, b) > 1",
    off("bitmapscan", "seqscan") + "select probe(1, a) from t where b > 90 order by b desc",
    "select probe(1, a) from t where ctid = '(0,1)' and probe(2, b) >= 0",
    "select probe(1, a) from t where ctid > '(0,1)' and ctid < '(2,1)' and probe(2, b) >= 0",
    "select probe(1, a) from t tablesample system (50) repeatable (1) where probe(2, b) > 5",
    "select probe(1, g) from generate_series(1, 100) g where probe(2, g) > 5",
    "select probe(1, g) from generate_series(probe(2, 1), 100) g",
    "select probe(1, x) from rows_of(10) x where probe(2, x) > 0",
    "select probe(1, a), ordinality from unnest(array[1, 2, 3]) with ordinality as q(a, ordinality)",
    "select probe(1, x) from (values (1), (2), (probe(2, 3))) v(x) where probe(3, x) > 1",
    "select probe(1, a) from v where probe(3, a) > 0",
    "select probe(1, a) from m where probe(2, b) > 0",
    "select probe(1, a) from (select a, b from t offset 0) s where probe(2, b) > 3",
    "select probe(1, 1)",
    "select probe(1, 7) where probe(2, 1) = 1",
    "select probe(1, generate_series(1, probe(2, 20)))",
    "select generate_series(1, 3), probe(1, a) from few",
]

JOINS = [
    off("mergejoin", "nestloop") + "select probe(1, t.a) from t join u on t.a = u.a and probe(2, t.b) + u.b > 3",
    off("mergejoin", "nestloop") + "select probe(1, t.a) from t left join u on t.a = probe(2, u.b) and t.b + probe(3, u.a) > 3",
    off("mergejoin", "nestloop") + "select probe(1, t.a) from t right join u on probe(2, t.a) = probe(3, u.a)",
    off("mergejoin", "nestloop") + "select probe(1, t.a) from t full join u on probe(2, t.a) = u.a where probe(3, coalesce(t.b, 1)) > 0",
    off("mergejoin", "nestloop") + "select probe(1, t.a) from t where exists (select from u where u.b = t.b and probe(2, u.a) <> t.a)",
    off("mergejoin", "nestloop") + "select probe(1, t.a) from t where not exists (select from u where u.a = t.b and probe(2, u.b) <> t.a)",
    off("mergejoin", "nestloop") + "select probe(1, few.a) from few join t on few.a = t.b and probe(2, t.a) < few.b",
    off("mergejoin", "nestloop") + "set local work_mem = '64kB'; select probe(1, t.a) from t join u on t.a = u.a and t.c = u.c and probe(2, t.b) + u.b > 3",
    off("mergejoin", "nestloop") + "select probe(1, x.a) from (select a, count(*) as n from t group by a) x join u on x.a = u.a and probe(2, u.b) + x.n > 0",
    off("mergejoin", "nestloop") + "select probe(1, t.a) from t join u on t.a = u.a join few on few.a = u.b and probe(2, t.b) > few.b",
    off("mergejoin", "nestloop") + "select probe(1, a.a) from (select t.a, u.b from t join u on t.a = u.a and probe(2, t.b + u.b) > 0) a join few on few.a = a.b",
    off("hashjoin", "nestloop") + "select probe(1, t.a) from t join u on t.a = u.a and probe(2, t.b) + u.b > 3",
    off("hashjoin", "nestloop") + "select probe(1, t.a) from t full join u on t.a = u.a and t.b = u.b where probe(2, coalesce(t.a, 0)) >= 0",
    off("hashjoin", "nestloop") + "select probe(1, t.a) from t left join u on t.b = u.b and probe(2, u.a) > t.a where t.a < 200",
    off("hashjoin", "nestloop") + "select probe(1, t.b) from t join u on t.b = u.b where t.a < 100 and probe(2, u.a) < 300",
    off("hashjoin", "mergejoin") + "select probe(1, few.a) from few join u on few.a = u.a and probe(2, u.b) + few.b > 3",
    off("hashjoin", "mergejoin") + "select probe(1, few.a) from few left join u on few.a = u.a and probe(2, u.b) > 3",
    off("hashjoin", "mergejoin", "memoize") + "select probe(1, few.a) from few, few f2 where few.a < probe(2, f2.b)",
    off("hashjoin", "mergejoin", "material") + "select probe(1, few.a) from few, few f2 where few.a < probe(2, f2.b)",
    off("hashjoin", "mergejoin") + "select probe(1, t.a) from t, lateral (select probe(2, u.b) as b from u where u.a = t.b limit 1) l where probe(3, l.b) >= 0",
    off("hashjoin", "mergejoin", "seqscan") + "select probe(1, t.a) from t join u on u.a = t.b and probe(2, u.b) > -1",
    off("hashjoin", "mergejoin", "seqscan") + "select probe(1, t.a) from t join u on u.a = probe(2, t.b)",
    "select probe(1, a) from few where a in (select b from t where probe(2, a) > 5)",
    "select probe(1, a) from few where a not in (select probe(2, b) from t where b < 5)",
]

AGGREGATES = [
    "select sum(probe(1, a)) from t",
    "select b, sum(probe(1, a)) from t group by b having sum(probe(2, a)) > 0",
    off("hashagg") + "select b, sum(probe(1, a)) from t group by b having probe(2, b) > 0",
    "select probe(1, b), count(*) from t group by probe(1, b)",
    "select probe(1, b), count(distinct probe(2, a)) from t group by b",
    "select sum(probe(1, a)) filter (where probe(2, b) > 3), string_agg(c, ',' order by probe(3, a)) from t",
    "select b, c, sum(probe(1, a)) from t group by grouping sets ((b), (c), ())",
    "select b, sum(probe(1, a)) from t group by rollup (b)",
    "set local work_mem = '64kB'; select c, sum(probe(1, a)) from t group by c",
    "select distinct probe(1, b) from t",
    off("hashagg") + "select distinct b from t where probe(1, a) > 3",
    "select percentile_cont(0.5) within group (order by probe(1, a)) from t",
    "select max(probe(1, a)), min(b) from t where probe(2, b) > 1",
    off("seqscan") + "select max(a), probe(1, min(b)) from t",
    "select probe(1, sum(b) over (partition by b order by probe(2, a))::int) from t where a < 300",
    "select a, sum(probe(1, b)) over w, rank() over w from t window w as (order by probe(2, a) rows between 3 preceding and current row)",
    "select * from (select probe(1, a) as a, row_number() over (order by a) r from t) x where r <= 3",
    "select count(*) from (select probe(1, a) from t group by 1) x",
    "select b from t where probe(1, a) > 3 group by b",
]

ORDER = [
    "select probe(1, a) from t order by probe(2, b), a",
    "select a from t order by probe(1, b) limit 5",
    "select probe(1, a) from t order by b limit probe(2, 7) offset probe(3, 2)",
    off("seqscan") + "select probe(1, a) from t order by b, c limit 50",
    off("hashagg") + "select probe(1, b) from t union select probe(2, b) from u",
    "select probe(1, a) from t union all select probe(2, a) from u",
    "select probe(1, a) from t intersect select probe(2, a) from u",
    "select probe(1, a) from t except all select probe(2, a) from u",
    off("hashagg") + "select a from t where probe(1, b) > 3 intersect select a from u where probe(2, b) > 3",
    "select probe(1, a) from p where probe(2, b) > 3",
    "select probe(1, a) from p where a < 1500 order by a limit 10",
    off("seqscan", "bitmapscan") + "select probe(1, a) from p where probe(2, b) > 3 order by a",
    off("partition_pruning") + "select sum(probe(1, a)) from p where a < 10",
    "set local enable_partitionwise_aggregate = on; select a, sum(probe(1, b)) from p group by a",
    "select probe(1, a) from p where a = (select probe(2, max(a)) from few)",
]

SUBQUERIES = [
    "select probe(1, a), (select probe(2, max(u.b)) from u where u.a = t.b) from t where a < 100",
    "select probe(1, a) from t where b > (select avg(probe(2, b)) from u)",
    "select probe(1, a) from t where a < 50 and (select count(*) from u where u.b = t.b and probe(2, u.a) > 0) > 1",
    "select probe(1, a) from t where a in (select probe(2, b) from u) or probe(3, b) = 3",
    "select probe(1, a) from t where (a, b) in (select b, probe(2, a) from u where u.b > t.b) and a < 100",
    "select probe(1, a) from few where a = any (array(select probe(2, b) from few))",
    "with q as materialized (select probe(1, a) as a, b from t where probe(2, b) > 3) select probe(3, a) from q where probe(4, b) < 50",
    "with q as materialized (select a, b from t) select probe(1, q.a) from q join q r on q.a = r.b where probe(2, q.b) > 3",
    "with recursive r(n) as (select probe(1, 1) union all select probe(2, n + 1) from r where probe(3, n) < 30) select probe(4, n) from r",
    "with recursive r(n) as (select 1 union select probe(2, few.a) from r join few on few.b = r.n + 1) select probe(4, n) from r",
    "select (select (select probe(1, few.a) from few where few.a = t.b limit 1) + probe(2, t.a)) from t where a < 40",
    "select exists (select from u where probe(1, u.a) = 3000), probe(2, 1)",
    "select probe(1, a) from t where b = (select probe(2, b) from u where a = 5) and b = (select b from u where a = probe(3, 5))",
    "select case when probe(1, a) > 5 then (select probe(2, max(a)) from few) else probe(3, b) end from t where a < 10",
]

CHANGES = [
    "insert into changed select probe(1, a), b from t where probe(2, b) > 90",
    "insert into t select a + 10000, probe(1, b), c from t where a < 10 returning probe(2, a)",
    "insert into t values (1, probe(1, 1), 'x') on conflict (a) do update set b = probe(2, excluded.b) + t.b where probe(3, t.b) >= 0 returning probe(4, b)",
    "update t set b = probe(1, b) where probe(2, a) < 100 returning probe(3, b)",
    "update t set b = probe(1, u.b) from u where u.a = t.a and probe(2, u.a) < 50",
    "update p set a = probe(1, a) + 1000 where probe(2, a) < 20",
    "delete from t where probe(1, a) < 100 returning probe(2, a)",
    "delete from t using u where t.a = u.a and probe(1, u.b) = 3",
    "merge into t using u on t.a = probe(1, u.a) when matched and probe(2, t.b) > 5 then update set b = probe(3, u.b) when not matched then insert values (u.a, probe(4, u.b), '')",
    "with d as (delete from t where probe(1, a) < 5 returning a) select probe(2, a) from d",
    "with d as (update t set b = probe(1, 3) where a < 9), e as (insert into few select probe(2, 3), 4) select probe(3, 4)",
    "insert into child select a, probe(1, a) from few",
    "select probe(1, a) from t where probe(2, b) > 90 for update",
    "create temp table copied as select probe(1, a) as a from t where probe(2, b) > 3",
    "copy (select probe(1, a) from t where probe(2, b) > 90) to '/dev/null'",
    "refresh materialized view m; select probe(1, a) from m",
]

OTHERS = [
    "explain (analyze) select probe(1, t.a) from t join u on t.a = u.a and probe(2, t.b) + u.b > 3",
    "explain (analyze, buffers, timing off) select probe(1, b), count(*) from t where probe(2, a) > 3 group by 1 order by 2",
    "explain select probe(1, a) from t; select probe(2, 1)",
    "declare c cursor for select probe(1, t.a) from t join u on t.a = u.a and probe(2, t.b) + u.b > 3; fetch 5 from c; fetch 5 from c; close c",
    "declare c cursor for select probe(1, a) from t; declare d cursor for select probe(2, a) from u; fetch 3 from c; fetch 3 from d; fetch 3 from c; fetch all from d; fetch all from c",
    "declare c scroll cursor for select probe(1, a) from t order by b; fetch 9 from c; fetch backward 5 from c; move first in c; fetch 2 from c",
    "declare c cursor with hold for select probe(1, a) from t where probe(2, b) > 90; fetch 2 from c; close c",
    "declare c cursor for select probe(1, a), b from t for update; fetch 2 from c; update t set b = probe(2, b) where current of c",
    "prepare q(int) as select probe(1, a) from t where probe(2, b) > $1; execute q(3); execute q(5); deallocate q",
    "select probe(1, a) + inner_sql(5) + probe(2, a) from t where a < 20",
    "select probe(1, a) + inner_block(a) + probe(2, a) from t where a < 20",
    "select probe(1, a) from t where a < 30 and inner_block(b) >= 0 and probe(2, b) >= 0",
    "do $$ declare r record; begin for r in select probe(1, a) as a from t where probe(2, b) > 90 loop perform probe(3, r.a) from few; end loop; end $$",
    "do $$ declare x int; begin for i in 1..20 loop select probe(1, b) into x from t where a = i; end loop; end $$",
    "select probe(1, a) from t where " + " and ".join(f"b <> {1000 + i}" for i in range(40)) + " and probe(2, b) > 3",
    "select " + " + ".join(f"(select probe({1 + i % 30}, a) from few where a = {i % 20 + 1})" for i in range(0, 300)),
    "select probe(1, 0) from " + " union all select probe(2, a) from ".join(["few"] * 150),
]

# Servers before 17 have the one, and not all others are built with the other.
TABLE_FUNCTION = {
    "xmltable": "select probe(1, x) from xmltable('/r/x' passing ('<r><x>1</x><x>2</x></r>'::xml) columns x int path '.') where probe(2, x) > 0",
    "json_table": "select probe(1, x) from json_table('[1, 2]', '$[*]' columns (x int path '$')) where probe(2, x) > 0",
}

# With the statements of functions measured by themselves, as tailor.nested_statements has it.
NESTED = [s for s in OTHERS if "inner_" in s]
STATEMENTS = SCANS + JOINS + AGGREGATES + ORDER + SUBQUERIES + CHANGES + [s for s in OTHERS if s not in NESTED]

WITH_ERRORS = """
select probe(1, a) + failing(a) + probe(2, a) from few where probe(3, a) > 0 order by 1;
select count(*) from (select probe(4, f.a), nested_failing(f.a, 3), probe(5, f.a) from few f offset 0) x;
select probe(6, a), (select probe(7, 1 / (b - 5)) from few g where g.a = f.a) from few f;
select probe(8, a) from few where probe(9, b) > 0;
begin; savepoint s; select probe(10, 1 / (a - 7)) from few; rollback to s; select probe(11, a) from few; commit;
begin; declare c cursor for select probe(12, 20 / (a - 9)) from few; fetch 3 from c; savepoint s; fetch all from c;
rollback to s; select probe(13, a) from few; rollback;
select probe(14, a) + inner_sql(a) + inner_block(a) + probe(15, a) from few;
do $$ begin for i in 1..3 loop begin perform probe(16, 1 / (a - i)) from few; exception when others then
  perform probe(17, a) from few; end; end loop; end $$;
insert into child values (1, 9999);
insert into child select probe(18, a), a from few;
set statement_timeout = '30ms'; select count(probe(19, x)) from generate_series(1, 100000000) x; reset statement_timeout;
select probe(20, t.a) from t join u on t.a = u.a where probe(21, u.b) > 3;
"""
