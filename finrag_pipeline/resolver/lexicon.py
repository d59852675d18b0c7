"""Words the resolver knows: legal forms, everyday words, abbreviations of finance, items of Form 8-K."""

from __future__ import annotations

import re


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text; long lists of words read better so than as literals."""
    return frozenset(text.split())


# fmt: off
LEGAL = frozenset({
    "inc", "incorporated", "corp", "corporation", "co", "company", "companies", "plc", "ltd", "limited",
    "llc", "lp", "llp", "nv", "sa", "ag", "se", "spa", "asa", "ab", "oyj", "kgaa", "gmbh", "bv", "sarl",
    "pte", "kk",
})
"""Legal forms; they end a name and are no part of how people call the company."""

WEAK_TAIL = frozenset({
    "international", "holdings", "holding", "group", "global", "worldwide", "trust", "bancorp", "partners",
})
"""Words that end a name and that people leave out as they like."""

FILLERS = frozenset({"the", "and", "of"})
"""Words that do not count in a name: ``&`` reads as ``and``."""

# Places. A run of these alone is never a name: 'the United States' is not United States Steel.
PLACES = word_set("""
    africa america american americas angeles arizona asia asian atlantic australia boston britain british
    california canada canadian carolina central chicago china chinese city coast colorado columbia country
    dakota dallas denver diego district east eastern emea england english europe european florida
    france francisco french georgia german germany hampshire hong houston illinois india indian indiana
    international ireland island israel italy japan japanese jersey kentucky kong korea las latin london
    los louisiana maryland massachusetts mexico michigan midwest minnesota mississippi missouri national
    new north northern ohio pacific pennsylvania philadelphia puerto rico san singapore south southern
    spain state states swiss switzerland tennessee texas toronto uk union united us usa vegas virginia
    washington west western wisconsin world worldwide york zealand
""")

# Everyday words that companies are named after, and words of questions on finance. Printed in lower case, or
# first in a sentence, they are words and not names; as first word of a longer name they do not stand for it.
COMMON = PLACES | word_set("""
    a about above access account accounting accounts acquisition across act active actual add adjusted
    advance advanced advantage aerospace after again agency agreement air airline airlines airways alaska
    align all alliance allied allow alone alpha also alternative am among amount amounts an analog
    analysis annual answer any apparel apple applied aqua arc arch are area around art as aspen asset
    assets associated assume assurance at atlas auto automatic automotive avenue average aware axis back
    balance ball bank bankers banking base based basic bath be beacon bear beauty because bed been before
    below berry best better between beverage beyond big bio biotech black block blue board body bond boot
    boston bottom box brand brands bread bridge bright bristol building built business but buy by cable
    calculate camp can cap capital car card cardinal care carpenter cars cash casino castle cat category
    cell center change channel charge chart charter chase check chemical chemicals chief choice church
    circle citizens class clean clear click climb close closing clothing cloud club coach coal cold
    columbus comfort comment commerce commercial common communications community compare compared compass
    complete component compute con concentration concert consolidated constellation consumer container
    control controls copper core corner corporate cost costs could cover credit crown cruise crystal
    current customer customers cutter daily data date day days deal debt deep definition delta dental
    depot derivative design developments devices diamond did differ digital dine direct discover discovery
    diversified dividend do does dollar dollars domain dominion done door dover down dream drive drug due
    duke during dynamic dynamics each eagle earn earnings earth easy edge effective electric electronic
    electronics element elevance elite emerald empire employee employees end ended energy engineering
    enhanced enterprise enterprises entertainment environment environmental equity essential even ever
    evergreen every exact example excel exchange excluding expand expense expenses express extra eye fact
    factor family farm farmers farms fast federal fidelity field fifth figure final finance financial fire
    first fiscal five flex floor flow fluent focus food foods foot for force ford forest fortune forward
    foundation four fox free fresh from frontier fuel full funding funds game games gap gas gates gemini
    general generate genuine get give glass global globe go gold golden good goods grand great green
    greenhouse gross ground group grow growth guess guide had half happy harbor hard harvest has hat have
    hawk he health healthcare heart help her heritage high highest highland hill his hold holder holding
    holdings home honest horizon hospital host hotel hotels house how hub human hunt ice icon if image
    impact imperial important improve in include income increase independence independent industrial
    industries industry information innovations inspire instruments insurance integrated intelligence
    interest interface intuitive invest investment investors iron is issue it item items its job journey
    just key keys kind king laboratories lakes lamb land landmark large last latest law leading leaf
    league lean legal legend leisure let level liability liberty life light like lime limited lincoln line
    link lion liquid liquidity list live living loan local logic logistics long loop love low lowest
    lumber machine machines made magna mail main major make management many marathon margin marine mark
    market markets mart mason master match material materials matter max me media medical medicine meet
    mercury merit meta metal metals method metro micro mid mill mills mind mine mining mint mobile model
    modern monarch monday money monitor monster month more morning most motion motor motors mountain mr
    much mutual my name native natural nature net network networks news next nine no noble non nor normal
    not note notes nova now number nutrition oak ocean of off office oil old olive omega on one online
    only open operate operating opportunity optimum option or oracle orange order organic organization
    origin original other our out outside over owl own owned oxford paid palm paper paramount park part
    parts party pay payment payments peak people per perfect performance period pet petroleum pharma
    phoenix photo pilgrims pilot pinnacle pioneer pipe plain planet planned plant plug plus point polar
    pool pop popular portfolio positive post power powers precision premier premium price primarily prime
    principal pro process product products professional profit progress progressive project properties
    property prosper prudential public pulse pure purple quaker quality quarter quest question quick quote
    radio rail railway range rapid rate ratio raw ready real realty reason record red region regional
    regions relative reliable reliance remain repair report reported reports republic research reserve
    residential resorts resource resources result results retail retailer revenue revenues revolve rich
    ride right ring rise risk rite river rock rocket roll root rose round royal run safe safety sales
    savings say school science sciences scientific scope sea seal sealed search season second securities
    security segment select self sell senior sensor service services seven shadow share shares she shell
    shift shine ship shoe shop short should show signal silver simple simply single site six sky small
    smart snap snow social software solar solid solution solutions some sonic sound source space spark
    special specialty spectrum speed spin spirit splash sports spring sprint square stable staff stake
    standard staples star start statement station steel stem step sterling stock stone storage store
    stores strategic strategy stream street strike strong structure studio summit sun sunrise super
    superior supply support sure surge switch symbol sync system systems table take tandem target task tax
    team tech technologies technology telecom telephone television tell ten term test than that the their
    them then there these they thing third this three through tile time times to today together toll tool
    top total touch tower tractor trade trading trail train transfer transport transportation travel
    travelers treasure tree trend tri trinity triumph true trust try turn twin two type ultra under union
    unit unity universal up upstart urban use used user using utilities vail valley value valued van
    vanguard various vector venture very victory view viking village virtual visa vision vista vital voice
    volume wage wages walk wall want was waste watch water waters wave we web weekly welcome well wells
    were what when where which while white who whole why wide will wind window wireless with wolf woman
    wonder wood word work workforce works would yard year years yellow yes yield you young your zero zone
    zoom
