"""What is asked at all: sentences of a question, and those that no calculation answers."""

from __future__ import annotations

from finrag_pipeline.questions.abstention import Abstention, AbstentionKind
from finrag_pipeline.questions.words import STATE
from finrag_pipeline.resolver.lexicon import any_case

_SENTENCE = any_case(
    r"(?<!\.[A-Z])(?<!\binc)(?<!\betc)(?<!\bvs)(?<!\bavg)(?<!\bco)(?<!\bcorp)"
    r"(?<!\be\.g)(?<!\bi\.e)[.?!]+(?=\s|$)|;(?=\s)"
)
_ADJUSTED = any_case(
    r"\b(?:(?<!un)(?<!un-)adjusted(?! for)|non-?\s?gaap|organic(?:ally)?|constant[- "
    r"]currency|pro[- ]?forma|core (?:eps|earnings|operating|constant)|"
    r"like[- ]for[- ]like|same[- ]store|comparable (?:store )?sales|real (?:change|"
    r"growth)|exclud\w* the (?:impact|effect))\b"
)
_PART = any_case(
    r"\b(?:segments?|divisions?|business units?|regions?|geograph\w+|product lines?|"
    r"franchises?|subsidiar(?:y|ies)|by country|"
    r"domestic(?:ally)?|international(?:ly)?|u\.?s\.? sales|overseas|emea|apac|asia|europe\w*|north "
    r"america\w*|latin america\w*|china)\b"
)
_OWN_MEASURE = any_case(
    r"\b(?:assets?|revenues?|sales|income|earnings|profits?|costs?|expenses?|cash|debt|premiums?)\s+"
    r"(?:per|under)\s+(?!(?:the|its|their|our|his|an?|us|gaap|ifrs|ordinary|share|stock|diluted|basic|common|"
    r"weighted|fiscal|annual|sec|form|fy|year|day|capital|finance|financing|operating|leases?)\b)"
    r"(?P<of>[a-z]+(?: [a-z]+)?)"
)
"""'revenue per available room', 'assets under management': measures of their own, not their first word."""

ASKS_FOR_TEXT = any_case(
    r"\b(?:why|what (?:drove|caused|led|explains?)|what (?:are|were) (?:the )"
    r"?(?:main |key |primary |major |biggest |largest |top )"
    r"|what (?:are|were) (?:the )?(?:drivers?|reasons?|risks?|products?|"
    r"acquisitions?)|(?:nature|purpose) (?:of|and|&)"
    r"|who (?:is|are|was|were|did|does)|describe|explain(?! why)|"
    r"list (?:the|all)(?!.*\d\b.*\b(?:and|to)\b.*\d)|"
    r"guid(?:ance|ing|ed)|forecasts?|outlook|summari[sz]e|discuss"
    r"|(?<!appreciated )(?<!grateful )(?<!obliged )(?<!helpful )"  # 'it would be appreciated if …'
    r"if\b(?! (?:it is|it's|it isn't|you|i may|possible|that is) )"  # 'if it isn't too much trouble'
    r".{0,120}\b(?:would|could|were to|had)"
    r"|(?:whether|if)\b[^,;?.]{0,60}\b(?:wants?|plans?|intends?|hopes?|aims?) to)\b"
)
"""Questions for an explanation, a list, or what is not yet known."""

_CHOOSES = any_case(
    r"\b(?:among|which (?:type|segment|region|product|business|geograph\w*|countr\w*|"
    r"customer|brand|(?:\w+ )?securit(?:y|ies)|of the)"
    r"|(?:are|were|is|was) there (?:any )?(?!(?:an? )?(?:drop|change|increase|"
    r"decrease|growth|decline|rise|fall)))\b"
)


_SOURCE = any_case(
    r",?\s*\(?\b(?:as\s+|which\s+(?:is|was)\s+)?(?:reported|reflected|stated|"
    r"disclosed|presented|shown|detailed|documented|given)?"
    r"\s*(?:in|from|per|based on|according to|within|on)\s+(?:their|its|the|his|our|"
    r"[\w&.]+'s)?\s*(?:fy ?)?(?:19|20)\d\d"
    r"(?:\s+\w+)?\s+(?:annual\s+)?(?:reports?|financial\s+(?:documents?|statements?|"
    r"reports?|filings?)|10-?[kq]s?|filings?|documents?)"
    r"(?:\s+(?:reports?|filings?|documents?))?\)?"
)
_ANY_YEAR = any_case(r"(?<!\d)(?:19|20)\d\d(?!\d)|fy ?\d\d")


_OF_WHICH = any_case(
    r"\b(?:out )?of (?P<whole>[^,?]{3,80}), (?:what|which|how much) "
    r"(?:percent(?:age)?|%|share|portion|proportion|part)(?= (?:was|were|is|are|came|did|went))"
)
_ANALYST = any_case(r"\b(?:public )?equit(?:y|ies) (?=research|analyst|investor)")
_NUMERATOR = any_case(
    r",?\s*\(?\b(?:where|with|using|taking)?\s*(?:the\s+)?numerator\s+(?:is|being|"
    r"as|=|equal to)\s+(?P<upper>[^.;?]+?),?"
    r"\s+(?:and|with|while)\s+(?:the\s+)?denominator\s+(?:is|being|as|=|equal to)\s+(?P<lower>[^.;?]+)"
)


_POLITE = any_case(r",?\s*\bto the best of your (?:ability|abilities|knowledge)\b")


def reword(text: str) -> str:
    """A question in the words that the grammar knows, without what says nothing about the quantity."""
    text = STATE.sub("give", _ANALYST.sub(" ", _POLITE.sub(" ", text)))
    # 'As reported in their 2007 report' names the filing, and no period where there is another year.
    rest = _SOURCE.sub(" ", text)
    text = rest if _ANY_YEAR.search(rest) else text
    text = _NUMERATOR.sub(r" calculated as (\g<upper>) / (\g<lower>)", text)
    return _OF_WHICH.sub(r"what percentage of \g<whole> ", text)


def check_scope(ask: str) -> None:
    """Nothing, where a sentence may ask for a calculation over the lines of statements.

    Raises:
        Abstention: it asks for an explanation or a list, for adjusted figures, for a part of the company, or
            for a measure that statements do not show.
    """
    for pattern, why in (
        (ASKS_FOR_TEXT, "the question asks for an explanation or a list"),
        (_CHOOSES, "the question asks for an explanation or a list"),
        (_ADJUSTED, "the question asks for an adjusted figure, which the statements do not hold"),
        (_PART, "the question asks for a part of the company, which the statements do not show"),
    ):
        if pattern.search(ask):
            raise Abstention(AbstentionKind.NOT_A_CALCULATION, why)
    if found := _OWN_MEASURE.search(ask):
        raise Abstention(
            AbstentionKind.NO_LINE, f"statements have no line '{found[0].lower()}'", (found[0].lower(),)
        )


def split_sentences(text: str) -> list[str]:
    """Sentences in order; those that ask keep their question mark."""
    sentences, start = [], 0
    for match in _SENTENCE.finditer(text):
        sentences.append(text[start : match.start()] + ("?" if "?" in match[0] else ""))
        start = match.end()
    sentences.append(text[start:])
    return [sentence.strip() for sentence in sentences if sentence.strip(" ?")]
