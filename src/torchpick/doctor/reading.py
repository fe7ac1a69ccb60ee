"""A text that streams by → what it says, the errors in it that may be the cause, and an end that is not known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from torchpick.doctor import endings, posts, situation, texts
from torchpick.doctor.endings import Ending
from torchpick.doctor.situation import Situation, Words
from torchpick.doctor.texts import Match, Signature, Weight
from torchpick.model.versions import normal

# So much of the end of a long log, where its error stands, is read for what it says.
_END = 1 << 16
# A line or two may be an error alone; a longer text says what it is about.
_SHORT = 400


def read(
    chunks: Iterable[bytes], known: Mapping[str, Signature], words: Words
) -> tuple[str, Situation, tuple[Match, ...], Ending | None]:
    """A text, what it says, the known errors in it: of a program, else in anybody's words; an end that is not known."""
    search = texts.Search(known)
    start = end = b""
    for chunk in posts.decoded(chunks):
        search.feed(chunk)
        room = max(0, posts.MOST_TEXT - _END - len(start))
        start, end = start + chunk[:room], (end + chunk[room:])[-_END:]
    start, end = posts.without_forms(start), posts.without_forms(end)
    ends = start + end
    text = posts.plain(ends, words["rewritten"])
    ending = None if end else endings.last_error(start, _END)
    causes = _causes(known)
    facts = {name: forms for name, forms in words["facts"].items() if name not in causes}
    said = situation.with_lines(situation.read_situation(text, words, facts), start)
    said = said._replace(own=situation.named("environment", ends, words))
    matches = search.matches()
    is_silent = all(match.weight is Weight.HARMLESS for match in matches)
    if is_silent and situation.named("programs", ends, words):
        matches = (*_in_words(text, ending, said, known, words), *matches)
    if not situation.named("family", ends, words):
        said = said._replace(facts={**said.facts, "no torch": ""})
    if len(ends) > _SHORT and not situation.named("about", ends, words):
        matches = ()  # whatever words it has, it is of something else
    matches = tuple(match for match in matches if not _is_excluded(match, said))
    if ending is not None and any(ending.is_of(match) for match in matches):
        return text, said, matches, None
    is_known = any(match.weight is not Weight.HARMLESS for match in matches)
    plugin = _of_plugin(said)
    cause = (ending.cause(words["endings"]) if ending else None) or plugin
    if ending is None or cause is None or is_known or "no torch" in said.facts:
        return text, said, matches, ending
    # On an accelerator that is no GPU an error without a kind of its own is its plugin's.
    name, package = (plugin or cause) if cause[0] in ("PACKAGE_RAISED", "PROGRAM_RAISED") else cause
    if (version := situation.version_of(package, text)) is not None:
        said = said._replace(packages={**said.packages, normal(package): version})
    if ending.package not in (None, package) and not ending.is_own:
        said = said._replace(facts={**said.facts, "asker": ending.package})
    shown = texts.around(ending.line, b"")
    return text, said, (Match(known[name], ending.number, shown, Weight.RAISED, package=package), *matches), None


def _causes(known: Mapping[str, Signature]) -> set[str]:
    """The errors that people put in words of their own: no case names them as a fact."""
    return {*known} - {fact for row in known.values() for where, _ in row.cases for fact in where}


def _in_words(
    text: str, ending: Ending | None, said: Situation, known: Mapping[str, Signature], words: Words
) -> Iterator[Match]:
    """What the end means in anybody's words, else what people complain of in this text."""
    causes = _causes(known)
    named = {name: forms for name, forms in words["facts"].items() if name in causes}
    seen = situation.in_words(ending.line, named) if ending else {}
    if not seen:
        # What was raised in a package is said at its end; around it are its warnings and its settings.
        complaint = text.partition("\n")[0] if ending and ending.package else posts.complaint(text)
        seen = {**said.facts, **situation.in_words(complaint, named)}
    return (Match(known[name], 0, seen[name]) for name in words["facts"] if name in known and name in seen)


def _is_excluded(match: Match, said: Situation) -> bool:
    """Whether the text itself says that it is not the cause, or it is of a torch or a GPU that it does not have."""
    signature = match.signature
    if f"not {signature.id}" in said.facts or ("no torch" in said.facts and "TORCH_MISSING" in signature.findings):
        return True
    return _of_plugin(said) is not None and bool(signature.findings or signature.cases)


def _of_plugin(said: Situation) -> tuple[str, str] | None:
    """The cause of what happens on an accelerator that is no GPU, and the words that name it."""
    if "nvidia" in said.facts or "other accelerator" not in said.facts:
        return None
    return "OTHER_ACCELERATOR", said.facts["other accelerator"]
