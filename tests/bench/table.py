"""What the measuring scripts share: running `mha bench`, medians, a table."""

import statistics
import subprocess
import sys
import time

median = statistics.median


def output_of(command):
    """What a program prints; ends this one when that fails."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: status {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def start_mha(mha, shape, threads, mode="stored"):
    """Begins a run of `mha bench`; results_of waits for it."""
    command = [mha, "bench", "--tsv", "--shape", shape, "--threads", str(threads), "--mode", mode]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def results_of(running):
    """{what: row}, each row {column: text}, and {name: value} of the machine."""
    printed, wrong = running.communicate()
    if running.returncode != 0:
        sys.exit(f"{' '.join(running.args)}: status {running.returncode}: {wrong.strip()}")
    lines = printed.splitlines()
    machine = dict(line[2:].split(": ", 1) for line in lines if line.startswith("# "))
    header, *rows = [line.split("\t") for line in lines if not line.startswith("#")]
    table = [dict(zip(header, row)) for row in rows]
    return {row["what"]: row for row in table}, machine


def run_mha(mha, shape, threads, mode="stored"):
    """One run of `mha bench`, from start to end."""
    return results_of(start_mha(mha, shape, threads, mode))


def median_seconds(run, least=3, seconds=0.3):
    """Median seconds of run() over repetitions, after one that is not counted; short ones in batches."""
    run()
    batch = 1
    while True:
        begin = time.perf_counter()
        for _ in range(batch):
            run()
        if time.perf_counter() - begin >= 200e-6:
            break
        batch *= 2
    samples, begin = [], time.perf_counter()
    while len(samples) < least or time.perf_counter() - begin < seconds:
        start = time.perf_counter()
        for _ in range(batch):
            run()
        samples.append((time.perf_counter() - start) / batch)
    return median(samples)


def print_row(*columns):
    """A line of a table; the first two columns are texts."""
    first, second, *rest = columns
    print(f"{first:<18} {second:<28}" + "".join(f" {column:>12}" for column in rest))
    sys.stdout.flush()
