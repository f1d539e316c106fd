#!/usr/bin/env python3
"""Verdicts as the usual grader of the MATH benchmark gives them, to compare results with published ones.

    python3 tools/compare/grade_as_mathd.py --pg ./pg PAIRS.jsonl     # or - for standard input
    python3 tools/compare/grade_as_mathd.py --pg ./pg --check

A line of PAIRS.jsonl is {"given": ..., "gold": ...}, as `pg grade --pairs` reads it; each gets a line `yes` or `no`.
--check compares the verdicts of the pairs in mathd_cases.jsonl with those that stand there.

That grader refuses equal answers in other forms. Its verdict is `yes` if the answers are the same text after a first
normalization, or if they are equal after a second one and a comparison of the values, which `pg grade` decides. It also
takes some different answers for equal; here two answers that `pg grade` finds different are never equal. The order of
the answers matters. docs/GRADER.md has the rules.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys

SPACES = " \t\n\r\v\f"
BRACKETS = "()[]"
WORDS = "degree cm centimeter meter mile second minute hour day week month year foot feet inch yard".split()
UNITS = {word + ending for word in WORDS for ending in ("", "s", "es")}
FIRST = [("\n", ""), ("\\!", ""), ("\\\\", "\\"), ("{bmatrix}", "{pmatrix}"), ("tfrac", "frac"), ("dfrac", "frac"),
         ("\\neq", "\\ne"), ("\\leq", "\\le"), ("\\geq", "\\ge"), ("\\left", ""), ("\\right", "")]
SIGNS = [("\\%", ""), ("%", ""), ("\\$", ""), ("$", ""), (" or ", " , "), (" and ", " , "), ("million", "*10^6"),
         ("billion", "*10^9"), ("trillion", "*10^12")]
DEGREES = [("^{\\circ}", ""), ("^\\circ", "")]
LATEX = [("\\frac{", " \\frac{"), ("\\pi", "pi"), ("\\infty", "inf"), ("\\cup", "U"), ("\\cdot", "*"),
         ("\\times", "*"), ("\\sqrt{", "sqrt{")]


def replaced(text, replacements):
    for what, by in replacements:
        text = text.replace(what, by)
    return text


def without_units(text):
    """Deletes the words that both normalizations delete, and a power behind one."""
    rest = re.sub(r"([A-Za-z]+)(\^[0-9])?", lambda found: "" if found[1] in UNITS else found[0], text).strip(SPACES)
    return rest or text


def with_braces(text, depth=0):
    """Puts the arguments of \\frac and \\sqrt in braces: \\frac12, \\frac1{72}, \\sqrt3."""
    if depth == 50:
        return text
    result, i = "", 0
    while i < len(text):
        arguments = {"\\frac": 2, "\\sqrt": 1}.get(text[i:i + 5], 0)
        step = 5 if arguments else 1
        result += text[i:i + step]
        i += step
        for _ in range(arguments):
            while text[i:i + 1] == " ":
                i += 1
            if text[i:i + 1] in ("", "[", "\\", "}"):
                break
            argument, end = text[i], i + 1
            if argument == "{":
                level = 1
                while end < len(text) and level > 0:
                    level += (text[end] == "{") - (text[end] == "}")
                    end += 1
                if level > 0:
                    break
                argument = with_braces(text[i + 1:end - 1], depth + 1)
            result += "{" + argument + "}"
            i = end
    return result


def first_form(answer):
    """The first normalization."""
    text = replaced(answer.strip(SPACES), FIRST)
    at = text.rfind("\\text{")
    if at > 0 and text.endswith("}"):
        text = text[:at]
    text = replaced(without_units(text), [*DEGREES, ("\\$", ""), ("\\%", "")])
    at = text.find("\\text{ ")
    if at > 0:
        text = text[:at]
    text = replaced(text, [(" .", " 0."), ("{.", "{0.")])
    if text.startswith("."):
        text = "0" + text
    if text.count("=") == 1:
        left, right = text.split("=")
        if len(left.strip(SPACES)) <= 2:
            text = right.strip(SPACES)
    text = with_braces(text).replace(" ", "")
    if text == "0.5":
        return "\\frac{1}{2}"
    fraction = re.fullmatch(r"(-?[0-9]+)/(-?[0-9]+)", text)
    return f"\\frac{{{fraction[1]}}}{{{fraction[2]}}}" if fraction else text


def whole_number(text):
    """The whole number that a decimal number is within 1e-7, as a text; None for any other text."""
    if not re.fullmatch(r"\+?-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", text):
        return None
    value = float(text.removeprefix("+"))
    if not abs(value) < 1e15 or abs(value - round(value)) > 1e-7:
        return None
    return str(round(value))


def second_form(answer):
    """The second normalization: plain text instead of LaTeX."""
    text = answer.strip(SPACES)
    if text.startswith("\\text{") and text.find("}") == len(text) - 1:
        text = text[6:-1]
    text = replaced(without_units(replaced(text, SIGNS)), [*DEGREES, ("^ \\circ", ""), (",\\!", "")])
    if text.startswith("{") and text.endswith("}"):
        text = text[1:-1]
    number = whole_number(text.strip(SPACES))
    if number is not None:
        return number
    if "\\" in text:
        text = replaced(text, [("dfrac", "frac"), ("tfrac", "frac"), ("\\left", ""), ("\\right", "")])
        text = replaced(with_braces(text), LATEX)
        # \frac{a}{b} is a/b without brackets, and sqrt{a} is sqrt(a).
        while (at := text.find("\\frac{")) >= 0 and (middle := text.find("}{", at)) >= 0:
            text = text[:at] + text[at + 6:middle] + "/" + text[middle + 2:]
        while (at := text.find("sqrt{")) >= 0 and (close := text.find("}", at)) >= 0:
            text = text[:at] + "sqrt(" + text[at + 5:close] + ")" + text[close + 1:]
    text = text.strip(SPACES).replace("- ", "-")
    text = re.sub(r"(?<=[0-9]) (?=[0-9])", "+", text)
    text = re.sub(r"[ {}]", "", text)
    text = re.sub(r"[A-Z]+", lambda found: found[0].lower(), text)
    if text[:1] not in ("(", "["):
        text = re.sub(r"(?<=[0-9]),(?=[0-9]{3}(?![0-9]))", "", text)  # commas between thousands
    number = whole_number(text)
    return text if number is None else number


def elements_of(text):
    if len(text) < 2 or text[0] not in BRACKETS or text[-1] not in BRACKETS or any(c in BRACKETS for c in text[1:-1]):
        return [text]
    return text[1:-1].split(",")


def is_compared(text):
    """Whether that grader compares values at all: at most two letters, no long or bracketed exponents."""
    if re.search(r"[\\,=<>_|:]|[^ -\x7f]|\^(\(|[0-9][0-9^])", text):
        return False
    while (at := text.find("sqrt")) >= 0:
        if text[at + 4:at + 5] != "(":
            return False
        text = text[:at] + text[at + 4:]
    return len(set(re.findall(r"[A-Za-z]", text))) <= 2


def values_to_compare(given, gold):
    """The pairs of elements of which each must have equal values; None if no value can make the answers equal."""
    if given == gold:
        return []
    x, y = elements_of(given), elements_of(gold)
    if not given or len(x) != len(y) or (len(y) > 1 and (given[0] != gold[0] or given[-1] != gold[-1])):
        return None
    pairs = [(a, b) for a, b in zip(x, y) if a != b]
    for pair in pairs:
        fractions = [re.fullmatch(r"-?[0-9]+/-?[0-9]+", text) is not None for text in pair]
        whole = [re.fullmatch(r"-?[0-9]+", text) is not None for text in pair]
        if all(fractions) or whole[0] != whole[1] or not all(map(is_compared, pair)):
            return None
    return pairs


def unboxed(text):
    """The content of the last \\boxed{...} or \\fbox{...} if there is one, without \\(...\\) or \\[...\\] around it."""
    begin = max((text.rfind(mark) + len(mark) for mark in ("\\boxed", "\\fbox") if mark in text), default=len(text))
    box, depth = text[begin:].lstrip(" "), 0
    for token in re.finditer(r"\\.|[{}]", box, re.DOTALL) if box.startswith("{") else ():
        depth += (token[0] == "{") - (token[0] == "}")
        if depth == 0:
            text = box[1:token.start()]
            break
    text = text.strip(SPACES)
    delimited = len(text) >= 4 and (text[:2], text[-2:]) in (("\\(", "\\)"), ("\\[", "\\]"))
    return text[2:-2] if delimited else text


def verdicts_as_mathd(pg, pairs):
    """yes or no for each pair (given, gold)."""
    plans = []  # for each pair: the pairs whose values must be equal, or None, and the pair that must not differ
    for given, gold in pairs:
        given, gold = unboxed(given), unboxed(gold)
        same = given and first_form(given) == first_form(gold)
        values = [] if same else values_to_compare(second_form(given), second_form(gold))
        plans.append((values, tuple(whole_number(text) or text for text in (given, gold))))
    asked = {pair for values, whole in plans if values is not None for pair in [*values, whole]}
    lines = "".join(json.dumps({"given": given, "gold": gold}) + "\n" for given, gold in asked)
    run = subprocess.run([pg, "grade", "--pairs", "-"], input=lines, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        sys.exit(run.stderr)
    verdict = dict(zip(asked, (json.loads(line)["verdict"] for line in run.stdout.splitlines())))
    return ["yes" if values is not None and verdict[whole] != "no" and all(verdict[pair] == "yes" for pair in values)
            else "no" for values, whole in plans]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", nargs="?", default="-", metavar="PAIRS.jsonl")
    parser.add_argument("--pg", default="./pg")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    path = str(pathlib.Path(__file__).with_name("mathd_cases.jsonl")) if arguments.check else arguments.pairs
    with sys.stdin if path == "-" else open(path, encoding="utf-8") as file:
        pairs = [json.loads(line) for line in file]
    verdicts = verdicts_as_mathd(arguments.pg, [(pair["given"], pair["gold"]) for pair in pairs])
    if not arguments.check:
        print("".join(f"{verdict}\n" for verdict in verdicts), end="")
        return 0
    failed = [(pair, verdict) for pair, verdict in zip(pairs, verdicts) if verdict != pair["verdict"]]
    for pair, verdict in failed:
        print(f"{pair['given']}  ~  {pair['gold']}: {verdict}, expected {pair['verdict']}")
    print(f"{len(pairs) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
