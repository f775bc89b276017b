"""Fingerprints of several hundred fits: does a change of the code change a bit of any result?

``python -m benchmarks.fingerprints write FILE.json`` fits and writes;
``python -m benchmarks.fingerprints compare OLD.json NEW.json`` lists what differs, with objectives.
"""

import argparse
import hashlib
import json
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.fingerprint_cases import FAMILIES, Case


def digest(values: list[Any]) -> str:
    """Return a hash of arrays and numbers, bit by bit."""
    found = hashlib.sha256()
    for value in values:
        array = np.asarray(value)
        found.update(f"{array.dtype.kind}{array.dtype.itemsize}{array.shape}".encode())
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()[:16]


def cases(families: list[str]) -> Iterator[Case]:
    """Yield every case, each name once."""
    for family in FAMILIES:
        if not families or family.__name__ in families:
            yield from family()


def write(path: Path, families: list[str]) -> None:
    """Fit everything, write fingerprints, objectives and times."""
    found = {}
    begin = time.perf_counter()
    warnings.simplefilter("ignore")
    for name, run in cases(families):
        at = time.perf_counter()
        try:
            values, objective = run()
            entry = {"hash": digest(values), "objective": objective}
        except (ValueError, RuntimeError) as error:
            entry = {"hash": f"{type(error).__name__}: {error}", "objective": float("nan")}
        assert name not in found, name
        found[name] = entry | {"seconds": time.perf_counter() - at}
    path.write_text(json.dumps(found, indent=0), encoding="utf-8")
    whole = hashlib.sha256("".join(e["hash"] for e in found.values()).encode()).hexdigest()[:16]
    print(f"{len(found)} fits in {time.perf_counter() - begin:.0f} s: {whole}")


def compare(old: Path, new: Path) -> int:
    """List what differs; return how many."""
    before, after = (json.loads(path.read_text(encoding="utf-8")) for path in (old, new))
    names = [name for name in before if name in after]
    changed = [name for name in names if before[name]["hash"] != after[name]["hash"]]
    gaps = []
    for name in changed:
        was, now = before[name]["objective"], after[name]["objective"]
        gap = 100.0 * (now - was) / abs(was) if was else float("nan")
        gaps.append(gap)
        print(f"{name}: objective {was:.8g} -> {now:.8g} ({gap:+.4f} %)")
    print(f"{len(changed)} of {len(names)} fits differ.")
    if gaps:
        print(f"objective: mean {np.nanmean(gaps):+.4f} %, worst {np.nanmax(gaps):+.4f} %")
    return len(changed)


def main() -> int:
    """Write or compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["write", "compare"])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--family", nargs="*", default=[], help="of fits; all unless given")
    asked = parser.parse_args()
    if asked.what == "write":
        write(asked.files[0], asked.family)
        return 0
    return int(compare(*asked.files) > 0)


if __name__ == "__main__":
    sys.exit(main())
