-- SPDX-License-Identifier: Apache-2.0
\echo Use "CREATE EXTENSION tailor_pg" to load this file. \quit

CREATE FUNCTION tailor_last_execution() RETURNS text
AS 'MODULE_PATHNAME', 'tailor_pg_last_execution' LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION tailor_last_execution() IS
  'Tailor''s name for the statement that this session ran before this one; "tailor report NAME" shows it';

CREATE FUNCTION tailor_last_plan() RETURNS text
AS 'MODULE_PATHNAME', 'tailor_pg_last_plan' LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION tailor_last_plan() IS
  'The plan of the statement that this session ran before this one, with the numbers of its nodes in Tailor''s reports';
