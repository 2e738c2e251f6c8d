"""The losses against plain Python loops over tokens in double precision."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from sim2live.agents import losses
from sim2live.errors import ConfigError

# Five turns of three trajectories; lengths 3, 1, 2, 4, 1 tokens.
LENGTHS = [3, 1, 2, 4, 1]
OWNER = [0, 0, 1, 2, 2]


def example(seed: int = 0) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    shape = (len(LENGTHS), max(LENGTHS))
    mask = torch.arange(shape[1]) < torch.tensor(LENGTHS).unsqueeze(1)
    draw = lambda scale: -torch.rand(shape, generator=generator) * scale - 0.1  # noqa: E731
    lp = draw(2.0)
    return {
        "lp": lp,
        "proximal": lp + 0.5 * torch.randn(shape, generator=generator),
        "behaviour": lp + 0.7 * torch.randn(shape, generator=generator),
        "gain": torch.randn(shape[0], generator=generator),
        "mask": mask,
        "owner": torch.tensor(OWNER),
    }


def naive_weight(i: int, normaliser: str, constant_length: float) -> float:
    per_trajectory = [
        sum(n for n, o in zip(LENGTHS, OWNER, strict=True) if o == b) for b in range(3)
    ]
    return {
        "sequence": 1 / (3 * per_trajectory[OWNER[i]]),
        "token": 1 / sum(LENGTHS),
        "constant": 1 / (3 * constant_length),
    }[normaliser]


@pytest.mark.parametrize("normaliser", losses.NORMALISERS)
@pytest.mark.parametrize("level", ["token", "sequence_sum", "sequence_mean", None])
@pytest.mark.parametrize("clipped", [False, True])
def test_losses_equal_a_naive_loop(normaliser: str, level: str | None, clipped: bool) -> None:
    e = example()
    weights = losses.token_weights(e["mask"], e["owner"], normaliser, constant_length=7.0)
    importance = None
    if level is not None:
        importance = losses.tis_weights(
            e["proximal"], e["behaviour"], e["mask"], cap=1.3, level=level
        )
    if clipped:
        loss = losses.clipped_surrogate_loss(
            e["lp"],
            e["proximal"],
            e["gain"],
            weights,
            clip_low=0.1,
            clip_high=0.3,
            importance=importance,
        )
    else:
        loss = losses.reinforce_loss(e["lp"], e["gain"], weights, importance)

    expected = 0.0
    for i, length in enumerate(LENGTHS):
        lp, px, lb = (e[k][i].double().tolist() for k in ("lp", "proximal", "behaviour"))
        gain = float(e["gain"][i])
        drift = [px[t] - lb[t] for t in range(length)]
        for t in range(length):
            x = {
                "token": drift[t],
                "sequence_sum": sum(drift),
                "sequence_mean": sum(drift) / length,
                None: 0.0,
            }[level]
            w = min(math.exp(x), 1.3)
            if clipped:
                ratio = math.exp(lp[t] - px[t])
                term = min(ratio * gain, min(max(ratio, 0.9), 1.3) * gain)
            else:
                term = lp[t] * gain
            expected -= naive_weight(i, normaliser, 7.0) * w * term
    assert float(loss) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("normaliser", losses.NORMALISERS)
@pytest.mark.parametrize("garbage", [50.0, math.inf, math.nan])
def test_padding_changes_neither_loss_nor_gradient(normaliser: str, garbage: float) -> None:
    results = []
    for extra, filler in ((0, 0.0), (3, garbage)):
        e = example()
        for key in ("lp", "proximal", "behaviour"):
            blanked = e[key].masked_fill(~e["mask"], filler)
            e[key] = torch.nn.functional.pad(blanked, (0, extra), value=filler)
        mask = torch.nn.functional.pad(e["mask"], (0, extra))
        lp = e["lp"].requires_grad_()
        weights = losses.token_weights(mask, e["owner"], normaliser)
        importance = losses.tis_weights(e["proximal"], e["behaviour"], mask, cap=2.0)
        loss = losses.clipped_surrogate_loss(
            lp, e["proximal"], e["gain"], weights, importance=importance
        )
        loss = loss + losses.reinforce_loss(lp, e["gain"], weights, importance)
        loss = loss + losses.kl_loss(lp, e["proximal"], weights, "k3")
        loss.backward()
        assert lp.grad is not None
        results.append((loss.item(), lp.grad[:, :4].clone()))
        assert torch.all(lp.grad[:, 4:] == 0)
    assert results[0][0] == pytest.approx(results[1][0], rel=1e-6)
    torch.testing.assert_close(results[0][1], results[1][1])


def test_parts_of_a_batch_add_up() -> None:
    e = example()
    weights = losses.token_weights(e["mask"], e["owner"], "sequence")
    whole = losses.reinforce_loss(e["lp"], e["gain"], weights)
    parts = [
        losses.reinforce_loss(e["lp"][rows], e["gain"][rows], weights[rows])
        for rows in (slice(0, 2), slice(2, 5))
    ]
    assert float(whole) == pytest.approx(float(parts[0] + parts[1]), rel=1e-6)


def test_on_policy_the_ratio_is_one_and_both_losses_have_one_gradient() -> None:
    e = example()
    weights = losses.token_weights(e["mask"], e["owner"], "sequence")
    gradients = []
    for clipped in (False, True):
        lp = e["lp"].clone().requires_grad_()
        if clipped:
            loss = losses.clipped_surrogate_loss(lp, lp.detach(), e["gain"], weights)
            expected = -(weights * e["gain"].unsqueeze(1)).sum()
            assert float(loss.detach()) == pytest.approx(float(expected), rel=1e-6)
        else:
            loss = losses.reinforce_loss(lp, e["gain"], weights)
        loss.backward()
        gradients.append(lp.grad)
    torch.testing.assert_close(gradients[0], gradients[1])
    importance = losses.tis_weights(e["lp"], e["lp"], e["mask"], cap=1.0)
    assert torch.equal(importance, e["mask"].float())


def test_the_clip_stops_the_gradient_only_on_the_side_that_pays() -> None:
    lp = torch.tensor([[0.5], [0.5]], requires_grad=True)  # ratio e^0.5 > 1.2
    weights = torch.full((2, 1), 0.5)
    loss = losses.clipped_surrogate_loss(lp, torch.zeros(2, 1), torch.tensor([1.0, -1.0]), weights)
    loss.backward()
    assert lp.grad is not None
    assert lp.grad[0, 0] == 0.0
    assert lp.grad[1, 0] == pytest.approx(0.5 * math.exp(0.5), rel=1e-6)


def test_importance_weights_do_not_overflow_and_are_capped() -> None:
    mask = torch.tensor([[True, True, False]])
    far = losses.tis_weights(torch.zeros(1, 3), torch.full((1, 3), -1e4), mask, cap=3.0)
    torch.testing.assert_close(far, torch.tensor([[3.0, 3.0, 0.0]]))
    with pytest.raises(ConfigError, match="at least 1"):
        losses.tis_weights(torch.zeros(1, 3), torch.zeros(1, 3), mask, cap=0.5)


def test_kl_estimators_by_enumeration() -> None:
    """k1 and k3 are unbiased values; k2 has the divergence's gradient and k1 has none."""
    generator = torch.Generator().manual_seed(1)
    logits = torch.randn(5, generator=generator, dtype=torch.float64, requires_grad=True)
    reference = torch.log_softmax(torch.randn(5, generator=generator, dtype=torch.float64), 0)
    lp = torch.log_softmax(logits, 0)
    kl = (lp.exp() * (lp - reference)).sum()
    (exact,) = torch.autograd.grad(kl, logits, retain_graph=True)
    p = lp.exp().detach()
    value, gradient = {}, {}
    for kind in losses.KL_ESTIMATORS:
        expected = (p * losses.kl_estimate(lp, reference, kind)).sum()
        value[kind] = expected.item()
        (gradient[kind],) = torch.autograd.grad(expected, logits, retain_graph=True)
    assert value["k1"] == pytest.approx(kl.item(), rel=1e-12)
    assert value["k3"] == pytest.approx(kl.item(), rel=1e-12)
    assert value["k2"] != pytest.approx(kl.item(), rel=1e-2)
    torch.testing.assert_close(gradient["k2"], exact)
    torch.testing.assert_close(gradient["k1"], torch.zeros_like(exact))
    assert not torch.allclose(gradient["k3"], exact, rtol=1e-2)


def test_effective_sample_size() -> None:
    assert losses.effective_sample_size(torch.zeros(8)) == pytest.approx(8.0)
    weights = np.array([1.0, 2.0, 3.0])
    expected = weights.sum() ** 2 / (weights**2).sum()
    assert losses.effective_sample_size(torch.tensor(np.log(weights))) == pytest.approx(expected)
    assert losses.effective_sample_size(torch.tensor([2000.0, 0.0])) == pytest.approx(1.0)
    assert losses.effective_sample_size(torch.zeros(0)) == 0.0


def test_unknown_names_list_what_is_known() -> None:
    mask = torch.ones(1, 1, dtype=torch.bool)
    with pytest.raises(ConfigError, match="token"):
        losses.token_weights(mask, torch.zeros(1), "tokens")
    with pytest.raises(ConfigError, match="k2"):
        losses.kl_estimate(torch.zeros(1), torch.zeros(1), "k4")
    with pytest.raises(ConfigError, match="sequence_sum"):
        losses.tis_weights(torch.zeros(1, 1), torch.zeros(1, 1), mask, cap=2.0, level="sequence")
