"""Books of Torvexley Industries, a fictitious maker of pumps and valves: calendar year, in millions."""

from __future__ import annotations

from finrag_pipeline.sample.ledger import Chart, Period, post, share_of, year_columns

CHART = Chart(
    current_assets=("cash", "receivables", "inventories", "prepaid"),
    noncurrent_assets=("ppe", "rou", "goodwill", "intangibles", "other_assets"),
    current_liabilities=("short_debt", "payables", "accrued", "income_taxes"),
    noncurrent_liabilities=("long_debt", "lease", "deferred_tax", "pension"),
    equity=("common", "apic", "retained", "aoci", "treasury"),
    credits={
        "adj.depreciation": "ppe",
        "adj.amortization": "intangibles",
        "adj.sbc": "apic",
        "adj.deferred_tax": "deferred_tax",
        "adj.rou": "rou",
        "wc.receivables": "receivables",
        "wc.inventories": "inventories",
        "wc.prepaid": "prepaid",
        "wc.payables": "payables",
        "wc.accrued": "accrued",
        "wc.income_taxes": "income_taxes",
        "wc.lease": "lease",
        "inv.capex": "ppe",
        "inv.acq.goodwill": "goodwill",
        "inv.acq.intangibles": "intangibles",
        "inv.acq.ppe": "ppe",
        "inv.acq.inventories": "inventories",
        "inv.acq.accrued": "accrued",
        "inv.disposals": "ppe",
        "fin.issued": "long_debt",
        "fin.repaid": "short_debt",
        "fin.dividends": "retained",
        "fin.repurchases": "treasury",
        "fin.options": "apic",
        "fx.cash": "aoci",
    },
    transfers={
        "noncash.current_debt": ("short_debt", "long_debt"),
        "noncash.leases": ("lease", "rou"),
        "oci.translation": ("aoci", "goodwill"),
        "oci.pension": ("aoci", "pension"),
    },
)

OPENING = CHART.open(
    "retained",
    {
        "cash": 312,
        "receivables": 521,
        "inventories": 468,
        "prepaid": 61,
        "ppe": 981,
        "rou": 142,
        "goodwill": 864,
        "intangibles": 391,
        "other_assets": 87,
        "short_debt": 300,
        "payables": 347,
        "accrued": 286,
        "income_taxes": 24,
        "long_debt": 1050,
        "lease": 146,
        "deferred_tax": 131,
        "pension": 173,
        "common": 1,
        "apic": 412,
        "aoci": -118,
        "treasury": -385,
    },
)

