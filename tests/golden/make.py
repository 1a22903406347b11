#!/usr/bin/env python3
"""Writes the golden arrays of the tests into the folder of this script, or checks them.

    python3 make.py          writes every .npz
    python3 make.py --check  compares: inputs equal, results within 1e-14 of each array's norm

Needs NumPy and PyTorch, which compute in float64 on one thread. The files are uncompressed, so that
the same versions on the same kind of processor give the same bytes.

Arrays of a file: query (B,T,D), context (B,S,D) in cross-attention, wq wk wv wo (D,D) read as
q = x @ wq, heads; mask (booleans, true = allowed, (T,S), (B,T,S) or (B,h,T,S) with any axis of
that last one 1), lengths (B), causal (0 off, 1 square, 2 top-left, 3 bottom-right);
grad_output (B,T,D); and the results output, weights (B,h,T,S) and grad_ of query, context, wq, wk,
wv, wo.

lesson.npz and handbook.npz are two published examples with their own float64 inputs; the numbers
that were published are asserted here. handbook.npz holds no matrices and none of their gradients,
which would be larger than everything else together, but `seed`: numpy.random.seed(seed), then
randn of (D,3D) with the columns of q, k, v in turn, then of (D,D) for wo, times sqrt(2/D).
In all other files the inputs are multiples of 1/256: a test in float reads the same numbers.

Results come from PyTorch's autograd through plain formulas, and are asserted against a backward
pass written out in NumPy. Where a query may see no key, PyTorch's softmax of a row of -inf
is NaN, and so would be every gradient: such rows are given scores of 0 by where(), and their
weights taken out by where() again, so that they add exactly 0 to output and gradients.
"""

import pathlib
import sys

import numpy as np
import torch

OFF, SQUARE, TOP_LEFT, BOTTOM_RIGHT = range(4)
MATRICES = ("wq", "wk", "wv", "wo")
RESULTS = {"output", "weights"} | {"grad_" + name for name in ("query", "context", *MATRICES)}


def allowed_pairs(case):
    """Which query sees which key, (B,h,T,S)."""
    B, T, _ = case["query"].shape
    S = case.get("context", case["query"]).shape[1]
    allowed = np.ones((B, int(case["heads"]), T, S), bool)
    if "mask" in case:
        mask = case["mask"]
        allowed &= mask[:, None] if mask.ndim == 3 else mask
    if "lengths" in case:
        allowed &= (np.arange(S) < case["lengths"][:, None])[:, None, None]
    if case["causal"] != OFF:
        allowed &= np.tri(T, S, S - T if case["causal"] == BOTTOM_RIGHT else 0, dtype=bool)
    return allowed


