#!/usr/bin/env python3
"""Writes the seeds of the fuzz targets into tests/fuzz/corpus (needs NumPy).

Each seed shows a reader one thing that a file may hold: a dtype, an order, a version, a layout."""
import json
import pathlib
import struct

import numpy as np

HERE = pathlib.Path(__file__).parent / "corpus"


def npy_seeds(folder):
    square = np.arange(6).reshape(2, 3)
    for descr in ["<f8", ">f8", "<f4", ">f4", "<f2", ">f2", "|b1", "|u1", "|i1", "<i2", ">i4", "<i8", "<u8"]:
        name = descr.translate(str.maketrans("<>|", "lbn"))
        np.save(folder / f"{name}.npy", square.astype(descr))
    np.save(folder / "fortran.npy", np.asfortranarray(np.arange(24.0).reshape(2, 3, 4)))
    np.save(folder / "scalar.npy", np.float64(1.5))
    np.save(folder / "empty.npy", np.zeros((0, 3), np.float32))
    np.save(folder / "complex.npy", square.astype("<c8"))
    np.save(folder / "text.npy", np.array(["ab", "c"]))
    np.save(folder / "record.npy", np.zeros(2, [("a", "<f4"), ("b", "<i2")]))
    for version in [(2, 0), (3, 0)]:
        with open(folder / f"version{version[0]}.npy", "wb") as file:
            np.lib.format.write_array(file, square.astype("<f4"), version)


def npz_seeds(folder):
    rng = np.random.default_rng(0)
    weights = {name: rng.normal(size=(2, 2)) for name in ("wq", "wk", "wv", "wo")}
    np.savez(folder / "lesson.npz", heads=np.int64(2), **weights)
    np.savez_compressed(folder / "deflated.npz", heads=np.int64(2), **weights)
    np.savez_compressed(folder / "zeros.npz", query=np.zeros((1, 20, 20), np.float32))
    np.savez(folder / "torch.npz", **{"a.in_proj_weight": rng.normal(size=(6, 2)),
                                      "a.out_proj.weight": rng.normal(size=(2, 2))})
    np.savez(folder / "positional.npz", np.arange(3), np.ones((2, 2), bool))
    np.savez(folder / "none.npz")


def safetensors_bytes(tensors, metadata=None):
    header, data = ({"__metadata__": metadata} if metadata else {}), b""
    for name, dtype, shape, raw in tensors:
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def safetensors_seeds(folder):
    def write(name, *arguments):
        (folder / f"{name}.safetensors").write_bytes(safetensors_bytes(*arguments))

    write("none", [])
    sizes = {"BOOL": 1, "U8": 1, "I8": 1, "I16": 2, "U16": 2, "F16": 2, "BF16": 2, "I32": 4, "U32": 4,
             "F32": 4, "F64": 8, "I64": 8, "U64": 8, "C64": 8, "F8_E4M3": 1}
    for dtype, size in sizes.items():
        write(dtype.lower(), [("x", dtype, [2], b"\1" * 2 * size)])
    write("scalar", [("x", "F32", [], b"\0\0\x80\x3f"), ("empty", "F64", [0, 3], b"")])
    square = np.arange(4, dtype="<f4").tobytes()
    write("lesson", [(name, "F32", [2, 2], square) for name in ("wq", "wk", "wv", "wo")],
          {"layout": "lesson", "heads": "2"})
    write("torch", [("in_proj_weight", "F32", [6, 2], square * 3), ("out_proj.weight", "F32", [2, 2], square)],
          {"layout": "torch", "heads": "1"})


for kind, make in (("npy", npy_seeds), ("npy", npz_seeds), ("safetensors", safetensors_seeds)):
    (HERE / kind).mkdir(parents=True, exist_ok=True)
    make(HERE / kind)
