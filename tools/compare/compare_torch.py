#!/usr/bin/env python3
"""Steps of PyTorch on the CPU beside those of `pg bench`: the same weights, the same batches, in turns A B A B.

    python3 tools/compare/compare_torch.py [--only lesson4 384] [--threads 1,2] [--dtype f32,bf16] [--rounds 5] [--pg ./pg]
    python3 tools/compare/compare_torch.py --model FOLDER --only model-train model-prefill    # of a Hugging Face folder

It needs torch, safetensors and, for generation, transformers. The first three losses (for generation: log-probabilities
of the first three tokens, mean over the rows) must agree, else there is no ratio. A rival is measured at its best:
variables that hold it back are unset; allocators, OpenMP settings and flushed denormals are tried first and the fastest
kept (--no-tune: none); then eager, torch.compile and mode max-autotune take turns with us, for generation also
transformers' generate(). Every figure is the fastest of a few samples, the median of the rounds, and their spread.
"""
import argparse
import glob
import json
import os
import select
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
HELD_BACK = ("OPENBLAS", "MKL_", "ONEDNN_", "DNNL_", "ATEN_CPU_CAPABILITY", "NVPL_", "OMP_", "GOMP_", "KMP_", "TORCH_",
             "TORCHINDUCTOR_", "LD_PRELOAD", "MALLOC_", "GLIBC_TUNABLES", "PYTORCH_")
UNSET = sorted(name for name in os.environ if name.startswith(HELD_BACK))
CLEAN = {name: value for name, value in os.environ.items() if name not in UNSET}
# Relative, of the first losses. Log-probabilities of single tokens may differ by twice as much: rounding does not
# average out over a batch. (In f32 ours differ from f64 by up to 1.1e-5 on SmolLM2, PyTorch's by 6e-6.)
TOLERANCE = {"f32": 1e-5, "bf16": 2e-2}
TRAIN = ("eager", "compile", "max-autotune")
TRANSFORMERS = ("transformers", "transformers-compile")
GENERATE = (*TRAIN, *TRANSFORMERS)

# name: the filter of `pg bench`, its line, samples, modes of PyTorch, the case whose tuned environment serves
CASES = {
    "lesson4": ("train lesson 4", "step", 10, TRAIN, "lesson4"),
    "384": ("384 wide, 4 x 256", "step", 5, TRAIN, "384"),
    "124M-64": ("124M, 4 x 64", "step", 3, TRAIN, "124M-64"),
    "124M-256": ("124M, 4 x 256", "step", 2, TRAIN, "124M-64"),
    "mlp-update": ("mlp", "update", 20, TRAIN, "mlp-update"),
    "mlp-act": ("mlp", "logits", 20, TRAIN, "mlp-update"),
    "adamw": ("adamw", "step", 5, ("eager",), "adamw"),
    "decode-124M-1": ("decode 124M, 1 row", "token", 3, GENERATE, "decode-124M-1"),
    "decode-124M-32": ("decode 124M, 32 rows", "token", 2, GENERATE, "decode-124M-1"),
    "decode-384-32": ("384 wide, 32 rows", "token", 3, GENERATE, "decode-384-32"),
    "decode-384-256": ("384 wide, 256 rows", "token", 2, GENERATE, "decode-384-32"),
    "prefill-124M": ("prefill", "prompt", 3, GENERATE, "prefill-124M"),
    "model-train": ("4 x 256", "step", 2, TRAIN, "model-train"),
    "model-decode-1": (", 1 row", "token", 3, TRANSFORMERS, "model-decode-1"),
    "model-decode-32": (", 32 rows", "token", 2, TRANSFORMERS, "model-decode-1"),
    "model-prefill": (", 1 x 512", "prompt", 3, TRANSFORMERS, "model-prefill"),
}


def busy_cores():
    """How many cores other programs use just now: ours are stopped while this waits."""
    def ticks():
        with open("/proc/stat", encoding="ascii") as file:
            numbers = [int(word) for word in file.readline().split()[1:9]]
        return sum(numbers) - numbers[3] - numbers[4], sum(numbers)

    if not os.path.exists("/proc/stat"):
        return 0.0
    before = ticks()
    time.sleep(1)
    after = ticks()
    return (os.cpu_count() or 1) * (after[0] - before[0]) / max(after[1] - before[1], 1)


def library(*patterns):
    folders = ("/usr/lib/*-linux-gnu", "/usr/lib", "/usr/lib64", "/usr/local/lib", os.path.join(sys.prefix, "lib"))
    return next((path for p in patterns for f in folders for path in sorted(glob.glob(os.path.join(f, p)))), None)


