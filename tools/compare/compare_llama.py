#!/usr/bin/env python3
"""A prompt of 512 tokens and decoding: llama.cpp's llama-bench beside `pg bench`, with the weights of one GGUF file, in
turns A B A B.

    python3 tools/compare/compare_llama.py f32.gguf --dtype f32 --llama-bench build/bin/llama-bench [--pg ./pg]

The file's type should be the type that both compute with, so that both read the same bytes: llama-quantize
--allow-requantize MODEL.gguf f32.gguf F32. llama.cpp is measured at its best: with and without flash attention, with
OpenMP's threads waiting actively and passively, variables that hold it back unset. Every figure is the fastest of a few
samples; the table has their median over the rounds, and their spread.
"""
import argparse
import json
import subprocess
import sys

from compare_torch import CLEAN, busy_cores, spread

SETTINGS = {f"{'flash' if flash else 'plain'} attention, {policy} threads": (flash, policy)
            for flash in (1, 0) for policy in ("active", "passive")}
WHAT = {"prompt of 512": ("prefill", "prompt", 512), "one token": (", 1 row", "token", 1)}


def theirs(given, flash, policy):
    """Seconds of the prompt and of a token."""
    command = [given.llama_bench, "-m", given.model, "-t", str(given.threads), "-p", "512", "-n", "32", "-r",
               str(given.samples), "-fa", str(flash), "-o", "json"]
    done = subprocess.run(command, env=CLEAN | {"OMP_WAIT_POLICY": policy}, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stderr.strip()}")
    tests = json.loads(done.stdout)
    prompt = next(t for t in tests if t["n_prompt"] and not t["n_gen"])
    decoding = next(t for t in tests if t["n_gen"] and not t["n_prompt"])
    build = f"{prompt['build_commit']}, {prompt['model_type']}"
    return (min(prompt["samples_ns"]) / 1e9, min(decoding["samples_ns"]) / 1e9 / decoding["n_gen"]), build


def ours(given, filter_, what):
    command = [given.pg, "bench", "--json", "--model", given.model, "--dtype", given.dtype, "--filter", filter_,
               "--threads", str(given.threads), "--repeat", str(given.samples)]
    done = subprocess.run(command, env=CLEAN, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stderr.strip()}")
    return next(e for e in json.loads(done.stdout)["entries"] if e["what"] == what)["fastest"]


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("model", help="a GGUF file")
    options.add_argument("--dtype", default="f32", choices=("f32", "bf16"), help="the type of the file and of policygrad")
    options.add_argument("--llama-bench", required=True)
    options.add_argument("--threads", type=int, default=2)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--samples", type=int, default=3)
    options.add_argument("--pg", default="./pg")
    given = options.parse_args()
    busy = busy_cores()
    times, mine = {name: [] for name in SETTINGS}, []
    for _ in range(given.rounds):
        for name, (flash, policy) in SETTINGS.items():
            seconds, build = theirs(given, flash, policy)
            times[name].append(seconds)
        mine.append([ours(given, filter_, what) for filter_, what, _ in WHAT.values()])
    busy = max(busy, busy_cores())
    print(f"llama.cpp {build}, {given.dtype}, {given.threads} threads, {given.rounds} rounds")
    if busy > 0.2:
        print(f"NOT QUIET: other programs use {busy:.1f} cores, these figures say nothing")
    print("\n| what | policygrad | llama.cpp at its best | its setting | ratio (spread) |\n|---|---|---|---|---|")
    for i, (label, (_, _, tokens)) in enumerate(WHAT.items()):
        rates = {name: [tokens / seconds[i] for seconds in rounds] for name, rounds in times.items()}
        best = max(rates, key=lambda name: sorted(rates[name])[given.rounds // 2])
        own = [tokens / seconds[i] for seconds in mine]
        ratios = [us / them for us, them in zip(own, rates[best])]
        print(f"| {label} | {spread(own, '.3g')} tokens/s | {spread(rates[best], '.3g')} tokens/s | {best} | "
              f"{spread(ratios, '.2f')} |")


if __name__ == "__main__":
    main()
