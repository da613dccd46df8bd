"""Plans that the server caches are known by their address, for as long as they live.

A statement is prepared again and again, by two plans in turns: each time the plan that runs must be told, also where it lies where
another one lay. A build that does not notice that a plan is gone must fail. A plan that leaves out partitions at its start has other
nodes each time.
"""
from pg_server import Listener, Server, Session, TWINS
from tailor_env import check

SETUP = """
create table t as select i as a from generate_series(1, 1000) i; create index on t (a);
create table parts (k int) partition by list (k);
create table parts_1 partition of parts for values in (1); create table parts_2 partition of parts for values in (2);
vacuum analyze;
"""
ROUNDS = 60


def told(session):
    return "\n".join(session.sql("select tailor_last_plan()"))


def prepared_anew(session):
    """In how many rounds another plan than the one that ran was told."""
    wrong, plans = 0, set()
    for number in range(ROUNDS):
        seq, index = ("on", "off") if number % 2 else ("off", "on")
        session.sql(f"set enable_seqscan = {seq}; set enable_indexscan = {index}; set enable_indexonlyscan = {index}; "
                    "prepare p as select a from t where a > 990")
        ran = session.sql("explain (costs off) execute p")[0].strip()
        plans.add(ran)
        session.sql("execute p; execute p")
        wrong += f"  {ran}  (" not in told(session)
        session.sql("deallocate p")
    check(len(plans) == 2, f"the statement has two plans: {plans}")
    return wrong


def partitions_are_left_out(session):
    session.sql("prepare q(int) as select k from parts where k = $1")
    for number, other in ((1, 2), (2, 1), (1, 2)):
        session.sql(f"execute q({number})")
        said = told(session)
        check(f"parts_{number}" in said and f"parts_{other}" not in said, f"of a cached plan, the nodes that run: {said}")


def memory_stays(session):
    def used():
        return session.sql("select sum(used_bytes) from pg_backend_memory_contexts where name = 'CachedPlan'")[0]
    session.sql("prepare r as select count(*) from t where a = 7; execute r; execute r")
    before = used()
    session.sql("execute r;" * 500)
    check(used() == before, f"a cached plan takes no more memory the more often it runs: {used()} {before}")


def look(library=None):
    settings = {"tailor.rows_every": "0", "tailor.most_overhead": "100", "tailor.short_run": "0", "plan_cache_mode": "force_generic_plan",
                "enable_bitmapscan": "off"}
    with Server(settings=settings, **({"library": library} if library else {})) as server:
        Listener(server.agent)
        server.sql(SETUP)
        with Session(server) as session:
            wrong = prepared_anew(session)
            if not library:
                partitions_are_left_out(session)
                memory_stays(session)
            return wrong


def main():
    wrong = look()
    check(wrong == 0, f"each time the plan that ran is told: {wrong} of {ROUNDS} are others")
    wrong = look(TWINS / "stale_shapes")
    check(wrong > 0, f"without looking for the end of plans that fails: {wrong} of {ROUNDS}")


if __name__ == "__main__":
    main()
