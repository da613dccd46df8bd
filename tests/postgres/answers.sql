-- Statements whose answers same_answers.py compares: with tailor_pg and tailord, and without. Everything here gives the
-- same text on each run of one server: rows in an order that the statement or the plan fixes, no times, no costs.
\pset pager off
\set VERBOSITY terse
set client_min_messages = notice;

-- ---- Tables ----
create table o (id int primary key, customer int, price numeric(10, 2), day date, note text);
insert into o select i, i % 50, (i * 7 % 1000) / 10.0, date '2020-01-01' + i % 365, case when i % 9 > 0 then 'note ' || i % 13 end
  from generate_series(1, 4000) i;
create table c (id int primary key, name text, boss int);
insert into c select i, 'customer ' || i, nullif(i / 3, 0) from generate_series(0, 49) i;
create table h (k int, v int) partition by hash (k);
create table h0 partition of h for values with (modulus 3, remainder 0);
create table h1 partition of h for values with (modulus 3, remainder 1);
create table h2 partition of h for values with (modulus 3, remainder 2);
insert into h select i % 500, i from generate_series(1, 3000) i;
create table h_too (k int, v int) partition by hash (k);
create table h_too0 partition of h_too for values with (modulus 3, remainder 0);
create table h_too1 partition of h_too for values with (modulus 3, remainder 1);
create table h_too2 partition of h_too for values with (modulus 3, remainder 2);
insert into h_too select i % 400, i from generate_series(1, 2000) i;
create table r (at date, v int) partition by range (at);
create table r1 partition of r for values from ('2020-01-01') to ('2020-07-01');
create table r2 partition of r for values from ('2020-07-01') to ('2021-01-01');
create table r3 partition of r default;
insert into r select date '2020-01-01' + i % 400, i from generate_series(1, 2000) i;
create index on o (customer); create index on o (day, customer); create index on o using brin (id); create index on o using gin ((string_to_array(note, ' ')));
create index on h (k); create index on r (at);
create table points (p point, id int);
insert into points select point(i % 37, i % 41), i from generate_series(1, 1000) i;
create index on points using gist (p);
create table ancestors (id int, note text); create table heirs (extra int) inherits (ancestors);
insert into ancestors select i, 'a' from generate_series(1, 20) i; insert into heirs select i, 'h', i * i from generate_series(15, 30) i;
analyze o, c, h, h_too, r, points, ancestors, heirs;

-- ---- Scans ----
select count(*), sum(price), min(day), max(note) from o;
select id from o where price > 99 order by id;
select id from o where id between 100 and 105;
select id from o where id in (7, 3999, 12, 5000) order by id desc;
select * from o where id = 17;
select customer, count(*) from o where customer = 7 group by customer;
select id from o where customer = 3 and day < '2020-02-01' order by id;
select id from o where (customer = 3 or customer = 5) and day = '2020-01-20' order by id;
select count(*) from o where string_to_array(note, ' ') @> array['7'];
select ctid, id from o where ctid = '(0,3)';
select id from o where ctid in ('(0,1)', '(1,2)', '(100000,1)');
select count(*) from o where ctid < '(3,1)';
select count(*) from o tablesample bernoulli (10) repeatable (3);
select count(*) from o tablesample system (20) repeatable (4) where id > 5;
select id, p <-> point(3, 3) as far from points order by p <-> point(3, 3), id limit 5;
select * from generate_series(3, 1, -1) with ordinality;
select * from unnest(array[1, 2], array['x', 'y', 'z']) as q(a, b);
select * from rows from (generate_series(1, 2), generate_series(5, 7)) as q(a, b);
values (1, 'a'), (2, 'b'), (3, null) order by 2 nulls first;
select * from json_to_recordset('[{"a": 1, "b": "x"}, {"a": 2}]') as q(a int, b text);
select tableoid::regclass, count(*) from ancestors group by 1 order by 1;
select count(*) from only ancestors;
select relname from pg_class where relname like 'h_' order by relname;
select 1 where false;
select generate_series(1, 3), generate_series(1, 2);
begin;
set local enable_seqscan = off; set local enable_indexscan = off;
select count(*) from o where id < 400 and customer = 9;
select count(*) from o where id < 300 or id > 3900;
set local enable_bitmapscan = off; set local enable_indexscan = on;
select count(*) from o where customer < 4;
select id from o order by id desc limit 3;
select max(id), min(id) from o;
rollback;

