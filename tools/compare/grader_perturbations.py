"""Pairs of answers for compare_grader.py: each class of answers in MATH, rewritten to an equal one or perturbed to a
different one. Every pair says by construction whether its answers are equal; no grader decides that."""

import fractions
import random


def whole(rng, low=1, high=999):
    return rng.randint(low, high)


def fraction_text(value, rng):
    n, d = abs(value.numerator), value.denominator
    sign = "-" if value < 0 else ""
    if d == 1:
        return f"{sign}{n}"
    return sign + rng.choice([f"{n}/{d}", f"\\frac{{{n}}}{{{d}}}", f"\\dfrac{{{n}}}{{{d}}}"])


def number(rng):
    n = whole(rng)
    forms = [f"{n}.0", f"{n}.", f"0{n}", f"{n}{{,}}000", f"${n}$", f"\\boxed{{{n}}}", f"{n}\\text{{ cm}}"]
    form = rng.choice(forms)
    gold = f"{n}000" if "{,}" in form else str(n)
    return form, gold, str(int(gold) + rng.choice([1, -1, 10]))


def fraction(rng):
    value = fractions.Fraction(rng.randint(-60, 60) or 1, rng.randint(2, 40))
    k = rng.randint(2, 9)
    n, d = value.numerator * k, value.denominator * k
    given = rng.choice([f"\\frac{{{n}}}{{{d}}}", f"{n}/{d}", fraction_text(value, rng)])
    other = value + fractions.Fraction(1, rng.randint(2, 50))
    return given, fraction_text(value, rng), fraction_text(other, rng)


def decimal(rng):
    n, places = rng.randint(1, 9999), rng.randint(1, 3)
    value = fractions.Fraction(n, 10**places)
    text = f"{n / 10**places:.{places}f}"
    return text, fraction_text(value, rng), fraction_text(value + fractions.Fraction(1, 10**places), rng)


def mixed(rng):
    a, d = rng.randint(1, 20), rng.randint(3, 12)
    n = rng.randint(1, d - 1)
    value = a + fractions.Fraction(n, d)
    return f"{a}\\frac{{{n}}}{{{d}}}", fraction_text(value, rng), fraction_text(fractions.Fraction(a * n, d), rng)


def root(rng):
    a, b = rng.randint(2, 9), rng.choice([2, 3, 5, 6, 7, 10, 11])
    given = rng.choice([f"\\sqrt{{{a * a * b}}}", f"{a}\\sqrt{{{b}}}", f"\\frac{{{a * b}}}{{\\sqrt{{{b}}}}}"])
    return given, f"{a}\\sqrt{{{b}}}", rng.choice([f"{a + 1}\\sqrt{{{b}}}", f"{a}\\sqrt{{{b + 1}}}", f"\\sqrt[3]{{{a * a * b}}}"])


def circle(rng):
    a, b = rng.randint(1, 20), rng.randint(2, 9)
    return (rng.choice([f"\\frac{{{a}\\pi}}{{{b}}}", f"{a}\\pi/{b}", f"\\frac{{{a}}}{{{b}}}\\pi"]),
            f"\\frac{{{2 * a}\\pi}}{{{2 * b}}}", f"{3.14159265 * a / b:.6f}")


def power(rng):
    a, b = rng.randint(2, 9), rng.randint(2, 6)
    return f"{a}^{{{b}}}", str(a**b), str(a**b + 1)


def polynomial(rng):
    a, b, c, d = (rng.randint(1, 9) for _ in range(4))
    gold = f"{a * c}x^2+{a * d + b * c}x+{b * d}"
    given = rng.choice([f"({a}x+{b})({c}x+{d})", f"{b * d}+{a * c}x^2+{a * d + b * c}x", gold])
    return given, gold, f"{a * c}x^2+{a * d + b * c + 1}x+{b * d}"


def variables(rng):
    p, q, r = rng.sample("abcmnpqstuwxyz", 3)
    return f"{p}+{q}", f"{q}+{p}", f"{p}+{r}"


def quotient(rng):
    a, b = rng.randint(1, 9), rng.randint(2, 9)
    return f"\\frac{{x+{a}}}{{{b}}}", f"(x+{a})/{b}", f"x+\\frac{{{a}}}{{{b}}}"


