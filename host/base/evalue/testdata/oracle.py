"""E_t and D_t in exact fractions, as docs/governance.md defines them. Reads cases as JSON, writes values."""
import json
import sys
from fractions import Fraction as F


def moments(days):
    if not days:
        return F(0), F(0)
    mean = sum(days) / len(days)
    if len(days) == 1:
        return mean, F(0)
    return mean, sum((x - mean) ** 2 for x in days) / (len(days) - 1)


def evidence(bound, promised, days, late):
    top = 1 / (2 * bound)
    mean, variance = moments(promised)
    adaptive, constant = F(1), [F(1)] * 6
    for s, (x, came_late) in enumerate(zip(days, late)):
        if x < -2 * bound:
            return F(0)
        before = [min(y, F(0)) if was else y for y, was in zip(days[:s], late[:s])]
        above, below = 30 * mean + sum(before), 30 * variance + sum(y * y for y in before)
        bet = F(0) if above <= 0 else top if below <= 0 else min(above / below, top)
        x = min(x, F(0)) if came_late else x
        adaptive *= 1 + bet * x
        constant = [w * (1 + top / 2**j * x) for j, w in enumerate(constant)]
    return adaptive / 2 + sum(constant) / 12


def drift(bets, known, days, random):
    wealth, known = [F(1)] * len(bets), list(known)
    for x, u in zip(days, random):
        p = (sum(y < x for y in known) + u * (sum(y == x for y in known) + 1)) / (len(known) + 1)
        wealth = [w * (1 + k * (1 - 2 * p)) for w, k in zip(wealth, bets)]
        known.append(x)
    return sum(wealth) / len(wealth)


def exact(numbers):
    return [F(x) for x in numbers]


answers = []
for case in json.load(sys.stdin):
    promised, days, random = exact(case["promised"]), exact(case["days"]), exact(case["random"])
    answers.append([
        float(evidence(F(case["bound"]), promised, days, case["late"])),
        float(drift([F(1, 8), F(1, 4), F(1, 2)], promised, days, random)),
        float(drift([F(1, 2), F(-1, 2)], promised, days, random)),
    ])
json.dump(answers, sys.stdout)
