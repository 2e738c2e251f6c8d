"""A small session world whose every truth is known exactly, to test the estimators against.

A session lasts at most `horizon` turns. At each the policy acts on a state, the computer answers,
the person reacts, value is realised and the state moves on, or the person leaves. Live people
differ lastingly: each has a random effect on how they react, so their sessions resemble each other.

At all knobs zero the simulator is *calibrated*: it reacts, in each state and turn, as the live
population there does on average. That world has no memory of who the person is, yet it has exactly
the live state distribution and value (the forward recursion of the mixture proves it by induction),
so every gap is zero although the live people are correlated. The knobs then move one part at a
time: `k_user` the simulated person, `k_env` the simulated computer (both in logits), `k_mix` the
simulated mix of first states.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...intervals import FloatArray

# Shapes: H turns, S states, A actions, 2 results, 3 reactions, K kinds of person, N sessions.

IntArray = npt.NDArray[np.int64]
NUM_REACTIONS = 3
"""0 accepts, 1 follows up, 2 leaves (which ends the session)."""


@dataclass(slots=True, kw_only=True, frozen=True)
class Knobs:
    """How the simulator differs from production."""

    k_user: float = 0.0
    """Added cooperativeness of the simulated person, in logits."""
    k_env: float = 0.0
    """Added success of the simulated computer, in logits."""
    k_mix: float = 0.0
    """Shift of the simulated first states towards low numbers, in logits over the whole range."""


@dataclass(slots=True, kw_only=True, frozen=True)
class Truth:
    """Exact values: of the gap, of its one-step lines, and of the four closed-loop worlds."""

    j_sim: float
    j_live: float
    total: float
    task_mix: float
    computer: float
    person: float
    computer_second: float
    """Computer and person terms in the other order (person swapped first)."""
    person_first: float
    worlds: dict[str, float]
    """J of `ss`, `ls`, `sl`, `ll` (computer, then person), all on live first states."""


@dataclass(slots=True, kw_only=True, frozen=True)
class Sessions:
    """A batch of sessions as arrays; entries after a session's end are not meaningful."""

    users: IntArray
    """Shape (N,)."""
    kinds: IntArray
    """Shape (N,): kind of the person."""
    states: IntArray
    """Shape (N, H)."""
    actions: IntArray
    results: IntArray
    rewards: FloatArray
    """Shape (N, H), 0 after the end."""
    alive: npt.NDArray[np.bool_]
    """Shape (N, H): True for turns that took place."""


def _sigmoid(x: FloatArray) -> FloatArray:
    return np.asarray(1.0 / (1.0 + np.exp(-x)), dtype=np.float64)


def _softmax(x: FloatArray) -> FloatArray:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return np.asarray(e / e.sum(axis=-1, keepdims=True), dtype=np.float64)


def _draw(p: FloatArray, rng: np.random.Generator) -> IntArray:
    """Draw one category per row of (N, C) probabilities."""
    u = rng.random((len(p), 1))
    drawn = (u > np.cumsum(p, axis=1)).sum(axis=1)
    return np.asarray(np.minimum(drawn, p.shape[1] - 1), dtype=np.int64)


