#!/usr/bin/env python3
"""PyTorch beside `pg bench --device cuda` on one GPU, in turns A B A B: single kernels, training steps, decoding.

    python3 tools/compare/bench_gpu.py [--pg build-cuda/pg] [--out rivals.jsonl] [--only gemm train] [--rounds 2] [--minutes 8]

Models start from the same weights and tokens, and the first three losses (decoding: log-probabilities of the first three
tokens) must agree, else there is no ratio. PyTorch is taken at its best of several ways and modes (torch_cuda.py,
torch_cuda_kernels.py). A ratio is PyTorch's time over ours: the median of the rounds, and their range. Every answer is
appended to --out as it comes, one JSON object a line; the tables come last.
"""
import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time

from compare_torch import CLEAN, Worker, difference, spread

KERNELS = ("gemm", "attention", "memory")  # also what is named decode-…
TRAIN = ("train 124M, 64 x 1024", "train 124M, 32 x 1024", "train 124M, 16 x 1024")  # the first that fits counts
DECODE = ("decode 124M, 64 x 512", "decode 124M, 1 x 512", "decode 124M, 1024 x 128")
MODES = {"train": ("compile", "eager"), "decode": ("static-graph", "transformers", "loop")}
TOLERANCE = 2e-2  # relative, of the first losses: bf16 on both sides


class CudaWorker(Worker):
    script = "torch_cuda.py"


class Session:
    def __init__(self, given):
        self.given, self.end, self.rows = given, time.monotonic() + 60 * given.minutes, []
        self.out = open(given.out, "a", encoding="utf-8")
        self.log = open(os.path.splitext(given.out)[0] + ".log", "a", encoding="utf-8")

    def left(self):
        return self.end - time.monotonic()

    def note(self, **record):
        print(json.dumps({"at": round(time.time(), 1)} | record), file=self.out, flush=True)

    def say(self, text):
        print(text, flush=True)

    def worker(self):
        return CudaWorker({}, min(8, os.cpu_count() or 1), self.log)

    def ask(self, worker, do, case, **more):
        Worker.patience = max(self.left(), 1)
        reply = worker.ask(do, case, **more)
        self.note(who="PyTorch", do=do, case=case, **{k: v for k, v in more.items() if k != "entries"}, **reply)
        return reply

    def ours(self, name, repeat, weights=None):
        """The entries of pg under a filter, what went wrong in the place of those that failed."""
        command = [self.given.pg, "bench", "--device", "cuda", "--dtype", "bf16", "--json", "--filter", name,
                   "--repeat", str(repeat)] + (["--weights", weights] if weights else [])
        try:
            done = subprocess.run(command, env=CLEAN, capture_output=True, text=True, timeout=max(self.left(), 1))
        except subprocess.TimeoutExpired:
            return {"error": "out of time"}
        problems = done.stderr.strip().splitlines()
        reply = json.loads(done.stdout) if done.stdout.strip() else {"error": (problems or ["it failed"])[0]}
        self.note(who="policygrad", case=name, problems=problems, **reply)
        for problem in problems:
            self.say(f"  policygrad: {problem}")
        if not reply.get("entries"):
            return {"error": (problems or ["it failed"])[0]}
        return reply


def kernels(session, group):
    """Every kernel of a group on both sides, the sides in turns."""
    mine, theirs = {}, {}
    with session.worker() as worker:
        session.note(who="PyTorch", **worker.about)
        for _ in range(session.given.rounds):
            reply = session.ours(group, session.given.repeat)
            if "error" in reply:
                break
            keys = [{k: e[k] for k in ("name", "label", "what")} for e in reply["entries"]]
            for e in reply["entries"]:
                mine.setdefault((e["name"], e["label"], e["what"]), []).append(e["seconds"])
            reply = session.ask(worker, "kernels", group, entries=keys, repeat=session.given.repeat)
            for e in reply.get("entries", []):
                theirs.setdefault((e["name"], e["label"], e["what"]), []).append(e)
            if session.left() < 30:
                break
    for key, seconds in mine.items():
        answers = [e for e in theirs.get(key, []) if "seconds" in e]
        how = answers[0]["how"] if answers else (theirs.get(key) or [{"error": "no answer"}])[0].get("error")
        session.rows.append((" ".join(key), seconds, [e["seconds"] for e in answers], how))


