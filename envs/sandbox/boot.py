"""The first thing in a new fork server."""

from __future__ import annotations

from . import fork_hooks


def main(link_fd: int, disk_bytes: int) -> None:
    """Load the server, and serve until the caller closes the link (see `server.main`)."""
    with fork_hooks.held_back():
        from . import server
    server.main(link_fd, disk_bytes)