-- ---- Joins ----
select c.name, count(*) from o join c on c.id = o.customer group by c.name order by c.name limit 5;
select c.name, o.id from c left join o on o.customer = c.id and o.price > 99.8 order by 1, 2 limit 12;
select count(*) from o right join c on c.id = o.customer and o.id < 20;
select count(*), count(a.id), count(b.id) from (select * from o where id < 100) a full join (select * from o where id between 50 and 200) b on a.id = b.id;
select count(*) from c where exists (select from o where o.customer = c.id and o.price > 99.5);
select count(*) from c where not exists (select from o where o.customer = c.id and o.price > 99.5);
select id from c where id not in (select customer from o where customer < 48) order by id;
select c.id, best.id from c, lateral (select o.id from o where o.customer = c.id order by o.price desc, o.id limit 1) best where c.id < 6 order by 1;
select a.id, b.id from c a join c b on a.boss = b.id and a.id > b.id * 2 where a.id < 12 order by 1, 2;
select count(*) from c a cross join c b;
select count(*) from c a join c b on a.id < b.id;
select * from (values (1), (2)) a(x) natural full join (values (2), (3)) b(x) order by x;
begin;
set local enable_hashjoin = off; set local enable_nestloop = off;
select count(*), sum(o.id) from o join c on c.id = o.customer;
select count(*), count(c.id) from o full join c on c.id = o.customer + 40;
select count(*) from o left join c on c.id = o.customer and c.boss > 3;
select count(*) from o where exists (select from c where c.id = o.customer and c.boss > 7);
select count(*) from o where not exists (select from c where c.id = o.customer and c.boss > 7);
rollback;
begin;
set local enable_mergejoin = off; set local enable_nestloop = off;
select count(*), sum(o.id) from o join c on c.id = o.customer;
select count(*), count(c.id) from o full join c on c.id = o.customer + 40;
select count(*) from c right join o on c.id = o.customer and c.boss > 3;
set local work_mem = '64kB';
select count(*), sum(a.id) from o a join o b on a.id = b.id and a.note = b.note;
select count(*) from o a left join o b on a.customer = b.customer and b.id < 200;
rollback;
begin;
set local enable_mergejoin = off; set local enable_hashjoin = off;
select count(*), sum(c.id) from o join c on c.id = o.customer where o.id < 500;
set local enable_memoize = off;
select count(*), sum(c.id) from o join c on c.id = o.customer where o.id < 500;
set local enable_indexscan = off; set local enable_bitmapscan = off; set local enable_material = off;
select count(*) from c a left join c b on a.boss = b.id;
rollback;

