#!/usr/bin/env python3
"""src/eval/MathCoefficients.h: the minimax polynomials of mathematical functions. Needs mpmath.

    minimax.py           computes them and prints the header with the error of each
    minimax.py --write   writes the header

Each polynomial is found by Remez' exchange, weighted with what its error means for the function's value. Coefficients
are rounded to the format they are used in; those of f32 from the lowest degree up, fitting the rest anew while it helps.
"""

import pathlib
import struct
import sys

from mpmath import mp, mpf

mp.dps = 40
HEADER = pathlib.Path(__file__).resolve().parents[2] / "src/eval/MathCoefficients.h"
GRID = 700


def rounded(x, double):
    return mpf(float(x)) if double else mpf(struct.unpack("f", struct.pack("f", float(x)))[0])


def chebyshev(a, b, n):
    return [(a + b) / 2 - (b - a) / 2 * mp.cos(mp.pi * i / (n - 1)) for i in range(n)]


def evaluate(coefficients, x):
    p = mpf(0)
    for c in reversed(coefficients):
        p = p * x + c
    return p


def remez(points, target, weight, first, count, references):
    """Coefficients of x^first … x^(first+count-1) that approximate `target`; all given on `points`."""
    n = count + 1
    at = references(n)
    best = None
    for _ in range(30):
        rows = mp.matrix(n, n)
        right = mp.matrix(n, 1)
        for i, k in enumerate(at):
            for j in range(count):
                rows[i, j] = points[k] ** (first + j)
            rows[i, count] = (-1) ** i / weight[k]
            right[i] = target[k]
        solution = mp.lu_solve(rows, right)
        c = [solution[j] for j in range(count)]
        error = [(evaluate(c, x) * x**first - t) * w for x, t, w in zip(points, target, weight)]
        worst = max(abs(e) for e in error)
        if best is None or worst < best[0]:
            best = (worst, c)
        if worst <= abs(solution[count]) * mpf("1.001"):
            break
        # One extremum between two changes of sign, the largest.
        extrema = [0]
        for k in range(1, len(points)):
            if (error[k] < 0) == (error[extrema[-1]] < 0):
                if abs(error[k]) > abs(error[extrema[-1]]):
                    extrema[-1] = k
            else:
                extrema.append(k)
        while len(extrema) > n:
            extrema.pop(0 if abs(error[extrema[0]]) < abs(error[extrema[-1]]) else -1)
        if len(extrema) < n:
            break
        at = extrema
    return best


def fit(function, weight, a, b, degree, double, start=0, grid=GRID):
    """start: the lowest power, for functions that are 0 at 0."""
    points = [x for x in chebyshev(mpf(a), mpf(b), grid) if x != 0]
    target = [function(x) for x in points]
    weights = [abs(weight(x)) for x in points]
    largest = max(weights)
    weights = [max(w, largest * mpf(10) ** -12) for w in weights]
    def spread(n):
        return [round(i * (len(points) - 1) / (n - 1)) for i in range(n)]

    def error(c):
        return max(abs((t - evaluate(c, x) * x**start) * w) for x, t, w in zip(points, target, weights))

    count = degree + 1 - start
    fixed, rest, candidates = [], target, []
    for done in range(count):
        _, c = remez(points, rest, weights, start + done, count - done, spread)
        candidates.append(fixed + [rounded(v, double) for v in c])
        if double:
            break
        fixed = fixed + [rounded(c[0], double)]
        rest = [t - fixed[-1] * x ** (start + done) for x, t in zip(points, rest)]
    best = min(candidates, key=error)
    return best, error(best)


LN2 = mp.log(2)
HALF = LN2 / 2 * mpf("1.0005")
NEAR = mp.sqrt(mpf("0.5")) - 1, mp.sqrt(2) - 1


def cancelling(formula, limit=None):
    """A formula like (e^r - 1 - r) / r² with digits to spare near 0."""

    def value(x):
        if x == 0:
            return limit
        with mp.workdps(80):
            return formula(mpf(x))

    return value


def odd(f):
    """g(u) with f(x) = x + x³ g(x²)."""
    return cancelling(lambda u: (f(mp.sqrt(u)) - mp.sqrt(u)) / (u * mp.sqrt(u)))


