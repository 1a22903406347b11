"""What a second thread gains, against what FMA peak gains from it.

    python3 tests/bench/threads.py --mha build/mha [--threads N] [--rounds R] [SHAPE...]

Runs in turn `mha bench` on one thread, on N, and N times on one thread at once. The gain of a row is the
median of its speed on N threads over that on one; relative is that gain divided by the gain of FMA peak,
which is measured in the same runs. Programs is what N programs gain that share nothing but the machine: where
processors share caches and memory with each other, or with other machines, no N threads gain more.
"""

import argparse

from table import median, print_row, results_of, run_mha, start_mha

SHAPES = ["32,64,64,128,8", "8,256,256,256,8", "4,512,512,512,8", "1,4096,4096,256,8"]
WHATS = ["forward", "step", "core-forward", "core-backward"]


def measure(arguments, shape):
    mha, mode, threads = arguments.mha, arguments.mode, arguments.threads
    gains, relative, programs = ({what: [] for what in WHATS} for _ in range(3))
    for _ in range(arguments.rounds):
        one, _ = run_mha(mha, shape, 1, mode)
        many, _ = run_mha(mha, shape, threads, mode)
        running = [start_mha(mha, shape, 1, mode) for _ in range(threads)]
        apart = [results_of(each)[0] for each in running]
        for what in WHATS:
            alone = float(one[what]["gflops"])
            gains[what].append(float(many[what]["gflops"]) / alone)
            relative[what].append(
                float(many[what]["peak_percent"]) / float(one[what]["peak_percent"]))
            programs[what].append(sum(float(each[what]["gflops"]) for each in apart) / alone)
    for what in WHATS:
        print_row(shape, what, mode, *(f"{median(values[what]):.2f}"
                                       for values in (gains, relative, programs)))


def main():
    parser = argparse.ArgumentParser(description="the gain of further threads")
    parser.add_argument("--mha", required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--mode", default="stored")
    parser.add_argument("shapes", nargs="*", default=SHAPES)
    arguments = parser.parse_args()
    _, machine = run_mha(arguments.mha, "2,4,6,8,2", arguments.threads)
    print(f"{arguments.threads} threads against one, {arguments.rounds} rounds in turn; processor: "
          f"{machine['processor']}, instruction set {machine['instruction set']}")
    print_row("shape", "what", "mode", "gain", "relative", "programs")
    for shape in arguments.shapes:
        measure(arguments, shape)


if __name__ == "__main__":
    main()
