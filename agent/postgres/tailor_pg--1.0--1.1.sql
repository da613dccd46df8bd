-- SPDX-License-Identifier: Apache-2.0
\echo Use "ALTER EXTENSION tailor_pg UPDATE" to load this file. \quit

-- What tailord keeps, of all sessions of this server. The answer is JSON (docs/http-api.md).
CREATE FUNCTION tailor_answer(what text, id text, seconds bigint, most integer) RETURNS text
AS 'MODULE_PATHNAME', 'tailor_pg_answer' LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION tailor_answer(text, text, bigint, integer) IS
  'What tailord answers, as JSON; the other functions of tailor_pg read it';

CREATE FUNCTION tailor_top(since interval DEFAULT '1 hour', most integer DEFAULT 20)
RETURNS TABLE (query_id bigint, query text, executions bigint, sampled bigint, cpu_ms float8, share float8, samples bigint,
               mean_ms float8, max_ms float8, last_execution text)
LANGUAGE SQL VOLATILE PARALLEL RESTRICTED
BEGIN ATOMIC
  SELECT CASE WHEN q.fingerprint ~ '^[0-9a-f]{16}$' THEN ('x' || q.fingerprint)::bit(64)::bigint END,
         coalesce(nullif(q.text, ''), q.name), q.executions, q.drawn, q.cpu_ns / 1e6,
         q.cpu_ns / nullif((a.answer ->> 'total_cpu_ns')::float8, 0), q.samples,
         -- Of what runs, and of runs that nobody counted, it is not known.
         CASE WHEN q.executions > coalesce(q.running, 0) + coalesce((q.elapsed_ns ->> 'unknown')::bigint, 0)
              THEN (q.elapsed_ns ->> 'mean')::float8 / 1e6 END,
         CASE WHEN q.executions > coalesce(q.running, 0) + coalesce((q.elapsed_ns ->> 'unknown')::bigint, 0)
              THEN (q.elapsed_ns ->> 'max')::float8 / 1e6 END, q.last_execution
  FROM (SELECT tailor_answer('top', '', extract(epoch FROM since)::bigint, most)::jsonb AS answer) a,
       jsonb_to_recordset(a.answer -> 'fingerprints')
         AS q(fingerprint text, name text, text text, executions bigint, drawn bigint, running bigint, cpu_ns float8, samples bigint,
              elapsed_ns jsonb, last_execution text)
  ORDER BY q.cpu_ns DESC;
END;
COMMENT ON FUNCTION tailor_top(interval, integer) IS 'The statements that used most CPU time, of all sessions';

-- Of an execution, as its JSON says it. Short runs may share one. While it is open, and where nobody said it, it is not known how
-- many they are.
CREATE FUNCTION tailor_runs(execution jsonb) RETURNS bigint
LANGUAGE SQL IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN execution ? 'added_runs' THEN (execution -> 'added_runs' ->> 'runs')::bigint
            WHEN execution ? 'runs_unknown' OR (execution -> 'running' = 'true' AND execution -> 'labels' ? 'runs') THEN NULL
            ELSE 1 END;
COMMENT ON FUNCTION tailor_runs(jsonb) IS 'Reads how many runs share an execution, for tailor_executions() and tailor_changes()';

-- Between runs that share an execution there are pauses, which are in its own time.
CREATE FUNCTION tailor_elapsed_ms(execution jsonb) RETURNS float8
LANGUAGE SQL IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN tailor_runs(execution) IS NULL OR tailor_runs(execution) = 0 THEN NULL
            WHEN execution ? 'added_runs' THEN (execution -> 'added_runs' -> 'elapsed_ns' ->> 'mean')::float8
            ELSE (execution ->> 'elapsed_ns')::float8 END / 1e6;
COMMENT ON FUNCTION tailor_elapsed_ms(jsonb) IS 'Reads how long a run took, for tailor_executions() and tailor_changes()';

CREATE FUNCTION tailor_executions(since interval DEFAULT '1 hour', most integer DEFAULT 100)
RETURNS TABLE (execution text, began timestamptz, pid integer, datname text, usename text, application_name text,
               query_id bigint, query text, runs bigint, running boolean, elapsed_ms float8, cpu_ms float8, samples bigint,
               rows bigint, failed bigint, error text)
