"""Leaves objects whose finalisers, weak references and collector callbacks run at the end."""

import gc
import os
import signal
import sys
import weakref

from attacker import tried

UNPROTECTED = "refused"


class _Bomb:
    def __del__(self):
        os.write(1, b"finaliser\n")
        if os.fork() == 0:
            os.setsid()
            os._exit(0)


tried("__del__, weakref, gc.callbacks, signal handlers, hooks")
bomb = _Bomb()
bomb.itself = bomb
sys.modules["planted"] = bomb
gc.callbacks.append(lambda phase, info: None)
weakref.finalize(bomb, os.write, 1, b"weak\n")
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32))
sys.settrace(lambda *arguments: None)
sys.setrecursionlimit(60)
os.umask(0o777)
os.nice(5)
sys.stdout.close()
