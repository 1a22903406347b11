#!/usr/bin/env python3
"""Multi-head attention in NumPy with a backward pass that has a mistake in it, for `mha gradcheck --case`.

Usage: backward.py [--right]
Writes case.npz: what goes in, grad_output, and every gradient that the backward pass makes. --right leaves the
mistake out.
"""
import sys

import numpy as np

B, T, S, D, h = 2, 4, 6, 8, 2
d = D // h
rng = np.random.default_rng(0)
query, context = rng.standard_normal((B, T, D)), rng.standard_normal((B, S, D))
wq, wk, wv, wo = rng.standard_normal((4, D, D)) / np.sqrt(D)
mask = rng.random((T, S)) < 0.7
mask[:, 0] = True
grad_output = rng.standard_normal((B, T, D))


def split(x):
    return x.reshape(B, -1, h, d).transpose(0, 2, 1, 3)


def join(x):
    return x.transpose(0, 2, 1, 3).reshape(B, -1, D)


def product(x, dy):
    return np.einsum("bli,blo->io", x, dy)


# forward
q, k, v = split(query @ wq), split(context @ wk), split(context @ wv)
scores = np.where(mask, q @ k.swapaxes(-1, -2) / np.sqrt(d), -np.inf)
weights = np.exp(scores - scores.max(-1, keepdims=True))
weights /= weights.sum(-1, keepdims=True)
joined = join(weights @ v)

# backward
dheads = split(grad_output @ wo.T)
dweights = dheads @ v.swapaxes(-1, -2)
dscores = weights * dweights / np.sqrt(d)  # the mistake: the softmax has another term
if "--right" in sys.argv[1:]:
    dscores -= weights * (weights * dweights).sum(-1, keepdims=True) / np.sqrt(d)
dq, dk, dv = join(dscores @ k), join(dscores.swapaxes(-1, -2) @ q), join(weights.swapaxes(-1, -2) @ dheads)

np.savez(
    "case.npz", query=query, context=context, mask=mask, heads=h, wq=wq, wk=wk, wv=wv, wo=wo,
    grad_output=grad_output,
    grad_query=dq @ wq.T, grad_context=dk @ wk.T + dv @ wv.T,
    grad_wq=product(query, dq), grad_wk=product(context, dk), grad_wv=product(context, dv),
    grad_wo=product(joined, grad_output))