def odd_weight(f):
    return lambda u: u * mp.sqrt(u) / f(mp.sqrt(u))


def minus_log2_erfc(x):
    return -mp.log(mp.erfc(x), 2)


ERF_SPLIT = mpf("0.93")
TANH_SPLIT = mpf("0.55")
ERF_PIECE = mpf("0.125")
TANH_PIECES_FROM = mpf("0.625")
ERFC_POLE = mpf(4)


def scaled_erfc(t):
    """e^(x²) erfc(x) (1 + 2x) of x = 4 (1 + t) / (1 - t)."""
    x = ERFC_POLE * (1 + t) / (1 - t)
    return mp.exp(x * x) * mp.erfc(x) * (1 + 2 * x)


def erf_inv_of(w):
    """erf_inv(x) / x where w = -log(1 - x²)."""
    with mp.workdps(60):
        x = mp.sqrt(-mp.expm1(-mpf(w)))
        return mp.erfinv(x) / x


# name: (what it is, function, weight, from, to, degree, double)
POLYNOMIALS = {
    "kExpm1": ("(e^r - 1 - r) / r² on ±ln2/2", cancelling(lambda r: (mp.expm1(r) - r) / r**2, mpf(0.5)),
               lambda r: r * r / mp.expm1(r), -HALF, HALF, 4, False),
    "kExp2": ("(2^f - 1) / f on ±1/2", cancelling(lambda f: mp.expm1(f * LN2) / f, LN2), lambda f: f * mp.power(2, -f),
              mpf("-.5"), mpf("0.5"), 5, False),
    "kExp2Short": ("the same", cancelling(lambda f: mp.expm1(f * LN2) / f, LN2), lambda f: f * mp.power(2, -f), mpf("-.5"),
                   mpf("0.5"), 4, False),
    "kExpPiece": ("(e^r - 1) / r on ±ln2/64", cancelling(lambda r: mp.expm1(r) / r, mpf(1)), lambda r: r * mp.exp(-r), -HALF / 32,
                  HALF / 32, 1, False),
    "kExp2Piece": ("(2^f - 1) / f on ±1/64", cancelling(lambda f: mp.expm1(f * LN2) / f, LN2), lambda f: f * mp.power(2, -f),
                   mpf("-.5") / 32, mpf("0.5") / 32, 1, False),
    "kLog1p": ("(log(1 + f) - f + f²/2) / f³ on 1/√2 … √2", cancelling(lambda f: (mp.log1p(f) - f + f * f / 2) / f**3, mpf(1) / 3),
               lambda f: f**3 / mp.log1p(f), *NEAR, 7, False),
    "kSin": ("(sin r - r) / r³ of r², r ≤ π/4", odd(mp.sin), odd_weight(mp.sin), mpf("1e-9"), (mp.pi / 4 * mpf("1.001")) ** 2, 3, False),
    "kCos": ("(cos r - 1 + r²/2) / r⁴ of r², r ≤ π/4", cancelling(lambda u: (mp.cos(mp.sqrt(u)) - 1 + u / 2) / u**2),
             lambda u: u**2 / mp.cos(mp.sqrt(u)), mpf("1e-9"), (mp.pi / 4 * mpf("1.001")) ** 2, 2, False),
    "kTan": ("(tan r - r) / r³ of r², r ≤ π/4", odd(mp.tan), odd_weight(mp.tan), mpf("1e-9"), (mp.pi / 4 * mpf("1.001")) ** 2, 6, False),
    "kAsin": ("(asin x - x) / x³ of x², x ≤ 1/2", odd(mp.asin), odd_weight(mp.asin), mpf("1e-9"), mpf("0.25"), 4, False),
    "kAtan": ("(atan x - x) / x³ of x², x ≤ 1", odd(mp.atan), odd_weight(mp.atan), mpf("1e-9"), mpf(1), 8, False),
    "kSinh": ("(sinh x - x) / x³ of x², x ≤ 1", odd(mp.sinh), odd_weight(mp.sinh), mpf("1e-9"), mpf(1), 3, False),
    "kTanh": ("(tanh x - x) / x³ of x², below the split", odd(mp.tanh), odd_weight(mp.tanh), mpf("1e-9"), TANH_SPLIT**2, 3, False),
    "kErf": ("erf(x) / x - 1 of x², below the split", cancelling(lambda u: mp.erf(mp.sqrt(u)) / mp.sqrt(u) - 1),
             lambda u: mp.sqrt(u) / mp.erf(mp.sqrt(u)), mpf("1e-9"), ERF_SPLIT**2, 5, False),
    "kErfTail": ("-log2(erfc(x)), from the split to 3.93", minus_log2_erfc, lambda x: mp.erfc(x) * LN2 / mp.erf(x), ERF_SPLIT,
                 mpf("3.93"), 5, False),
    "kExp2Double": ("2^f on ±1/2", lambda f: mp.power(2, f), lambda f: mp.power(2, -f), mpf("-.5"), mpf("0.5"), 6, True),
    "kAtanhDouble": ("(log((1 + s)/(1 - s)) - 2s) / s³ of s², s ≤ 0.172",
                     cancelling(lambda u: 2 * (mp.atanh(mp.sqrt(u)) - mp.sqrt(u)) / (u * mp.sqrt(u))),
                     lambda u: u * mp.sqrt(u) / (2 * mp.atanh(mp.sqrt(u))), mpf("1e-9"), mpf("0.0295"), 4, True),
    "kErfcDouble": ("e^(x²) erfc(x) (1 + 2x) of (x - 4)/(x + 4), x = 0 … 10.1", scaled_erfc, lambda t: 1 / scaled_erfc(t), mpf(-1),
                    mpf("6.1") / mpf("14.1"), 12, True),
    "kErfInvDouble": ("erf_inv(x) / x of w - 2.5, w = -log(1 - x²) ≤ 5", lambda v: erf_inv_of(v + mpf("2.5")),
                      lambda v: 1 / erf_inv_of(v + mpf("2.5")), mpf("-2.499999"), mpf("2.5"), 11, True),
    "kErfInvTailDouble": ("erf_inv(x) / x of √w - 3, w = 5 … 17", lambda v: erf_inv_of((v + 3) ** 2), lambda v: 1 / erf_inv_of((v + 3) ** 2),
                          mp.sqrt(5) - 3, mp.sqrt(17) - 3, 11, True),
}


