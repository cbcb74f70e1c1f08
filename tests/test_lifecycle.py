"""The lifecycle is the fold that the design describes, one candidate at a time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from patterns.candidates import Candidates, Trials
from patterns.eventlog.arrays import Ints
from patterns.inference import lifecycle
from patterns.inference.confidence import NEVER
from patterns.inference.lifecycle import Standing
from patterns.inference.lifecycle_state import Status, Transition
from patterns.registry import kind_of, rule_of
from patterns.settings import Settings
from tests import naive
from tests.naive import DAY, HOUR, Trial

START = 20_000 * DAY + 7 * HOUR
DEFAULT = Settings()
COIN = 0.05
"""A null rate under which five of five are significant beside a handful of hypotheses."""


RULE = rule_of("temporal", {"where": {}, "rrule": "FREQ=DAILY", "time": "07:00", "tolerance_minutes": 10})


def fold(candidates: Candidates, now: Ints, settings: Settings) -> Standing:
    """The standing by the type's share of the promised rate."""
    return lifecycle.fold(candidates, now, settings.of_type(kind_of(candidates.type).budget))


def candidates(
    trials: Sequence[Sequence[Trial]], nulls: Sequence[float] | None = None, hypotheses: float = 1.0
) -> Candidates:
    """Candidates with these trials, all of one person."""
    owner = [number for number, own in enumerate(trials) for _ in own]
    flat = [trial for own in trials for trial in own]

    def column(name: str) -> np.ndarray:
        return np.array([getattr(trial, name) for trial in flat], dtype=np.int64)

    return Candidates(
        "temporal",
        np.zeros(len(trials), dtype=np.int64),
        [RULE] * len(trials),
        np.array(nulls if nulls is not None else [COIN] * len(trials)),
        np.full(len(trials), hypotheses),
        Trials(
            np.array(owner, dtype=np.int64),
            column("local"),
            column("hit").astype(np.bool_),
            column("event"),
            column("next_due"),
        ),
    )


def daily(outcomes: str, every: int = 1) -> list[Trial]:
    """One trial every so many days, ``x`` a hit and ``.`` a miss; due again at the next."""
    return [
        Trial(START + n * every * DAY, mark == "x", n if mark == "x" else -1, START + (n + 1) * every * DAY)
        for n, mark in enumerate(outcomes)
    ]


def stand(outcomes: str, *, every: int = 1, later: int = 0, settings: Settings = DEFAULT) -> Standing:
    """How one candidate stands so many µs after its last trial."""
    trials = daily(outcomes, every)
    return fold(candidates([trials]), np.array([trials[-1].local + later]), settings)


def reasons(standing: Standing) -> list[str]:
    return [t.reason for t in standing.transitions]


# --- golden values (issue 2) ----------------------------------------------------------------------------------


def test_five_kept_days_confirm_and_four_do_not() -> None:
    assert stand("xxxx").status[0] == Status.tracking
    standing = stand("xxxxx")
    assert standing.status[0] == Status.confirmed
    assert standing.confirmed[0] == START + 4 * DAY
    assert standing.confidence[0] == pytest.approx(
        0.4 + 0.2 * np.mean(0.95 ** np.arange(5)) + 0.3 + 0.1 * 4 / 14
    )


def test_third_unforgiven_contradiction_demotes() -> None:
    assert stand("xxxxxxxx..").status[0] == Status.confirmed
    demoted = stand("xxxxxxxx...")
    assert demoted.status[0] == Status.tracking
    assert reasons(demoted)[-1] == "contradicted"
    assert demoted.contradictions[0] == 0
    assert demoted.occasions[0] == 0


def test_misses_within_an_hour_are_one_contradiction() -> None:
    """Three mails in ten minutes without the colleague on copy are one lapse, as three with her would be one occasion."""
    kept = daily("x" * 20)
    last = kept[-1].local

    def after(minutes: list[int]) -> Standing:
        missed = [Trial(last + DAY + m * 60_000_000, False, -1, last + 2 * DAY) for m in minutes]
        return fold(candidates([[*kept, *missed]]), np.array([last + DAY]), DEFAULT)

    assert after([0, 5, 10]).status[0] == Status.confirmed
    assert after([0, 5, 10]).contradictions[0] == 1
    assert after([0, 5, 60, 119]).contradictions[0] == 2
    assert after([0, 60, 120]).status[0] == Status.tracking