def complex_number(rng):
    a, b = rng.randint(1, 9), rng.randint(2, 9)
    return f"{b}i+{a}", f"{a}+{b}i", f"{a}-{b}i"


def pair(rng):
    a, b = rng.sample(range(-20, 20), 2)
    return f"({a}, {b})", f"({a},{b})", rng.choice([f"({b},{a})", f"[{a},{b}]"])


def interval(rng):
    a = rng.randint(-20, 20)
    b = a + rng.randint(1, 20)
    return f"[{a}, {b})", f"[{a},{b})", rng.choice([f"({a},{b})", f"[{a},{b}]"])


def union(rng):
    a, b, c, d = sorted(rng.sample(range(-30, 30), 4))
    return f"({a},{b}) \\cup ({c},{d})", f"({a}, {b})\\cup({c}, {d})", f"({a},{c})\\cup({b},{d})"


def listing(rng):
    a, b, c = rng.sample(range(1, 60), 3)
    return f"{b}, {a}, {c}", f"{a},{b},{c}", f"{a},{b},{c + 60}"


def braces(rng):
    a, b = rng.sample(range(1, 60), 2)
    return f"\\{{{b},{a}\\}}", f"\\{{{a},{b}\\}}", f"\\{{{a},{b + 60}\\}}"


def matrix(rng):
    a, b, c, d = (rng.randint(-9, 9) for _ in range(4))
    form = "\\begin{{{0}}}{1}&{2}\\\\{3}&{4}\\end{{{0}}}"
    return form.format("bmatrix", a, b, c, d), form.format("pmatrix", a, b, c, d), form.format("pmatrix", a, b, c, d + 1)


def equation(rng):
    a, b = rng.randint(2, 9), rng.randint(1, 9)
    return rng.choice([f"y={a}x+{b}", f"{a}x+{b}=y", f"{a}x+{b}"]), f"y={a}x+{b}", f"y={a}x-{b}"


def inequality(rng):
    a = rng.randint(-9, 9)
    return rng.choice([f"x>{a}", f"{a}<x"]), f"({a},\\infty)", f"[{a},\\infty)"


def base(rng):
    b = rng.randint(3, 9)
    digits = "".join(str(rng.randrange(b)) for _ in range(2))
    digits = str(rng.randint(1, b - 1)) + digits
    return f"{digits}_{{{b}}}", f"{digits}_{b}", rng.choice([f"{digits}{b}", digits])


def percent(rng):
    n = rng.randint(1, 99)
    return rng.choice([f"{n}%", f"{n}\\%"]), f"{n}\\%", f"{n + 1}\\%"


def degrees(rng):
    n = rng.randint(1, 179)
    return rng.choice([f"{n}^\\circ", f"{n}^{{\\circ}}"]), f"{n}^\\circ", f"{n + 1}^\\circ"


def units(rng):
    n = rng.randint(1, 99)
    return f"{n} km", f"{1000 * n}\\text{{ m}}", f"{n}\\text{{ inches}}"


def text(rng):
    word, other = rng.sample(["even", "odd", "Monday", "east", "circle", "yes", "no"], 2)
    return rng.choice([word, word.upper(), f"\\text{{{word}}}"]), f"\\text{{{word}}}", f"\\text{{{other}}}"


def trigonometry(rng):
    k = rng.randint(2, 9)
    return f"\\sin^2({k}x)+\\cos^2({k}x)", "1", f"\\sin^2({k}x)-\\cos^2({k}x)"


CLASSES = [number, fraction, decimal, mixed, root, circle, power, polynomial, variables, quotient, complex_number, pair,
           interval, union, listing, braces, matrix, equation, inequality, base, percent, degrees, units, text, trigonometry]


def perturbed_pairs(seed, count):
    """(class, given, gold, equal) in the order of CLASSES, each as often as the others."""
    rng = random.Random(seed)
    for i in range(count):
        make = CLASSES[i % len(CLASSES)]
        same, gold, other = make(rng)
        equal = rng.random() < 0.5
        yield make.__name__, same if equal else other, gold, equal
