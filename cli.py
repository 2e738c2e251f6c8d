"""The sim2live command."""


def main() -> None:
    """Run."""