def by_x(f, limit):
    return lambda x: f(x) / x if x != 0 else limit


def tanh_piece(i):
    """Entry i of tanh's table, by the bits of y = |x| + 5/8: the four below 2^20 and the lowest of the exponent. Eight to an
    octave: ever wider ones, as tanh gets smoother."""
    first = 126 << 3 | 2  # of 5/8
    at = first + (i - first) % ENTRIES
    return [mpf(struct.unpack("f", struct.pack("I", k << 20))[0]) - TANH_PIECES_FROM for k in (at, at + 1)]


def erf_piece(i):
    """Pieces as wide as each other around the multiples of their width."""
    return [max(i - mpf("0.5"), 0) * ERF_PIECE, (i + mpf("0.5")) * ERF_PIECE]


# name: (what it is, function, its slope at 0, piece of an entry: from, to; degree). One row for the centres, one for each
# power of the distance to the centre.
TABLES = {
    "kTanhTable": ("tanh", mp.tanh, mpf(1), tanh_piece, 4),
    "kErfTable": ("erf", mp.erf, 2 / mp.sqrt(mp.pi), erf_piece, 4),
}
ENTRIES = 32


def centre_of(function, low, high):
    """An f32 near the middle whose value is almost an f32, for the constant's own rounding would be half of the error."""
    best = None
    for k in range(4000):  # the nearest first, to .4 of the width
        x = rounded((low + high) / 2 + (high - low) / 10000 * (k if k % 2 else -k), False)
        lost = abs(function(x) / rounded(function(x), False) - 1)
        if best is None or lost < best[0]:
            best = (lost, x)
        if best[0] < mpf("2e-10"):
            break
    return best[1]


def table(function, slope, piece, degree):
    """Its rows, and the largest relative error."""
    columns, worst = [], mpf(0)
    for i in range(ENTRIES):
        low, high = piece(i)
        if low == 0:  # relative: no constant
            centre = mpf(0)
            c, error = fit(by_x(function, slope), lambda x: x / function(x), mpf("1e-9"), high, degree - 1, False, grid=100)
            c = [mpf(0), *c]
        else:
            centre = centre_of(function, low, high)
            c, error = fit(lambda t: function(t + centre), lambda t: 1 / function(t + centre), low - centre, high - centre,
                           degree, False, grid=100)
        columns.append([centre, *c])
        worst = max(worst, error)
        print("   ", i, mp.nstr(low, 3), mp.nstr(high, 3), mp.nstr(error, 2), file=sys.stderr)
    return list(zip(*columns)), worst


