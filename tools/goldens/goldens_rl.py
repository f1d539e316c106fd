r"""The rl.* golden cases: policy-gradient functions as published implementations compute them, in float64. The
functions of verl are in goldens_verl.py.

    pip install torch numpy trl==1.16.0
    pip install --no-deps verl==0.9.1 torchrl==0.14.1 tensordict==0.15.3 omegaconf==2.4.0 \
        antlr4-python3-runtime==4.9.3 pyvers==0.2.3 cloudpickle==3.1.2

Each case names what computed it (metadata "source"): one of these packages, called with the case's numbers; PyTorch,
where an operation of its own is meant; or "formula", written here from the paper where no package has the function in a
form that can be called. Packages are imported when the first case needs them.
"""

import functools
import inspect
import textwrap
from types import SimpleNamespace
from unittest.mock import MagicMock

import goldens_verl as verl
import torch
import torch.nn.functional as F


def source_version(source):
    if source in ("formula", "PyTorch"):
        return source
    from importlib.metadata import version
    return f"{source} {version(source.lower())}"


# ---- TRL: its losses are methods of trainers, called here on an object that has just what they read

class _Accelerator(SimpleNamespace):
    def gather(self, x):
        return x

    gather_for_metrics = gather

    def pad_across_processes(self, x, dim, pad_index):
        return x

    def reduce(self, x, reduction):
        return x


def _trainer(**attributes):
    return SimpleNamespace(
        accelerator=_Accelerator(device="cpu", num_processes=1, sync_gradients=True), aux_loss_enabled=False,
        model=SimpleNamespace(training=False), _metrics={"eval": MagicMock()}, **attributes)


def _grpo(log_prob, old, ref, advantage, mask, loss_type, level="token", beta=0.0, low=1e9, high=1e9, max_length=1,
          weighted_kl=True, delta=None, temperatures=(1.0, 1.05), entropy=None, entropy_share=1.0):
    from trl.trainer.grpo_trainer import GRPOTrainer
    if entropy is None:
        entropy = torch.zeros_like(log_prob)
    trainer = _trainer(
        top_entropy_quantile=entropy_share, off_policy_mask_threshold=None, importance_sampling_level=level, beta=beta,
        args=SimpleNamespace(use_bias_correction_kl=weighted_kl, delta=delta, sapo_temperature_pos=temperatures[0],
                             sapo_temperature_neg=temperatures[1]),
        epsilon_low=low, epsilon_high=high,
        loss_type=loss_type, use_vllm=False, max_completion_length=max_length, _entropy_bonus_enabled=False,
        _get_per_token_logps_and_entropies=lambda *a, **k: (log_prob, entropy, None))
    trainer.get_high_entropy_mask = functools.partial(GRPOTrainer.get_high_entropy_mask, trainer)
    ids = torch.zeros(log_prob.shape, dtype=torch.long)
    m = mask.to(log_prob.dtype)
    return GRPOTrainer._compute_loss(trainer, None, {
        "prompt_ids": ids[:, :0], "prompt_mask": m[:, :0], "completion_ids": ids, "completion_mask": m,
        "advantages": advantage, "old_per_token_logps": old, "ref_per_token_logps": ref})


TRL_AGGREGATIONS = {"token_mean": "bnpo", "sequence_mean": "grpo", "constant": "dr_grpo"}


def trl_policy_loss(log_prob, old, advantage, mask, ratio, surrogate, aggregation, low=1e9, high=1e9, max_length=1):
    assert surrogate in ("clip", "ratio") and ratio in ("token", "sequence")
    return _grpo(log_prob, old, None, advantage, mask, TRL_AGGREGATIONS[aggregation], ratio, low=low, high=high,
                 max_length=max_length)


def trl_sapo(log_prob, old, advantage, mask, ratio, surrogate, aggregation, tau_positive, tau_negative):
    assert aggregation == "sequence_mean"
    return _grpo(log_prob, old, None, advantage, mask, "sapo", ratio, temperatures=(tau_positive, tau_negative))


def trl_two_sided_clip(log_prob, old, advantage, mask, ratio, surrogate, aggregation, clip_low, clip_high, delta,
                       max_length=1):
    return _grpo(log_prob, old, None, advantage, mask, TRL_AGGREGATIONS[aggregation], ratio, low=clip_low,
                 high=clip_high, max_length=max_length, delta=delta)


def trl_high_entropy(log_prob, old, advantage, mask, entropy, ratio, surrogate, tokens, token_share, aggregation,
                     clip_low, clip_high):
    return _grpo(log_prob, old, None, advantage, mask, TRL_AGGREGATIONS[aggregation], ratio, low=clip_low,
                 high=clip_high, entropy=entropy, entropy_share=token_share)


