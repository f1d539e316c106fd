"""verl's policy-gradient functions as the rl.* golden cases call them. goldens_rl.py says what to install."""

import functools
import importlib.abc
import importlib.machinery
import sys
from types import SimpleNamespace
from unittest.mock import MagicMock

import numpy as np
import torch
import torch.nn.functional as F

# What verl imports for its cluster and its logs, and its formulas never touch.
UNUSED = {"ray", "hydra", "orjson", "peft", "codetiming", "torchdata", "wandb", "gymnasium"}


class _Unused(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path, target=None):
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if name.split(".")[0] in UNUSED else None

    def create_module(self, spec):
        module = MagicMock(name=spec.name)
        module.__path__, module.__spec__ = [], spec
        return module

    def exec_module(self, module):
        pass


@functools.cache
def verl():
    sys.meta_path.append(_Unused())  # last: an installed one goes first
    from verl.trainer.ppo import core_algos
    return core_algos


def _scores(rewards):
    """[N, G] -> verl's arguments: one response per row, one token each, and the group of each row."""
    n, g = rewards.shape
    return {"token_level_rewards": rewards.reshape(-1, 1).clone(),
            "response_mask": torch.ones(n * g, 1, dtype=rewards.dtype), "index": np.repeat(np.arange(n), g)}


def group(name, **options):
    def run(rewards, **attributes):
        renamed = {"epsilon": attributes["eps"]} if "eps" in attributes else {}
        advantages, _ = getattr(verl(), name)(**_scores(rewards), **options, **renamed)
        return advantages.reshape(rewards.shape)
    return run


def opo(rewards, lengths):
    arguments = _scores(rewards)
    longest = int(lengths.max())
    mask = (torch.arange(longest) < lengths.reshape(-1, 1)).to(rewards.dtype)
    arguments["response_mask"] = mask
    arguments["token_level_rewards"] = F.pad(arguments["token_level_rewards"], (0, longest - 1))
    return verl().compute_opo_outcome_advantage(**arguments)[0][:, 0].reshape(rewards.shape)


def remax(rewards, greedy):
    arguments = _scores(rewards)
    del arguments["index"]
    baselines = greedy.expand(rewards.shape).reshape(-1)
    return verl().compute_remax_outcome_advantage(reward_baselines=baselines, **arguments)[0].reshape(rewards.shape)


def gae(rewards, values, next_values, mask, gamma, **attributes):
    """Its episodes end with the row; its masked slots carry the advantage of the next token, ours hold 0."""
    assert bool((next_values == 0).all())
    m = mask.to(rewards.dtype)
    _, returns = verl().compute_gae_advantage_return(rewards, values, m, gamma, attributes["lambda"])
    return (returns - values) * m, returns * m


def return_to_go(rewards, mask, gamma):
    config = SimpleNamespace(gamma=gamma)
    m = mask.to(rewards.dtype)
    return verl().compute_reinforce_plus_plus_outcome_advantage(rewards.clone(), m, config)[1]


AGGREGATIONS = {"token_mean": "token-mean", "sequence_sum": "seq-mean-token-sum",
                     "constant": "seq-mean-token-sum-norm"}


def aggregate(loss, mask, aggregation, max_length=None):
    return verl().agg_loss(loss, mask.to(loss.dtype), AGGREGATIONS[aggregation], loss_scale_factor=max_length)


def policy_loss(function):
    def run(log_prob, old, advantage, mask, ratio, surrogate, aggregation, low=None, high=None, c=3.0):
        algorithms = verl()
        config = actor(clip_ratio_low=low, clip_ratio_high=high, clip_ratio_c=c)
        loss, _ = getattr(algorithms, function)(old, log_prob, advantage, mask.to(log_prob.dtype),
                                            AGGREGATIONS[aggregation], config)
        return loss
    return run


def actor(**fields):
    from verl.workers.config import ActorConfig
    return ActorConfig(strategy="fsdp", rollout_n=1, ppo_micro_batch_size_per_gpu=1, clip_ratio=0.2, **fields)


def gmpo(log_prob, old, advantage, mask, ratio, surrogate, aggregation, clip_low, clip_high):
    """Of one response at a time, since the mean over the batch counts those without a token."""
    losses = []
    for lp, o, a, m in zip(log_prob, old, advantage.expand(log_prob.shape), mask.to(log_prob.dtype)):
        config = actor(clip_ratio_low=clip_low, clip_ratio_high=clip_high)
        if m.sum() > 0:
            losses.append(verl().compute_policy_loss_geo_mean(o[None], lp[None], a[None], m[None], "token-mean",
                                                              config)[0])
    return torch.stack(losses).mean()


