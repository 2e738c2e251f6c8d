"""Leaves sparse files and folders nested thousands deep, to choke whoever reads the area."""

KIND = "drive"
UNPROTECTED = "refused"


def drive(scene):
    """Leave them, then do what a caller does."""
    scene.run(
        "import os\n"
        "from attacker import tried\n"
        "tried('sparse and deep')\n"
        "for number in range(40):\n"
        "    with open(f'sparse{number}', 'wb') as file:\n"
        "        try:\n"
        "            file.truncate(4 << 20)\n"
        "        except OSError:\n"
        "            pass\n"
        "try:\n"
        "    for _ in range(3000):\n"
        "        os.mkdir('d')\n"
        "        os.chdir('d')\n"
        "except OSError:\n"
        "    pass\n"
    )
    scene.sandbox.list_files()
    held = sum(map(len, scene.sandbox.snapshot().files.values()))
    if held > scene.attack.limits.disk_bytes:
        raise Escaped(f"a snapshot of {held} bytes")  # noqa: F821 - given by the judge