-- ---- Aggregates, windows, sets, order ----
select customer, count(*), avg(price), stddev(price)::numeric(10, 3) from o group by customer having count(*) > 79 order by customer limit 4;
select customer % 3 as a, extract(month from day) as b, count(*) from o group by rollup (1, 2) order by 1 nulls last, 2 nulls last limit 9;
select customer % 2 as a, price > 50 as b, count(*), grouping(customer % 2, price > 50) from o group by cube (1, 2) order by 1 nulls last, 2 nulls last;
select customer % 2 as a, day < '2020-05-01' as b, sum(price) from o group by grouping sets ((1), (2), ()) order by 1 nulls last, 2 nulls last;
select count(distinct customer), count(distinct note), sum(distinct customer) from o;
select string_agg(id::text, ',' order by price desc, id) filter (where id < 40) from o;
select array_agg(distinct note order by note) from o where id < 200;
select percentile_cont(array[0.25, 0.5]) within group (order by price), mode() within group (order by note) from o;
select rank(50) within group (order by price) from o;
select jsonb_object_agg(id, name) from c where id < 3;
select distinct note from o order by note nulls first;
select distinct on (customer) customer, id, price from o where customer < 5 order by customer, price desc, id;
select id, rank() over w, lag(id) over w, sum(price) over (w rows between 2 preceding and 1 following) from o where id < 15 window w as (partition by customer % 3 order by price) order by id;
select * from (select id, row_number() over (order by price desc, id) as n from o) x where n <= 3;
select id, ntile(3) over (order by id), first_value(id) over (order by id groups between 1 preceding and current row exclude ties), cume_dist() over (order by id) from c where id < 5;
select sum(id) over (order by day range between interval '10 days' preceding and current row) from o where id < 12 order by day;
select note from o where id < 30 union select name from c where id < 3 order by 1 nulls last;
select customer from o union all select id from c order by 1 limit 5;
select customer from o where id < 60 intersect select id from c where id > 40 order by 1;
select customer from o intersect all select customer from o where id < 52 order by 1 limit 3;
select id from c except select customer from o where customer > 4 order by 1;
select customer from o where id < 20 except all select id from c where id > 5 order by 1;
select id, note from o order by note nulls first, id desc limit 4 offset 2;
select id from o order by price desc, id fetch first 3 rows with ties;
select day, customer, id from o order by day, customer, id limit 6;
begin;
set local enable_hashagg = off;
select customer, count(*) from o group by customer order by customer limit 3;
select distinct customer from o order by 1 limit 3;
select customer from o intersect select id from c where id > 46 order by 1;
set local enable_sort = off;
select customer, max(id) from o where customer > 46 group by customer order by customer;
rollback;
begin;
set local work_mem = '64kB';
select count(*), sum(n) from (select note, price, count(*) as n from o group by note, price) x;
select count(*) from (select id from o order by note, price, id offset 5) x;
select sum(x) from (select sum(id) over (partition by customer order by note, id) as x from o) y;
rollback;
create aggregate longest(text) (sfunc = text_larger, stype = text, combinefunc = text_larger, parallel = safe);
select longest(note), longest(note) filter (where id < 20) from o;

-- ---- Append, partitions ----
select tableoid::regclass, count(*), sum(v) from h group by 1 order by 1;
select count(*) from h where k = 17;
select k, v from h where k in (3, 4) order by v limit 5;
select k, max(v) from h group by k order by k limit 4;
select at, v from r order by at, v limit 3;
select at, v from r where at > '2020-06-28' order by at, v limit 5;
select count(*) from r where at < '2020-03-01' or at > '2021-01-10';
select sum(v) from r where at = (select max(day) from o);
begin;
set local enable_partitionwise_join = on; set local enable_partitionwise_aggregate = on;
select count(*), sum(h.v), sum(h_too.v) from h join h_too using (k);
select k, count(*) from h left join h_too using (k) group by k order by k limit 4;
select k, sum(v) from h group by k order by 2 desc, 1 limit 3;
rollback;
prepare of_month(date) as select count(*), sum(v) from r where at >= $1;
set plan_cache_mode = force_generic_plan;
execute of_month('2020-02-01'); execute of_month('2020-12-01'); execute of_month('2022-12-01');
reset plan_cache_mode;
execute of_month('2020-02-01'); execute of_month('2020-08-01'); execute of_month('2020-09-01'); execute of_month('2020-10-01'); execute of_month('2020-11-01'); execute of_month('2020-12-01');
create index on r (v);
execute of_month('2020-12-01');
alter table r add column w int default 3;
execute of_month('2020-12-01');
deallocate of_month;

