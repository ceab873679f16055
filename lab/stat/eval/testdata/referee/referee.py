"""Statistics by arch, statsmodels, scipy and plain numpy: a line of JSON for each question, with the
answer that they give to it. The numbers are drawn anew from the seed of the first argument."""

import json
import math
import sys
from itertools import combinations

import numpy as np
from arch.bootstrap import SPA, StationaryBootstrap, StepM, optimal_block_length
from scipy import integrate, stats
from statsmodels.stats.multitest import multipletests

random = np.random.default_rng(int(sys.argv[1]))


def ask(who, fn, inputs, expected, tolerance=1e-9):
    print(json.dumps({"who": who, "fn": fn, "inputs": inputs, "expected": expected, "tolerance": tolerance}))


def noise(shape, mean=0.0):
    """Returns with volatility that clusters and heavy tails, as days have them."""
    level = np.exp(np.cumsum(random.normal(0, 0.1, shape), axis=0).clip(-1, 1))
    return 0.01 * level * random.standard_t(5, shape) + mean


def moments():
    for n in (30, 365, 1218):
        x = noise(n, 0.001)
        sharpe = x.mean() / x.std(ddof=1)
        skew, kurt = stats.skew(x), stats.kurtosis(x, fisher=False)
        # Mertens (2002), and Bailey and Lopez de Prado (2012), by the moments of scipy.
        error = math.sqrt((1 - skew * sharpe + (kurt - 1) / 4 * sharpe**2) / (n - 1))
        ask("scipy", "moments_and_sharpe", {"returns": x.tolist(), "rf": 0.0},
            {"sharpe": sharpe, "skew_pop": skew, "kurt_pop_raw": kurt, "sr_se": error})
        ask("scipy", "psr_2012", {"returns": x.tolist(), "sr_benchmark": 0.02},
            stats.norm.cdf((sharpe - 0.02) / error))
        below = np.minimum(x - 0.0005, 0)
        ask("numpy", "sortino", {"returns": x.tolist(), "target": 0.0005},
            (x.mean() - 0.0005) / math.sqrt((below**2).mean()))


def maxima():
    for n in (2, 7, 45, 1000):
        mean, _ = integrate.quad(lambda z: z * n * stats.norm.pdf(z) * stats.norm.cdf(z) ** (n - 1), -12, 12,
                                 epsabs=1e-12, limit=500)
        ask("scipy", "expected_max_z_exact", {"N": [n]}, [mean], 1e-8)


def blocks():
    for n in (250, 1218):
        for memory in (0.0, 0.3, -0.3, 0.8):
            x = noise(n)
            for i in range(1, n):
                x[i] += memory * x[i - 1]
            best = optimal_block_length(x)
            ask("arch", "politis_white", {"x": x.tolist()},
                {"stationary": float(best["stationary"].iloc[0]), "circular": float(best["circular"].iloc[0])},
                1e-6)


def adjusted():
    for n in (1, 6, 200):
        p = np.where(random.random(n) < 0.3, random.random(n) * 0.01, random.random(n))
        ask("statsmodels", "adjusted_p", {"p": p.tolist()},
            {ours: multipletests(p, method=theirs)[1].tolist() for ours, theirs in
             (("bonferroni", "bonferroni"), ("holm", "holm"), ("bh", "fdr_bh"), ("by", "fdr_by"))})


def indices_of(block, n, seed, count):
    """The resamples that arch draws."""
    bs = StationaryBootstrap(block, np.arange(n), seed=seed)
    return [np.asarray(data[0][0]).astype(int) for data in bs.bootstrap(count)]


def deviation(x, block):
    """Politis and Romano (1994): of sqrt(n) times the mean, under the stationary bootstrap."""
    n, q, e = len(x), 1 / block, x - x.mean()
    total = (e @ e) / n
    for i in range(1, n):
        weight = (1 - i / n) * (1 - q) ** i + i / n * (1 - q) ** (n - i)
        total += 2 * weight * (e[:-i] @ e[i:]) / n
    return math.sqrt(total)


