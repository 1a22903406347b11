#!/usr/bin/env python3
"""Forecasts next month's sea-surface temperature by analogy: what came after months like these?

    python3 elnino.py                   writes train.npz and test.npz into the current folder
    python3 elnino.py --score OUT.npz   forecasts made by `mha apply test.npz`, beside others

Needs NumPy alone. elnino.csv, beside this script, holds the monthly mean temperature in degrees
Celsius of the Pacific between 0 and 10 degrees South and 90 and 80 degrees West, 1950 to 2010: data
set ERSST.V3B, Nino 1+2, of the US National Oceanic and Atmospheric Administration,
http://www.cpc.ncep.noaa.gov/data/indices/, in the public domain, as the Python package statsmodels
carries it.

Numbers are anomalies: differences from the calendar month's mean over the years before TEST, in
units of their standard deviation there. A query is the twelve months before the one that is asked
for. The context is a library, the same for all samples: for each month from 1951 to the year before
TEST, the twelve months before it and what came then. A sample is a year, with a query for each of
its months. The mask hides all rows that share a month with the query or its answer, so that no
training query finds its own answer in the library.

Features: the twelve months, the last one first; the answer (library) or 0 (query); a constant;
cosine and sine of the calendar month. The target stands in every feature, so that the loss is the
squared error of the forecast; the forecast is the mean of the output over the features.
"""

import pathlib
import sys

import numpy as np

TEST, END = 2001, 2011
MONTHS = 12

table = np.loadtxt(pathlib.Path(__file__).with_name("elnino.csv"), delimiter=",", skiprows=1)
first_year = int(table[0, 0])
known = table[table[:, 0] < TEST, 1:]
climate, scale = known.mean(0), (known - known.mean(0)).std()
temperature, anomaly = table[:, 1:].ravel(), ((table[:, 1:] - climate) / scale).ravel()


def months_of(first, end):
    """Indices of the months of these years, (years,12)."""
    return np.arange((first - first_year) * MONTHS, (end - first_year) * MONTHS).reshape(-1, MONTHS)


def past(series, months):
    """The twelve months before each, the last one first."""
    return series[months[..., None] - 1 - np.arange(MONTHS)]


def tokens(months, answers):
    angle = 2 * np.pi * months / MONTHS
    season = np.sqrt(2) * np.stack([np.cos(angle), np.sin(angle)], -1)
    constant = np.ones(months.shape + (1,))
    return np.concatenate([past(anomaly, months), answers[..., None], constant, season], -1)


def write(path, years, library):
    query = tokens(years, np.zeros(years.shape))
    context = np.tile(tokens(library, anomaly[library]), (len(years), 1, 1))
    target = np.repeat(anomaly[years][..., None], query.shape[-1], -1)
    mask = np.abs(years[:, None, :, None] - library) > MONTHS  # (N,1,T,S)
    floats = {"query": query, "context": context, "target": target}
    np.savez_compressed(path, mask=mask, **{k: v.astype(np.float32) for k, v in floats.items()})
    print(f"{path}: {len(years)} years, {len(library)} months in the library")


def autoregression(series, years, library):
    """Least squares on the twelve months before and a constant, fitted on the library."""
    def rows(months):
        return np.append(past(series, months), np.ones(months.shape + (1,)), -1)
    coefficients, *_ = np.linalg.lstsq(rows(library), series[library], rcond=None)
    return rows(years) @ coefficients


def score(path, years, library):
    with np.load(path) as file:
        output = file["output"].astype(float).mean(-1)
    forecasts = {
        "the month's mean": np.tile(climate, (len(years), 1)),
        "last month's temperature": temperature[years - 1],
        "last month's anomaly": climate + scale * anomaly[years - 1],
        "AR(12) of temperatures": autoregression(temperature, years, library),
        "AR(12) of anomalies": climate + scale * autoregression(anomaly, years, library),
        "attention over the library": climate + scale * output,
    }
    print(f"root mean square error, degrees Celsius, {years.size} months from {TEST} to {END - 1}")
    for name, forecast in forecasts.items():
        print(f"  {name:<28}{np.sqrt(np.mean((forecast - temperature[years]) ** 2)):.3f}")


def main():
    train, test = months_of(first_year + 1, TEST), months_of(TEST, END)
    library = train.ravel()
    if len(sys.argv) == 3 and sys.argv[1] == "--score":
        score(sys.argv[2], test, library)
    elif len(sys.argv) == 1:
        write("train.npz", train, library)
        write("test.npz", test, library)
    else:
        sys.exit("usage: elnino.py [--score OUT.npz]")


if __name__ == "__main__":
    main()
