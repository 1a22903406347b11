"""`mha train reverse`, from a cold start to the saved run, against Python's `import torch`, in turn.

    python3 tests/bench/start.py --mha build/mha [--rounds R]

Cold means a process of its own; files are in the system's cache after the first round, which is not
counted. Medians of wall time.
"""

import argparse
import importlib.util
import os
import subprocess
import sys
import tempfile
import time

from table import median, run_mha


def seconds_of(command, folder):
    begin = time.perf_counter()
    subprocess.run(command, check=True, cwd=folder, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin


def main():
    parser = argparse.ArgumentParser(description="a whole training run against import torch")
    parser.add_argument("--mha", required=True)
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    mha = os.path.abspath(arguments.mha)
    _, machine = run_mha(mha, "2,4,6,8,2", 1)
    commands = {
        "mha train reverse": [mha, "train", "reverse", "--quiet", "--force", "-o", "run"],
        "python3 -c 'import torch'": [sys.executable, "-c", "import torch"],
    }
    if importlib.util.find_spec("torch") is None:
        print("torch is not installed: left out")
        del commands["python3 -c 'import torch'"]
    times = {name: [] for name in commands}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(arguments.rounds + 1):
            for name, command in commands.items():
                times[name].append(seconds_of(command, folder))
    print(f"seconds from a cold start, {arguments.rounds} rounds in turn; processor: "
          f"{machine['processor']}")
    for name, samples in times.items():
        print(f"{name:<26} {median(samples[1:]):.2f}")


if __name__ == "__main__":
    main()