class TabularWorld:
    """Random tables from one seed, with exact values by dynamic programming.

    Args:
        seed: of the tables (not of any data).
        knobs: how the simulator differs.
        user_sd: standard deviation of the people's lasting effect, in logits.
        horizon: turns per session at most.
        num_states: number of states.
    """

    def __init__(
        self,
        seed: int = 0,
        knobs: Knobs | None = None,
        *,
        user_sd: float = 0.5,
        horizon: int = 4,
        num_states: int = 5,
    ) -> None:
        rng = np.random.default_rng(seed)
        knobs = knobs or Knobs()
        s, a = num_states, 2
        self.horizon, self.num_states = horizon, num_states
        self.policy = _softmax(rng.normal(0, 0.7, (s, a)))
        self.first_live = _softmax(rng.normal(0, 0.5, s))
        tilt = np.linspace(knobs.k_mix, 0, s)
        self.first_sim = _softmax(np.log(self.first_live) + tilt)
        succeeds = rng.normal(0.4, 0.6, (s, a)) + np.linspace(-0.5, 0.5, s)[:, None]
        self.computer_live = self._computer(succeeds)
        self.computer_sim = self._computer(succeeds + knobs.k_env)
        # The state is how well the session goes: a success or acceptance moves it up.
        moves = np.arange(s)[:, None, None] + np.array([-1, 1])[:, None] + np.array([1, 0, 0])
        self.next_state = np.clip(moves, 0, s - 1)
        self.reward = 0.15 * np.array([0.0, 1.0])[:, None] + np.array([0.5, 0.0, -0.5])
        # Gauss-Hermite nodes stand for a normal distribution of people, exactly enumerable.
        nodes, weights = np.polynomial.hermite_e.hermegauss(7)
        self.kind_share = np.asarray(weights / weights.sum(), dtype=np.float64)
        base = rng.normal(0, 0.4, (s, a, 2, NUM_REACTIONS)) + np.array([0.0, 0.3, -1.0])
        base[:, :, 1, 0] += 1.0
        base[..., 0] += np.linspace(-0.4, 0.4, s)[:, None, None]
        kindly = np.array([1.0, 0.0, -1.0])
        self.person_live = _softmax(base + user_sd * nodes[:, None, None, None, None] * kindly)
        self.occupancy = self._occupancy()
        mixture = np.einsum("hks,ksaou->hsaou", self.occupancy, self.person_live)
        visited = np.maximum(self.occupancy.sum(axis=1), 1e-300)
        mixture = np.maximum(mixture / visited[:, :, None, None, None], 1e-12)
        self.person_sim = _softmax(np.log(mixture) + knobs.k_user * kindly)

    @staticmethod
    def _computer(logits: FloatArray) -> FloatArray:
        p = _sigmoid(logits)
        return np.stack([1 - p, p], axis=-1)

    def _occupancy(self) -> FloatArray:
        """Return P(person is of kind k, in state s at turn h, not gone), shape (H, K, S)."""
        out = np.zeros((self.horizon, self.kind_share.size, self.num_states))
        out[0] = self.kind_share[:, None] * self.first_live
        move = np.eye(self.num_states)[self.next_state[:, :, :-1]]  # (S, 2, staying, next S)
        for h in range(1, self.horizon):
            flow = np.einsum(
                "ks,sa,sao,ksaou->ksou",
                out[h - 1],
                self.policy,
                self.computer_live,
                self.person_live,
            )
            out[h] = np.einsum("ksou,soun->kn", flow[..., :-1], move)
        return out

    def _reply_values(self, value_next: FloatArray) -> FloatArray:
        """Return r + V(next state) for every (s, o, u), shape (S, 2, 3)."""
        after = value_next[self.next_state]
        after[:, :, NUM_REACTIONS - 1] = 0.0
        return np.asarray(self.reward + after, dtype=np.float64)

    def values(self, computer: FloatArray, person: FloatArray) -> FloatArray:
        """Return V of a world without memory, shape (H + 1, S); `person` is (H, S, A, 2, 3)."""
        v = np.zeros((self.horizon + 1, self.num_states))
        for h in reversed(range(self.horizon)):
            reply = self._reply_values(v[h + 1])
            v[h] = np.einsum("sa,sao,saou,sou->s", self.policy, computer, person[h], reply)
        return v

    def _value_with_people(self, computer: FloatArray) -> float:
        """Return J on live first states with the live people, whom the world remembers."""
        steady = np.broadcast_to(
            self.person_live[:, None],
            (self.kind_share.size, self.horizon, *self.person_live.shape[1:]),
        )
        per_kind = [self.values(computer, person)[0] @ self.first_live for person in steady]
        return float(np.array(per_kind) @ self.kind_share)

    def truth(self) -> Truth:
        """Return every value exactly."""
        v = self.values(self.computer_sim, self.person_sim)
        computer = person = computer_second = person_first = 0.0
        for h in range(self.horizon):
            reply = self._reply_values(v[h + 1])
            d = self.occupancy[h]
            at_live = "ks,sa,sao,ksaou,sou->"
            at_sim = "s,sa,sao,saou,sou->"
            marginal = d.sum(axis=0)
            ll = np.einsum(at_live, d, self.policy, self.computer_live, self.person_live, reply)
            sl = np.einsum(at_live, d, self.policy, self.computer_sim, self.person_live, reply)
            ls = np.einsum(
                at_sim, marginal, self.policy, self.computer_live, self.person_sim[h], reply
            )
            ss = np.einsum(
                at_sim, marginal, self.policy, self.computer_sim, self.person_sim[h], reply
            )
            computer, person = computer + float(ss - ls), person + float(ls - ll)
            computer_second += float(sl - ll)
            person_first += float(ss - sl)
        j_sim, j_live = float(v[0] @ self.first_sim), self._value_with_people(self.computer_live)
        calibrated = self.values(self.computer_live, self.person_sim)[0] @ self.first_live
        return Truth(
            j_sim=j_sim,
            j_live=j_live,
            total=j_sim - j_live,
            task_mix=float(v[0] @ (self.first_sim - self.first_live)),
            computer=computer,
            person=person,
            computer_second=computer_second,
            person_first=person_first,
            worlds={
                "ss": float(v[0] @ self.first_live),
                "ls": float(calibrated),
                "sl": self._value_with_people(self.computer_sim),
                "ll": j_live,
            },
        )

    def roll(
        self,
        num_users: int,
        per_user: int,
        rng: np.random.Generator,
        *,
        computer: str,
        person: str,
        first: str | None = None,
    ) -> Sessions:
        """Run sessions; `computer`, `person` and `first` (states) are each `sim` or `live`.

        First states follow the person unless given. A simulated person has no kind, so that its
        sessions are independent whatever their user id.
        """
        n = num_users * per_user
        users = np.repeat(np.arange(num_users), per_user)
        kinds = rng.choice(self.kind_share.size, num_users, p=self.kind_share)[users]
        start = self.first_live if (first or person) == "live" else self.first_sim
        state = rng.choice(self.num_states, n, p=start)
        shape = (n, self.horizon)
        states, actions, results = (np.zeros(shape, dtype=np.int64) for _ in range(3))
        rewards, alive = np.zeros(shape), np.zeros(shape, dtype=np.bool_)
        here = np.ones(n, dtype=np.bool_)
        for h in range(self.horizon):
            action = _draw(self.policy[state], rng)
            result = self._result(computer, state, action, rng)
            law, which = self._reaction_law(person, h, kinds)
            reaction = _draw(law[which, state, action, result], rng)
            states[:, h], actions[:, h], results[:, h] = state, action, result
            alive[:, h] = here
            rewards[:, h] = np.where(here, self.reward[result, reaction], 0.0)
            here = here & (reaction != NUM_REACTIONS - 1)
            state = self.next_state[state, result, reaction]
        return Sessions(
            users=users,
            kinds=kinds,
            states=states,
            actions=actions,
            results=results,
            rewards=rewards,
            alive=alive,
        )

    def _result(
        self, computer: str, state: IntArray, action: IntArray, rng: np.random.Generator
    ) -> IntArray:
        table = self.computer_live if computer == "live" else self.computer_sim
        return np.asarray(rng.random(state.shape) < table[state, action, 1], dtype=np.int64)

    def _reaction_law(self, person: str, turn: int, kinds: IntArray) -> tuple[FloatArray, IntArray]:
        """Return reaction tables, shape (., S, A, 2, 3), and which one each session uses."""
        if person == "live":
            return self.person_live, kinds
        return self.person_sim, np.full_like(kinds, turn)

    def replies(
        self,
        sessions: Sessions,
        turn: int,
        rng: np.random.Generator,
        *,
        computer: str,
        person: str,
    ) -> tuple[FloatArray, IntArray]:
        """Draw one reply at every session's state at `turn`, with the logged action.

        Args:
            sessions: where to reply.
            turn: which turn.
            rng: source of all randomness.
            computer: `logged` keeps the logged result, `sim` draws another.
            person: `sim` or `live` (the session's own person).

        Returns:
            Realised value (N,) and next state (N,), -1 where the session ends.
        """
        state, action = sessions.states[:, turn], sessions.actions[:, turn]
        result = sessions.results[:, turn]
        if computer == "sim":
            result = self._result("sim", state, action, rng)
        law, which = self._reaction_law(person, turn, sessions.kinds)
        reaction = _draw(law[which, state, action, result], rng)
        ended = (reaction == NUM_REACTIONS - 1) | (turn == self.horizon - 1)
        after = np.where(ended, -1, self.next_state[state, result, reaction])
        return self.reward[result, reaction], after
