"""Where and with what the numbers were measured."""

import os
import platform
import sys
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from threadpoolctl import threadpool_info

from benchmarks.options import THREADS, Options

PACKAGES = ["numpy", "scipy", "scikit-learn", "numba", "llvmlite", "faiss-cpu", "threadpoolctl"]

METHOD = f"""\
- Every contestant has {THREADS} threads. Contestants take turns; a ratio is the median of the
  ratios within a turn, with the extremes in brackets. All have run before they are timed.
- Objective: fit term plus penalty times clusters, from the labels alone, by one function."""


def header(options: Options) -> str:
    """Return the opening of the report."""
    import hardbayes

    found = getattr(hardbayes, "__version__", "unknown")
    versions = [f"Python {platform.python_version()}", f"hardbayes {found}"]
    versions += [f"{name} {_version(name)}" for name in PACKAGES]
    machine = [_cpu(), f"{_cores()} cores usable", f"{_memory()} of memory", f"load {_load()}"]
    lines = [
        f"- Run: {datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {options.repeats} rounds at most.",
        f"- Machine: {', '.join(machine)}, {platform.system()} {platform.release()}.",
        f"- Versions: {', '.join(versions)}.",
        f"- Linear algebra: {_blas()}.",
        METHOD,
    ]
    scale = " (quick: toy sizes, the numbers mean nothing)" if options.quick else ""
    return f"# hardbayes benchmarks{scale}\n\n" + "\n".join(lines)


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def _cores() -> int:
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _memory() -> str:
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return "an unknown amount"
    return f"{size / 2**30:.1f} GiB"


def _load() -> str:
    return f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"


def _blas() -> str:
    libraries = {
        f"{pool['internal_api']} {pool['version']} ({pool.get('architecture', 'unknown kernel')})"
        for pool in threadpool_info()
        if pool["user_api"] == "blas"
    }
    return ", ".join(sorted(libraries)) or "unknown"