# Signed by their effect on cash; one column per year, 2020 to 2023.
FLOWS = year_columns(
    {
        "revenue.flow": (1412, 1538, 1689, 1741),
        "revenue.water": (968, 1041, 1207, 1362),
        "revenue.energy": (604, 571, 633, 588),
        "cost.sales": (-1941, -2034, -2318, -2376),
        "opex.sga": (-581, -602, -648, -679),
        "opex.rnd": (-88, -94, -107, -118),
        "opex.amortization": (-52, -52, -61, -74),
        "opex.restructuring": (-41, 0, -18, -63),
        "other.interest": (-49, -44, -47, -60),
        "other.income": (6, 9, 4, 11),
        "tax.provision": (-52, -73, -70, -76),
        "adj.depreciation": (121, 124, 131, 146),
        "adj.amortization": (52, 52, 61, 74),
        "adj.sbc": (22, 25, 28, 31),
        "adj.deferred_tax": (-8, 5, -12, -15),
        "adj.rou": (36, 37, 40, 43),
        "wc.receivables": (34, -41, -62, -18),
        "wc.inventories": (19, -57, -96, 44),
        "wc.prepaid": (-3, -6, 5, -9),
        "wc.payables": (-12, 48, 53, -21),
        "wc.accrued": (9, 17, -8, 26),
        "wc.income_taxes": (-5, 7, -4, 3),
        "wc.lease": (-35, -38, -39, -44),
        "inv.capex": (-104, -132, -158, -171),
        "inv.acq.goodwill": (0, 0, -241, 0),
        "inv.acq.intangibles": (0, 0, -148, 0),
        "inv.acq.ppe": (0, 0, -14, 0),
        "inv.acq.inventories": (0, 0, -22, 0),
        "inv.acq.accrued": (0, 0, 13, 0),
        "inv.disposals": (6, 11, 9, 38),
        "fin.issued": (250, 0, 450, 0),
        "fin.repaid": (-300, -150, -200, -175),
        "fin.dividends": (-72, -78, -84, -91),
        "fin.repurchases": (-40, -110, -60, -45),
        "fin.options": (9, 14, 11, 13),
        "fx.cash": (-4, 3, -9, 5),
        "noncash.current_debt": (150, 200, 175, 225),
        "noncash.leases": (30, 41, 55, 48),
        "oci.translation": (11, -7, -24, 13),
        "oci.pension": (-9, 14, 21, -6),
    },
    2020,
)
SHARES = {2020: ("92.4", "93.1"), 2021: ("91.1", "92.0"), 2022: ("89.6", "90.3"), 2023: ("88.9", "89.5")}
MEMO = year_columns(
    {
        "profit.flow": (176, 201, 218, 231),
        "profit.water": (131, 152, 179, 224),
        "profit.energy": (88, 79, 93, 71),
        "backlog": (1038, 1121, 1284, 1417),
        "employees": (10920, 11210, 11840, 12315),
        "accumulated_depreciation": (1118, 1204, 1296, 1381),
        "environmental": (29, 31, 34, 28),
        "us_sales": (1611, 1682, 1906, 2031),
    },
    2020,
)


def _years() -> dict[int, Period]:
    years: dict[int, Period] = {}
    opening = OPENING
    for year, flows in FLOWS.items():
        years[year] = post(CHART, opening, flows, SHARES[year], MEMO[year])
        opening = years[year].closing
    return years


YEARS = _years()

# The first half of a year: about half of the flows, with what happened in the half in full.
HALF_2023 = post(
    CHART,
    YEARS[2022].closing,
    share_of(
        FLOWS[2023], 49, opex__restructuring=-38, tax__provision=-38, wc__inventories=-31, wc__receivables=-47
    ) | {"fin.repaid": -175, "inv.disposals": 4, "noncash.current_debt": 0},
    ("88.8", "89.5"),
    {"backlog": 1366},
)  # fmt: skip
QUARTER_2023 = post(
    CHART,
    YEARS[2022].closing,
    share_of(
        FLOWS[2023], 24, opex__restructuring=-9, tax__provision=-20, wc__inventories=-22, wc__receivables=-29
    ) | {"fin.repaid": 0, "inv.disposals": 1, "noncash.current_debt": 0},
    ("88.8", "89.5"),
)  # fmt: skip
HALF_2022 = post(
    CHART,
    YEARS[2021].closing,
    share_of(FLOWS[2022], 48, opex__restructuring=0, tax__provision=-36)
    | {key: 0 for key in FLOWS[2022] if key.startswith("inv.acq.")}
    | {"fin.issued": 0, "fin.repaid": 0, "noncash.current_debt": 0},
    ("90.1", "90.8"),
    {"backlog": 1203},
)
QUARTER_2022 = post(
    CHART,
    YEARS[2021].closing,
    share_of(FLOWS[2022], 23, opex__restructuring=0, tax__provision=-17)
    | {key: 0 for key in FLOWS[2022] if key.startswith("inv.acq.")}
    | {"fin.issued": 0, "fin.repaid": 0, "noncash.current_debt": 0},
    ("90.1", "90.8"),
)
SECOND_2023 = HALF_2023.less(QUARTER_2023)
SECOND_2022 = HALF_2022.less(QUARTER_2022)