LANGUAGE SQL VOLATILE PARALLEL RESTRICTED
BEGIN ATOMIC
  SELECT e.id, to_timestamp(e.began_ms / 1e3), e.pid, e.labels ->> 'database', e.labels ->> 'user',
         e.labels ->> 'application',
         CASE WHEN e.labels ? 'query_id' AND e.fingerprint ~ '^[0-9a-f]{16}$' THEN ('x' || e.fingerprint)::bit(64)::bigint END,
         e.plan_name, tailor_runs(j.said), e.running, tailor_elapsed_ms(j.said),
         CASE WHEN e.drawn IS NOT FALSE THEN e.cpu_ns / 1e6 END, e.samples, e.rows,
         CASE WHEN e.added_runs IS NOT NULL THEN (e.added_runs ->> 'failed')::bigint
              WHEN tailor_runs(j.said) = 1 AND NOT e.running THEN (e.error <> '')::integer END, nullif(e.error, '')
  FROM (SELECT tailor_answer('executions', '', extract(epoch FROM since)::bigint, most)::jsonb AS answer) a,
       jsonb_array_elements(a.answer -> 'executions') AS j(said),
       jsonb_to_record(j.said)
         AS e(id text, engine text, began_ms float8, pid integer, labels jsonb, fingerprint text, plan_name text, added_runs jsonb,
              running boolean, drawn boolean, cpu_ns float8, samples bigint, rows bigint, error text)
  WHERE e.engine LIKE 'PostgreSQL%'
  ORDER BY e.began_ms DESC;
END;
COMMENT ON FUNCTION tailor_executions(interval, integer) IS 'The newest executions of all sessions';

CREATE FUNCTION tailor_changes(since interval DEFAULT '1 day', most integer DEFAULT 100)
RETURNS TABLE (changed timestamptz, query_id bigint, query text, datname text, usename text,
               before_execution text, before_runs bigint, before_elapsed_ms float8, before_cpu_ms float8,
               after_execution text, after_runs bigint, after_elapsed_ms float8, after_cpu_ms float8)
LANGUAGE SQL VOLATILE PARALLEL RESTRICTED
BEGIN ATOMIC
  SELECT to_timestamp((c.after ->> 'began_ms')::float8 / 1e3),
         CASE WHEN c.fingerprint ~ '^[0-9a-f]{16}$' THEN ('x' || c.fingerprint)::bit(64)::bigint END, c.after ->> 'plan_name',
         c.after -> 'labels' ->> 'database', c.after -> 'labels' ->> 'user',
         c.before ->> 'id', tailor_runs(c.before), tailor_elapsed_ms(c.before),
         CASE WHEN c.before ->> 'drawn' IS DISTINCT FROM 'false' THEN (c.before ->> 'cpu_ns')::float8 / 1e6 END,
         c.after ->> 'id', tailor_runs(c.after), tailor_elapsed_ms(c.after),
         CASE WHEN c.after ->> 'drawn' IS DISTINCT FROM 'false' THEN (c.after ->> 'cpu_ns')::float8 / 1e6 END
  FROM (SELECT tailor_answer('changes', '', extract(epoch FROM since)::bigint, most)::jsonb AS answer) a,
       jsonb_to_recordset(a.answer -> 'plan_changes') AS c(fingerprint text, before jsonb, after jsonb)
  WHERE c.after ->> 'engine' LIKE 'PostgreSQL%'
  ORDER BY (c.after ->> 'began_ms')::float8 DESC;
END;
COMMENT ON FUNCTION tailor_changes(interval, integer) IS
  'Executions that ran by another plan than the one of their statement before';

-- The nodes of a plan, from their JSON and the unit of its samples.
CREATE FUNCTION tailor_nodes(operators jsonb, unit text)
RETURNS TABLE (node integer, plan text, share float8, share_low float8, share_high float8, samples float8, cpu_ms float8,
               estimated_rows float8, actual_rows float8, loops float8)
