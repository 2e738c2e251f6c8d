"""A classifier two-sample test for paired reactions: can real and simulated ones be told apart?

At each view there is one real and one simulated set of reactions (Lopez-Paz and Oquab, 2017, arXiv
1610.06545, with changes for dependence). The classifier is a linear ridge on the reactions and
their products with what the person saw; it is scored by AUC on users it was not fitted to. The null
exchanges real and simulated for *whole users* and fits the classifier again each time: reactions of
one person resemble each other, and a test that exchanged single views would see that as a
difference between the sides. The refit is cheap since the design does not depend on the labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .verdicts import Verdict

MIN_VIEWS, MIN_USERS = 200, 10
MAX_VIEWS = 4_000
"""More views than this are thinned at random; the test has power to spare by then."""
_FOLDS, _RIDGE, _TOP, _ALPHA = 5, 0.05, 5, 0.05

FloatMatrix = npt.NDArray[np.float64]


@dataclass(slots=True, kw_only=True, frozen=True)
class TwoSample:
    """What the test found. Absence of proof is no match: the verdict is never `match`."""

    auc: float | None
    """Held-out area under the ROC curve; 0.5 is chance. None if not identifiable."""
    null_auc: float | None
    """95% quantile of the AUC under the null."""
    p_value: float | None
    num_views: int
    """Views a side that were used."""
    num_users: int
    features: tuple[tuple[str, float], ...]
    """What gives the simulation away, strongest first: name and standardised weight, positive if
    more typical of real people."""
    verdict: Verdict
    reason: str


def two_sample_test(
    real: FloatMatrix,
    simulated: FloatMatrix,
    context: FloatMatrix,
    users: npt.NDArray[np.intp],
    *,
    labels: Sequence[str],
    context_names: Sequence[str],
    rng: np.random.Generator,
    permutations: int = 199,
) -> TwoSample:
    """Test whether real and simulated reactions at the same views can be told apart.

    Args:
        real: shape (n, L), 1 where the real person showed a label.
        simulated: shape (n, L), the same for one simulated draw.
        context: shape (n, C), what was seen.
        users: shape (n,), number of each view's user.
        labels: L names.
        context_names: C names.
        rng: folds, thinning and permutations.
        permutations: number of exchanges of users.
    """
    num_users = len(np.unique(users))
    if len(users) < MIN_VIEWS or num_users < MIN_USERS:
        return _unidentified(
            len(users),
            num_users,
            f"{len(users)} views of {num_users} users; at least {MIN_VIEWS} views a side and "
            f"{MIN_USERS} users are needed",
        )
    if len(users) > MAX_VIEWS:
        kept = np.sort(rng.choice(len(users), MAX_VIEWS, replace=False))
        real, simulated, context = real[kept], simulated[kept], context[kept]
        users = users[kept]
    users = np.unique(users, return_inverse=True)[1]
    num_users = int(users.max()) + 1
    scaled = (context - context.mean(0)) / np.maximum(context.std(0), 1e-9)
    x_real, x_sim = _design(real, scaled), _design(simulated, scaled)
    spread = np.vstack([x_real, x_sim]).std(0)
    used = spread > 1e-9
    if not used.any():
        return _unidentified(len(users), num_users, "nobody reacted on either side")
    x_real, x_sim = x_real[:, used] / spread[used], x_sim[:, used] / spread[used]
    names = np.array(_names(labels, context_names))[used]
    folds = rng.permutation(num_users) % _FOLDS
    signs = np.ones((permutations + 1, num_users))
    signs[1:] = rng.choice([-1.0, 1.0], size=(permutations, num_users))
    aucs, weights = _held_out_aucs(x_real, x_sim, users, folds, signs)
    auc, p_value = float(aucs[0]), float(np.mean(aucs >= aucs[0] - 1e-12))
    is_mismatch = p_value <= _ALPHA
    order = np.argsort(-np.abs(weights), kind="stable")[:_TOP]
    return TwoSample(
        auc=auc,
        null_auc=float(np.quantile(aucs[1:], 0.95)),
        p_value=p_value,
        num_views=len(users),
        num_users=num_users,
        features=tuple((str(names[i]), float(weights[i])) for i in order),
        verdict=Verdict.MISMATCH if is_mismatch else Verdict.INCONCLUSIVE,
        reason=(
            f"held-out AUC {auc:.3f}, p = {p_value:.3f} when whole users are exchanged"
            + ("" if is_mismatch else "; that they were not told apart is no proof of a match")
        ),
    )


def _unidentified(num_views: int, num_users: int, reason: str) -> TwoSample:
    return TwoSample(
        auc=None,
        null_auc=None,
        p_value=None,
        num_views=num_views,
        num_users=num_users,
        features=(),
        verdict=Verdict.NOT_IDENTIFIABLE,
        reason=reason,
    )


def _design(reactions: FloatMatrix, context: FloatMatrix) -> FloatMatrix:
    """Return reactions and their products with the context, (n, L (1 + C)).

    The context alone is the same on both sides and cannot tell them apart.
    """
    products = (reactions[:, :, None] * context[:, None, :]).reshape(len(reactions), -1)
    return np.hstack([reactions, products])


def _names(labels: Sequence[str], context_names: Sequence[str]) -> list[str]:
    return [*labels, *(f"{label} x {name}" for label in labels for name in context_names)]


def _held_out_aucs(
    x_real: FloatMatrix,
    x_sim: FloatMatrix,
    users: npt.NDArray[np.intp],
    folds: npt.NDArray[np.intp],
    signs: FloatMatrix,
) -> tuple[FloatMatrix, FloatMatrix]:
    """Return one AUC for each row of `signs` (+-1 a user), and weights fitted to all users.

    With labels +1 (real) and -1 (simulated) the ridge solution is A^-1 sum_u sign_u d_u, where A is
    the Gram matrix plus the penalty and d_u = sum of the user's real rows minus simulated rows.
    """
    from scipy.stats import rankdata

    n, d = x_real.shape
    difference = np.zeros((len(folds), d))
    np.add.at(difference, users, x_real - x_sim)
    scores = np.empty((2 * n, len(signs)))
    for fold in range(_FOLDS):
        held = folds[users] == fold
        weights = (signs[:, folds != fold] @ difference[folds != fold]) @ _inverse_gram(
            x_real[~held], x_sim[~held]
        )
        scores[:n][held] = x_real[held] @ weights.T
        scores[n:][held] = x_sim[held] @ weights.T
    is_positive = np.vstack([signs[:, users].T > 0, signs[:, users].T < 0])
    ranks = rankdata(scores, axis=0)
    aucs = ((ranks * is_positive).sum(0) - n * (n + 1) / 2) / n**2
    return aucs, difference.sum(0) @ _inverse_gram(x_real, x_sim)


def _inverse_gram(x_real: FloatMatrix, x_sim: FloatMatrix) -> FloatMatrix:
    gram = x_real.T @ x_real + x_sim.T @ x_sim
    penalty = _RIDGE * 2 * len(x_real) + 1e-9
    return np.asarray(np.linalg.inv(gram + penalty * np.eye(len(gram))))
