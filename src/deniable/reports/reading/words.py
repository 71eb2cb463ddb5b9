"""Words that mean the same in every column: yes and no in several languages, and what stands for no answer.

Upper and lower case are the same, and so is what stands with or without blanks around it. A value that a question lists
always means itself, whatever it means here.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from deniable.client import number_text, seen
from deniable.errors import AnswerError, abbreviated, shortened

# Words for yes, each with the no of its language.
YES_NO = (
    ("yes", "no"), ("y", "n"), ("true", "false"), ("t", "f"), ("1", "0"), ("1.0", "0.0"), ("on", "off"),
    ("checked", "unchecked"), ("selected", "not selected"), ("agree", "disagree"), ("ja", "nein"), ("j", "n"),
    ("ja", "nee"), ("ja", "nej"), ("ja", "nei"), ("oui", "non"), ("vrai", "faux"), ("wahr", "falsch"),
    ("sí", "no"), ("si", "no"), ("sì", "no"), ("sim", "não"), ("sim", "nao"), ("verdadero", "falso"),
    ("tak", "nie"), ("ano", "ne"), ("áno", "nie"), ("da", "ne"), ("da", "nu"), ("igen", "nem"), ("kyllä", "ei"),
    ("jah", "ei"), ("evet", "hayır"), ("да", "нет"), ("д", "н"), ("так", "ні"), ("ναι", "όχι"), ("نعم", "لا"),
    ("כן", "לא"), ("हाँ", "नहीं"), ("はい", "いいえ"), ("是", "否"), ("有", "没有"), ("예", "아니요"), ("ya", "tidak"),
)  # fmt: skip
YES = frozenset(yes for yes, _ in YES_NO)
NO = frozenset(no for _, no in YES_NO)
# What files write where nobody answered: marks, and words of several languages that mean nothing else.
NO_ANSWER = frozenset({
    "", "na", "n/a", "#n/a", "n.a.", "nan", "null", "<na>", ".", "-", "--", "?",
    "not answered", "no response", "k.a.", "k. a.", "keine angabe", "keine angaben", "keine antwort", "ohne angabe",
    "sans réponse", "pas de réponse", "non renseigné", "non réponse", "sin respuesta", "no contesta", "no responde",
    "nessuna risposta", "non risponde", "sem resposta", "não respondeu", "geen antwoord", "geen opgave", "inget svar",
    "ej svar", "ikke besvaret", "intet svar", "ikke svart", "ei vastausta", "brak odpowiedzi", "bez odpovědi",
    "nincs válasz", "cevap yok", "yanıt yok", "нет ответа", "н/д", "немає відповіді", "χωρίς απάντηση", "لا إجابة",
    "ללא תשובה", "कोई उत्तर नहीं", "無回答", "未回答", "无回答", "未作答", "無応答", "무응답",
})  # fmt: skip
# Words that may be an answer like any other, as of a religion or of pain: beside numbers, or yes and no, they are none.
NOTHING = frozenset({"none", "nil"})
# The name of one more answer, of those who gave none, where nothing else is said.
MISSING = "no answer"


@dataclass(frozen=True, repr=False)
class Unread:
    """What cannot be read, in the place of an answer, so that it is refused; it shows itself as it may be shown."""

    found: object

    def __repr__(self) -> str:
        return shortened(self.found)


def is_null(answer: object) -> bool:
    """Whether there is no answer: None or nan."""
    return answer is None or (isinstance(answer, float) and answer != answer)


def plain(text: str) -> str:
    """A word without what does not matter: blanks around it and inside, upper or lower case, and what cannot be seen.

    An accent that is a letter of its own (NFD, as some systems write it) is the same as one that is a part of a letter.
    """
    return seen(text).casefold()


def words_for_none(na: object) -> tuple[str, ...]:
    """Words that stand for no answer, beside the usual ones: a list of them, or one; numbers are words, too."""
    given = (na,) if isinstance(na, str | int | float) else na
    words = list(given) if isinstance(given, Iterable) else [None]
    if not all(isinstance(word, str | int | float) and not isinstance(word, bool) for word in words):
        raise AnswerError(f"na takes words that stand for no answer, such as ['-9']; found {abbreviated(na)}")
    return tuple(word if isinstance(word, str) else number_text(word) for word in words)
