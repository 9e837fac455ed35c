"""Run benchmarks: `python benchmarks/run.py engine`, or all of them without a name. Each prints its table."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

HERE = Path(__file__).parent
NAMES = sorted(path.stem for path in HERE.glob("*.py") if path.stem != "run")


def main() -> None:
    chosen, rest = (sys.argv[1:2], sys.argv[2:]) if len(sys.argv) > 1 else (NAMES, [])
    for name in chosen:
        if name not in NAMES:
            sys.exit(f"No benchmark {name}; there are {', '.join(NAMES)}.")
        sys.argv = [str(HERE / f"{name}.py"), *rest]
        runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