-- ---- Subqueries, CTEs ----
select name, (select count(*) from o where o.customer = c.id) from c where id < 4 order by id;
select id from c where id > (select avg(id) + 22 from c) order by id;
select id, id in (select customer from o where id < 4) from c where id < 6 order by id;
select id from c where (id, boss) in (select customer, customer / 3 from o where id < 20) order by id;
select id from c where id = any (array(select customer from o where id < 3)) order by id;
select (select (select max(o.id) from o where o.customer = b.id) from c b where b.id = a.boss) from c a where a.id in (7, 8, 1) order by a.id;
select exists (select from o where id = 1), not exists (select from o where id = -1);
select case when id > 3 then (select name from c b where b.id = a.id - 3) else name end from c a where id < 6 order by id;
select count(*) from o where price > all (select id from c where id < 40);
with q as materialized (select customer, sum(price) as s from o group by 1) select count(*), max(s) from q where s > (select avg(s) from q);
with q as not materialized (select * from o where id < 100) select count(*) from q a join q b on a.customer = b.customer;
with recursive tree as (select id, boss, 0 as deep from c where boss is null union all select c.id, c.boss, deep + 1 from c join tree on c.boss = tree.id) select deep, count(*) from tree group by 1 order by 1;
with recursive n(x) as (select 1 union select x * 2 % 17 from n) select x from n order by x;
with recursive n(x, y) as (select 1, 1 union all select x + 1, (select count(*)::int from c where c.id < x) from n where x < 6) select * from n;
with recursive g(a, b) as (values (1, 2), (2, 3), (3, 1), (1, 4)), w as (select a, b from g where a = 1 union all select g.a, g.b from g join w on g.a = w.b) cycle b set looped using path select b, looped from w order by 1, 2 limit 8;
with recursive w(id) as (select 0 union all select c.id from c join w on c.boss = w.id) search depth first by id set ord select id from w order by ord limit 5;
with gone as (delete from ancestors where id = 16 returning id), came as (insert into ancestors values (99, 'new') returning id) select (select count(*) from gone), (select sum(id) from came);

-- ---- Changes, triggers, constraints ----
create table log (n serial, what text, before text, after text);
create function note_row() returns trigger language plpgsql set search_path = public as $$ begin
  insert into log (what, before, after) values (tg_when || ' ' || tg_op, case when tg_op <> 'INSERT' then old::text end, case when tg_op <> 'DELETE' then new::text end);
  return case when tg_op = 'DELETE' then old else new end; end $$;
create function note_all() returns trigger language plpgsql set search_path = public as $$ begin
  insert into log (what, after) select 'all ' || tg_op, string_agg(x::text, ' ' order by x.id) from rows_now x; return null; end $$;
