"""Connects to services of the host through their socket files: the canary's, docker's, D-Bus."""

import contextlib
import socket

from attacker import got, host, tried

UNPROTECTED = "escapes"

paths = [
    *("/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock"),
    *("/run/dbus/system_bus_socket", "/run/systemd/private", "/run/systemd/notify"),
]
tried(host["unix"])
for path in [host["unix"], *paths]:
    with socket.socket(socket.AF_UNIX) as client, contextlib.suppress(OSError):
        client.connect(path)
        got(path)
