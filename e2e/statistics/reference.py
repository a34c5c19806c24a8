"""Generates 200 comparisons of runs and calculates their figures by scipy, independently of the server.

    reference.py > pkg/run/testdata/intervals.json
    reference.py --check < answers.json

The first writes the comparisons with their figures, always the same ones. The second compares the answers that a server gave to them, a JSON object by
name of the comparison, and then whether the intervals of many more comparisons, calculated here by the same methods, hold the true difference as often as
they say.
"""
import json
import math
import sys

import numpy as np
from scipy import stats

LEVEL = 0.95


def generate():
    """Yields name, base and new: of each datapoint the values that a run has, none where the run has no session about it."""
    rng = np.random.default_rng(20261)
    sizes = [2, 3, 4, 5, 6, 7, 8, 9, 10, 15, 25, 40, 60, 120]
    for i in range(200):
        kind = ["normal", "skewed", "booleans", "ties", "grades", "equal", "repeated", "repeated booleans"][i % 8]
        n = sizes[int(rng.integers(len(sizes)))]
        level = rng.normal(0, 2, n)
        if kind == "normal":
            base, new = [[v] for v in level + rng.normal(0, 1, n)], [[v] for v in level + 0.3 + rng.normal(0, 1, n)]
        elif kind == "skewed":
            base, new = [[v] for v in rng.lognormal(0, 1, n)], [[v] for v in rng.lognormal(0.2, 1.2, n)]
        elif kind == "booleans":
            p = rng.uniform(0.1, 0.95)
            b = rng.random(n) < p
            base, new = [[float(v)] for v in b], [[float(v != (rng.random() < 0.25))] for v in b]
        elif kind == "ties":
            b = rng.random(n)
            base, new = [[v] for v in b], [[v if rng.random() < 0.8 else v + rng.normal(0.1, 0.3)] for v in b]
        elif kind == "grades":
            base, new = [[float(v) / 4] for v in rng.integers(0, 5, n)], [[float(v) / 4] for v in rng.integers(0, 5, n)]
        elif kind == "equal":
            b, d = rng.integers(0, 8, n) / 8, rng.integers(-2, 3) / 4
            base, new = [[float(v)] for v in b], [[float(v + d)] for v in b]
        elif kind == "repeated":
            base = [list(v + rng.normal(0, 1, rng.integers(1, 4))) for v in level]
            new = [list(v + 0.2 + rng.normal(0, 1, rng.integers(1, 6))) for v in level]
        else:
            p = rng.uniform(0.2, 0.9, n)
            base = [[float(v) for v in rng.random(rng.integers(1, 5)) < q] for q in p]
            new = [[float(v) for v in rng.random(rng.integers(1, 5)) < q] for q in p]
        if i % 3 == 0:  # pairs that are not whole: some datapoints are in one run only
            for side in (base, new):
                for j in range(len(side)):
                    if rng.random() < 0.15:
                        side[j] = []
        plain = lambda side: [[round(float(v), 12) for v in values] for values in side]
        yield f"{i:03} {kind}, {n} datapoints", plain(base), plain(new)


def wilson(successes, n):
    ci = stats.binomtest(int(successes), int(n)).proportion_ci(LEVEL, method="wilson")
    return ci.low, ci.high


def newcombe(b, a):
    """Newcombe 1998, method 10, for b before and a after."""
    n = len(a)
    both, gain, loss = int(sum((a == 1) & (b == 1))), int(sum((a == 1) & (b == 0))), int(sum((a == 0) & (b == 1)))
    neither = n - both - gain - loss
    p, q = (both + gain) / n, (both + loss) / n
    (l1, u1), (l2, u2) = wilson(both + gain, n), wilson(both + loss, n)
    product = (both + gain) * (both + loss) * (neither + gain) * (neither + loss)
    phi = 0.0
    if product:
        top = both * neither - gain * loss
        phi = (max(top - n / 2, 0) if top > 0 else top) / math.sqrt(product)
    down = math.sqrt(max(0, (p - l1) ** 2 - 2 * phi * (p - l1) * (u2 - q) + (u2 - q) ** 2))
    up = math.sqrt(max(0, (u1 - p) ** 2 - 2 * phi * (u1 - p) * (q - l2) + (q - l2) ** 2))
    return max(-1, p - q - down), min(1, p - q + up)