LANGUAGE SQL IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
  SELECT (o.o ->> 'id')::integer, repeat('  ', (o.o ->> 'depth')::integer) || (o.o ->> 'name'), (o.o ->> 'share')::float8,
         (o.o ->> 'share_low')::float8, (o.o ->> 'share_high')::float8, (o.o ->> 'samples')::float8,
         CASE WHEN unit = 'ns_on_cpu' THEN (o.o ->> 'weight')::float8 / 1e6 END,
         (v.numbers ->> 'estimated_rows')::float8, (v.numbers ->> 'actual_rows')::float8, (v.numbers ->> 'loops')::float8
  FROM jsonb_array_elements(operators) WITH ORDINALITY AS o(o, place),
       LATERAL (SELECT jsonb_object_agg(x ->> 'key', x ->> 'value') AS numbers
                FROM jsonb_array_elements(o.o -> 'attributes') x
                WHERE x ->> 'key' IN ('estimated_rows', 'actual_rows', 'loops')
                  AND x ->> 'value' ~ '^[0-9]{1,20}(\.[0-9]{1,20})?(e[+-]?[0-9]{1,2})?$') v
  ORDER BY o.place;
END;
COMMENT ON FUNCTION tailor_nodes(jsonb, text) IS 'Reads a plan for tailor_plan() and tailor_execution()';

CREATE FUNCTION tailor_plan(query_id bigint, since interval DEFAULT '1 day')
RETURNS TABLE (node integer, plan text, share float8, share_low float8, share_high float8, samples float8, cpu_ms float8,
               estimated_rows float8, actual_rows float8, loops float8)
LANGUAGE SQL VOLATILE PARALLEL RESTRICTED
BEGIN ATOMIC
  SELECT n.node, n.plan, n.share, n.share_low, n.share_high, n.samples, n.cpu_ms, n.estimated_rows, n.actual_rows, n.loops
  FROM (SELECT tailor_answer('query', lpad(to_hex(query_id), 16, '0'), extract(epoch FROM since)::bigint, 1)::jsonb
          -> 'runs' AS runs) a,
       tailor_nodes(a.runs -> 'operators', a.runs -> 'source' ->> 'unit') n;
END;
COMMENT ON FUNCTION tailor_plan(bigint, interval) IS
  'The most expensive plan of a statement, with the CPU time of each node in its newest runs';

-- The nodes of an answer about one execution, with their waits.
CREATE FUNCTION tailor_nodes_and_waits(answer jsonb)
RETURNS TABLE (node integer, plan text, share float8, share_low float8, share_high float8, samples float8, cpu_ms float8,
               wait_ms float8, estimated_rows float8, actual_rows float8, loops float8)
LANGUAGE SQL IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
  SELECT n.node, n.plan, n.share, n.share_low, n.share_high, n.samples, n.cpu_ms,
         CASE WHEN answer ? 'off_cpu' THEN coalesce(w.ms, 0) END, n.estimated_rows, n.actual_rows, n.loops
  FROM jsonb_array_elements(answer -> 'plans') p,
       tailor_nodes(p -> 'operators', answer -> 'source' ->> 'unit') n,
       LATERAL (SELECT sum((r ->> 'ns')::float8) / 1e6 AS ms FROM jsonb_array_elements(answer -> 'off_cpu' -> 'rows') r
                WHERE r -> 'process' = p -> 'process' AND r -> 'plan' = p -> 'plan' AND r ->> 'operator' = n.node::text) w;
END;
COMMENT ON FUNCTION tailor_nodes_and_waits(jsonb) IS 'Reads an execution for tailor_execution() and tailor_last_cost()';

CREATE FUNCTION tailor_execution(execution text)
RETURNS TABLE (node integer, plan text, share float8, share_low float8, share_high float8, samples float8, cpu_ms float8,
               wait_ms float8, estimated_rows float8, actual_rows float8, loops float8)
LANGUAGE SQL VOLATILE PARALLEL RESTRICTED
BEGIN ATOMIC
  SELECT n.node, n.plan, n.share, n.share_low, n.share_high, n.samples, n.cpu_ms, n.wait_ms, n.estimated_rows, n.actual_rows, n.loops
  FROM (SELECT tailor_answer('execution', execution, 1, 1)::jsonb AS said) a, tailor_nodes_and_waits(a.said) n;
END;
COMMENT ON FUNCTION tailor_execution(text) IS 'The plan of an execution, with the CPU time and the waits of each node';

CREATE FUNCTION tailor_last_answer() RETURNS text
AS 'MODULE_PATHNAME', 'tailor_pg_last_answer' LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION tailor_last_answer() IS
  'What tailord knows of the statement that this session ran before this one, as JSON; tailor_last_cost() reads it';

