import sys

sys.path.insert(0, "/app")


def test_words():
    from slug import slug

    assert slug("Hello, World!") == "hello-world"


def test_ends():
    from slug import slug

    assert slug("  --A  b--  ") == "a-b"


def test_digits():
    from slug import slug

    assert slug("Route 66 / 7") == "route-66-7"
