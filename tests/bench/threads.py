"""What a second thread gains, against what FMA peak gains from it.

    python3 tests/bench/threads.py --mha build/mha [--threads N] [--rounds R] [SHAPE...]

Runs `mha bench` on one thread and on N in turn. The gain of a row is the median of its speed on N
threads over that on one; relative is that gain divided by the gain of FMA peak, which is measured in the
same runs.
"""

import argparse

from table import median, print_row, run_mha

SHAPES = ["32,64,64,128,8", "8,256,256,256,8", "4,512,512,512,8", "1,4096,4096,256,8"]
WHATS = ["forward", "step", "core-forward", "core-backward"]


def measure(arguments, shape):
    gains, relative = {what: [] for what in WHATS}, {what: [] for what in WHATS}
    for _ in range(arguments.rounds):
        one, _ = run_mha(arguments.mha, shape, 1, arguments.mode)
        many, _ = run_mha(arguments.mha, shape, arguments.threads, arguments.mode)
        for what in WHATS:
            gains[what].append(float(many[what]["gflops"]) / float(one[what]["gflops"]))
            relative[what].append(
                float(many[what]["peak_percent"]) / float(one[what]["peak_percent"]))
    for what in WHATS:
        print_row(shape, what, arguments.mode, f"{median(gains[what]):.2f}",
                  f"{median(relative[what]):.2f}")


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
    print_row("shape", "what", "mode", "gain", "relative")
    for shape in arguments.shapes:
        measure(arguments, shape)


if __name__ == "__main__":
    main()