create table w (id int primary key, v int check (v < 1000), twice int generated always as (v * 2) stored, to_c int references c on delete cascade deferrable);
create trigger before_w before insert or update or delete on w for each row execute function note_row();
create trigger after_w after insert or update or delete on w for each row execute function note_row();
create trigger all_new after insert on w referencing new table as rows_now for each statement execute function note_all();
create trigger all_old after delete on w referencing old table as rows_now for each statement execute function note_all();
insert into w (id, v, to_c) select i, i * i, i from generate_series(1, 8) i;
insert into w (id, v) values (1, 5), (20, 400) on conflict (id) do update set v = w.v + excluded.v returning id, v, twice;
insert into w (id, v) values (2, 5), (21, 3) on conflict do nothing returning *;
insert into w (id, v) values (30, 1000);
insert into w (id, v, to_c) values (31, 1, 777);
update w set v = v + 1 where id < 4 returning id, v;
update w set v = o.customer from o where o.id = w.id and w.id in (5, 6);
update w set v = 2000 where id = 5;
delete from w where id = 20 returning *;
delete from w using c where c.id = w.to_c and c.name like '%8';
merge into w using (values (1, 11), (50, 12), (7, null)) s(id, v) on w.id = s.id when matched and s.v is null then delete when matched then update set v = s.v when not matched then insert (id, v) values (s.id, s.v);
begin; set constraints all deferred; insert into w (id, v, to_c) values (60, 1, 60); insert into c values (60, 'late'); commit;
begin; set constraints all deferred; insert into w (id, v, to_c) values (61, 1, 61); commit;
delete from c where id = 60;
select * from w order by id;
select what, before, after from log order by n;
truncate log;
update h set k = k + 1 where k < 3;
select tableoid::regclass, k, count(*) from h where k < 4 group by 1, 2 order by 1, 2;
create view cheap as select id, customer, price from o where price < 1 with check option;
update cheap set price = price + 0.1 where id < 400 returning id, price;
update cheap set price = 50 where id < 400;
insert into cheap values (5001, 1, 0.5);
create view both_of as select c.id, c.name, w.v from c join w on w.id = c.id;
create function instead() returns trigger language plpgsql as $$ begin update w set v = new.v where id = new.id; return new; end $$;
create trigger instead instead of update on both_of for each row execute function instead();
update both_of set v = v + 1 where id < 4 returning *;
copy (select id, name from c where id < 3 order by id) to stdout;
copy w (id, v) from stdin;
70	7
71	8
\.
copy w (id, v) from stdin;
72	9
1	9
\.
select count(*) from w;
alter table c enable row level security; create policy few_of on c using (id < 5); create role reader; grant select on c, o to reader;
set role reader; select count(*) from c; select count(*) from o join c on c.id = o.customer; reset role;
alter table c disable row level security;

-- ---- Cursors ----
begin;
declare a scroll cursor for select id, price from o order by price, id;
fetch 3 from a; fetch last from a; fetch backward 2 from a; fetch absolute 10 from a; fetch relative -3 from a; fetch first from a; fetch prior from a; fetch next from a;
move forward 100 in a; fetch 1 from a; move backward all in a; fetch 1 from a;
declare b scroll cursor for select c.name, o.id from c join o on o.customer = c.id where c.id < 3 order by o.id;
fetch 2 from b; fetch 2 from a; fetch backward 1 from b; fetch 0 from b; fetch backward 0 from a; fetch -1 from a;
declare d scroll cursor for select id from o where id < 6;
fetch all from d; fetch backward all from d; fetch absolute -2 from d;
declare e no scroll cursor for select id from c order by id;
fetch 2 from e; savepoint s; fetch backward 1 from e; rollback to s;
declare f cursor for select id, v from w where id > 3 order by id for update;
fetch 2 from f; update w set v = v + 100 where current of f returning id, v; fetch 1 from f; delete from w where current of f returning id;
close a; close b;
savepoint t; declare g cursor for select 1 / (id - 3) from c order by id; fetch 3 from g; fetch 1 from g; rollback to t; fetch 1 from g;
rollback;
begin;
declare held scroll cursor with hold for select o.id, c.name from o join c on c.id = o.customer where o.id % 1000 = 1 order by o.id;
fetch 1 from held; commit; fetch 2 from held; fetch backward 1 from held; fetch all from held;
begin; fetch first from held; rollback; fetch next from held; close held;
begin; declare bad cursor with hold for select 10 / (id - 2) from c order by id; fetch 1 from bad; commit;
begin; declare many cursor for select generate_series(1, 5), x from (values ('p'), ('q')) v(x); fetch 3 from many; fetch 4 from many; rollback;
create function a_cursor() returns refcursor language plpgsql as $$ declare k refcursor := 'k'; begin open k for select id from c order by id desc; return k; end $$;
begin; select a_cursor(); fetch 2 from k; commit;