def settings():
    """Three axes of environments, each beginning with what PyTorch does by itself."""
    huge = {"THP_MEM_ALLOC_ENABLE": "1"}
    glibc = "glibc.malloc.hugetlb=1:glibc.malloc.mmap_threshold=8589934592:glibc.malloc.trim_threshold=8589934592"
    allocators = {"": {}, "glibc with huge pages": {"GLIBC_TUNABLES": glibc, **huge}}
    for name, path, extra in (
            ("tcmalloc", library("libtcmalloc.so.*", "libtcmalloc_minimal.so.*"), {}),
            ("jemalloc", library("libjemalloc.so.*"), {"MALLOC_CONF": "thp:always,metadata_thp:auto,"
             "background_thread:true,dirty_decay_ms:60000,muzzy_decay_ms:60000"})):
        if path:
            allocators[f"{name} with huge pages"] = {"LD_PRELOAD": path, **extra, **huge}
    # Passive: where others hold the cores, a spinning barrier costs 300 ms; nobody's step shall be judged by that.
    openmp = {"": {}, "gomp passive": {"OMP_WAIT_POLICY": "passive"},
              "gomp spinning": {"OMP_WAIT_POLICY": "active", "GOMP_SPINCOUNT": "infinite", "OMP_PROC_BIND": "true"}}
    if iomp := library("libiomp5.so"):
        for blocktime in ("1", "infinite"):
            openmp[f"iomp, KMP_BLOCKTIME={blocktime}"] = {
                "LD_PRELOAD": iomp, "KMP_BLOCKTIME": blocktime, "KMP_AFFINITY": "granularity=fine,compact,1,0"}
    return allocators, openmp, {"": {}, "denormals flushed": {"FLUSH_DENORMAL": "1"}}


def joined(*environments):
    preload = [e["LD_PRELOAD"] for e in environments if "LD_PRELOAD" in e]
    result = {name: value for e in environments for name, value in e.items()}
    return result | ({"LD_PRELOAD": ":".join(preload)} if preload else {})


