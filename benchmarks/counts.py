"""Counts that say whether the seams still hold: ``python benchmarks/counts.py``."""

import ast
import inspect
import re
from pathlib import Path
from typing import Protocol

SOURCE = Path(__file__).resolve().parent.parent / "src" / "hardbayes"
#: The one place that picks passes by what a divergence offers.
PICKS_PASSES = SOURCE / "dp_means" / "passes.py"
#: Names by which code could ask whether costs are squared distances.
SWITCHES = r"squared_distance\b|distance_costs|isinstance\([^)]*SquaredEuclidean"


def contract_methods() -> list[str]:
    """Return the methods of the contract of executors."""
    from hardbayes.dp_means.rows import Rows

    return sorted(
        name
        for name, value in vars(Rows).items()
        if inspect.isfunction(value) and not name.startswith("_") and name not in vars(Protocol)
    )


def executor_classes() -> list[str]:
    """Return the classes over which the behaviour of rows in memory is spread by inheritance."""
    from hardbayes.dp_means.memory import MemoryRows

    return [cls.__name__ for cls in MemoryRows.__mro__ if cls is not object]


def switches() -> list[str]:
    """Return where other code than divergences and compiled functions asks for kinds of costs."""
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).parts
        if {"geometry", "compiled", "simd", "rows.py"} & set(parts) or path == PICKS_PASSES:
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            passes_on = re.search(r"(^|, )[\w.]*distance_costs[,)]*$", line.strip())
            if re.search(SWITCHES, line) and not passes_on:
                found.append(f"{path.relative_to(SOURCE)}:{number}: {line.strip()}")
    return found


def places_that_drop_bounds() -> list[str]:
    """Return where bounds that are carried are set to None, but for their first declaration."""
    found = []
    for path in sorted((SOURCE / "dp_means").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            drops = isinstance(node, ast.Assign) and any(
                isinstance(target, ast.Attribute) and target.attr.endswith("bounds")
                for target in node.targets
            )
            if drops and isinstance(node.value, ast.Constant) and node.value.value is None:
                found.append(f"{path.relative_to(SOURCE)}:{node.lineno}")
    return found


def source_lines() -> int:
    """Return the lines of the source, comments and blank lines included."""
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in SOURCE.rglob("*.py"))


def main() -> None:
    """Print the counts."""
    methods = contract_methods()
    print(f"contract methods: {len(methods)} ({', '.join(methods)})")
    print(f"classes of an executor: {len(executor_classes())} ({', '.join(executor_classes())})")
    print(f"switches by kind of costs: {len(switches())}", *switches(), sep="\n  ")
    print(f"places that drop bounds: {len(places_that_drop_bounds())}", *places_that_drop_bounds())
    print(f"source lines: {source_lines():,}")


if __name__ == "__main__":
    main()