""")

# Capitals that mean something else in questions on finance; as a ticker they need an exchange beside them.
ACRONYMS = word_set("""
    a ai all am any ap ar are arr as asc at be best bps ca can capex cash ceo cf cfo co cogs coo cost cpa
    cpi cto da dcf dei dio do dpo dps dso ebit ebitda ebitdar ebt em eps er esg etf eu eur ev fast fcf
    fifo for free fx fy ga gaap gbp gdp gm gmv good has hq hr i id if ifrs in ip ipo ir irr irs is it kpi
    lease lfl lifo love low lp ltm ma md mda mi mm mrq na nav ni nim noi nol non nopat now np npl ocf oi
    on one op open or out pat pbt pe pl play pnl post pp ppe ppne pr pro psu qoq r rd real rev roa roe roi
    roic ros rou rsu run safe sec see sga snap so sp ssr stem sub sun tam tax team true tsr tsy ttm two ui
    uk us usa usd var vat vie wacc we well wip yoy ytd
""")

FRONT = word_set("""
    about among and are as at between by calculate can compare compute could did do does for from give had
    has have how if in is list name of on or should show state tell than the to versus vs was were what
    when where which who why will with would
""")
"""Words a name stands behind; their capital at the start of a sentence says nothing."""

NAMING = word_set("""
    and at between by compare did do does for from had has have is of versus vs was were will with
""")
"""Words that have a company behind them when a question is printed without capitals."""

FOLLOWING = word_set("""
    acquire acquired and announce announced as at be bought buy by co company compare compared corp
    declare declared did do does during earn earned expect expected expects for from generate generated
    grew grow had has have held hold improve in inc increase increased is issue issued lose made make
    operate operates or over own owned paid pay perform raise raised recognize record recorded report
    reported repurchase sell sold spend spent use used versus vs was were will