def by_autograd(case):
    """Output, attention weights and every gradient, by PyTorch."""
    allowed = torch.tensor(allowed_pairs(case))
    inputs = [name for name in ("query", "context", *MATRICES) if name in case]
    x = {name: torch.tensor(case[name], requires_grad=True) for name in inputs}
    B, T, D = case["query"].shape
    h = int(case["heads"])

    def heads(rows):
        return rows.reshape(B, -1, h, D // h).transpose(1, 2)

    source = x.get("context", x["query"])
    q, k, v = heads(x["query"] @ x["wq"]), heads(source @ x["wk"]), heads(source @ x["wv"])
    scores = (q @ k.transpose(2, 3)) / np.sqrt(D // h)
    scores = torch.where(allowed, scores, torch.tensor(-np.inf, dtype=scores.dtype))
    scores = torch.where(allowed.any(-1, keepdim=True), scores, torch.zeros_like(scores))
    weights = torch.where(allowed, torch.softmax(scores, -1), torch.zeros_like(scores))
    output = (weights @ v).transpose(1, 2).reshape(B, T, D) @ x["wo"]
    output.backward(torch.tensor(case["grad_output"]))
    results = {"output": output.detach().numpy(), "weights": weights.detach().numpy()}
    return results | {"grad_" + name: x[name].grad.numpy() for name in inputs}


def by_formulas(case):
    """The same by NumPy, sample by sample and head by head, the backward pass by hand."""
    query, g, source = case["query"], case["grad_output"], case.get("context", case["query"])
    wq, wk, wv, wo = (case[name] for name in MATRICES)
    allowed, width = allowed_pairs(case), query.shape[2] // int(case["heads"])
    weights = np.zeros(allowed.shape)
    joined, grad = np.zeros(query.shape), {name: np.zeros(case[name].shape) for name in MATRICES}
    grad_query, grad_source = np.zeros(query.shape), np.zeros(source.shape)
    for b, head in np.ndindex(allowed.shape[:2]):
        part = slice(head * width, (head + 1) * width)
        q, k, v = query[b] @ wq[:, part], source[b] @ wk[:, part], source[b] @ wv[:, part]
        scores = np.where(allowed[b, head], q @ k.T / np.sqrt(width), -np.inf)
        largest = scores.max(1, keepdims=True, initial=np.finfo(float).min)
        e = np.exp(scores - largest)
        p = weights[b, head] = e / np.maximum(e.sum(1, keepdims=True), np.finfo(float).tiny)
        joined[b, :, part] = p @ v
        grad_joined = g[b] @ wo[part].T
        grad_p = grad_joined @ v.T
        grad_scores = p * (grad_p - (p * grad_p).sum(1, keepdims=True)) / np.sqrt(width)
        grad_q, grad_k, grad_v = grad_scores @ k, grad_scores.T @ q, p.T @ grad_joined
        grad_query[b] += grad_q @ wq[:, part].T
        grad_source[b] += grad_k @ wk[:, part].T + grad_v @ wv[:, part].T
        grad["wq"][:, part] += query[b].T @ grad_q
        grad["wk"][:, part] += source[b].T @ grad_k
        grad["wv"][:, part] += source[b].T @ grad_v
        grad["wo"][part] += joined[b, :, part].T @ g[b]
    results = {"output": joined @ wo, "weights": weights}
    if "context" in case:
        results |= {"grad_query": grad_query, "grad_context": grad_source}
    else:
        results |= {"grad_query": grad_query + grad_source}
    return results | {"grad_" + name: grad[name] for name in MATRICES}


def assert_near(name, a, b, tolerance):
    difference, norm = np.linalg.norm(np.subtract(a, b)), np.linalg.norm(b)
    assert difference <= tolerance * norm, f"{name} differs by {difference} of {norm}"


def finished(name, case):
    """The case with its results."""
    results, check = by_autograd(case), by_formulas(case)
    for key, value in results.items():
        assert np.isfinite(value).all(), f"{name}: {key} is not finite"
        assert ((value == 0) == (check[key] == 0)).all(), f"{name}: zeros of {key} differ"
        assert_near(f"{name}: {key}", check[key], value, 1e-13)
    return case | results


def scalar(value):
    return np.array(value, np.int64)


def rounded(x):
    return np.round(x * 256) / 256


def drawn(seed, B, T, S, D, h, causal=OFF, lengths=None, mask=None):
    """A case of random inputs. S None is self-attention; mask is a shape to fill, or booleans."""
    rng = np.random.default_rng([seed, 42])
    case = {"query": rounded(rng.normal(size=(B, T, D)))}
    if S is not None:
        case["context"] = rounded(rng.normal(size=(B, S, D)))
    for name in MATRICES:
        case[name] = rounded(rng.normal(size=(D, D)) / np.sqrt(D))
    case["heads"] = scalar(h)
    if isinstance(mask, tuple):
        case["mask"] = rng.random(mask) < 0.6
    elif mask is not None:
        case["mask"] = np.array(mask, bool)
    if lengths is not None:
        case["lengths"] = np.array(lengths, np.int64)
    case["causal"] = scalar(causal)
    case["grad_output"] = rounded(rng.normal(size=(B, T, D)))
    return case


def lesson():
    """Cross-attention of the lesson: inputs of default_rng(4), weights of default_rng(0)."""
    inputs, weights = np.random.default_rng(4), np.random.default_rng(0)
    case = {"query": inputs.normal(size=(2, 4, 8)), "context": inputs.normal(size=(2, 6, 8))}
    case |= {name: weights.normal(size=(8, 8)) / np.sqrt(8) for name in MATRICES}
    case |= {"heads": scalar(2), "causal": scalar(OFF)}
    case["grad_output"] = rounded(np.random.default_rng([0, 42]).normal(size=(2, 4, 8)))
    case = finished("lesson", case)
    published = [
        (case["wq"][0, :3], [0.04445234596761114, -0.04670612233050069, 0.2264235994769533]),
        (case["output"][0, 0, :3], [-0.4100551479247409, -0.8449866700028672, 0.3468450211882493]),
        (case["weights"][0, 0, 0, :3], [0.10824182895061817, 0.22017095956060373,
                                             0.22096203554329957]),
        (case["output"].sum(), 12.038959065698084),
    ]
    for ours, theirs in published:
        assert_near("lesson: published numbers", ours, theirs, 1e-13)
    return case


def handbook():
    """Self-attention of the handbook: the input of seed 123, then a layer of seed 42."""
    np.random.seed(123)
    case = {"query": np.random.randn(1, 6, 64), "heads": scalar(4), "causal": scalar(OFF)}
    np.random.seed(42)
    combined = np.random.randn(64, 192) * np.sqrt(2 / 64)
    wq, wk, wv = np.split(combined, 3, axis=1)
    wo = np.random.randn(64, 64) * np.sqrt(2 / 64)
    case |= {"seed": scalar(42), "wq": wq, "wk": wk, "wv": wv, "wo": wo}
    case["grad_output"] = rounded(np.random.default_rng([1, 42]).normal(size=(1, 6, 64)))
    case = finished("handbook", case)
    published = [
        (combined[0, 0], 0.08780748647639375),
        (case["output"][0, 0, :3], [1.1385716341922454, 1.1604480887308422, -0.7234565908401912]),
        (case["weights"][0, 0, 0, 5], 0.6532362013663207),
        (case["output"].sum(), -2.0614081738956695),
    ]
    for ours, theirs in published:
        assert_near("handbook: published numbers", ours, theirs, 2e-14)
    return {key: value for key, value in case.items() if not key.removeprefix("grad_") in MATRICES}


# (1,h,T,S): query 0 sees nothing in head 0, query 1 nothing in head 1
EMPTY_ROWS = [[[[0, 0], [1, 1], [1, 0]], [[1, 1], [0, 0], [0, 1]]]]

CASES = {
    "self": drawn(2, 2, 4, None, 6, 2),
    "self-causal": drawn(3, 3, 5, None, 4, 2, causal=SQUARE),
    "self-lengths": drawn(4, 3, 4, None, 4, 2, lengths=[4, 1, 3]),
    "self-mask-rank-2": drawn(5, 1, 5, None, 4, 1, mask=(5, 5)),
    "self-combined": drawn(6, 2, 4, None, 6, 2, causal=SQUARE, lengths=[4, 2], mask=(1, 2, 4, 4)),
    "cross-long-source": drawn(7, 2, 3, 5, 6, 3),
    "cross-long-target": drawn(8, 1, 5, 3, 6, 6),
    "cross-one-key": drawn(9, 3, 2, 1, 4, 2),
    "cross-top-left": drawn(10, 2, 3, 5, 4, 2, causal=TOP_LEFT),
    "cross-top-left-long-target": drawn(11, 1, 5, 3, 4, 4, causal=TOP_LEFT),
    "cross-bottom-right": drawn(12, 2, 3, 5, 4, 1, causal=BOTTOM_RIGHT),
    "cross-bottom-right-long-target": drawn(13, 1, 5, 3, 4, 2, causal=BOTTOM_RIGHT),
    "cross-lengths": drawn(14, 3, 2, 4, 4, 2, lengths=[2, 0, 4]),
    "cross-mask-rank-2": drawn(15, 2, 3, 4, 4, 2, mask=(3, 4)),
    "cross-mask-rank-3": drawn(16, 3, 2, 4, 4, 2, mask=(3, 2, 4)),
    "cross-mask-by-head": drawn(17, 2, 3, 4, 6, 3, mask=(2, 3, 3, 4)),
    "cross-mask-padding": drawn(18, 2, 3, 4, 4, 1, mask=(2, 1, 1, 4)),
    "cross-empty-rows": drawn(19, 2, 3, 2, 4, 2, mask=EMPTY_ROWS),
    "cross-nothing-seen": drawn(20, 1, 3, 2, 4, 2, lengths=[2], mask=np.zeros((3, 2))),
    "cross-combined": drawn(21, 2, 4, 5, 12, 4, BOTTOM_RIGHT, lengths=[5, 4], mask=(2, 4, 4, 5)),
}


def main():
    torch.set_num_threads(1)
    folder = pathlib.Path(__file__).parent
    cases = {name: finished(name, case) for name, case in CASES.items()}
    cases |= {"lesson": lesson(), "handbook": handbook()}
    for name, case in cases.items():
        path = folder / (name + ".npz")
        if sys.argv[1:] != ["--check"]:
            np.savez(path, **case)
            continue
        with np.load(path) as file:
            assert set(file.files) == set(case), f"{name}: other arrays"
            for key, value in case.items():
                assert file[key].dtype == value.dtype, f"{name}: {key} is {file[key].dtype}"
                assert file[key].shape == value.shape, f"{name}: {key} is {file[key].shape}"
                if key in RESULTS:
                    assert_near(f"{name}: {key}", file[key], value, 1e-14)
                else:
                    assert (file[key] == value).all(), f"{name}: {key} differs"


if __name__ == "__main__":
    main()