-- ---- PL/pgSQL, nested executions, subtransactions, errors ----
create function count_of(x int) returns int language plpgsql stable as $$ declare n int; begin select count(*) into n from o where customer = x; return n; end $$;
create function sum_of(x int) returns numeric language sql stable as 'select sum(price) from o where customer = x';
create function some_of(x int) returns table (id int, note text) language plpgsql as $$ begin return query select o.id, o.note from o where o.customer = x order by o.id limit 3; return query execute 'select 0, $1' using 'end'; end $$;
create function part(a int, b int) returns int language plpgsql as $$ begin return a / b; exception when division_by_zero then return null; end $$;
create function deep(n int) returns int language plpgsql as $$ declare x int; begin if n = 0 then return (select count(*) from c); end if; select deep(n - 1) + 1 into x from c where id = n % 50; return x; end $$;
create function tries(n int) returns text language plpgsql as $$ declare said text := ''; begin
  for i in 1..n loop
    begin
      insert into log (what) values ('try ' || i);
      if i % 2 = 0 then raise exception 'number %', i using errcode = 'P0001'; end if;
      if i % 3 = 0 then perform 1 / (select 0 from c limit 1); end if;
      said := said || i;
    exception when raise_exception then said := said || 'r'; when division_by_zero then said := said || 'd'; end;
  end loop; return said; end $$;
select id, count_of(id), sum_of(id) from c where id < 4 order by id;
select * from some_of(7);
select c.id, s.* from c, some_of(c.id) s where c.id < 3 order by 1, 2;
select id from c where count_of(id) > 79 and id < 9 order by id;
select part(id, id - 3), id from c where id < 6 order by id;
select sum(part(id, id % 5)) from c;
select deep(20);
select tries(12);
select count(*) from log;
select id, tries(id) from c where id < 6 order by id;
do $$ declare x record; n int := 0; begin for x in select id from o order by id loop n := n + 1; exit when n > 120; end loop; raise notice 'n is %', n; end $$;
do $$ declare k cursor (m int) for select id from c where id < m order by id; begin for x in k(3) loop raise notice 'id %', x.id; end loop; end $$;
do $$ declare k scroll cursor for select id from c order by id; x int; begin open k; fetch absolute 5 from k into x; raise notice '%', x; move backward 2 from k; fetch k into x; raise notice '%', x; close k; end $$;
do $$ begin perform 1 / (id - 3) from c order by id; exception when others then raise notice '% %', sqlstate, sqlerrm; end $$;
do $$ begin for i in 1..30 loop begin execute 'select 1 / ' || i % 3; exception when division_by_zero then null; end; end loop; end $$;
create procedure steps() language plpgsql as $$ begin for i in 1..4 loop insert into log (what) values ('step ' || i); if i % 2 = 0 then rollback; else commit; end if; end loop; end $$;
truncate log; call steps(); select what from log order by n;
create procedure reading() language plpgsql as $$ declare x record; begin for x in select id from c where id < 4 order by id loop insert into log (what) values ('read ' || x.id); commit; end loop; end $$;
call reading(); select what from log order by n;
select 1 / (id - 40) from c order by id;
select sum(1 / (id - 40)) from c;
select id from c order by 1 / (id - 40);
select count(*) from o join c on c.id = 10 / (o.id - 3000);
select (select 1 / (c.id - 7) from o where o.id = c.id + 1) from c order by id;
insert into log (what) select 1 / (id - 30) from c;
select * from pg_sleep(0) where 1 / (select count(*) - 51 from c) = 0;
begin; savepoint a; select 1 / 0; rollback to a; savepoint b; select count(*) from c; savepoint d; insert into w (id, v) values (1, 1); rollback to b; release b; select count(*) from w; commit;
begin; select 1 / 0; select 2; rollback;
begin; declare k cursor for select id from c order by id; fetch 1 from k; savepoint a; fetch 1 from k; select 1 / (id - 3) from c order by id; rollback to a; fetch 1 from k; commit;
create function forever(x int) returns int language plpgsql as $$ begin return forever(x + 1); end $$;
select forever(1);
select pg_cancel_backend(pg_backend_pid()), g from generate_series(1, 3) g;
select id from c where id <> 9 or pg_cancel_backend(pg_backend_pid()) is null order by id;
set statement_timeout = '50ms'; select count(*) from generate_series(1, 1000000000) a; reset statement_timeout;
select cast('x' || id as int) from c order by id limit 1;
select id::text::date from c;
select no_such_column from c;
selekt 1;