def test_a_support_forgives_one_contradiction() -> None:
    assert stand("xxxxxxxx..x.").status[0] == Status.confirmed
    assert stand("xxxxxxxx..x.x.").status[0] == Status.confirmed
    assert stand("xxxxxxxx..x..").status[0] == Status.tracking


def test_forgiveness_never_saves_up() -> None:
    """Twenty supports in a row are no credit for later: three misses still demote."""
    assert stand("x" * 20 + "..").status[0] == Status.confirmed
    assert stand("x" * 20 + "...").status[0] == Status.tracking


def test_over_a_lifetime_the_third_miss_demotes_however_far_apart() -> None:
    lifetime = Settings(forgive_contradictions=False)
    kept_nine_times_in_ten = "xxxxxxxxx." * 3
    assert stand(kept_nine_times_in_ten).status[0] == Status.confirmed
    assert stand(kept_nine_times_in_ten, settings=lifetime).status[0] == Status.tracking
    assert stand(kept_nine_times_in_ten[:-1], settings=lifetime).status[0] == Status.confirmed


def test_contradictions_before_confirmation_do_not_count_after_it() -> None:
    standing = stand("x.xx.xxxxxxx", settings=Settings(forgive_contradictions=False))
    assert standing.status[0] == Status.confirmed
    assert standing.contradictions[0] == 0


def test_after_a_demotion_only_what_comes_later_confirms_again() -> None:
    assert stand("x" * 20 + "..." + "xxxx").status[0] == Status.tracking
    again = stand("x" * 20 + "..." + "xxxxx")
    assert again.status[0] == Status.confirmed
    assert again.support[0] == 25  # the rate is still judged by all that is known
    assert again.first[0] == START


def test_an_expired_habit_that_returns_needs_five_new_occasions() -> None:
    def returned(times: int) -> Standing:
        before, after = daily("x" * 10), daily("x" * times)
        moved = [Trial(t.local + 60 * DAY, t.hit, t.event + 10, t.next_due + 60 * DAY) for t in after]
        return fold(candidates([before + moved]), np.array([moved[-1].local]), DEFAULT)

    four, five = returned(4), returned(5)
    assert reasons(four) == ["first seen", "kept often enough", "not seen since it was due", "seen again"]
    assert (four.status[0], four.occasions[0], four.support[0]) == (Status.tracking, 4, 4)
    assert (five.status[0], five.occasions[0], five.support[0]) == (Status.confirmed, 5, 5)
    assert five.first[0] == START + 60 * DAY
    assert five.expired[0] == NEVER


def test_confidence_of_one_lasts_23_and_a_half_days_past_due() -> None:
    trials = [Trial(START, True, 0, START + DAY)]
    certain = Settings(
        confirmation_count=1, weight_count=0.5, weight_recency=0.2, weight_consistency=0.3, weight_span=0.0
    )

    def status_after(days: float) -> Status:
        now = np.array([START + DAY + round(days * DAY)])
        return Status(fold(candidates([trials]), now, certain).status[0])

    assert status_after(23.4) is not Status.expired
    assert status_after(23.5) is Status.expired
    late = fold(candidates([trials]), np.array([START + 300 * DAY]), certain)
    assert (late.expired[0] - START - DAY) / DAY == pytest.approx(23.4721, abs=1e-3)


def test_a_monthly_habit_survives_to_its_next_date() -> None:
    standing = stand("xxxxx", every=30, later=30 * DAY)
    assert standing.status[0] == Status.confirmed
    assert standing.confidence[0] == pytest.approx(standing.components.confidence(DEFAULT)[0])


def test_by_the_calendar_a_monthly_habit_cannot_last() -> None:
    """Plain calendar decay, which a setting restores, leaves 0.95³⁰ = 0.215 of a monthly habit."""
    standing = stand("xxxxx", every=30, later=29 * DAY, settings=Settings(decay_by_calendar=True))
    assert standing.status[0] == Status.expired


