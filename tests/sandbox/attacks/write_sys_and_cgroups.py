"""Writes under /sys: leaves its control group, raises its limits, plants a release agent."""

import os

from attacker import got, tried

UNPROTECTED = "refused"

paths = ["/sys/kernel/uevent_helper", "/sys/power/state", "/sys/kernel/mm/ksm/run"]
names = ("cgroup.procs", "tasks", "release_agent", "memory.max", "pids.max", "notify_on_release")
for folder, folders, files in os.walk("/sys/fs/cgroup"):
    paths += [os.path.join(folder, name) for name in names if name in files]
    if len(paths) > 300:
        folders.clear()
tried(f"{len(paths)} files")
for path in paths:
    try:
        os.close(os.open(path, os.O_WRONLY))
        got(f"may write {path}")
    except OSError:
        pass
try:
    os.mkdir("/sys/fs/cgroup/sim2live-planted")
    got("made a control group")
    os.rmdir("/sys/fs/cgroup/sim2live-planted")
except OSError:
    pass
