"""A PostgreSQL server for as long as a test module runs; tests are skipped, and say why, where there is none."""

from __future__ import annotations

import glob
import importlib.util
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager


def missing() -> str | None:
    """Why PostgreSQL cannot be tested here; None when it can."""
    if importlib.util.find_spec("psycopg") is None:
        return "psycopg is not installed (the extra `postgres`)"
    return None if _programs() else "no PostgreSQL server programs found"


@contextmanager
def server() -> Iterator[str]:
    """The URL of a fresh server on a socket in a folder of its own."""
    programs, folder = _programs(), tempfile.mkdtemp(prefix="dither-pg-")
    assert programs is not None
    # initdb refuses to run as root.
    prefix = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    if prefix:
        shutil.chown(folder, "postgres", "postgres")

    def run(program: str, *arguments: str) -> None:
        command = [*prefix, os.path.join(programs, program), *arguments]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/")

    data = os.path.join(folder, "data")
    run("initdb", "-D", data, "-U", "postgres", "-A", "trust", "--no-sync")
    run("pg_ctl", "-D", data, "-w", "-l", os.path.join(folder, "log"), "-o", f"-k {folder} -h ''", "start")
    try:
        yield f"postgresql://postgres@/postgres?host={folder}"
    finally:
        run("pg_ctl", "-D", data, "-w", "-m", "immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)


def schema_of(server: str, name: str) -> str:
    """The URL of an empty schema of this name on the server."""
    import psycopg

    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f'CREATE SCHEMA "{name}"')
    return f"{server}&options=-csearch_path%3D{name}"


def _programs() -> str | None:
    found = shutil.which("initdb")
    folders = [os.path.dirname(found)] if found else sorted(glob.glob("/usr/lib/postgresql/*/bin"), reverse=True)
    return next((folder for folder in folders if os.path.exists(os.path.join(folder, "pg_ctl"))), None)
