"""`stepmark serve`: the store as a web application."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import click

from stepmark.cli.options import store_option

if TYPE_CHECKING:
    from stepmark.web.tokens import Tokens

PORT = 8377
HOST = "127.0.0.1"
TOKEN_VARIABLE = "STEPMARK_TOKEN"
WRITE_TOKEN_VARIABLE = "STEPMARK_WRITE_TOKEN"


@click.command("serve")
@click.option(
    "--host",
    default=HOST,
    show_default=True,
    metavar="ADDRESS",
    help="Where to listen; any but this machine's own needs a token.",
)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="0 takes a free one."
)
@click.option(
    "--token",
    envvar=TOKEN_VARIABLE,
    metavar="TEXT",
    help=f"Readers need it; made and printed where it is needed and not given [env: {TOKEN_VARIABLE}].",
)
@click.option("--allow-upload", is_flag=True, help="Take run bundles from those who have the write token.")
@click.option(
    "--write-token",
    envvar=WRITE_TOKEN_VARIABLE,
    metavar="TEXT",
    help=f"For uploads; made and printed if not given [env: {WRITE_TOKEN_VARIABLE}].",
)
@click.option(
    "--access-log", is_flag=True, help="A line for each request on standard error, without queries."
)
@store_option
def command(
    host: str,
    port: int,
    token: str | None,
    *,
    allow_upload: bool,
    write_token: str | None,
    access_log: bool,
    store: str | None,
) -> int:
    """Serve the stored runs as pages: reports, comparisons, histories of cases, and a JSON API.

    Listens on this machine only. Any other --host needs a token, which readers type once, or send in a
    header. Nothing can be changed through it, unless --allow-upload takes run bundles.
    """
    from stepmark.cli.drawing import check_drawing

    check_drawing()
    from stepmark.store.location import store_url
    from stepmark.store.store import Store
    from stepmark.web.app import make_app
    from stepmark.web.assets import all_assets
    from stepmark.web.server import address_of, listen, serve

    with Store.open(store_url(store), create=allow_upload) as opened, listen(host, port) as listening:
        bound = listening.getsockname()[0]
        tokens = tokens_for(bound, token=token, allow_upload=allow_upload, write_token=write_token)
        app = make_app(opened, tokens=tokens, assets=all_assets())
        click.echo(f"serving {opened.place} at {address_of(listening)}")
        if tokens.read is not None and token is None:
            click.echo(f"token to read:   {tokens.read}")
        if tokens.write is not None and write_token is None:
            click.echo(f"token to upload: {tokens.write}")
        click.echo("Ctrl-C stops it")
        with contextlib.suppress(KeyboardInterrupt):
            serve(app, listening, access_log=access_log)
    click.echo("stopped")
    return 0


def tokens_for(bound: str, *, token: str | None, allow_upload: bool, write_token: str | None) -> Tokens:
    """The secrets that a server at this address needs: chosen ones checked, missing ones made."""
    from stepmark.web.hosts import is_loopback
    from stepmark.web.tokens import Tokens, checked_token, new_token

    read = checked_token(token, what="token") if token is not None else None
    if read is None and not is_loopback(bound):
        read = new_token()
    if not allow_upload:
        return Tokens(read=read)
    write = new_token() if write_token is None else checked_token(write_token, what="write token")
    return Tokens(read=read, write=write)
