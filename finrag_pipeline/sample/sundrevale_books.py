"""Books of Sundrevale Software, a fictitious subscription business: calendar year, in thousands."""

from __future__ import annotations

from finrag_pipeline.sample.ledger import Chart, Period, post, share_of, year_columns

CHART = Chart(
    current_assets=("cash", "securities", "receivables", "prepaid"),
    noncurrent_assets=("commissions", "ppe", "software", "rou", "goodwill", "intangibles", "other_assets"),
    current_liabilities=("payables", "accrued", "deferred_revenue"),
    noncurrent_liabilities=("lease", "notes", "other_liabilities"),
    equity=("common", "apic", "retained", "aoci"),
    credits={
        "adj.depreciation": "ppe",
        "adj.amortization": "intangibles",
        "adj.software": "software",
        "adj.sbc": "apic",
        "adj.issuance": "notes",
        "adj.commissions": "commissions",
        "adj.rou": "rou",
        "adj.impairment": "rou",
        "wc.receivables": "receivables",
        "wc.commissions": "commissions",
        "wc.prepaid": "prepaid",
        "wc.payables": "payables",
        "wc.accrued": "accrued",
        "wc.deferred_revenue": "deferred_revenue",
        "wc.lease": "lease",
        "inv.capex": "ppe",
        "inv.software": "software",
        "inv.purchases": "securities",
        "inv.maturities": "securities",
        "inv.acq.goodwill": "goodwill",
        "inv.acq.intangibles": "intangibles",
        "inv.acq.deferred_revenue": "deferred_revenue",
        "fin.options": "apic",
        "fin.espp": "apic",
        "fin.withheld": "apic",
    },
    transfers={"noncash.leases": ("lease", "rou"), "oci.securities": ("aoci", "securities")},
)

OPENING = CHART.open(
    "apic",
    {
        "cash": 96_318,
        "securities": 142_806,
        "receivables": 51_204,
        "prepaid": 9_118,
        "commissions": 24_306,
        "ppe": 18_402,
        "software": 9_204,
        "rou": 28_118,
        "goodwill": 41_206,
        "intangibles": 12_340,
        "other_assets": 3_118,
        "payables": 8_204,
        "accrued": 31_118,
        "deferred_revenue": 88_306,
        "lease": 30_906,
        "notes": 141_870,
        "other_liabilities": 4_118,
        "common": 6,
        "retained": -214_906,
        "aoci": 112,
    },
)

# Signed by their effect on cash; one column per year, 2020 to 2022.
FLOWS = year_columns(
    {
        "revenue.subscription": (184_212, 241_873, 312_540),
        "revenue.services": (31_406, 35_918, 33_275),
        "cost.subscription": (-46_118, -57_902, -72_416),
        "cost.services": (-29_870, -33_204, -32_118),
        "opex.rnd": (-61_204, -79_338, -98_470),
        "opex.sales": (-88_310, -112_906, -131_254),
        "opex.general": (-34_118, -39_902, -44_817),
        "opex.restructuring": (0, 0, -8_640),
        "other.interest": (-5_118, -5_204, -5_310),
        "other.income": (3_402, 1_118, 4_906),
        "tax.provision": (-812, -1_140, -1_376),
        "adj.depreciation": (5_906, 6_412, 7_118),
        "adj.amortization": (3_194, 4_340, 4_695),
        "adj.software": (3_206, 4_118, 5_402),
        "adj.sbc": (33_412, 45_906, 58_318),
        "adj.issuance": (1_204, 1_268, 1_330),
        "adj.commissions": (9_118, 11_806, 15_240),
        "adj.rou": (6_118, 6_480, 6_905),
        "adj.impairment": (0, 0, 2_140),
        "wc.receivables": (-9_206, -14_812, -11_340),
        "wc.commissions": (-14_870, -19_306, -18_112),
        "wc.prepaid": (-1_118, -2_640, 1_205),
        "wc.payables": (1_406, 2_118, -1_872),
        "wc.accrued": (6_204, 8_340, 3_118),
        "wc.deferred_revenue": (22_815, 34_906, 31_244),
        "wc.lease": (-5_904, -6_330, -7_018),
        "inv.capex": (-6_214, -8_905, -7_318),
        "inv.software": (-5_118, -6_940, -9_206),
        "inv.purchases": (-118_402, -96_240, -71_318),
        "inv.maturities": (64_118, 88_204, 102_470),
        "inv.acq.goodwill": (0, -19_806, 0),
        "inv.acq.intangibles": (0, -9_644, 0),
        "inv.acq.deferred_revenue": (0, 1_000, 0),
        "fin.options": (8_204, 11_316, 6_118),
        "fin.espp": (4_118, 5_206, 5_870),
        "fin.withheld": (-2_118, -4_306, -3_912),
        "noncash.leases": (3_812, 5_206, 8_940),
        "oci.securities": (318, -905, -2_640),
    },
    2020,
)
SHARES = {2020: ("58214", "58214"), 2021: ("60118", "60118"), 2022: ("62306", "62306")}
MEMO = year_columns(
    {
        "obligations": (318_406, 421_870, 538_214),
        "obligations_year": (176_204, 231_418, 296_118),
        "customers": (1_218, 1_506, 1_774),
        "large_customers": (284, 371, 468),
        "retention": (114, 117, 112),
        "employees": (1_042, 1_318, 1_267),
        "americas": (139_804, 176_203, 216_918),
        "emea": (58_106, 77_842, 99_304),
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

# First quarters. No annual books exist for 2023, so its first quarter is a quarter of 2022, grown.
QUARTER_2022 = post(
    CHART,
    YEARS[2021].closing,
    share_of(FLOWS[2022], 23)
    | {"opex.restructuring": 0, "adj.impairment": 0, "wc.receivables": 9_218, "wc.deferred_revenue": 6_104},
    ("61518", "61518"),
    {"customers": 1_562, "large_customers": 391, "obligations": 436_902},
)
QUARTER_2023 = post(
    CHART,
    YEARS[2022].closing,
    share_of(FLOWS[2022], 27)
    | {
        "revenue.services": 8_106,
        "cost.services": -7_812,
        "opex.rnd": -24_918,
        "opex.sales": -32_406,
        "opex.general": -11_370,
        "opex.restructuring": -1_905,
        "adj.impairment": 0,
        "wc.receivables": 12_806,
        "wc.deferred_revenue": 9_340,
        "inv.purchases": 0,
    },
    ("63418", "63418"),
    {"customers": 1_831, "large_customers": 492, "obligations": 551_306},
)
