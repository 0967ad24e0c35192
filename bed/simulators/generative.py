"""A chat model that writes what an experiment would report, in each branch (paper, section 6)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bed.chat import Chat, ChatRequest, Completion
from bed.domains import canonical, reading
from bed.errors import DataError
from bed.evidence import Evidence, Outcome
from bed.prompts import Prompt, read_outcome, result_regex, simulation_prompt
from bed.protocols import OutcomeRequest, Outcomes
from bed.seeds import derive_seed

__all__ = ["GenerativeSimulator"]

_TRIES = 2
_SHOWN = 300


@dataclass(frozen=True)
class GenerativeSimulator:
    """Asks a chat model for a result that supports h', or does not.

    The model sees the experiment with its result hidden, the evidence, and which of the two is
    asked for. Its answer is read back into the fields of an outcome; one that cannot be read, or
    that is of the other branch, is asked for once more under another seed, and then fails with its
    text kept. It ranks no outcomes.

    Attributes:
        chat: the model. Temperature 0 gives the typical outcome each time.
        systems: domain -> system prompt instead of bed's own.
        examples: stubs, one of each kind of experiment, which tell the form of its results until
            the evidence does.
    """

    chat: Chat
    systems: Mapping[str, str] = field(default_factory=dict)
    examples: Evidence = ()

    def sample(self, requests: Sequence[OutcomeRequest]) -> Outcomes:
        """Draw an outcome for every request, one completion each."""
        values: list[Outcome | None] = [None] * len(requests)
        reasons: list[str | None] = [None] * len(requests)
        asked: dict[int, Prompt] = {}
        for i, request in enumerate(requests):
            try:
                asked[i] = self._prompt(request)
            except DataError as error:
                reasons[i] = str(error)
        for attempt in range(_TRIES):
            left = [i for i in asked if values[i] is None]
            # sorted by text, so that prompts that share a beginning stand side by side
            left.sort(key=lambda i: (asked[i].user, requests[i].seed))
            completions = self.chat.complete(
                [self._request(requests[i], asked[i], attempt) for i in left]
            )
            for i, completion in zip(left, completions, strict=True):
                values[i], reasons[i] = self._read(requests[i], completion)
        return Outcomes(tuple(values), tuple(reasons))

    def _prompt(self, request: OutcomeRequest) -> Prompt:
        if request.level is not None:
            raise DataError(
                f"a language model ranks no outcomes, so none can be placed at level "
                f"{request.level:g}; use FactoredEIG with form 'kl' or 'entropy'"
            )
        experiment = request.experiment
        system = self.systems.get(canonical(experiment.hypothesis.domain))
        return simulation_prompt(
            experiment,
            request.supportive,
            request.evidence,
            examples=self.examples,
            system=system,
        )

    def _request(self, request: OutcomeRequest, prompt: Prompt, attempt: int) -> ChatRequest:
        branch = "supportive" if request.supportive else "nonsupportive"
        seed = derive_seed(request.seed, request.experiment.id, branch, attempt)
        regex = result_regex(request.experiment, (*self.examples, *request.evidence))
        return ChatRequest(prompt, seed, regex)

    def _read(
        self, request: OutcomeRequest, completion: Completion
    ) -> tuple[Outcome | None, str | None]:
        if completion.text is None:
            return None, completion.reason
        experiment, wrote = request.experiment, f"it wrote {completion.text[:_SHOWN]!r}"
        try:
            outcome = read_outcome(experiment, completion.text)
            is_of_branch = reading(experiment, outcome).supported is request.supportive
        except DataError as error:
            self.chat.transport.tally.add(unreadable=1)
            cut = " (cut at max_tokens)" if completion.is_cut else ""
            return None, f"{error}{cut}; {wrote}"
        if not is_of_branch:
            self.chat.transport.tally.add(contradictory=1)
            asked = "supports" if request.supportive else "does not support"
            return None, (
                f"simulated result of experiment {experiment.id!r} contradicts the request for one "
                f"that {asked} its own hypothesis; {wrote}"
            )
        return outcome, None
