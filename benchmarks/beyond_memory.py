"""Fits from parquet with more records than memory should hold: the peak of memory, and the time.

    python benchmarks/beyond_memory.py --rows 10000000 --columns 20

writes the data once, in pieces, and fits each model in a process of its own: least squares by
statistics (one pass, after the one that checks), and logistic regression by objective perturbation
(a pass for each Newton step).
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

_PIECE = 1 << 18
MODELS = ("statistics", "objective")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--model", choices=MODELS, help="fit this one, here, and print its figures")
    given = parser.parse_args()
    path = given.folder / f"dpverify-{given.rows}-{given.columns}.parquet"
    if given.model:
        print(json.dumps(_fit(given.model, path)))
        return
    if not path.exists():
        _write(path, given.rows, given.columns)
    print(f"{given.rows} x {given.columns}: {path.stat().st_size / 2**30:.2f} GiB of parquet")
    for model in MODELS:
        command = [sys.executable, __file__, "--model", model, "--rows", str(given.rows)]
        command += ["--columns", str(given.columns), "--folder", str(given.folder)]
        told = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        print(f"{model:>12}: {told['mib']:.0f} MiB at most, {told['cpu']:.0f} s of CPU")


def _write(path: Path, rows: int, columns: int) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    rng = np.random.default_rng(0)
    truth = rng.standard_normal(columns) / columns**0.5
    names = [f"x{k}" for k in range(columns)]
    schema = pa.schema([*((name, pa.float64()) for name in names), ("y", pa.int64())])
    part = path.with_suffix(".part")
    with parquet.ParquetWriter(part, schema, compression="none") as writer:
        for start in range(0, rows, _PIECE):
            count = min(_PIECE, rows - start)
            features = rng.uniform(-1.0, 1.0, (count, columns)) / columns**0.5
            y = (features @ truth + 0.1 * rng.standard_normal(count) > 0.0).astype(np.int64)
            table = {name: features[:, k] for k, name in enumerate(names)} | {"y": y}
            writer.write_table(pa.table(table, schema=schema))
    part.rename(path)


def _fit(name: str, path: Path) -> dict[str, float]:
    import dpverify as dpv
    import solvers

    given = {
        "budget": dpv.ApproxDP(epsilon=1.0, delta=1e-8),
        "norm_bound": 1.0,
        "relation": dpv.Relation.ADD_REMOVE,
        "random_state": 0,
    }
    start = time.process_time()
    chunks = solvers.Chunks.parquet(path, target="y")
    if name == "statistics":
        model = solvers.PrivateLinearRegression(label_bound=1.0, **given)
    else:
        model = solvers.PrivateLogisticRegression(classes=(0, 1), method=name, **given)
    model.fit(chunks)
    spent = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024  # KiB on Linux
    return {"cpu": spent, "mib": peak}


if __name__ == "__main__":
    main()
