"""Tries to have its own failure counted as the sandbox's, which is never scored."""

KIND = "drive"
UNPROTECTED = "never"

_PROGRAMS = (
    # closes what the server reads, and dies in the middle
    "import os\nfrom attacker import tried\ntried('closed pipes')\n"
    "os.closerange(0, 64)\nos._exit(70)",
    # the exit status by which a sandbox may know its own failure
    "import os\nfrom attacker import tried\ntried('status')\nos._exit(255)",
    # an answer in the words of the server
    "import os\nfrom attacker import tried\ntried('words')\n"
    "for fd in range(1, 16):\n"
    "    try:\n"
    '        os.write(fd, b\'\\n{"error": "the sandbox failed"}\\n\')\n'
    "    except OSError:\n"
    "        pass\n",
    # no descriptor, no process, no memory left when it ends
    "import os, resource\nfrom attacker import tried\ntried('limits')\n"
    "resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))\n"
    "resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
    "1 / 0",
    # the exit is not what it was
    "import os, sys\nfrom attacker import tried\ntried('exits')\n"
    "os._exit = sys.exit = os.write = os.kill = lambda *arguments: None\n"
    "sys.stdout = sys.stderr = None\n",
    # another program takes its place
    "import os\nfrom attacker import tried\ntried('exec')\nos.execv('/bin/false', ['false'])",
    # stopped, then killed
    "import os, signal\nfrom attacker import tried\ntried('signals')\n"
    "for number in (signal.SIGCONT, signal.SIGABRT):\n    os.kill(os.getpid(), number)",
)


def drive(scene):
    """Run each; an error of the sandbox is the attack's success."""
    for source in _PROGRAMS:
        scene.run(source)
