"""Fresh processes that see the same hardbayes as this one."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import hardbayes

ROOT = Path(__file__).resolve().parents[1]
TIME_LIMIT = 600


def run_module(name: str, *arguments: object, environment: Mapping[str, str] | None = None) -> Any:
    """Run ``python -m benchmarks.<name>`` and return the JSON it prints last."""
    paths = [str(Path(hardbayes.__file__).resolve().parents[1]), os.environ.get("PYTHONPATH", "")]
    variables = {"PYTHONPATH": os.pathsep.join(path for path in paths if path)}
    done = subprocess.run(
        [sys.executable, "-m", f"benchmarks.{name}", *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, **variables, **(environment or {})},
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT,
    )
    if done.returncode:
        raise RuntimeError(f"python -m benchmarks.{name} failed:\n{done.stderr.strip()}")
    return json.loads(done.stdout.splitlines()[-1])
