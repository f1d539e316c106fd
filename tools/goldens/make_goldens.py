#!/usr/bin/env python3
"""Writes the golden cases of tests/goldens (format: docs/GOLDENS.md) with PyTorch, on the CPU.

    pip install torch numpy
    python3 tools/goldens/make_goldens.py [--out tests/goldens] [--only PREFIX]

Expected values come from PyTorch autograd in float64; those of the rl.* cases from published implementations
(goldens_rl.py says what to install for them). An f32 case rounds its inputs to float32 first, computes in
float64 and rounds the result to float32, so that the file holds the right answer and not PyTorch's rounding errors.
Each case draws its inputs from a stream seeded by its own name: adding one leaves the others as they are.
"""

import argparse
import json
import pathlib
import struct
import zlib

import numpy as np
import torch

import goldens_cases  # noqa: F401  (fills CASES, as the next line does)
import goldens_cases_nn  # noqa: F401
import goldens_cases_rl  # noqa: F401
from goldens_gpt2 import make_gpt2
from goldens_ops import CONSTANT_INPUTS, NOT_DIFFERENTIABLE, OPS
from goldens_registry import CASES
from goldens_rl import source_version

FLOATS = {"f32": torch.float32, "f64": torch.float64}
SAFETENSORS_NAMES = {torch.float64: "F64", torch.float32: "F32", torch.int32: "I32", torch.uint8: "U8"}


class Random:
    """Inputs of one case. Floats come out as float64, rounded to the case's dtype."""

    def __init__(self, name, dtype):
        self.numpy = np.random.Generator(np.random.PCG64(zlib.crc32(name.encode())))
        self.dtype = FLOATS[dtype]

    def values(self, x):
        return torch.as_tensor(x, dtype=torch.float64).to(self.dtype).double()

    def normal(self, *shape, mean=0.0, std=1.0):
        return self.values(self.numpy.normal(mean, std, shape))

    def uniform(self, low, high, *shape):
        return self.values(self.numpy.uniform(low, high, shape))

    def ids(self, n, *shape):
        return torch.as_tensor(self.numpy.integers(0, n, shape), dtype=torch.int32)

    def bits(self, *shape):
        return torch.as_tensor(self.numpy.integers(0, 2, shape), dtype=torch.uint8)


def write_safetensors(path, tensors, metadata):
    """In a fixed order, so that a rerun gives the same bytes: largest alignment first, then by name."""
    order = sorted(tensors, key=lambda n: (-tensors[n].element_size(), n))
    header, data = {"__metadata__": metadata}, b""
    for name in order:
        t = tensors[name].contiguous()
        raw = t.numpy().tobytes()
        header[name] = {"dtype": SAFETENSORS_NAMES[t.dtype], "shape": list(t.shape),
                        "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def stored(x, layout):
    """The tensor to put in the file so that the runner's view of it equals x."""
    if layout is None:
        return x
    if layout == "transposed":
        return x.mT
    if layout == "strided":  # NaN between the elements: whoever ignores the stride notices
        gaps = torch.full_like(x, torch.nan)
        return torch.stack([x, gaps], dim=-1).flatten(-2)
    if layout == "expanded":
        assert x.shape[0] == 3 and bool((x == x[0]).all())
        return x[0]
    raise ValueError(layout)


def make_case(case):
    """(tensors, metadata) of one case."""
    random = Random(case.name, case.dtype)
    dtype = FLOATS[case.dtype]
    inputs = list(case.inputs(random))
    layout = case.attributes.get("layout", {})
    for i in range(len(inputs)):
        if layout.get(f"in.{i}") == "expanded":
            inputs[i] = inputs[i].expand(3, *inputs[i].shape).clone()
    differentiable = case.op not in NOT_DIFFERENTIABLE
    wanted = [i for i, x in enumerate(inputs)
              if differentiable and x.is_floating_point() and (case.op, i) not in CONSTANT_INPUTS
              and i not in case.constant]
    for i in wanted:
        inputs[i].requires_grad_()
    arguments = {k: v for k, v in case.attributes.items() if k != "layout"}
    outputs = (case.compute or OPS[case.op])(*inputs, **arguments)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)

    tensors = {}
    for i, x in enumerate(inputs):
        x = stored(x.detach(), layout.get(f"in.{i}"))
        tensors[f"in.{i}"] = x.to(dtype) if x.is_floating_point() else x
    for i, y in enumerate(outputs):
        y = y.detach()
        tensors[f"out.{i}"] = y.to(dtype) if y.dtype == torch.float64 else y
        if y.dtype == torch.bool:
            tensors[f"out.{i}"] = y.to(torch.uint8)
        elif y.dtype == torch.int64:
            tensors[f"out.{i}"] = y.to(torch.int32)
    if wanted:
        cotangents = [random.normal(*y.shape) for y in outputs]
        grads = torch.autograd.grad(outputs, [inputs[i] for i in wanted], cotangents)
        for i, c in enumerate(cotangents):
            tensors["grad_out" if len(outputs) == 1 else f"grad_out.{i}"] = c.to(dtype)
        for i, g in zip(wanted, grads):
            tensors[f"grad.{i}"] = g.to(dtype)
    for name in case.zero:  # zero by mathematics: PyTorch leaves rounding noise there
        assert tensors[name].abs().max() < 1e-9, (case.name, name)
        tensors[name] = torch.zeros_like(tensors[name])
    nan = [n for n, t in tensors.items() if t.is_floating_point() and t.isnan().any() and not n.startswith("in.")]
    assert not nan, f"{case.name}: NaN in {nan}"
    metadata = {"op": case.op, "attributes": json.dumps(case.attributes), "torch": torch.__version__.split("+")[0]}
    return tensors, metadata | ({"source": source_version(case.source)} if case.source else {})


def write_archive(path, cases):
    """Several cases in one file: tensors and metadata are named CASE/NAME."""
    tensors, metadata = {}, {}
    for case in sorted(cases, key=lambda case: case.name):
        its_tensors, its_metadata = make_case(case)
        tensors |= {f"{case.name}/{name}": tensor for name, tensor in its_tensors.items()}
        metadata |= {f"{case.name}/{key}": text for key, text in its_metadata.items()}
    write_safetensors(path, tensors, metadata)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).parents[2] / "tests" / "goldens")
    parser.add_argument("--only", default="", help="make only the archives whose name starts so")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    arguments.out.mkdir(parents=True, exist_ok=True)
    names = [case.name for case in CASES]
    assert len(names) == len(set(names)), sorted(n for n in names if names.count(n) > 1)
    chosen = [case for case in CASES if case.op.startswith(arguments.only)]
    for name in dict.fromkeys(case.op for case in chosen):
        write_archive(arguments.out / f"{name}.safetensors", [case for case in chosen if case.op == name])
    if "gpt2".startswith(arguments.only):
        (arguments.out / "gpt2").mkdir(exist_ok=True)
        write_safetensors(arguments.out / "gpt2" / "gpt2.safetensors", *make_gpt2())
    size = sum(f.stat().st_size for f in arguments.out.rglob("*.safetensors"))
    print(f"{len(chosen)} cases written to {arguments.out}, {size / 1e6:.2f} MB in all")


if __name__ == "__main__":
    main()