-- ---- Plans that are shown ----
explain (costs off) select c.name, count(*) from o join c on c.id = o.customer group by c.name;
explain (analyze, costs off, timing off, summary off, buffers off) select count(*) from o where id < 100;
explain (analyze, costs off, timing off, summary off, buffers off) select c.id from c join w on w.id = c.id and w.v > 3 order by c.name limit 3;
explain (analyze, costs off, timing off, summary off, buffers off) select (select count(*) from w where w.id = c.id) from c where id < 5;
explain (analyze, costs off, timing off, summary off, buffers off) with q as materialized (select id from c) select count(*) from q a, q b where a.id < 3;
explain (analyze, costs off, timing off, summary off, buffers off) insert into log (what) select 'x' from c where id < 3;
explain (analyze, costs off, timing off, summary off, buffers off) update w set v = v where id = 1;
explain (analyze, costs off, timing off, summary off, buffers off) select at from r where at > '2020-12-30' order by at limit 2;
begin; set local enable_seqscan = off; explain (analyze, costs off, timing off, summary off, buffers off) select count(*) from o where id < 400 and customer = 9; rollback;
create function explained(q text) returns setof text language plpgsql as $$ begin return query execute 'explain (analyze, costs off, timing off, summary off, buffers off) ' || q; end $$;
select explained('select distinct customer % 4 from o where id < 9 order by 1');

-- ---- Statements that are no queries ----
create table copied as select id, price from o where price > 99 order by id; select count(*), sum(price) from copied;
create table empty as select * from o with no data; select count(*) from empty;
select id into temp picked from c where id < 3 order by id; select * from picked;
create materialized view by_customer as select customer, sum(price) as s from o group by customer; create unique index on by_customer (customer);
refresh materialized view by_customer; refresh materialized view concurrently by_customer; select count(*), sum(s) from by_customer;
create function halved(x int) returns int language plpgsql immutable as 'begin return x / 2; end'; create index on o (lower(note), halved(id)); create index on o (sqrt(id)) where id > 3;
alter table copied add column d numeric default 3, alter column price type float8 using price * 2; select sum(price), sum(d) from copied;
cluster o using o_pkey; reindex table o; vacuum full copied; vacuum (freeze, analyze) c; analyze o;
begin; lock table c in share mode; prepare transaction 'two'; commit prepared 'two';
listen news; unlisten news; notify news;
select lo_create(70000); select lo_put(70000, 0, 'large'); select convert_from(lo_get(70000), 'UTF8'); select lo_unlink(70000);
begin; create temp table gone (a int) on commit drop; insert into gone select id from c; select count(*) from gone; commit;
do language plpgsql $$ begin create table made_in_block as select 1 as a; execute 'insert into made_in_block select id from c where id < 3'; end $$; select sum(a) from made_in_block;
begin; select id from w where id < 4 order by id for update; select id from w where id = 1 for share nowait; select id from c where id < 2 order by id for no key update skip locked; commit;