-- Everybody may ask for this: it shows a statement to the user it ran as.
CREATE FUNCTION tailor_last_cost()
RETURNS TABLE (node integer, plan text, share float8, share_low float8, share_high float8, samples float8, cpu_ms float8,
               wait_ms float8, estimated_rows float8, actual_rows float8, loops float8)
LANGUAGE SQL VOLATILE PARALLEL RESTRICTED
BEGIN ATOMIC
  SELECT n.node, n.plan, n.share, n.share_low, n.share_high, n.samples, n.cpu_ms, n.wait_ms, n.estimated_rows, n.actual_rows, n.loops
  FROM (SELECT tailor_last_answer()::jsonb AS said) a, tailor_nodes_and_waits(a.said) n;
END;
COMMENT ON FUNCTION tailor_last_cost() IS
  'The plan of the statement that this session ran before this one, with the CPU time and the waits of each node';

-- A statement that only waited has no node with samples, so waits are not looked for in plans.
CREATE FUNCTION tailor_tables(since interval DEFAULT '1 hour')
RETURNS TABLE (schemaname text, relname text, indexrelname text, share float8, samples float8, cpu_ms float8, wait_ms float8)
LANGUAGE SQL VOLATILE PARALLEL RESTRICTED
BEGIN ATOMIC
  SELECT v.said ->> 'schema', v.said ->> 'table', v.said ->> 'index', sum(n.weight) / nullif(a.weight, 0), sum(n.samples),
         CASE WHEN a.is_all AND a.is_cpu_time THEN sum(n.weight) / 1e6 END, CASE WHEN a.is_all AND a.has_waits THEN sum(n.wait_ns) / 1e6 END
  FROM (SELECT answer -> 'plans' AS plans, answer -> 'off_cpu' -> 'rows' AS waits, (answer ->> 'weight')::float8 AS weight,
               answer -> 'source' ->> 'unit' = 'ns_on_cpu' AS is_cpu_time, answer ? 'off_cpu' AS has_waits,
               answer -> 'view' -> 'runs' ->> 'left_out' = '0' AS is_all
        FROM (SELECT tailor_answer('tables', '', extract(epoch FROM since)::bigint, 1)::jsonb AS answer) x) a,
       LATERAL (SELECT o -> 'attributes' AS attributes, (o ->> 'weight')::float8 AS weight, (o ->> 'samples')::float8 AS samples,
                       0::float8 AS wait_ns
                FROM jsonb_array_elements(a.plans) p, jsonb_array_elements(p -> 'operators') o
                UNION ALL
                SELECT r -> 'attributes', 0::float8, 0::float8, (r ->> 'ns')::float8 FROM jsonb_array_elements(a.waits) r) n,
       LATERAL (SELECT jsonb_object_agg(x ->> 'key', x ->> 'value') AS said FROM jsonb_array_elements(n.attributes) x
                WHERE x ->> 'key' IN ('schema', 'table', 'index')) v
  WHERE v.said ? 'table'
  GROUP BY v.said ->> 'schema', v.said ->> 'table', v.said ->> 'index', a.weight, a.is_all, a.is_cpu_time, a.has_waits
  ORDER BY 4 DESC, 7 DESC;
END;
COMMENT ON FUNCTION tailor_tables(interval) IS
  'The CPU time and the waits of nodes and commands that work on tables of this database, by table and index, over all statements';

-- The same for programs that read tables.
CREATE VIEW tailor_top_hour AS SELECT * FROM tailor_top('1 hour', 100);
CREATE VIEW tailor_tables_hour AS SELECT * FROM tailor_tables('1 hour');
CREATE VIEW tailor_executions_hour AS SELECT * FROM tailor_executions('1 hour', 1000);

-- As for the statements of others in the server's own views.
REVOKE ALL ON FUNCTION tailor_answer(text, text, bigint, integer), tailor_top(interval, integer),
  tailor_executions(interval, integer), tailor_changes(interval, integer), tailor_plan(bigint, interval), tailor_execution(text),
  tailor_tables(interval) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION tailor_answer(text, text, bigint, integer), tailor_top(interval, integer),
  tailor_executions(interval, integer), tailor_changes(interval, integer), tailor_plan(bigint, interval), tailor_execution(text),
  tailor_tables(interval) TO pg_read_all_stats;
GRANT SELECT ON tailor_top_hour, tailor_tables_hour, tailor_executions_hour TO pg_read_all_stats;
