"""CREATE EXTENSION, from files that are installed as a user installs them: at 1.0 and updated, and at once at 1.1.

Both roads must lead to the same functions, views and rights. The server is a copy of the installation, so that nothing is
installed on this machine. The files are those that CMake installs.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from asked import TOP, Answerer, good
from pg_server import INSTALLATION, PG_LIB, Listener, Server, Session
from reach import copy_of
from tailor_env import check

FILES = [pathlib.Path(file) for file in os.environ["TAILOR_PG_EXTENSION"].split(":")]
FIRST = {"function tailor_last_execution()", "function tailor_last_plan()"}
# All that belongs to the extension, with what it is, who may use it, and its comment.
MEMBERS = """
select jsonb_object_agg(pg_describe_object(d.classid, d.objid, 0), jsonb_build_array(
  case d.classid when 'pg_proc'::regclass then pg_get_functiondef(d.objid) when 'pg_class'::regclass then pg_get_viewdef(d.objid) end,
  case d.classid when 'pg_proc'::regclass then (select proacl::text from pg_proc where oid = d.objid)
                 when 'pg_class'::regclass then (select relacl::text from pg_class where oid = d.objid) end,
  obj_description(d.objid, d.classid::regclass::text::name)))
from pg_depend d join pg_extension e on d.refclassid = 'pg_extension'::regclass and d.refobjid = e.oid
where e.extname = 'tailor_pg' and d.deptype = 'e'
"""


def said_by(programs, option):
    done = subprocess.run([str(programs / "pg_config"), option], capture_output=True, text=True, check=True)
    return pathlib.Path(done.stdout.strip())


def copied(place):
    """The programs of a copy of the installation. A server finds its files by paths from its programs, so these stay as they are."""
    share = said_by(INSTALLATION / "bin", "--sharedir")
    if share.is_relative_to(INSTALLATION):
        return copy_of(INSTALLATION, place) / "bin"
    top = os.path.commonpath([INSTALLATION, share])
    for part in (INSTALLATION, share):
        shutil.copytree(part, place / part.relative_to(top), symlinks=True)
    return place / INSTALLATION.relative_to(top) / "bin"


def install(programs):
    """What `cmake --install build --component postgresql` does."""
    for file in FILES:
        shutil.copy(file, said_by(programs, "--sharedir") / "extension")
    shutil.copy(PG_LIB / "tailor_pg.so", said_by(programs, "--pkglibdir"))


def version(session):
    return session.sql("select extversion from pg_extension where extname = 'tailor_pg'")


def members(session):
    return json.loads(session.sql(MEMBERS)[0] or "{}")


def updates(server):
    """From 1.0 to 1.1. Returns what the extension has then."""
    with Session(server) as session:
        check(session.sql("create extension tailor_pg version '1.0'") == [], "CREATE EXTENSION at 1.0")
        first = members(session)
        check(set(first) == FIRST and version(session) == ["1.0"], f"1.0 has its functions: {set(first)}")
        session.sql("select count(*) from pg_class")
        said = session.sql("select tailor_last_execution()")
        check(re.fullmatch("[0-9a-f]{32}", said[0]), f"and they work: {said}")
        check(session.sql("alter extension tailor_pg update to '1.1'") == [], "ALTER EXTENSION UPDATE")
        second = members(session)
        check(version(session) == ["1.1"] and FIRST < set(second), f"1.1 has more: {set(second)}")
        check({name: second[name] for name in FIRST} == first, "and what 1.0 had, as it was")
        check(session.sql("select count(*) from tailor_top()") == ["2"], "which works in the session that updated")
        return second


def begins_with_the_newest(server, updated):
    server.sql("create database fresh")
    with Session(server, "-d", "fresh") as session:
        check(session.sql("create extension tailor_pg") == [], "CREATE EXTENSION")
        fresh = members(session)
        differing = {name for name in {*fresh, *updated} if fresh.get(name) != updated.get(name)}
        check(version(session) == ["1.1"] and not differing, f"a new extension is as an updated one: {differing}")
        unexplained = [name for name, (_, _, comment) in fresh.items() if name.startswith("function") and not comment]
        check(not unexplained, f"each function has a comment, so not {unexplained}")
        opened = [name for name, (_, rights, _) in fresh.items() if "pg_read_all_stats=" in (rights or "") and re.search("[{,]=", rights)]
        check(not opened, f"what is for members of pg_read_all_stats is not everybody's, so not {opened}")


def keeps_to_its_schema(server):
    """Where it is made and moved to, whatever is looked through for names."""
    server.sql("create database moved")
    with Session(server, "-d", "moved") as session:
        session.sql("create schema tools; create schema others")
        check(session.sql("create extension tailor_pg schema tools") == [], "in a schema")
        session.sql("set search_path = ''")
        check(session.sql("select count(*) from tools.tailor_top()") == ["2"], "it works there")
        check(session.sql("alter extension tailor_pg set schema others") == [], "it moves")
        asked = [session.sql(f"select count(*) from others.{source}") for source in ("tailor_top()", "tailor_top_hour")]
        check(asked == [["2"], ["2"]], f"and works there: {asked}")
        check(session.sql("drop extension tailor_pg") == [], "DROP EXTENSION")
        left = session.sql("select proname from pg_catalog.pg_proc where proname like 'tailor%'")
        check(left == [], f"leaves nothing: {left}")


def has_rights(server):
    """In a database whose extension was updated."""
    server.sql("create role asker login; create role watcher login in role pg_read_all_stats")
    with Session(server, "-U", "asker") as session:
        for question in ("select * from tailor_top()", "select * from tailor_tables_hour"):
            said = "\n".join(session.sql(question))
            check("permission denied" in said, f"others may not: {question}: {said}")
        check(session.sql("select tailor_last_plan() is null") == ["t"], "but ask for their own last statement")
    with Session(server, "-U", "watcher") as session:
        check(session.sql("select count(*) from tailor_top_hour") == ["2"], "members of pg_read_all_stats may")


def main():
    with tempfile.TemporaryDirectory(prefix="tailor-pg-installed-") as folder:
        os.chmod(folder, 0o755)
        programs = copied(pathlib.Path(folder))
        install(programs)
        server = Server(programs=programs, preload="tailor_pg", functions="", settings={"dynamic_library_path": "$libdir"})
        server.settings["tailor.http_socket"] = server.folder / "http.sock"
        with server:
            Listener(server.agent)
            Answerer(server.folder / "http.sock").answer = good(TOP)
            updated = updates(server)
            begins_with_the_newest(server, updated)
            keeps_to_its_schema(server)
            has_rights(server)


if __name__ == "__main__":
    main()
