"""Words of questions that carry no quantity, in the order of how little they say."""

from __future__ import annotations

from finrag_pipeline.resolver.lexicon import any_case, word_set

FILLERS = word_set(
    "the a an its their his our of in for at during on as is was were are be been being has have had "
    "does do did with what how much many company companys firm firms respective corresponding "
    "reported report reports amount amounts value values figure figures level levels year years "
    "yearly annual fiscal period periods end ended ending total days day please calculate compute "
    "given using use used based respectively same that this these those it then result formula year- "
    "end yearend following number per balance balances all any both taken taking average's usd "
    "dollars item items line respect by means which shown line-item line-items unadjusted quantity each "
    "take took taken bring brought give gave put keep kept laid lay sat alone "
    "outlined stated disclosed presented listed out your my our i me "
)
"""Words that say nothing in a formula."""

QUESTION_WORDS = word_set(
    "what's how's who's let's here's "
    "what whats which how much many s please we us you and or so here question where when want need "
    "also metric financial approximation reasonable exact number possible following answer help "
    "calculate define compute formula ratio assume assuming purposes purpose let take consider here's "
    "metric's by while if let's "
)
"""Words of a question that are no part of a name."""

NO_MODIFIERS = word_set(
    "pay paid spend spent generate generated earn earned make made post posted book booked record "
    "recorded hold held have had carry carried owe owed see saw grow grew raise raised lower lowered "
    "increase increased decrease decreased improve improved reduce reduced deliver delivered produce "
    "produced achieve achieved incur incurred receive received return returned distribute distributed "
    "invest invested need want know get gets got find tell show give compare compared exceed "
    "exceeded reach reached come came stand stood amount amounted equal run ran look looked seem went "
    "go going consolidated overall full-year full whole entire gross actual exact approximate "
    "approximately roughly about around latest recent current historical standalone stand-alone "
    "quarterly interim first second third fourth quarter quarters trend profile healthy positive "
    "negative strong weak high low good improving declining stable reasonable metric number position "
    "ratio rate percent percentage basis data information statement statements sheet filing 10-k 10-q "
    "and or than versus vs if when while after before between over under from into to by per also only "
    "just still ever now so company corporation inc corp co ltd plc group holdings fy cy fiscal usd "
    "eur million millions billion billions thousand thousands $ % outstanding ago there here who "
    "whose per-share respectively combined cumulative together did does do would could should can "
    "will may might must not no yes ok thanks hello hi "
)
"""Words beside a quantity that leave it what it is."""

OPERATIONS = word_set(
    "average mean median simple change changes growth growing compound compounded annualized cagr share "
    "shares proportion portion fraction part parts times multiple half double percent cent highest lowest "
    "most least largest smallest biggest bigger larger smaller fewer above below rise rose fall fell drop "
    "grow shrink increase decrease exceed exceeds beat beats peak more less same difference gap versus "
    "against compared "
)
"""Words for what is done with quantities."""

EXISTENCE = any_case(r"\b(?:any|anything|some|at all)\b")
"""Words of a yes-no question that asks whether there is something at all."""

STATE = any_case(
    r"(?:^|(?<=[.?!;:,] )|(?<=please )|(?<=kindly )|(?<=\byou )|(?<=\bto ))state\b(?! (?:and|or|income|tax))"
)
"""An order, and no state: 'state the sales'."""

OF_THAT = any_case(
    r"\b(?:of|from|on|with) (?:those|them|these|that|this)\b"
    r"(?=\s*(?:[?.,;]|$)|\s(?:in|for|during|at|last|by|from|since|over)\b)"
)
"""Words for what a sentence before has named: 'its sales of those in 2018'."""

HOW_MUCH_MORE = any_case(
    r"\bhow many (?:more )?dollars\b|\bhow much (?:did|has|have|had)\b"
    r"(?![^?.]*(?:%|\b(?:per ?cent|percentage|pct|rate|fast|compound|annuali)))"
)
"""What asks for an amount, though it may say that something 'grew'."""
