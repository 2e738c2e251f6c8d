#!/bin/bash
cat > /app/slug.py <<'END'
import re


def slug(title):
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
END
