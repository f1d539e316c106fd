#!/usr/bin/env python3
"""`pg grade` beside sympy and math-verify: verdicts of generated pairs.

    pip install sympy math-verify
    python3 tools/compare/compare_grader.py --pg ./pg [--pairs 2000] [--seed 1] [--show 20]
    python3 tools/compare/compare_grader.py --pg ./pg --perturbed 5000

With --perturbed, pairs are answers of each class in MATH, rewritten or perturbed (grader_perturbations.py); whether they
are equal is known by construction. The table counts, by class, the verdicts of pg, of grade_as_mathd.py and of
math-verify that differ from that. docs/GRADER.md explains the differences.

Otherwise pairs are random expressions made with sympy and printed as LaTeX: one and an equal form of it (expanded, factored,
together, or as it was), or one and a changed one. sympy decides by simplify(a - b) == 0 on the expressions themselves,
math-verify reads the LaTeX. Each disagreement with pg is printed, up to --show; the last lines count them. Either
package may be missing: without sympy there are no pairs, without math-verify its column is left out.
"""

import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile

from grade_as_mathd import verdicts_as_mathd
from grader_perturbations import perturbed_pairs

try:
    import sympy
except ImportError:
    sympy = None
try:
    import math_verify
except ImportError:
    math_verify = None


def expression(rng, depth):
    if depth == 0 or rng.random() < 0.2:
        return rng.choice([sympy.Symbol("x"), sympy.Symbol("y"), sympy.Integer(rng.randint(1, 9)), sympy.Rational(rng.randint(1, 9), rng.randint(2, 9)),
                           sympy.sqrt(rng.randint(2, 12)), sympy.pi])
    a = expression(rng, depth - 1)
    kind = rng.randrange(7)
    if kind < 2:
        return a + expression(rng, depth - 1)
    if kind < 3:
        return a - expression(rng, depth - 1)
    if kind < 5:
        return a * expression(rng, depth - 1)
    if kind < 6:
        return a ** rng.randint(2, 3)
    return a / (1 + expression(rng, 0) ** 2)


def pairs(rng, count):
    """(given, gold) as expressions."""
    while count > 0:
        a = expression(rng, rng.randint(1, 3))
        if a.has(sympy.nan, sympy.zoo):
            continue
        b = rng.choice([sympy.expand, sympy.factor, sympy.together, sympy.radsimp, lambda e: e])(a)
        if rng.random() < 0.5:
            b = b + rng.choice([1, -1]) * rng.choice([sympy.Symbol("x"), sympy.Rational(1, 100), sympy.sqrt(2),
                                                 sympy.Symbol("x") * sympy.Symbol("y")])
        yield b, a
        count -= 1


def pg_verdicts(pg, texts):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "pairs.jsonl"
        path.write_text("".join(json.dumps({"given": g, "gold": a}) + "\n" for g, a in texts), encoding="utf-8")
        run = subprocess.run([pg, "grade", "--pairs", str(path), "--explain"],
                             capture_output=True, text=True, check=False)
    if run.returncode != 0:
        sys.exit(run.stderr)
    return [json.loads(line) for line in run.stdout.splitlines()]


def compare_perturbed(arguments):
    pairs = list(perturbed_pairs(arguments.seed, arguments.perturbed))
    texts = [(given, gold) for _, given, gold, _ in pairs]
    judges = {"pg": [v["verdict"] for v in pg_verdicts(arguments.pg, texts)],
              "mathd": verdicts_as_mathd(arguments.pg, texts)}
    if math_verify:
        judges["math-verify"] = ["yes" if math_verify.verify(math_verify.parse(f"${gold}$"), math_verify.parse(f"${given}$"))
                                 else "no" for given, gold in texts]
    rows, shown = {}, {}
    for i, (name, given, gold, equal) in enumerate(pairs):
        row = rows.setdefault(name, {"pairs": 0, "pg unknown": 0})
        row["pairs"] += 1
        row["pg unknown"] += judges["pg"][i] == "unknown"
        for judge, verdicts in judges.items():
            for kind, wrong in (("false yes", not equal and verdicts[i] == "yes"), ("missed", equal and verdicts[i] != "yes")):
                column = f"{judge} {kind}"
                row[column] = row.get(column, 0) + wrong
                if wrong and shown.setdefault((name, column), 0) < 2 and judge != "mathd":
                    shown[name, column] += 1
                    print(f"{name}, {column}: {given}  ~  {gold}")
    columns = list(next(iter(rows.values())))
    print(f"{'class':16}", *columns, sep=" | ")
    for name, row in rows.items():
        print(f"{name:16}", *(f"{row[c]:{len(c)}}" for c in columns), sep=" | ")
    print(f"{'all':16}", *(f"{sum(row[c] for row in rows.values()):{len(c)}}" for c in columns), sep=" | ")
    return 1 if any(row["pg false yes"] + row["pg missed"] for row in rows.values()) else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pg", default="./pg")
    parser.add_argument("--pairs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=20)
    parser.add_argument("--perturbed", type=int, default=0, metavar="PAIRS")
    arguments = parser.parse_args()
    if arguments.perturbed:
        return compare_perturbed(arguments)
    if sympy is None:
        sys.exit("compare_grader.py: sympy is not installed; --perturbed needs none")

    made = list(pairs(random.Random(arguments.seed), arguments.pairs))
    texts = [(sympy.latex(given), sympy.latex(gold)) for given, gold in made]
    verdicts = pg_verdicts(arguments.pg, texts)
    if len(verdicts) != len(texts):
        sys.exit(f"{len(verdicts)} verdicts of {len(texts)} pairs")
    differences = {"sympy": 0, "math-verify": 0}
    shown = 0
    for (given, gold), (given_text, gold_text), verdict in zip(made, texts, verdicts):
        others = {"sympy": sympy.simplify(given - gold) == 0}
        if math_verify:
            others["math-verify"] = math_verify.verify(math_verify.parse(f"${gold_text}$"),
                                                       math_verify.parse(f"${given_text}$"))
        for name, equal in others.items():
            if (verdict["verdict"] == "yes") == bool(equal):
                continue
            differences[name] += 1
            if shown < arguments.show:
                shown += 1
                print(f"{name}: {'yes' if equal else 'no'}, pg: {verdict['verdict']} ({verdict['reason']})\n"
                      f"  {given_text}\n  {gold_text}\n  {verdict['given']}\n  {verdict['gold']}")
    counts = {kind: sum(v["verdict"] == kind for v in verdicts) for kind in ("yes", "no", "unknown")}
    print(f"pg: {counts['yes']} yes, {counts['no']} no, {counts['unknown']} unknown of {len(texts)} pairs")
    print(f"different from sympy: {differences['sympy']}")
    print(f"different from math-verify: {differences['math-verify'] if math_verify else 'not installed'}")
    return 1 if differences["sympy"] else 0


if __name__ == "__main__":
    sys.exit(main())
