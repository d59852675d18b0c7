"""Books of Pellamoor Provisions, a fictitious chain of food stores: year ends in June, in thousands."""

from __future__ import annotations

from finrag_pipeline.sample.ledger import Chart, Period, post, share_of, year_columns

CHART = Chart(
    current_assets=("cash", "investments", "receivables", "inventories", "prepaid"),
    noncurrent_assets=("ppe", "rou", "goodwill", "other_assets"),
    current_liabilities=("payables", "accrued", "income_taxes", "lease_current"),
    noncurrent_liabilities=("long_debt", "lease", "deferred_tax", "other_liabilities"),
    equity=("common", "apic", "retained", "aoci", "treasury"),
    credits={
        "adj.depreciation": "ppe",
        "adj.impairment": "ppe",
        "adj.sbc": "apic",
        "adj.deferred_tax": "deferred_tax",
        "adj.rou": "rou",
        "wc.receivables": "receivables",
        "wc.inventories": "inventories",
        "wc.prepaid": "prepaid",
        "wc.payables": "payables",
        "wc.accrued": "accrued",
        "wc.income_taxes": "income_taxes",
        "wc.lease": "lease_current",
        "inv.capex": "ppe",
        "inv.disposals": "ppe",
        "inv.purchases": "investments",
        "inv.maturities": "investments",
        "fin.borrowed": "long_debt",
        "fin.repaid": "long_debt",
        "fin.dividends": "retained",
        "fin.repurchases": "treasury",
        "fin.options": "apic",
    },
    transfers={
        "noncash.leases": ("lease", "rou"),
        "noncash.current_lease": ("lease_current", "lease"),
        "oci.swap": ("aoci", "other_assets"),
    },
)

OPENING = CHART.open(
    "retained",
    {
        "cash": 118_406,
        "investments": 0,
        "receivables": 31_204,
        "inventories": 214_870,
        "prepaid": 22_618,
        "ppe": 548_312,
        "rou": 412_650,
        "goodwill": 96_204,
        "other_assets": 18_330,
        "payables": 168_905,
        "accrued": 121_440,
        "income_taxes": 3_618,
        "lease_current": 50_112,
        "long_debt": 305_000,
        "lease": 388_105,
        "deferred_tax": 41_206,
        "other_liabilities": 22_914,
        "common": 48,
        "apic": 186_552,
        "aoci": -1_120,
        "treasury": -92_400,
    },
)

# Signed by their effect on cash; one column per fiscal year, 2020 to 2023.
FLOWS = year_columns(
    {
        "revenue.fresh": (1_148_212, 1_236_940, 1_307_518, 1_398_226),
        "revenue.grocery": (1_402_655, 1_431_208, 1_455_093, 1_502_877),
        "revenue.prepared": (311_480, 298_117, 352_764, 401_935),
        "cost.goods": (-2_084_602, -2_143_190, -2_268_841, -2_417_322),
        "opex.stores": (-560_918, -574_336, -612_905, -655_421),
        "opex.general": (-98_443, -104_720, -108_216, -112_874),
        "opex.preopening": (-6_214, -4_870, -7_905, -9_318),
        "opex.impairment": (0, -11_462, 0, -14_730),
        "other.interest": (-14_208, -12_945, -11_873, -15_606),
        "other.income": (1_120, 402, 655, 3_218),
        "tax.provision": (-24_770, -28_555, -26_785, -19_598),
        "adj.depreciation": (71_255, 74_018, 78_446, 84_902),
        "adj.impairment": (0, 11_462, 0, 14_730),
        "adj.sbc": (9_870, 10_412, 11_236, 12_008),
        "adj.deferred_tax": (3_410, -2_218, 1_905, -4_877),
        "adj.rou": (52_300, 54_118, 56_240, 58_975),
        "wc.receivables": (-2_118, -1_340, -3_892, 1_276),
        "wc.inventories": (-6_208, -9_114, -14_735, -5_061),
        "wc.prepaid": (812, -1_455, -906, -2_230),
        "wc.payables": (12_845, 4_016, 9_870, -3_348),
        "wc.accrued": (8_214, -2_705, 5_118, 6_492),
        "wc.income_taxes": (1_209, -880, -1_534, 2_011),
        "wc.lease": (-50_112, -53_005, -55_871, -60_204),
        "inv.capex": (-96_412, -88_905, -118_730, -139_264),
        "inv.disposals": (1_204, 2_816, 940, 5_377),
        "inv.purchases": (-20_000, -35_000, -10_000, 0),
        "inv.maturities": (0, 20_000, 35_000, 10_000),
        "fin.borrowed": (40_000, 0, 60_000, 85_000),
        "fin.repaid": (-65_000, -50_000, -30_000, -40_000),
        "fin.dividends": (-18_214, -19_876, -21_540, -22_318),
        "fin.repurchases": (-25_000, -60_112, -48_905, -10_240),
        "fin.options": (2_816, 3_105, 1_987, 1_422),
        "noncash.leases": (47_912, 61_280, 66_415, 83_127),
        "noncash.current_lease": (53_005, 55_871, 60_204, 62_590),
        "oci.swap": (412, -288, 1_864, 935),
    },
    2020,
)
SHARES = {
    2020: ("47810", "48305"),
    2021: ("46902", "47344"),
    2022: ("45614", "46012"),
    2023: ("45130", "45498"),
}
MEMO = year_columns(
    {
        "stores_opened": (7, 5, 8, 10),
        "stores_closed": (1, 3, 1, 4),
        "stores": (134, 136, 143, 149),
        "square_feet": (3_806, 3_876, 4_104, 4_291),
        "associates": (16_420, 16_850, 17_640, 18_210),
        "comparable_tenths": (48, 21, 34, 39),
        "accumulated_depreciation": (402_118, 461_204, 524_870, 587_316),
        "private_label_tenths": (198, 207, 221, 236),
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

# First quarters, thirteen weeks each; working capital and financing as they fell in the quarter.
_QUARTER_2023 = {
    "revenue.fresh": 331_206,
    "revenue.grocery": 357_940,
    "revenue.prepared": 97_118,
    "cost.goods": -575_802,
    "opex.impairment": 0,
    "adj.impairment": 0,
    "wc.inventories": -21_408,
    "wc.payables": 14_230,
    "inv.capex": -37_415,
    "inv.disposals": 118,
    "inv.maturities": 0,
    "fin.borrowed": 25_000,
    "fin.repaid": 0,
    "fin.repurchases": -6_004,
    "tax.provision": -5_218,
}
_QUARTER_2022 = {
    "wc.inventories": -18_860,
    "wc.payables": 11_920,
    "inv.capex": -26_118,
    "inv.disposals": 0,
    "inv.purchases": 0,
    "inv.maturities": 15_000,
    "fin.borrowed": 0,
    "fin.repaid": -10_000,
    "fin.repurchases": -15_220,
    "tax.provision": -6_480,
}
QUARTER_2023 = post(
    CHART,
    YEARS[2022].closing,
    share_of(FLOWS[2023], 24) | _QUARTER_2023,
    ("45302", "45690"),
    {"stores_opened": 3, "stores_closed": 0, "stores": 146, "comparable_tenths": 36},
)
QUARTER_2022 = post(
    CHART,
    YEARS[2021].closing,
    share_of(FLOWS[2022], 24) | _QUARTER_2022,
    ("46120", "46538"),
    {"stores_opened": 2, "stores_closed": 0, "stores": 138, "comparable_tenths": 29},
)