def trl_high_entropy_tokens(log_prob, advantage, entropy, mask, tokens, token_share):
    from trl.trainer.grpo_trainer import GRPOTrainer
    return GRPOTrainer.get_high_entropy_mask(_trainer(), entropy, mask, 1 - token_share)


def trl_gdpo(*parts, baseline, eps, ddof, reward_weights=""):
    """A branch in the middle of a long method: its lines are run alone."""
    from trl.trainer import grpo_trainer
    assert eps == 1e-4 and ddof == 1  # the numbers in those lines
    source = inspect.getsource(grpo_trainer.GRPOTrainer._generate_and_score_completions)
    begin = source.index('elif self.multi_objective_aggregation == "normalize_then_sum":\n')
    branch = textwrap.dedent(source[source.index("\n", begin) + 1:source.index("        else:\n", begin)])
    weights = dict(term.split("=") for term in reward_weights.split(",")) if reward_weights else {}
    given = [float(weights.get(str(k), 0 if weights else 1)) for k in range(len(parts))]
    rewards = torch.stack([part.reshape(-1) for part in parts], 1)
    names = vars(grpo_trainer) | {
        "rewards_per_func": rewards, "num_generations": parts[0].shape[1], "device": "cpu",
        "unscorable_mask": torch.zeros(len(rewards), dtype=torch.bool),
        "self": SimpleNamespace(reward_funcs=parts, reward_weights=torch.tensor(given, dtype=torch.float64))}
    exec(branch, names)
    return names["advantages"].reshape(parts[0].shape)


def trl_loss_with_kl(log_prob, old, advantage, mask, ref, *, ratio, surrogate, estimator, beta, aggregation, low, high,
                     max_length=1):
    assert surrogate == "clip" and estimator in ("k3", "weighted_k3")
    return _grpo(log_prob, old, ref, advantage, mask, TRL_AGGREGATIONS[aggregation], ratio, beta, low, high, max_length,
                 weighted_kl=estimator == "weighted_k3")


def trl_overlong(lengths, max_length, cache):
    from trl.rewards import get_soft_overlong_punishment
    punish = get_soft_overlong_punishment(max_completion_len=max_length, soft_punish_cache=cache)
    return torch.tensor(punish(completion_ids=[[0] * n for n in lengths.tolist()]), dtype=torch.float64)


def trl_weighted_k3(log_prob, ref, old):
    """One element at a time: the trainer returns a mean."""
    one, none = torch.ones(1, 1), torch.zeros(1, 1, dtype=log_prob.dtype)
    each = [_grpo(lp.reshape(1, 1), o.reshape(1, 1), r.reshape(1, 1), none, one, "bnpo", beta=1.0)
            for lp, r, o in zip(log_prob.flatten(), ref.flatten(), old.flatten())]
    return torch.stack(each).reshape(log_prob.shape)


def trl_dpo(chosen, rejected, ref_chosen, ref_rejected, kind, beta, label_smoothing=0.0):
    """One pair at a time, each response a single token: IPO's mean over the response is then the sum, and the loss that
    sorts pairs before it smooths labels has nothing to sort."""
    from trl.trainer.dpo_trainer import DPOTrainer
    name = "aot_unpaired" if kind == "sigmoid" and label_smoothing else kind
    losses = []
    for c, r, rc, rr in zip(chosen, rejected, ref_chosen, ref_rejected):
        outputs = SimpleNamespace(log_probs=torch.stack([c, r]).reshape(2, 1), entropy=torch.zeros(2, 1),
                                  mean_logits=torch.zeros(2, 1), is_top1=torch.zeros(2, 1, dtype=torch.bool))
        trainer = _trainer(
            ld_alpha=None, precompute_ref_logps=True, f_divergence_type="reverse_kl", loss_types=[name],
            loss_weights=[1.0], beta=beta, label_smoothing=label_smoothing, use_weighting=False, _total_train_tokens=0)
        losses.append(DPOTrainer._compute_loss(trainer, lambda **_: outputs, {
            "input_ids": torch.zeros(2, 2, dtype=torch.long), "completion_mask": torch.tensor([[0, 1], [0, 1]]),
            "ref_chosen_logps": rc.reshape(1), "ref_rejected_logps": rr.reshape(1)}, False))
    return torch.stack(losses)


def trl_bradley_terry(chosen, rejected, margin=None, centring=0.0):
    from trl.trainer.reward_trainer import RewardTrainer
    trainer = _trainer(args=SimpleNamespace(center_rewards_coefficient=centring or None), _total_train_tokens=0)
    losses = []
    for i in range(len(chosen)):
        scores = SimpleNamespace(logits=torch.stack([chosen[i], rejected[i]]).reshape(2, 1))
        inputs = {} if margin is None else {"margin": margin[i].reshape(1)}
        losses.append(RewardTrainer.compute_loss(trainer, lambda **_: scores, inputs))
    return torch.stack(losses)


# ---- TorchRL