def test_confidence_before_it_is_due_does_not_fall() -> None:
    at_once, before_due = stand("xxxxx", every=7), stand("xxxxx", every=7, later=7 * DAY)
    assert at_once.confidence[0] == before_due.confidence[0]
    assert stand("xxxxx", every=7, later=8 * DAY).confidence[0] == pytest.approx(at_once.confidence[0] * 0.95)


# --- what else the design says --------------------------------------------------------------------------------


def test_several_supports_within_an_hour_are_one_occasion() -> None:
    burst = [Trial(START + n * 60_000_000, True, n, START + 7 * DAY) for n in range(50)]
    standing = fold(candidates([burst]), np.array([burst[-1].local]), DEFAULT)
    assert (standing.support[0], standing.occasions[0]) == (50, 1)
    assert standing.vote_support[0] == 1.0
    assert standing.status[0] == Status.tracking


def test_an_hour_apart_is_another_occasion() -> None:
    pair = [Trial(START, True, 0, START + DAY), Trial(START + HOUR, True, 1, START + DAY)]
    assert fold(candidates([pair]), np.array([START + HOUR]), DEFAULT).occasions[0] == 2
    close = [pair[0], Trial(START + HOUR - 1, True, 1, START + DAY)]
    assert fold(candidates([close]), np.array([START + HOUR]), DEFAULT).occasions[0] == 1


def test_what_is_no_more_than_chance_is_never_confirmed() -> None:
    trials = daily("x" * 40)
    now = np.array([trials[-1].local])
    assert fold(candidates([trials], [0.97]), now, DEFAULT).status[0] == Status.tracking
    assert fold(candidates([trials], [0.5], hypotheses=1e12), now, DEFAULT).status[0] == Status.tracking
    assert fold(candidates([trials], [0.5]), now, DEFAULT).status[0] == Status.confirmed


def test_what_is_kept_half_the_time_is_not_confirmed() -> None:
    assert stand("x." * 30 + "x").status[0] == Status.tracking


def test_opportunities_before_the_first_support_do_not_count() -> None:
    standing = stand("....xxxxx")
    assert (standing.support[0], standing.opportunities[0], standing.episode[0]) == (5, 5, 4)
    assert standing.status[0] == Status.confirmed


def test_a_candidate_never_supported_has_not_begun() -> None:
    standing = fold(candidates([daily("....."), daily("x"), []]), np.full(3, START + 9 * DAY), DEFAULT)
    assert standing.began.tolist() == [False, True, False]
    assert {t.candidate for t in standing.transitions} == {1}


def test_a_tracking_pattern_kept_too_seldom_expires() -> None:
    standing = stand("x" + "." * 40)
    assert standing.status[0] == Status.expired
    assert standing.expired[0] < START + 30 * DAY


def test_nothing_at_all_folds_to_nothing() -> None:
    standing = fold(Candidates.none("temporal"), np.empty(0, dtype=np.int64), DEFAULT)
    assert len(standing.status) == 0
    assert standing.transitions == ()


# --- the fold against the oracle ------------------------------------------------------------------------------