def interval(b, a):
    """The method and the interval of paired values; no interval where there is nothing to make one of."""
    d = a - b
    if all(v in (0, 1) for v in np.concatenate([a, b])):
        return "newcombe", newcombe(b, a)
    if len(d) < 2:
        return "", None
    everything = np.concatenate([a, b])
    if np.std(d, ddof=1) <= 1e-12 * np.max(np.abs(everything)):
        # Clopper and Pearson's upper end of the share of other differences, of which there is none.
        share = stats.binomtest(0, len(d)).proportion_ci(LEVEL, method="exact").high
        half = share * (np.max(everything) - np.min(everything))
        return ("equal_differences", (np.mean(d) - half, np.mean(d) + half)) if half > 0 else ("", None)
    ci = stats.ttest_rel(a, b).confidence_interval(LEVEL)
    return "paired_t", (ci.low, ci.high)


def figures():
    for name, base, new in generate():
        pairs = [(np.mean(b), np.mean(a)) for b, a in zip(base, new) if b and a]
        b, a = np.array([p[0] for p in pairs]), np.array([p[1] for p in pairs])
        case = {"name": name, "base": base, "new": new, "pairs": len(pairs), "mean": 0.0, "method": "", "low": None, "high": None}
        if pairs:
            method, ends = interval(b, a)
            case |= {"mean": float(np.mean(a - b)), "method": method}
            if ends:
                case |= {"low": float(ends[0]), "high": float(ends[1])}
        yield case


def near(x, y):
    return abs(x - y) <= 1e-9 * max(1, abs(x), abs(y))


def check(answers):
    wrong = []
    for case in figures():
        got = answers[case["name"]]
        ends = got.get("interval")
        ok = got["pairs"] == case["pairs"] and (not case["pairs"] or near(got["difference"], case["mean"]))
        ok = ok and (ends is None) == (case["low"] is None)
        ok = ok and (ends is None or ends["method"] == case["method"] and near(ends["low"], case["low"]) and near(ends["high"], case["high"]))
        # What is better or worse must be so by the interval.
        if got["verdict"] != "cannot_tell":
            ok = ok and ends is not None and (ends["low"] > 0 if got["verdict"] == "better" else ends["high"] < 0)
        if not ok:
            wrong.append(f"{case['name']}: the server has {got}, scipy {({k: case[k] for k in ('pairs', 'mean', 'method', 'low', 'high')})}")
    return wrong + coverage()


def coverage(times=600):
    """The share of intervals that hold the true difference, of comparisons drawn from known distributions."""
    rng = np.random.default_rng(7)
    wrong = []

    def hold(name, truth, draw):
        held = 0
        for _ in range(times):
            b, a = draw()
            _, ends = interval(b, a)
            held += ends is None or ends[0] <= truth <= ends[1]
        # Less than this has a probability below 1e-5 if the intervals cover as they claim.
        least = stats.binom.ppf(1e-5, times, LEVEL)
        print(f"{name}: {100 * held / times:.1f} % of {times}", file=sys.stderr)
        if held < least:
            wrong.append(f"{name}: {held} of {times} intervals hold the true difference, {int(least)} at least would be expected")

    def numbers(n):
        level = rng.normal(0, 3, n)
        return level + rng.normal(0, 1, n), level + 0.3 + rng.normal(0, 1, n)

    def booleans(n, both, gain, loss):
        u = rng.random(n)
        return ((u < both) | (u >= 1 - loss)).astype(float), (u < both + gain).astype(float)

    for n in (2, 5, 30):
        hold(f"numbers, {n} pairs", 0.3, lambda: numbers(n))
    hold("skewed values, 20 pairs", 0, lambda: (rng.lognormal(0, 1, 20), rng.lognormal(0, 1, 20)))
    hold("booleans, 10 pairs", 0.1, lambda: booleans(10, 0.6, 0.2, 0.1))
    hold("booleans, 100 pairs", 0.1, lambda: booleans(100, 0.6, 0.2, 0.1))
    hold("booleans, 200 pairs, few differ", 0.03, lambda: booleans(200, 0.9, 0.04, 0.01))
    return wrong


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        found = check(json.load(sys.stdin))
        print("\n".join(found))
        sys.exit(1 if found else 0)
    print("[" + ",\n".join(json.dumps(case) for case in figures()) + "]")