def torchrl_gae(rewards, values, next_values, mask, terminated, truncated, final_values, gamma, **attributes):
    """Rows with the ends of episodes in them. It wants the value of every next state, and knows no masks."""
    from torchrl.objectives.value.functional import generalized_advantage_estimate
    assert bool((mask == 1).all())
    following = torch.cat([values[:, 1:], next_values.unsqueeze(1)], 1)
    following = torch.where(truncated.bool(), final_values, following)
    done = (terminated | truncated).bool()
    arguments = [values, following, rewards, done, terminated.bool()]
    advantages, returns = generalized_advantage_estimate(gamma, attributes["lambda"],
                                                         *[x.unsqueeze(-1) for x in arguments])
    return advantages.squeeze(-1), returns.squeeze(-1)


# ---- PyTorch's own, and formulas of papers

def torch_full_kl(logits, ref_logits):
    return F.kl_div(F.log_softmax(ref_logits, -1), F.log_softmax(logits, -1), reduction="none", log_target=True).sum(-1)


def formula_maxrl(rewards):
    mean = rewards.mean(1, keepdim=True)
    return torch.where(mean == 0, 0.0, (rewards - mean) / mean)


def formula_batch_std(rewards, eps, ddof):
    return (rewards - rewards.mean(1, keepdim=True)) / (rewards.std(correction=ddof) + eps)


def formula_group_std(rewards, eps, ddof):
    return (rewards - rewards.mean(1, keepdim=True)) / (rewards.std(1, correction=ddof, keepdim=True) + eps)


def formula_whiten(x, mask, ddof, shift_mean, eps):
    kept = x[mask.bool()]
    y = (x - kept.mean()) / torch.sqrt(kept.var(correction=ddof) + eps)
    return (y if shift_mean else y + kept.mean()) * mask


def formula_truncated_weight(old, sampler, mask, cap):
    return torch.where(mask.bool(), torch.exp(old - sampler).clamp(max=cap), 1.0)


def formula_gmpo(log_prob, old, advantage, mask, ratio, surrogate, aggregation, clip_low, clip_high):
    """verl adds 1e-8 to the number of tokens; apart from that it must agree."""
    m = mask.to(log_prob.dtype)
    log_ratio, sign = (log_prob - old) * m, torch.sign(advantage)
    kept = sign * torch.minimum(sign * log_ratio, sign * log_ratio.clamp(-clip_low, clip_high))
    length = m.sum(1)
    filled = length > 0
    mean = [(x * m).sum(1)[filled] / length[filled] for x in (kept, advantage.expand(m.shape))]
    loss = -(mean[1] * torch.exp(mean[0])).mean()
    published = verl.gmpo(log_prob, old, advantage, mask, ratio, surrogate, aggregation, clip_low, clip_high)
    assert torch.isclose(loss, published, rtol=1e-7), (loss, published)
    return loss


def _covariance(log_prob, advantage, mask):
    """Of the unmasked tokens, in order, and their flat indices."""
    indices = torch.nonzero(mask.flatten()).flatten()
    lp, a = log_prob.flatten()[indices], advantage.expand(log_prob.shape).flatten()[indices]
    return (lp - lp.mean()) * (a - a.mean()), indices


def _flags(shape, indices):
    flags = torch.zeros(shape, dtype=torch.uint8)
    flags.view(-1)[indices] = 1
    return flags


def formula_kl_cov_tokens(log_prob, advantage, entropy, mask, tokens, token_share):
    covariance, indices = _covariance(log_prob, advantage, mask)
    count = max(1, int(token_share * len(indices)))
    return _flags(log_prob.shape, indices[torch.topk(covariance, count).indices])


def formula_clip_cov_tokens(log_prob, advantage, entropy, mask, tokens, token_share, covariance_low, covariance_high):
    assert token_share == 1  # no random choice
    covariance, indices = _covariance(log_prob, advantage, mask)
    return _flags(log_prob.shape, indices[(covariance > covariance_low) & (covariance < covariance_high)])


def formula_warmup(kls, schedule, beta, warmup_tokens, tokens):
    return torch.tensor([beta * min(1.0, (i + 1) * tokens / warmup_tokens) for i in range(len(kls))],
                        dtype=torch.float64)


def formula_stepped(kls, schedule, beta, target):
    """By the mean of the last ten: far above the target up by half, above it by a tenth, and likewise down."""
    betas = []
    for i in range(len(kls)):
        ratio = float(kls[i - 9:i + 1].mean()) / target if i >= 9 else 1.0
        for bound, factor in ((2, 1.5), (1.5, 1.1)):
            if ratio > bound:
                beta *= factor
                break
        for bound, factor in ((0.5, 0.7), (0.75, 0.9)):
            if ratio < bound:
                beta *= factor
                break
        beta = min(max(beta, 1e-5), 1.0)
        betas.append(beta)
    return torch.tensor(betas, dtype=torch.float64)