-- ---- Foreign tables ----
create extension file_fdw; create server files foreign data wrapper file_fdw;
create foreign table numbers (a int, b int) server files options (program 'seq -f %g,7 1 500', format 'csv');
select count(*), sum(a), sum(b) from numbers; select a from numbers where a < 4; select count(*) from numbers x join numbers y using (a) where x.a < 50;
select a from numbers limit 2;
create extension postgres_fdw;
create server myself foreign data wrapper postgres_fdw options (host :'folder', dbname 'postgres', fetch_size '50', async_capable 'true');
create user mapping for current_user server myself options (user 'tester');
create foreign table far_o (id int, customer int, price numeric(10, 2)) server myself options (table_name 'o');
create foreign table far_c (id int, name text) server myself options (table_name 'c');
create foreign table far_w (id int, v int) server myself options (table_name 'w');
select count(*), sum(price) from far_o; select id from far_o where id < 4 order by id; select id from far_o where sqrt(id) = 2 and part(id, 1) = 4;
select name, count(*) from far_o join far_c on far_c.id = customer where customer < 3 group by name order by name;
select count(*) from far_o join c on c.id = far_o.customer where c.boss > 5;
insert into far_w values (80, 8), (81, 9) returning *; update far_w set v = v + 1 where id = 80 returning v; update far_w set v = part(v, 2) where id > 79 returning id, v; delete from far_w where id > 79;
create table spread (id int, name text) partition by range (id); alter table spread attach partition far_c for values from (0) to (1000);
create foreign table far_c2 partition of spread for values from (1000) to (2000) server myself options (table_name 'c');
select count(*), count(distinct name) from spread; select count(*) from far_o union all select count(*) from far_c union all select 1;
begin; select count(*) from far_o; savepoint a; select 1 / (id - 5) from far_o order by id; rollback to a; select count(*) from far_c; commit;

-- ---- Parallel plans ----
set parallel_setup_cost = 0; set parallel_tuple_cost = 0; set min_parallel_table_scan_size = 0; set min_parallel_index_scan_size = 0; set max_parallel_workers_per_gather = 2;
select count(*), sum(price), avg(id) from o;
select customer, count(*), max(price) from o group by customer order by customer limit 4;
select id from o where price > 99.5 order by id limit 5;
select count(*), sum(o.id) from o join c on c.id = o.customer;
select count(*), sum(a.id) from o a join o b on a.id = b.id + 1 where b.price > 10;
select count(*) from o where customer in (select id from c where boss > 9);
select count(*) from h; select count(*), sum(v) from h join h_too using (k, v);
select at, count(*) from r group by at order by at limit 3;
select count(*) from o where id < 1000 and customer = 4; select count(*) from (select id from o union all select id from w) x;
select count(*) from o where price > (select avg(price) from o); select id, note from o order by note nulls last, id limit 3;
select sum(1 / (id - 3000)) from o; select count(*) from c; select id from o where 1 / (id - 2000) > 0 order by id;
begin; savepoint a; select count(1 / (id - 777)) from o; rollback to a; select count(*) from o; commit;
do $$ declare n int; begin for i in 1..3 loop begin select count(1 / (id - i)) into n from o; exception when division_by_zero then raise notice 'caught %', i; end; end loop; end $$;
begin; declare k cursor for select id from o where price > 99 order by id; fetch 2 from k; fetch 2 from k; close k; rollback;
create table made as select customer, count(*) as n from o group by customer; select sum(n) from made;
set enable_mergejoin = off; set enable_nestloop = off; set parallel_leader_participation = off;
select count(*), sum(o.id) from o join c on c.id = o.customer; select count(*), count(c.id) from o left join c on c.id = o.customer and c.boss > 2;
select count(*) from o a join o b on a.customer = b.customer and a.id < 300 and b.id < 500;
set enable_parallel_hash = off; select count(*), sum(o.id) from o join c on c.id = o.customer;
reset all; set client_min_messages = notice;

-- ---- Compiled expressions, where the server can ----
set jit = on; set jit_above_cost = 0; set jit_optimize_above_cost = 0; set jit_inline_above_cost = -1;
select count(*), sum(price * 2 + id) from o where id % 3 = 1 and price > 5;
select c.name, sum(o.price) from o join c on c.id = o.customer group by c.name order by c.name limit 3;
select 1 / (id - 40) from c order by id;
select part(id, id - 3) from c where id < 5 order by id;
begin; declare k cursor for select id + 1 from c order by id; fetch 2 from k; savepoint a; select sum(1 / id) from c; rollback to a; fetch 2 from k; commit;
reset all;