def superior():
    for n, k, block, skill in ((120, 5, 4.0, 0.0), (300, 12, 8.0, 0.0015), (250, 3, 2.0, 0.004)):
        d = noise((n, k))
        d[:, 0] += skill
        seed, count = int(random.integers(2**31)), 199
        drawn = indices_of(block, n, seed, count)
        inputs = {"d_T_by_K": d.tolist(), "bootstrap_indices": [i.tolist() for i in drawn]}
        means, root = d.mean(axis=0), math.sqrt(n)
        again = np.array([d[i].mean(axis=0) for i in drawn])
        largest = root * means.max()
        reached = int((root * (again - means).max(axis=1) >= largest).sum())
        ask("numpy", "white_rc", inputs,
            {"stat": largest, "count_ge": reached, "B": count, "p": (reached + 1) / (count + 1)})
        # The upper p-value of arch without studentising is that of White's test, on the same resamples.
        theirs = SPA(np.zeros(n), -d, block_size=block, reps=count, studentize=False, seed=seed)
        theirs.compute()
        ask("arch", "white_rc", inputs, {"count_ge": round(float(theirs.pvalues["upper"]) * count)})
        omega = np.array([deviation(d[:, i], block) for i in range(k)])
        t = root * means / omega
        observed = max(0.0, t.max())
        threshold = -omega * math.sqrt(2 * math.log(math.log(n)) / n)
        centres = {"lower": np.maximum(means, 0), "consistent": np.where(means >= threshold, means, 0),
                   "upper": means}
        counts = {name: int((np.maximum((root * (again - c) / omega).max(axis=1), 0) >= observed).sum())
                  for name, c in centres.items()}
        ask("numpy", "hansen_spa", {**inputs, "mean_block": block},
            {"stat": observed, "omega": omega.tolist(), "threshold": threshold.tolist(), "count_ge": counts,
             "p": {name: (c + 1) / (count + 1) for name, c in counts.items()}})
        left, rejected, critical = list(range(k)), [], []
        while left:
            c = np.quantile((root * (again - means) / omega)[:, left].max(axis=1), 0.95, method="inverted_cdf")
            critical.append(float(c))
            found = [i for i in left if t[i] > c]
            if not found:
                break
            rejected += found
            left = [i for i in left if i not in found]
        ask("numpy", "stepm", {**inputs, "mean_block": block, "alpha": 0.05},
            {"rejected": sorted(rejected), "critical_values": critical, "t": t.tolist()})
        steps = StepM(np.zeros(n), -d, size=0.05, block_size=block, reps=count, studentize=True, seed=seed)
        steps.compute()
        if sorted(steps.superior_models) != sorted(rejected):
            print(f"arch finds {steps.superior_models} superior, numpy {rejected}", file=sys.stderr)


def deflated():
    for n, k, judged in ((250, 8, 2), (365, 40, 0)):
        common = noise(n)
        r = 0.8 * common[:, None] + 0.6 * noise((n, k))
        r[:, judged] += 0.001
        drawn = indices_of(5.0, n, int(random.integers(2**31)), 199)
        centred = r - r.mean(axis=0)
        ratio = r[:, judged].mean() / r[:, judged].std(ddof=1)
        largest = [(centred[i].mean(axis=0) / centred[i].std(axis=0, ddof=1)).max() for i in drawn]
        reached = int((np.array(largest) >= ratio).sum())
        p = (reached + 1) / 200
        alone = stats.norm.sf(ratio * math.sqrt(n))
        for without in (0, 15):
            ask("numpy", "dsr_max", {"returns_T_by_N": r.tolist(), "judged": judged, "without_series": without,
                                     "bootstrap_indices": [i.tolist() for i in drawn]},
                {"sr": ratio, "count_ge": reached, "p": 1 - (1 - p) * (1 - alone) ** without,
                 "dsr": (1 - p) * (1 - alone) ** without})


def overfitting():
    for rows, columns, parts in ((96, 7, 6), (200, 20, 8)):
        x = noise((rows, columns))
        pieces = np.array_split(np.arange(rows), parts)
        below, count = 0, 0
        for chosen in combinations(range(parts), parts // 2):
            inside = np.concatenate([pieces[i] for i in chosen])
            outside = np.concatenate([pieces[i] for i in range(parts) if i not in chosen])
            sharpe = lambda at: x[at].mean(axis=0) / x[at].std(axis=0, ddof=1)
            best = int(np.argmax(sharpe(inside)))
            rank = stats.rankdata(sharpe(outside))[best] / (columns + 1)
            below += rank <= 0.5
            count += 1
        ask("numpy", "cscv", {"S": parts, "metric": "sharpe ddof=1", "matrix_T_by_N": x.tolist()},
            {"pbo": below / count, "n": count})


for part in (moments, maxima, blocks, adjusted, superior, deflated, overfitting):
    part()
