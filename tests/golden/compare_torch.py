"""Compares `mha apply` with PyTorch's autograd in float64 on random cases.

    python3 tests/golden/compare_torch.py build/mha [CASES]

Needs NumPy and PyTorch. Each case draws sizes, self- or cross-attention, a mask of some rank, lengths
and a causal alignment, in all combinations; rows that may see no key are among them. The largest
difference of the outputs, the attention weights and every gradient is printed, relative to the norm of
the array. The exit status is 0 when all are at most 1e-12.
"""

import subprocess
import sys
import tempfile

import numpy as np
import torch

TOLERANCE = 1e-12
WEIGHTS = ["wq", "wk", "wv", "wo"]


def draw_case(seed):
    """Arrays of the input file, options, and which pairs (B,h,T,S) are allowed."""
    rng = np.random.default_rng([seed, 2024])
    b, t, s = rng.integers(1, 5), rng.integers(1, 8), rng.integers(1, 10)
    h, d = rng.integers(1, 5), rng.integers(1, 6)
    cross = rng.random() < 0.6
    s = s if cross else t
    arrays = {name: rng.normal(size=(h * d, h * d)) for name in WEIGHTS}
    arrays["heads"] = np.array(h)
    arrays["query"] = rng.normal(size=(b, t, h * d))
    arrays["grad_output"] = rng.normal(size=(b, t, h * d))
    if cross:
        arrays["context"] = rng.normal(size=(b, s, h * d))
    allowed = np.ones((b, h, t, s), bool)
    shapes = [None, (t, s), (b, t, s), (b, h, t, s), (b, 1, 1, s), (1, h, t, 1)]
    shape = shapes[rng.integers(len(shapes))]
    if shape is not None and not (len(shape) == 3 and b == h):
        arrays["mask"] = rng.random(shape) < 0.7
        allowed &= arrays["mask"][:, None] if len(shape) == 3 else arrays["mask"]
    if rng.random() < 0.4:
        arrays["lengths"] = rng.integers(0, s + 1, size=b)
        allowed &= np.arange(s) < arrays["lengths"][:, None, None, None]
    alignment = rng.choice(["", "", "top-left", "bottom-right"])
    if alignment:
        shift = s - t if alignment == "bottom-right" else 0
        allowed &= np.tri(t, s, shift, dtype=bool)
    return arrays, [f"--causal={alignment}"] if alignment else [], allowed


def expected_results(arrays, allowed):
    """Attention by its formula, and the gradients by autograd."""
    b, h, t, s = allowed.shape
    leaves = [name for name in ["query", "context", *WEIGHTS] if name in arrays]
    x = {name: torch.tensor(arrays[name], requires_grad=True) for name in leaves}
    source = x.get("context", x["query"])

    def by_head(values):
        return values.view(b, values.shape[1], h, -1).transpose(1, 2)

    q, k, v = (by_head(y @ x[w]) for y, w in zip([x["query"], source, source], WEIGHTS))
    seen = torch.tensor(allowed)
    has_key = seen.any(-1, keepdim=True)
    scores = (q @ k.transpose(2, 3) / q.shape[-1] ** 0.5).masked_fill(~seen, -torch.inf)
    scores = scores.masked_fill(~has_key, 0.0)  # whose softmax would be 0/0
    weights = torch.softmax(scores, -1).masked_fill(~has_key, 0.0)
    output = (weights @ v).transpose(1, 2).reshape(b, t, -1) @ x["wo"]
    output.backward(torch.tensor(arrays["grad_output"]))
    results = {"output": output.detach(), "weights": weights.detach()}
    results.update({f"grad_{name}": x[name].grad for name in leaves})
    return {name: result.numpy() for name, result in results.items()}


def main():
    program, cases = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 120
    worst = {}
    with tempfile.TemporaryDirectory() as folder:
        given, written = f"{folder}/in.npz", f"{folder}/out.npz"
        for seed in range(cases):
            arrays, options, allowed = draw_case(seed)
            np.savez(given, **arrays)
            subprocess.run([program, "apply", given, "-o", written, *options], check=True)
            expected = expected_results(arrays, allowed)
            with np.load(written) as found:
                assert set(found) == set(expected), (seed, set(found), set(expected))
                for name, right in expected.items():
                    assert found[name].shape == right.shape and found[name].dtype == np.float64
                    norm = np.linalg.norm(right)
                    error = np.linalg.norm(found[name] - right) / (norm if norm > 0 else 1.0)
                    worst[name] = max(worst.get(name, (0.0, 0)), (error, seed))
    for name, (error, seed) in worst.items():
        print(f"{name:13} {error:.1e} (case {seed})")
    passed = all(error <= TOLERANCE for error, _ in worst.values())  # a NaN is not
    print(f"{cases} cases: {'all within' if passed else 'NOT within'} {TOLERANCE}")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
