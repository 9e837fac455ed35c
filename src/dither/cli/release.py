"""`dither release`: the public epochs of a data set. Within one, what was paid for is used again for nothing."""

from __future__ import annotations

from typing import Annotated

import typer

from dither.cli.options import DEFAULT_CATALOG, CatalogPath

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Begin a new release, or list those there were.")


@app.command("open")
def open_release(
    name: Annotated[str, typer.Argument(help="A name not used before, such as 2026-Q4.")],
    reason: Annotated[str | None, typer.Option("--reason", help="Kept in the log.")] = None,
    catalog: CatalogPath = DEFAULT_CATALOG,
) -> None:
    """Begin a release: from now on questions measure anew. Do it on a schedule, never because the data changed."""
    from dither.cli.context import owner_ledger, read_catalog
    from dither.cli.screen import out

    with owner_ledger(read_catalog(catalog), create=True) as ledger:
        ledger.open_release(name, reason)
    out().print(f"Release {name} is open. Answers of earlier releases are no longer reused.", markup=False)


@app.command("list")
def list_releases(catalog: CatalogPath = DEFAULT_CATALOG) -> None:
    """All releases, oldest first; the last one is current."""
    from dither.cli.context import owner_ledger, read_catalog
    from dither.cli.screen import out
    from dither.cli.tables import grid

    with owner_ledger(read_catalog(catalog)) as ledger:
        releases = ledger.releases()
    rows = [(release.name, release.opened_at[:19], release.reason or "") for release in releases]
    out().print(grid(("release", "opened (UTC)", "reason"), rows))
