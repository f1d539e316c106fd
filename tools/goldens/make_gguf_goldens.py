#!/usr/bin/env python3
"""Writes tests/goldens/gguf/blocks.gguf: a tensor of random bytes for each block type, and its values.

    pip install gguf numpy
    python3 tools/goldens/make_gguf_goldens.py [--out tests/goldens/gguf/blocks.gguf]
    python3 tools/goldens/make_gguf_goldens.py --digest MODEL.gguf

For each type the file has a tensor TYPE, and a tensor TYPE.f32 with what gguf.quants.dequantize makes of it. Half
precision numbers (scales, minima) are random among all finite ones, with zeros, subnormals and the largest in the first
blocks; all other bits are random. --digest prints the sha256 of the f32 values of all tensors of a model, in the order
of the file: tests/nn/test_tensor_source.cpp compares it if POLICYGRAD_DATA has the model.
"""

import argparse
import hashlib
import pathlib

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType, GGUFReader, GGUFWriter
from gguf.quants import dequantize

ROWS = 3
# The positions of half precision numbers in a block, in bytes.
HALVES = {
    "F16": [0],
    "BF16": [],
    "Q8_0": [0],
    "Q4_0": [0],
    "Q4_1": [0, 2],
    "Q5_0": [0],
    "Q5_1": [0, 2],
    "Q4_K": [0, 2],
    "Q5_K": [0, 2],
    "Q6_K": [208],
}
CORNERS = np.array([0x0000, 0x8000, 0x0001, 0x83FF, 0x0400, 0x7BFF, 0xFBFF], dtype=np.uint16)


def random_blocks(rng, name, count):
    block, size = GGML_QUANT_SIZES[GGMLQuantizationType[name]]
    data = rng.integers(0, 256, (count, size), dtype=np.uint8)
    if name == "BF16":
        bits = data.view(np.uint16)
        bits[(bits & 0x7F80) == 0x7F80] &= 0xBFFF
        return bits.view(np.uint8)
    for place, at in enumerate(HALVES[name]):
        bits = rng.integers(0, 1 << 16, count, dtype=np.uint16)
        bits[(bits & 0x7C00) == 0x7C00] &= 0xBFFF  # finite
        corners = np.roll(CORNERS, place)[:count]
        bits[: len(corners)] = corners
        data[:, at : at + 2] = bits.view(np.uint8).reshape(count, 2)
    return data


def values(data, name):
    with np.errstate(over="ignore"):
        return np.asarray(dequantize(data, GGMLQuantizationType[name]), dtype=np.float32)


def digest(path):
    total = hashlib.sha256()
    for tensor in GGUFReader(path).tensors:
        total.update(np.ascontiguousarray(values(tensor.data, tensor.tensor_type.name)).tobytes())
    print(total.hexdigest())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("tests/goldens/gguf/blocks.gguf"))
    parser.add_argument("--digest", metavar="MODEL.gguf")
    args = parser.parse_args()
    if args.digest:
        return digest(args.digest)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    writer = GGUFWriter(args.out, "blocks")
    for name in HALVES:
        kind = GGMLQuantizationType[name]
        block, size = GGML_QUANT_SIZES[kind]
        per_row = max(1, 64 // block) if block < 256 else 2
        data = random_blocks(np.random.default_rng([len(name), *name.encode()]), name, ROWS * per_row)
        data = data.reshape(ROWS, per_row * size)
        writer.add_tensor(name, data, raw_dtype=kind)
        writer.add_tensor(name + ".f32", values(data, name).reshape(ROWS, per_row * block))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main()