""")
"""Words that stand behind the name of a company: 'did Target report', 'revenue for Gap in'."""

NOT_FOLLOWING = word_set("""
    analysis and between date dates for in of on or ratio to
""")
"""Behind a capital word that opens a sentence these tell a noun from a name: 'Gap between', 'Target for'."""

METRICS = word_set("""
    account accounts acquisition acquisitions asset assets balance board business capital cash ceo cfo chief
    company consumer cost costs debt depreciation director dividend dividends earnings equity equivalents
    expense expenses flow flows free goods gross health income inventory liabilities liability loss margin
    margins net note notes officer operating operations payable plant profit property ratio receivable
    receivables research retained return revenue revenues sales sector segment segments sheet statement
    statements stock tax taxes total working
""")
"""Words of measures and titles; a run of capital words with one of them is no unknown company's name."""

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
ORDINALS = {"first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4}
NUMBERS = {"three": 3, "six": 6, "nine": 9, "twelve": 12, "3": 3, "6": 6, "9": 9, "12": 12}
"""Lengths of reported periods in months."""
# fmt: on


def words(pattern: str) -> re.Pattern[str]:
    """Compile a pattern that stands alone, between characters that are neither letters nor digits."""
    return re.compile(rf"(?<![^\W_])(?:{pattern})(?![^\W_])", re.IGNORECASE)


FORWARD = words(
    r"expect(?:s|ed|ing|ations?)?|forecast(?:s|ed|ing)?|guid(?:ance|ed|ing)|outlook|project(?:s|ed|ions?)|"
    r"anticipat(?:e|es|ed|ing)|plan(?:s|ned|ning)? to|target(?:s|ed|ing) for|intend(?:s|ed)?|in the "
    r"future|upcoming"
)
"""Words that look ahead: the filing is older than the period they name."""

RELEASE_STYLE = words(
    r"(?<!un)adjusted|non-? ?gaap|guidance|outlook|constant[- ]currency|organic(?:ally)?|comparable sales|"
    r"same[- ]store sales|ebitdar|fx|currency[- ]neutral|like[- ]for[- ]like|one-off items?|headline"
)
"""Measures and topics of earnings releases; annual reports show them seldom."""

REPORT_STYLE = words(
    r"balance sheets?|income statements?|cash ?flow statements?|statements? of [a-z]+(?: [a-z]+)?|p&l|"
    r"notes? to|legal (?:proceedings|battles)|litigation|risk factors?|securities (?:are )?registered|"
    r"employees|properties|"
    r"auditors?|critical accounting|unadjusted|capital[- ]intensive|lease (?:obligations|liabilities)|"
    r"customer concentration|industry|seasonal(?:ity)?|cyclical(?:ity)?|competitors?|historically|pension"
)
"""Topics of annual and quarterly reports."""

_ITEMS = {
    "1.01": r"(?:credit|merger|purchase|separation|loan|material definitive) agreements?|"
    r"credit facilit(?:y|ies)",
    "1.03": r"bankruptcy|receivership",
    "2.01": r"complet\w* (?:of )?(?:the |its )?(?:acquisition|disposition|sale|separation|merger|"
    r"exchange offer)|separation|split-?off|spin-?off|discontinued operations?|divest\w*",
    "2.02": r"results of operations|earnings release",
    "2.03": r"credit (?:agreements?|facilit(?:y|ies))|revolving|revolver|term loan|senior notes|borrow\w*",
    "2.05": r"restructuring plan|lay-?offs?|workforce reduction|headcount reduction|exit (?:plan|activities)",
    "2.06": r"material impairments?",
    "4.01": r"(?:new|change\w*|dismiss\w*|appoint\w*) (?:of |in )?(?:its |the )?(?:independent )?"
    r"(?:auditors?|accountants?)|certifying accountant",
    "4.02": r"restate\w*|non-reliance",
    "5.02": r"new (?:ceo|cfo|coo|chief|director|president|chair\w*)|"
    r"(?:appoint|resign|retire|success|depart)\w*|step(?:s|ped|ping) down|"
    r"compensatory arrangements?|previous ceo",
    "5.03": r"by-?laws|articles of incorporation|change (?:of|in) fiscal year",
    "5.07": r"votes?|voted|voting results|nominees?|shareholder proposals?|stockholder proposals?|agm|"
    r"annual (?:general )?meeting|say[- ]on[- ]pay|shareholder vote",
}
EVENT_ITEMS = {item: words(pattern) for item, pattern in _ITEMS.items()}
"""Items of Form 8-K and the words a question on such an event uses."""