# name: (what it is, value, how many f32 it is the sum of)
CONSTANTS = {
    "kLn2": ("ln 2", LN2, 2),
    "kLog2OfE": ("log2 e", 1 / LN2, 2),
    "kLog10OfE": ("log10 e", 1 / mp.log(10), 2),
    "kLog10Of2": ("log10 2", mp.log10(2), 2),
    "kHalfPi": ("π/2", mp.pi / 2, 3),
    "kPi": ("π", mp.pi, 2),
    "kErfSplit": ("from here on erf goes by its tail", ERF_SPLIT, 1),
    "kTanhSplit": ("up to here tanh goes by its polynomial", TANH_SPLIT, 1),
}
TWO_OVER_PI_BITS = 29


def two_over_pi():
    """2/π in doubles of 29 bits, down to 2^-203."""
    parts = []
    with mp.workdps(100):
        rest = 2 / mp.pi
        for i in range(7):
            part = mp.floor(rest * mpf(2) ** (TWO_OVER_PI_BITS * (i + 1))) / mpf(2) ** (TWO_OVER_PI_BITS * (i + 1))
            parts.append(part)
            rest -= part
    return parts


def literal(c, double):
    text = float(c).hex()
    head, exponent = text.split("p")
    head = head.rstrip("0") if "." in head else head
    return f"{head.rstrip('.')}p{int(exponent)}" + ("" if double else "f")


def header(names):
    lines = [
        "// Written by tools/cpu/minimax.py. Lowest degree first; the error is that of the function's value, relative, before any",
        "// rounding of the evaluation (half a unit in the last place of f32 is 6.0e-8 at most).",
        "#pragma once",
        "",
        "namespace smalti::coefficients {",
        "",
    ]
    for name, (what, value, count) in CONSTANTS.items():
        parts = []
        for _ in range(count):
            parts.append(rounded(value - sum(parts), False))
        lines.append(f"/// {what}{', in parts' if count > 1 else ''}.")
        values = ", ".join(literal(v, False) for v in parts)
        lines.append(f"inline constexpr float {name}{'[]' if count > 1 else ''} = {'{' + values + '}' if count > 1 else values};")
    lines.append("/// 2/π in parts of 29 bits: the product of each with an f32 is exact.")
    lines.append(f"inline constexpr double kTwoOverPi[] = {{{', '.join(literal(v, True) for v in two_over_pi())}}};")
    lines.append("")
    for name in names:
        what, function, weight, a, b, degree, double = POLYNOMIALS[name]
        c, error = fit(function, weight, a, b, degree, double)
        print(name, mp.nstr(error, 3), file=sys.stderr)
        lines.append(f"/// {what}: {mp.nstr(error, 2)}.")
        values = ", ".join(literal(v, double) for v in c)
        lines.append(f"inline constexpr {'double' if double else 'float'} {name}[] = {{{values}}};")
    powers = ", ".join(literal(rounded(mp.power(2, mpf(i) / ENTRIES), False), False) for i in range(ENTRIES))
    lines += ["/// 2^(i/32).", f"inline constexpr float kExp2Table[] = {{{powers}}};"]
    for name, (what, function, slope, piece, degree) in TABLES.items():
        rows, error = table(function, slope, piece, degree)
        print(name, mp.nstr(error, 3), file=sys.stderr)
        lines.append(f"/// {what} in pieces, of |x| less the centre of the piece (the first row): {mp.nstr(error, 2)}.")
        lines.append(f"inline constexpr float {name}[][{ENTRIES}] = {{")
        lines += [f"    {{{', '.join(literal(v, False) for v in row)}}}," for row in rows]
        lines.append("};")
    lines += ["", "}  // namespace smalti::coefficients", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    chosen = [a for a in sys.argv[1:] if not a.startswith("-")] or list(POLYNOMIALS)
    text = header(chosen)
    if "--write" in sys.argv:
        HEADER.write_text(text)
    else:
        print(text)