def covariance(function, **renamed):
    """The losses that select tokens by their covariance. verl makes the selection at log_prob."""
    def run(log_prob, old, advantage, mask, ratio, surrogate, tokens, aggregation, clip_low=None, clip_high=None,
            **attributes):
        algorithms = verl()
        from verl.workers.config import PolicyLossConfig
        options = {renamed[name]: value for name, value in attributes.items()}
        config = actor(clip_ratio_low=clip_low, clip_ratio_high=clip_high, policy_loss=PolicyLossConfig(**options))
        advantage = advantage.expand(log_prob.shape)
        return getattr(algorithms, function)(old, log_prob, advantage, mask.to(log_prob.dtype),
                                             AGGREGATIONS[aggregation], config)[0]
    return run


WEIGHTS = {"truncate": "token", "full": "token", "mask": "token", "sequence_truncate": "sequence",
                "sequence_mask": "sequence"}


def rollout_weight(old, sampler, mask, weight, weight_floor=1e-30, weight_cap=1e30):
    verl()
    from verl.trainer.ppo.rollout_corr_helper import compute_rollout_correction_weights
    threshold = f"{weight_floor}_{weight_cap}" if weight.endswith("mask") else weight_cap
    return compute_rollout_correction_weights(old - sampler, mask.to(old.dtype), WEIGHTS[weight], threshold)[0]


def weighted_loss(log_prob, old, advantage, mask, ref, sampler, *, ratio, surrogate, clip_low, clip_high,
                       dual_clip, aggregation, kl_estimator, beta, **weight):
    """As loss_with_kl, with any weights of its rollout correction."""
    algorithms = verl()
    how, m = AGGREGATIONS[aggregation], mask.to(log_prob.dtype)
    config = actor(clip_ratio_low=clip_low, clip_ratio_high=clip_high, clip_ratio_c=dual_clip)
    policy, _ = algorithms.compute_policy_loss_vanilla(old, log_prob, advantage.expand(log_prob.shape), m, how, config,
                                                       rollout_weight(old, sampler, mask, **weight))
    penalty = algorithms.kl_penalty_forward(log_prob, ref, {"k1": "kl", "k2": "mse", "k3": "low_var_kl"}[kl_estimator])
    return policy + beta * algorithms.agg_loss(penalty, m, how)


def pass_at_k(rewards, baseline, eps, ddof):
    assert ddof == 1
    algorithms = verl()
    from verl.trainer.config import AlgoConfig
    advantages, _ = algorithms.compute_grpo_passk_outcome_advantage(**_scores(rewards), epsilon=eps,
                                                                    config=AlgoConfig())
    return advantages.reshape(rewards.shape)


def loss_with_kl(log_prob, old, advantage, mask, ref, sampler=None, *, estimator, beta, cap=None, aggregation,
                      low, high, c, ratio, surrogate):
    """As verl's actor adds them up: the policy loss, and the coefficient times the aggregated penalty. The weights of
    the rollout are those of its correction by token."""
    algorithms = verl()
    config = actor(clip_ratio_low=low, clip_ratio_high=high, clip_ratio_c=c)
    how, m = AGGREGATIONS[aggregation], mask.to(log_prob.dtype)
    weights = None if sampler is None else torch.exp(old - sampler).clamp(max=cap)
    policy, _ = algorithms.compute_policy_loss_vanilla(old, log_prob, advantage, m, how, config, weights)
    penalty = algorithms.kl_penalty_forward(log_prob, ref, {"k1": "kl", "k2": "mse", "k3": "low_var_kl"}[estimator])
    return policy + beta * algorithms.agg_loss(penalty, m, how)


def adaptive_kl(kls, schedule, beta, target, horizon, responses):
    controller = verl().AdaptiveKLController(beta, target, horizon)
    betas = []
    for kl in kls.tolist():
        controller.update(kl, responses)
        betas.append(float(controller.value))
    return torch.tensor(betas, dtype=torch.float64)


def kl(kind):
    return lambda log_prob, ref: verl().kl_penalty_forward(log_prob, ref, kind)


def value_loss(values, returns, old, mask, clip):
    return verl().compute_value_loss(values, returns, old, mask.to(values.dtype), clip)[0]