class Worker:
    """PyTorch in a process of its own, stopped whenever it is not its turn: its idle threads may spin."""

    patience = 900
    model = ""
    script = "torch_cases.py"

    def __init__(self, environment, threads, log=subprocess.DEVNULL):
        variables = CLEAN | {"OMP_NUM_THREADS": str(threads), "COMPARE_MODEL": Worker.model} | environment
        self.process = subprocess.Popen([sys.executable, os.path.join(HERE, self.script)], env=variables, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
                                        start_new_session=True)  # with the compilers it starts
        self.about = self.reply()

    def reply(self):
        if not select.select([self.process.stdout], [], [], Worker.patience)[0]:
            self.__exit__()
            return {"error": f"no answer in {Worker.patience} s (--patience)"}
        line = self.process.stdout.readline()
        self.process.send_signal(signal.SIGSTOP)
        return json.loads(line) if line else {"error": "the process died"}

    def ask(self, do, case, **more):
        if self.process.poll() is not None:
            return {"error": "the process died"}
        self.process.send_signal(signal.SIGCONT)
        try:
            self.process.stdin.write(json.dumps({"do": do, "case": case} | more) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            return {"error": "the process died"}
        return self.reply()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


def once(environment, threads, case, dtype, mode):
    """Seconds of a step in a fresh process, or infinity when it fails."""
    with Worker(environment, threads) as worker:
        worker.ask("build", case, mode=mode, dtype=dtype, checked=False)
        return worker.ask("time", case, repeat=min(CASES[case][2], 3)).get("seconds", float("inf"))


def tuned(case, dtype, threads, mode):
    """The fastest environment: axis by axis, a setting is kept when it wins by more than 1 %."""
    name, environment, best, tried = [], {}, once({}, threads, case, dtype, mode), 1
    for axis in settings():
        won = None
        for setting, variables in list(axis.items())[1:]:
            seconds = once(joined(environment, variables), threads, case, dtype, mode)
            tried += 1
            if seconds < 0.99 * best:
                best, won = seconds, setting
        if won:
            name.append(won)
            environment = joined(environment, axis[won])
    return ", ".join(name) or f"PyTorch's defaults, the best of {tried} settings", environment


def ours(given, case, dtype, threads, weights):
    filter_, what, repeat = CASES[case][:3]
    command = [given.pg, "bench", "--large", "--json", "--filter", filter_, "--threads", str(threads), "--repeat",
               str(repeat)]
    command += ["--weights", weights] if weights else []
    command += ["--dtype", dtype] if dtype != "f32" else []
    command += ["--model", given.model] if case.startswith("model-") else []
    done = subprocess.run(command, env=CLEAN, capture_output=True, text=True)
    if done.returncode:
        return {"error": (done.stderr.strip().splitlines() or ["it failed"])[0]}
    return next(e for e in json.loads(done.stdout)["entries"] if e["what"] == what)


def difference(a, b):
    if not a or not b or len(a) != len(b):
        return float("inf")
    return max(abs(x - y) for x, y in zip(a, b)) / max(abs(y) for y in b)


def spread(values, form):
    return f"{statistics.median(values):{form}} ({min(values):{form}} to {max(values):{form}})"


def compare(given, case, dtype, threads, weights, environment):
    """Prints a line for each mode; gives the row of the last table."""
    workers, mine, times = {}, [], {}
    try:
        own = ours(given, case, dtype, threads, weights)
        if "error" in own:
            print(f"  policygrad has no {case} in {dtype}: {own['error']}")
        for mode in (m for m in CASES[case][3] if m in given.modes):
            workers[mode] = Worker(environment, threads)
            built = workers[mode].ask("build", case, mode=mode, dtype=dtype, checked=True)
            apart = difference(own.get("check"), built.get("check")) if case != "adamw" else 0
            allowed = TOLERANCE[dtype] * (2 if CASES[case][3] in (GENERATE, TRANSFORMERS) else 1)
            if "error" in built:
                print(f"  PyTorch {mode} failed: {built['error']}")
            elif "error" not in own and apart > allowed:
                print(f"  PyTorch {mode}: NO RATIO, the first losses differ by {apart:.1e}, more than {allowed}"
                      f": {own.get('check')} and {built['check']}")
            else:
                times[mode] = []
                if "error" not in own and case != "adamw":
                    print(f"  PyTorch {mode}: first losses agree to {apart:.1e}")
                continue
            workers.pop(mode).__exit__()
        for _ in range(given.rounds):
            for mode, seconds in times.items():
                seconds.append(workers[mode].ask("time", case, repeat=CASES[case][2]).get("seconds", float("inf")))
            if "error" not in own:
                mine.append(ours(given, case, dtype, threads, weights)["fastest"])
    finally:
        for worker in workers.values():
            worker.__exit__()
    if mine:
        print(f"  policygrad            {spread([1e3 * s for s in mine], '.4g')} ms")
    rows = []
    for mode, seconds in times.items():
        line = f"  {mode:<21} {spread([1e3 * s for s in seconds], '.4g')} ms"
        ratios = [theirs / us for theirs, us in zip(seconds, mine)]
        if ratios:
            line += f"   ratio {spread(ratios, '.2f')}"
        rows.append((statistics.median(seconds), mode, spread(ratios, ".2f") if ratios else "none"))
        print(line, flush=True)
    if not rows:
        return None
    best, mode, ratio = min(rows)
    own_ms = f"{1e3 * statistics.median(mine):.4g} ms" if mine else "none"
    return f"| {case} | {dtype} | {threads} | {own_ms} | {1e3 * best:.4g} ms, {mode} | {ratio} |"


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--only", choices=CASES, nargs="+", help="default: all, model-… only with --model")
    options.add_argument("--model", default="", help="a Hugging Face folder, for the cases model-…")
    options.add_argument("--threads", default="1,2", help="counts of threads, e.g. 1,2")
    options.add_argument("--dtype", default="f32", help="f32, bf16 or both: f32,bf16")
    options.add_argument("--modes", default=",".join(GENERATE), help="of PyTorch")
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--no-tune", action="store_true", help="PyTorch's own environment only")
    options.add_argument("--patience", type=int, default=Worker.patience, help="seconds for a mode to compile or run")
    options.add_argument("--pg", default="./pg")
    given = options.parse_args()
    Worker.patience, Worker.model = given.patience, given.model
    given.only = given.only or [case for case in CASES if given.model or not case.startswith("model-")]
    if not given.model and any(case.startswith("model-") for case in given.only):
        options.error("the cases model-… need --model FOLDER")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that no stopped process stays behind
    given.modes = given.modes.split(",")
    with Worker({}, 1) as worker:
        print(f"PyTorch {worker.about['torch']}, kernels for {worker.about['capability']}, {given.rounds} rounds; "
              f"unset: {', '.join(UNSET) or 'nothing was set'}", flush=True)
    table, environments = [], {}
    with tempfile.TemporaryDirectory() as folder:
        for case in given.only:
            weights = None
            if case != "adamw":
                weights = os.path.join(folder, "weights.safetensors")
                with Worker({}, 1) as worker:
                    exported = worker.ask("export", case, path=weights)
                if "error" in exported:
                    sys.exit(f"{case}: {exported['error']}")
            for dtype in given.dtype.split(","):
                for threads in map(int, given.threads.split(",")):
                    mode = next(m for m in CASES[case][3] if m in given.modes)
                    like = (CASES[case][4], dtype, threads, mode)
                    if like not in environments:
                        environments[like] = ("PyTorch's defaults", {}) if given.no_tune else tuned(*like)
                    name, environment = environments[like]
                    print(f"{case}, {dtype}, {threads} threads, {name}", flush=True)
                    busy = busy_cores()
                    row = compare(given, case, dtype, threads, weights, environment)
                    busy = max(busy, busy_cores())
                    if busy > 0.2:
                        print(f"  NOT QUIET: other programs use {busy:.1f} cores, these figures say nothing", flush=True)
                        row = row and row.replace(f"| {case} |", f"| {case} (not quiet) |")
                    table.append(row)
    print("\n| step | type | threads | policygrad | PyTorch's best | ratio (spread) |\n|---|---|---|---|---|---|")
    print("\n".join(row for row in table if row))


if __name__ == "__main__":
    main()
