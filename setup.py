"""Build script: the repository root is the package `sim2live`."""

import re
from pathlib import Path

from setuptools import setup

ROOT = Path(__file__).resolve().parent
VERSION = re.search(r'^__version__ = "(.+)"', (ROOT / "__init__.py").read_text(), re.M)[1]

# Every folder with an __init__.py, by name; a test holds this list equal to what is on disk.
FOLDERS = [
    "envs",
    "envs.context",
    "envs.grading",
    "envs.sandbox",
    "envs.tasks",
    "envs.tasks.formats",
    "envs.tasks.library",
    "envs.tasks.specifications",
    "envs.tasks.stdlib",
    "simulators",
    "live_bridge",
    "live_bridge.formats",
    "agents",
    "reward_models",
    "hack_detectors",
    "experiments",
    "experiments.benchmarks",
    "experiments.mismatch",
]

setup(
    name="sim2live",
    version=VERSION,
    description="An open laboratory for simulation-and-live RL of coding agents",
    long_description=(ROOT / "README.md").read_text(),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    python_requires=">=3.11",
    package_dir={"sim2live": "."},
    packages=["sim2live", *(f"sim2live.{name}" for name in FOLDERS)],
    package_data={
        "sim2live": ["py.typed"],
        "sim2live.envs.sandbox": ["attacks/*.py"],
        "sim2live.experiments": ["*.html.jinja"],
    },
    entry_points={"console_scripts": ["sim2live = sim2live.cli:main"]},
    install_requires=[
        "atif>=1.8,<2",
        "bm25s>=0.2.6",
        "docker>=7.1",
        "gymnasium>=1.2,<2",
        "hypothesis>=6.160",  # inputs for tasks from the standard library
        "jinja2>=3.1",
        "lizard>=1.17",
        "numpy>=1.26",
        "plotly>=5.24",
        "pydantic>=2.7,<3",
        "rich>=13.7",
        "scikit-learn>=1.4",
        "scipy>=1.11",
        "sqlalchemy>=2.0,<3",
        "statsmodels>=0.14.2",
        "tensorboard>=2.16",
        "torch>=2.4",
        "transformers>=5.16.1",
        "typer>=0.12",
        "unidiff>=0.7.5",
    ],
    extras_require={
        "vllm": ["vllm>=0.20"],
        "ray": ["ray>=2.40"],
        "live": ["fastapi>=0.115", "uvicorn>=0.30"],
        "dev": [
            "build>=1.2",
            "mypy>=1.13",
            "pytest>=8.2",
            "pytest-timeout>=2.3",
            "pytest-xdist>=3.6",
            "ruff>=0.8",
        ],
    },
    classifiers=[
        "License :: OSI Approved :: Apache Software License",
        "Programming Language :: Python :: 3.11",
        "Topic :: Scientific/Engineering :: Artificial Intelligence",
    ],
)