def model(session, case, folder):
    """Whole steps; true when there is a ratio."""
    kind, weights = case.split()[0], os.path.join(folder, "weights.safetensors")
    with session.worker() as worker:
        reply = session.ask(worker, "export", case, path=weights)
    if "error" in reply:
        session.say(f"{case}: {reply['error']}")
        return False
    repeat = session.given.repeat if kind == "train" else 3
    first = session.ours(case, 1, weights)
    if "error" in first:
        return False
    own_check = first["entries"][0].get("check")
    workers, times, hows, mine = {}, {}, {}, []
    try:
        for mode in MODES[kind]:
            if session.left() < 60:
                session.say(f"{case}: no time left for {mode}")
                continue
            workers[mode] = session.worker()
            built = session.ask(workers[mode], "build", case, mode=mode, checked=True)
            apart = difference(own_check, built.get("check"))
            if "error" in built:
                session.say(f"{case}: PyTorch {mode} failed: {built['error']}")
            elif apart > TOLERANCE:
                session.say(f"{case}: {mode}: NO RATIO, first losses differ by {apart:.1e}: {own_check}, {built['check']}")
            else:
                session.say(f"{case}: {mode}, {built['how']}: first losses agree to {apart:.1e}")
                times[mode], hows[mode] = [], f"{mode}, {built['how']}"
                session.ask(workers[mode], "time", case, mode=mode, repeat=1)  # warm, and its memory given back
                continue
            workers.pop(mode).__exit__()
        for _ in range(session.given.rounds):
            if session.left() < 15 or not workers:
                break
            reply = session.ours(case, repeat)
            if "error" not in reply:
                mine.append(reply["entries"][0]["seconds"])
            for mode, worker in workers.items():
                reply = session.ask(worker, "time", case, mode=mode, repeat=repeat)
                if "seconds" in reply:
                    times[mode].append(reply["seconds"])
    finally:
        for worker in workers.values():
            worker.__exit__()
    for mode, seconds in times.items():
        session.rows.append((case, mine, seconds, hows[mode]))
    return bool(mine) and any(times.values())


def table(rows):
    lines = ["| what | policygrad | PyTorch, at its best | ratio (range) |", "|---|---|---|---|"]
    for what, mine, theirs, how in rows:
        ours_ms = f"{1e3 * statistics.median(mine):.4g} ms" if mine else "none"
        theirs_ms = f"{1e3 * statistics.median(theirs):.4g} ms, {how}" if theirs else f"none: {how}"
        ratio = spread([b / a for a, b in zip(mine, theirs)], ".2f") if mine and theirs else "none"
        lines.append(f"| {what} | {ours_ms} | {theirs_ms} | {ratio} |")
    return "\n".join(lines)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--only", nargs="+", choices=(*KERNELS, "train", "decode"), default=(*KERNELS, "train", "decode"))
    options.add_argument("--pg", default="build-cuda/pg")
    options.add_argument("--out", default="rivals.jsonl", help="every answer, one JSON object a line")
    options.add_argument("--rounds", type=int, default=2)
    options.add_argument("--repeat", type=int, default=20, help="samples, of which the median counts")
    options.add_argument("--minutes", type=float, default=8, help="begins nothing new that would end later")
    options.add_argument("--train", nargs="+", default=TRAIN, help="cases, the first that fits counts")
    options.add_argument("--decode", nargs="+", default=DECODE)
    session = Session(options.parse_args())
    given = session.given
    with tempfile.TemporaryDirectory() as folder:
        try:
            for part in given.only:
                if session.left() < 30:
                    session.say(f"no time left for {part}")
                elif part in KERNELS:
                    kernels(session, part)
                elif part == "train":
                    next((case for case in given.train if model(session, case, folder)), None)
                else:
                    for case in given.decode:
                        if session.left() > 60:
                            model(session, case, folder)
        finally:
            print(table(session.rows), flush=True)


if __name__ == "__main__":
    main()