GAPS = (0, HOUR // 6, HOUR - 1, HOUR, 5 * HOUR, DAY, 2 * DAY, 7 * DAY, 30 * DAY, 90 * DAY)
RUNS = st.lists(
    st.tuples(
        st.sampled_from("xxx."), st.integers(1, 9), st.sampled_from(GAPS), st.sampled_from((1, 2, 7, 31))
    ),
    max_size=8,
)
"""Runs of equal outcomes with one gap between them, so that habits begin, break and return."""

SETTINGS = st.sampled_from(
    (
        DEFAULT,
        Settings(forgive_contradictions=False),
        Settings(decay_by_calendar=True),
        Settings(confirmation_count=3, contradiction_limit=1, decay_rate=0.9),
        Settings(expiry_threshold=0.5, confirmation_threshold=0.6, usual_rate=0.2),
        Settings(confirmation_count=1, usual_rate=0.0, distinct_margin=0.0, false_confirmation_rate=0.5),
    )
)


def life(runs: Sequence[tuple[str, int, int, int]]) -> list[Trial]:
    """The trials of these runs, in time order."""
    trials: list[Trial] = []
    now = START
    for mark, length, gap, due in runs:
        for _ in range(length):
            now += gap
            hit = mark == "x"
            trials.append(Trial(now, hit, len(trials) if hit else -1, now + due * DAY))
    return trials


def never(value: int) -> int | None:
    return None if value == NEVER else int(value)


def agrees(standing: Standing, number: int, own: naive.Pattern, now: int, settings: Settings) -> None:
    """Assert that the fold says of candidate `number` what the oracle says."""
    assert bool(standing.began[number]) == own.began
    changes = [t for t in standing.transitions if t.candidate == number]
    assert [as_change(t) for t in changes] == own.journal
    if not own.began:
        return
    assert Status(standing.status[number]).name == own.status
    for name in ("support", "opportunities", "occasions", "contradictions", "first", "last", "due"):
        assert getattr(standing, name)[number] == getattr(own, name), name
    assert standing.confirmed_event[number] == own.confirmed_event
    assert (never(standing.confirmed[number]), never(standing.expired[number])) == (
        own.confirmed,
        own.expired,
    )
    assert standing.vote_support[number] == pytest.approx(own.vote_support)
    assert standing.vote_opportunities[number] == pytest.approx(own.vote_opportunities)
    assert standing.confidence[number] == pytest.approx(naive.confidence_at(own, now, settings))


def as_change(transition: Transition) -> naive.Change:
    before = transition.before
    return naive.Change(
        transition.local,
        None if before is None else before.name,
        transition.after.name,
        transition.reason,
        transition.event,
    )


@hypothesis_settings(deadline=None, max_examples=60)
@given(
    lives=st.lists(st.tuples(RUNS, st.sampled_from((0.001, 0.05, 0.3, 0.8))), min_size=1, max_size=4),
    later=st.sampled_from(GAPS),
    hypotheses=st.sampled_from((1.0, 50.0)),
    settings=SETTINGS,
)
def test_the_fold_is_the_oracle(
    lives: list[tuple[list[tuple[str, int, int, int]], float]],
    later: int,
    hypotheses: float,
    settings: Settings,
) -> None:
    trials = [life(runs) for runs, _ in lives]
    agree(trials, [null for _, null in lives], later, hypotheses, settings)


def agree(
    trials: list[list[Trial]], nulls: list[float], later: int, hypotheses: float, settings: Settings
) -> None:
    """Assert that the fold of all side by side says what the oracle says of each alone."""
    now = np.array([(own[-1].local if own else START) + later for own in trials])
    standing = fold(candidates(trials, nulls, hypotheses), now, settings)
    before = 0
    for number, (own, null) in enumerate(zip(trials, nulls, strict=True)):
        pattern = naive.fold_one(own, int(now[number]), null, hypotheses, settings)
        agrees(standing, number, pattern, int(now[number]), settings)
        if pattern.began:
            assert standing.episode[number] == before + pattern.episode
        before += len(own)


def crowd(seed: int, size: int) -> tuple[list[list[Trial]], list[float]]:
    """Random lives and null rates, many at once: what hypothesis is too slow for."""
    rng = np.random.default_rng(seed)

    def run() -> tuple[str, int, int, int]:
        gap = GAPS[int(rng.integers(len(GAPS)))]
        return "xxx."[int(rng.integers(4))], int(rng.integers(1, 10)), gap, int(rng.integers(1, 31))

    lives = [life([run() for _ in range(8)]) for _ in range(size)]
    return lives, rng.choice([0.001, 0.05, 0.55], size).tolist()


def folded(
    trials: list[list[Trial]], nulls: list[float], later: int, settings: Settings = DEFAULT
) -> Standing:
    return fold(
        candidates(trials, nulls),
        np.array([own[-1].local + later for own in trials], dtype=np.int64),
        settings,
    )


def test_many_random_lives_side_by_side_are_the_oracle() -> None:
    trials, nulls = crowd(seed=1, size=300)
    agree(trials, nulls, 40 * DAY, 3.0, DEFAULT)


def test_the_random_lives_see_every_kind_of_change() -> None:
    """The comparison above is not vacuous: lives like these are confirmed, demoted, expired and return."""
    standing = folded(*crowd(seed=7, size=500), later=90 * DAY)
    assert set(reasons(standing)) == {
        "first seen",
        "seen again",
        "kept often enough",
        "contradicted",
        "no longer more than chance",
        "not seen since it was due",
        "kept too seldom",
    }


@pytest.mark.parametrize(
    "settings", [DEFAULT, Settings(decay_by_calendar=True), Settings(contradiction_limit=1)]
)
def test_transitions_chain_and_time_never_runs_back(settings: Settings) -> None:
    trials, nulls = crowd(seed=2, size=1000)
    standing = folded(trials, nulls, 20 * DAY, settings)
    journals = journals_of(standing)
    assert len(journals) > 900
    for number, journal in journals.items():
        assert journal[0].before is None
        assert Status(standing.status[number]).name == journal[-1].after
        assert trials[number][0].local <= journal[0].local
        assert journal[-1].local <= trials[number][-1].local + 20 * DAY
        for earlier, after in pairwise(journal):
            assert earlier.local <= after.local
            assert after.before != after.after
            # An episode begins with null; what it follows can only be the end of another.
            assert (after.before or "expired") == earlier.after


def test_what_stands_has_the_confidence_for_it() -> None:
    """Below the expiry threshold a pattern is expired, whatever brought it there."""
    for later in (0, 3 * DAY, 20 * DAY):
        standing = folded(*crowd(seed=3, size=1000), later=later)
        stands = standing.began & (standing.status != Status.expired)
        assert stands.sum() > 100
        assert standing.confidence[stands].min() >= DEFAULT.expiry_threshold


def test_what_is_expired_has_no_confidence_left() -> None:
    standing = folded(*crowd(seed=4, size=1000), later=20 * DAY)
    expired = standing.status == Status.expired
    assert expired.sum() > 100
    assert standing.confidence[expired].max() <= DEFAULT.expiry_threshold + 1e-9


def test_the_past_of_the_journal_does_not_change() -> None:
    """What was decided by a moment is decided the same when more is known later."""
    trials, nulls = crowd(seed=5, size=500)
    halves = [own[: settled(own, len(own) // 2)] for own in trials]
    then = journals_of(folded(halves, nulls, 0))
    later = journals_of(folded(trials, nulls, 0))
    assert len(then) > 400
    for number, known in then.items():
        assert later[number][: len(known)] == known


def settled(trials: list[Trial], place: int) -> int:
    """The first place from `place` on that an hour of quiet precedes."""
    while place < len(trials) and trials[place].local - trials[place - 1].local < HOUR:
        place += 1
    return place


def journals_of(standing: Standing) -> dict[int, list[naive.Change]]:
    journals: dict[int, list[naive.Change]] = defaultdict(list)
    for transition in standing.transitions:
        journals[transition.candidate].append(as_change(transition))
    return journals


def test_a_burst_that_goes_on_does_not_move_the_confirmation() -> None:
    kept = daily("xxxxx")
    last = kept[-1]
    burst = [Trial(last.local + n * 60_000_000, True, 4 + n, last.next_due) for n in range(1, 20)]
    at_once, goes_on = folded([kept], [0.35], 0), folded([kept + burst], [0.35], 0)
    assert at_once.confirmed[0] == last.local
    assert journals_of(goes_on)[0] == journals_of(at_once)[0]


def test_a_candidate_is_judged_alone() -> None:
    trials, nulls = crowd(seed=6, size=40)
    together = folded(trials, nulls, DAY)
    for number in (0, 17, 39):
        alone = folded([trials[number]], [nulls[number]], DAY)
        assert alone.confidence[0] == together.confidence[number]
        assert alone.status[0] == together.status[number]
        assert [as_change(t) for t in alone.transitions] == [
            as_change(t) for t in together.transitions if t.candidate == number
        ]
