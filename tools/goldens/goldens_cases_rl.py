"""Golden cases of rl/: policy gradients as verl (goldens_verl.py), TRL, TorchRL and PyTorch (goldens_rl.py) compute
them."""

import goldens_rl as rl
import goldens_verl as verl
import torch
from goldens_registry import BOTH, case, mask


def padded(r, lengths, width):
    """Masks of responses of these lengths."""
    return mask([[1] * n + [0] * (width - n) for n in lengths])


def tokens(r, lengths=(5, 2, 1, 4), per_token=False, spread=0.4):
    """log_prob, old_log_prob, advantage, mask. The ratios lie on both sides of every clip."""
    b, t = len(lengths), max(lengths)
    old = r.normal(b, t, mean=-2)
    log_prob = r.values(old + r.normal(b, t, std=spread))
    return [log_prob, old, r.normal(b, t if per_token else 1), padded(r, lengths, t)]


CONSTANT = (1, 2)  # old_log_prob and advantage
EMPTY = (3, 0, 5, 1)  # with a response that is masked whole


# --- ratios and surrogates ----------------------------------------------------------------------------------------
def policy(variant, inputs, compute, source, dtypes=("f64",), **attributes):
    case("rl.policy_loss", variant, inputs, dtypes, compute=compute, source=source, constant=CONSTANT, **attributes)


for how in ("token_mean", "sequence_mean", "constant"):
    extra = {"max_length": 9} if how == "constant" else {}
    policy(f"clip_{how}", tokens, rl.trl_policy_loss, "TRL", BOTH, ratio="token", surrogate="clip", low=0.2, high=0.28,
           aggregation=how, **extra)
    policy(f"gspo_{how}", tokens, rl.trl_policy_loss, "TRL", ratio="sequence", surrogate="clip", low=0.1, high=0.15,
           aggregation=how, **extra)
    policy(f"ratio_{how}", tokens, rl.trl_policy_loss, "TRL", ratio="token", surrogate="ratio", aggregation=how,
           **extra)
policy("gspo_ratio", tokens, rl.trl_policy_loss, "TRL", ratio="sequence", surrogate="ratio",
       aggregation="sequence_mean")
for how in ("token_mean", "sequence_sum"):
    policy(f"dual_clip_{how}", lambda r: tokens(r, EMPTY, per_token=True, spread=1.5),
           verl.policy_loss("compute_policy_loss_vanilla"), "verl", BOTH, ratio="token", surrogate="dual_clip",
           low=0.2, high=0.2, c=3, aggregation=how)
    policy(f"gspo_token_{how}", lambda r: tokens(r, per_token=True), verl.policy_loss("compute_policy_loss_gspo"),
           "verl", BOTH, ratio="sequence_token", surrogate="clip", low=0.1, high=0.15, aggregation=how)
    policy(f"cispo_{how}", lambda r: tokens(r, EMPTY), verl.policy_loss("compute_policy_loss_cispo"), "verl", BOTH,
           ratio="token", surrogate="cispo", low=0.2, high=0.3, aggregation=how)
    policy(f"log_prob_{how}", lambda r: tokens(r, EMPTY, per_token=True),
           verl.policy_loss("compute_policy_loss_gpg"), "verl", ratio="token", surrogate="log_prob", aggregation=how)
for how in ("token_mean", "sequence_sum", "constant"):
    case("rl.aggregate", how, lambda r: [r.normal(4, 5), padded(r, (5, 0, 2, 3), 5)], BOTH, compute=verl.aggregate,
         source="verl", aggregation=how, **({"max_length": 7} if how == "constant" else {}))

# --- single methods ------------------------------------------------------------------------------------------------
def method(name, variant, inputs, compute, source, **attributes):
    attributes = {"ratio": "token", "surrogate": name, "aggregation": "token_mean"} | attributes
    case("rl.policy_loss", variant, inputs, BOTH, compute=compute, source=source, constant=(1, 2, 4), **attributes)


def with_entropy(r, lengths=(5, 2, 1, 4)):
    """TRL compares in float32, so the entropies are of that type."""
    inputs = tokens(r, lengths, spread=0.8)
    return inputs + [r.uniform(0, 3, *inputs[0].shape).float().double()]


def near(r, lengths=(5, 2, 1, 4)):
    """No ratio is clipped: verl draws the tokens of clip_cov among those that are not."""
    return tokens(r, lengths, per_token=True, spread=0.05)


for tau in ((1, 1.125), (0.5, 3)):  # TRL rounds both to float32
    for name, per_token in (("sequence", False), ("token", True)):
        method("sapo", f"sapo_{name}_{tau[1]:g}", lambda r, p=per_token: tokens(r, per_token=p, spread=1.5),
               rl.trl_sapo, "TRL", aggregation="sequence_mean", tau_positive=tau[0], tau_negative=tau[1])
for how in ("token_mean", "sequence_mean", "constant"):
    extra = {"max_length": 9} if how == "constant" else {}
    method("two_sided_clip", f"two_sided_clip_{how}", lambda r: tokens(r, per_token=True, spread=1.5),
           rl.trl_two_sided_clip, "TRL", aggregation=how, clip_low=0.2, clip_high=0.28, delta=3, **extra)
method("gmpo", "gmpo", lambda r: tokens(r, spread=0.7), rl.formula_gmpo, "formula", aggregation="sequence_mean",
       clip_low=0.4, clip_high=0.4)
method("gmpo", "gmpo_empty", lambda r: tokens(r, EMPTY, spread=0.7), rl.formula_gmpo, "formula",
       aggregation="sequence_mean", clip_low=0.3, clip_high=0.5)
for share in (0.2, 0.5):
    method("high_entropy", f"high_entropy_{share:g}", with_entropy, rl.trl_high_entropy, "TRL", surrogate="clip",
           clip_low=0.2, clip_high=0.28, tokens="high_entropy", token_share=share)
for how in ("token_mean", "sequence_sum"):
    method("clip_cov", f"clip_cov_{how}", near,
           verl.covariance("compute_policy_loss_clip_cov", token_share="clip_cov_ratio",
                              covariance_low="clip_cov_lb", covariance_high="clip_cov_ub"),
           "verl", surrogate="clip", aggregation=how, clip_low=0.2, clip_high=0.28, tokens="clip_cov", token_share=1,
           covariance_low=0.1, covariance_high=1)
    method("kl_cov", f"kl_cov_{how}", lambda r: tokens(r, EMPTY, per_token=True, spread=0.8),
           verl.covariance("compute_policy_loss_kl_cov", token_share="kl_cov_ratio", covariance_coef="ppo_kl_coef"),
           "verl", surrogate="ratio", aggregation=how, tokens="kl_cov", token_share=0.35, covariance_coef=0.7)


def selection(variant, inputs, compute, source, **attributes):
    def run(r):
        log_prob, _, advantage, mask, entropy = inputs(r)
        return [log_prob, advantage, entropy, mask]
    case("rl.tokens", variant, run, BOTH, compute=compute, source=source, constant=(0, 1, 2), **attributes)


for share in (0.2, 0.5, 1):
    selection(f"high_entropy_{share:g}", with_entropy, rl.trl_high_entropy_tokens, "TRL", tokens="high_entropy",
              token_share=share)
for share in (0.01, 0.35, 1):
    selection(f"kl_cov_{share:g}", lambda r: with_entropy(r, EMPTY), rl.formula_kl_cov_tokens, "formula",
              tokens="kl_cov", token_share=share)
selection("clip_cov", lambda r: with_entropy(r, EMPTY), rl.formula_clip_cov_tokens, "formula", tokens="clip_cov",
          token_share=1, covariance_low=0.1, covariance_high=1)

WEIGHTS = {"truncate": {"weight_cap": 2}, "full": {}, "mask": {"weight_floor": 0.5, "weight_cap": 2},
           "sequence_truncate": {"weight_cap": 2}, "sequence_mask": {"weight_cap": 2}}
for weight, bounds in WEIGHTS.items():
    case("rl.weight", weight, lambda r: [r.normal(5, 5), r.normal(5, 5), padded(r, (5, 0, 2, 3, 1), 5)], BOTH,
         compute=verl.rollout_weight, source="verl", constant=(0, 1), weight=weight, **bounds)

# --- the KL to a reference ----------------------------------------------------------------------------------------
for kind in ("k1", "k2", "k3"):
    case(f"rl.{kind}", "odd", lambda r: [r.normal(3, 5, mean=-2), r.normal(3, 5, mean=-2)], BOTH,
         compute=verl.kl(kind), source="verl")
case("rl.weighted_k3", "off_policy", lambda r: [r.normal(3, 5, mean=-2) for _ in range(3)], BOTH,
     compute=rl.trl_weighted_k3, source="TRL", constant=(1, 2))
case("rl.full_kl", "odd", lambda r: [r.normal(3, 7, std=2), r.normal(3, 7, std=2)], BOTH, compute=rl.torch_full_kl,
     source="PyTorch")

# --- losses with a KL, weights of the rollout, controllers, lengths ---------------------------------------------------
def with_kl(variant, compute, source, inputs=tokens, constant=(1, 2, 4, 5), sampler=False, **attributes):
    def run(r):
        first = inputs(r)
        near = [first[0], first[1]][:2 if sampler else 1]  # verl holds k3 between -10 and 10
        return first + [r.values(x + r.normal(*x.shape, std=0.7)) for x in near]
    case("rl.loss", variant, run, BOTH, compute=compute, source=source, constant=constant[:4 if sampler else 3],
         surrogate=attributes.pop("surrogate", "clip"), **attributes)


with_kl("grpo_k3", rl.trl_loss_with_kl, "TRL", ratio="token", low=0.2, high=0.28, aggregation="sequence_mean",
        estimator="k3", beta=0.04)
with_kl("grpo_weighted_k3", rl.trl_loss_with_kl, "TRL", ratio="token", low=0.2, high=0.2, aggregation="token_mean",
        estimator="weighted_k3", beta=0.1)
with_kl("gspo_k3", rl.trl_loss_with_kl, "TRL", ratio="sequence", low=0.1, high=0.15, aggregation="constant",
        estimator="k3", beta=0.05, max_length=9)
for kind in ("k1", "k2"):
    with_kl(f"dual_clip_{kind}", verl.loss_with_kl, "verl", lambda r: tokens(r, EMPTY, per_token=True),
            ratio="token", surrogate="dual_clip", low=0.2, high=0.2, c=3, aggregation="token_mean", estimator=kind,
            beta=0.3)
with_kl("truncated_k3", verl.loss_with_kl, "verl", lambda r: tokens(r, per_token=True), sampler=True, ratio="token",
        surrogate="dual_clip", low=0.2, high=0.2, c=3, aggregation="sequence_sum", estimator="k3", beta=0.1, cap=2)

for weight, bounds in WEIGHTS.items():
    def weighted(r):
        inputs = tokens(r, EMPTY, per_token=True)
        return inputs + [r.values(x + r.normal(*x.shape, std=0.7)) for x in inputs[:2]]
    case("rl.loss", f"weight_{weight}", weighted, BOTH, compute=verl.weighted_loss, source="verl",
         constant=(1, 2, 4, 5), ratio="token", surrogate="dual_clip", clip_low=0.2,
         clip_high=0.28, dual_clip=3, aggregation="token_mean", kl_estimator="k3", beta=0.1, weight=weight, **bounds)

constants = {"constant": (0, 1)}
case("rl.truncated_weight", "masked", lambda r: [r.normal(4, 5), r.normal(4, 5), padded(r, (5, 0, 2, 3), 5)], BOTH,
     compute=rl.formula_truncated_weight, source="formula", cap=2, **constants)
case("rl.truncated_weight", "cap3", lambda r: [r.normal(3, 4, std=2), r.normal(3, 4, std=2), padded(r, (4, 4, 1), 4)],
     compute=rl.formula_truncated_weight, source="formula", cap=3, **constants)
case("rl.overlong_penalty", "around", lambda r: [torch.arange(1, 24, dtype=torch.int32)], compute=rl.trl_overlong,
     source="TRL", max_length=20, cache=8)
case("rl.kl_control", "adaptive", lambda r: [r.uniform(0, 15, 12)], compute=verl.adaptive_kl, source="verl",
     schedule="adaptive", beta=0.15, target=6, horizon=1000, responses=64, **constants)
case("rl.kl_control", "warmup", lambda r: [r.uniform(0, 15, 7)], compute=rl.formula_warmup, source="formula",
     schedule="warmup", beta=0.2, warmup_tokens=1000, tokens=230, **constants)
case("rl.kl_control", "stepped", lambda r: [r.values(r.uniform(0, 1, 60) * torch.linspace(26, 0, 60).double())],
     compute=rl.formula_stepped, source="formula", schedule="stepped", beta=0.1, target=6, **constants)

# --- advantages: constants, so there are no gradients -------------------------------------------------------------
def advantages(op, variant, inputs, compute, source, dtypes=("f64",), **attributes):
    case(f"rl.{op}", variant, inputs, dtypes, compute=compute, source=source, constant=tuple(range(7)), **attributes)


def rewards(r):
    return [r.uniform(0, 1, 3, 5)]


def observed(r):
    """Responses with observations in between: 1, 0, 1 and padding."""
    return mask([[1, 1, 0, 0, 1, 1, 0], [1, 0, 1, 1, 0, 0, 0], [1, 1, 1, 1, 1, 1, 1]])


advantages("group_mean", "odd", rewards, verl.group("compute_grpo_outcome_advantage", norm_adv_by_std_in_grpo=False),
           "verl", BOTH)
advantages("group_std", "ddof1", rewards, rl.formula_group_std, "formula", BOTH, eps=1e-6, ddof=1)
advantages("group_std", "ddof0", rewards, rl.formula_group_std, "formula", eps=1e-4, ddof=0)
advantages("group_std", "verl", rewards,
           lambda x, eps, ddof: verl.group("compute_grpo_outcome_advantage")(x, eps=eps), "verl", BOTH, eps=1e-6,
           ddof=1)
advantages("rloo", "odd", rewards, verl.group("compute_rloo_outcome_advantage"), "verl", BOTH)
advantages("rloo", "vectorised", rewards, verl.group("compute_rloo_vectorized_outcome_advantage"), "verl")
advantages("batch_std", "odd", rewards, rl.formula_batch_std, "formula", eps=1e-6, ddof=1)
advantages("maxrl", "odd", rewards, rl.formula_maxrl, "formula", BOTH)
advantages("opo", "odd", lambda r: [*rewards(r), r.values(r.ids(9, 3, 5) + 1)], verl.opo, "verl", BOTH)
advantages("remax", "odd", lambda r: [*rewards(r), r.uniform(0, 1, 3, 1)], verl.remax, "verl")
# verl counts responses with a reward other than 0 as valid: the same as ours when only the equal group is all zeros.
advantages("gpg", "one_group_failed",
           lambda r: [r.values(r.uniform(0.1, 1, 3, 5) * torch.tensor([[1.0], [0.0], [1.0]]))],
           verl.group("compute_gpg_outcome_advantage"), "verl", BOTH)
advantages("advantage", "group_std", rewards,
           lambda x, baseline, eps: verl.group("compute_grpo_outcome_advantage")(x, eps=eps), "verl", BOTH,
           baseline="group_std", eps=1e-6)
advantages("advantage", "pass_at_k", rewards, verl.pass_at_k, "verl", BOTH, baseline="pass_at_k", eps=1e-6, ddof=1)
advantages("advantage", "pass_at_k_solved",  # none, one, some and all of the responses are right
           lambda r: [r.values([[0, 0, 0, 0], [0, 0, 1, 0], [1, 0, 1, 0], [1, 1, 1, 1]])], verl.pass_at_k, "verl",
           BOTH, baseline="pass_at_k", eps=1e-6, ddof=1)
# TRL computes n / (n - 1) in float32: it is exact for groups of 3 and 5, and for batches of 9 and 65.
advantages("advantage", "gdpo", lambda r: [r.uniform(0, 1, 13, 5), r.normal(13, 5, std=20), r.values(r.bits(13, 5))],
           rl.trl_gdpo, "TRL", BOTH, baseline="gdpo", eps=1e-4, ddof=1)
advantages("advantage", "gdpo_weights", lambda r: [r.uniform(0, 1, 3, 3), r.normal(3, 3), r.normal(3, 3)], rl.trl_gdpo,
           "TRL", BOTH, baseline="gdpo", eps=1e-4, ddof=1, reward_weights="0=1,2=-0.5")
advantages("return_to_go", "observed", lambda r: [r.normal(3, 7), observed(r)], verl.return_to_go, "verl", BOTH,
           gamma=0.9)
advantages("whiten", "ddof0", lambda r: [r.normal(3, 7, mean=2), observed(r)], rl.formula_whiten, "formula", BOTH,
           ddof=0, shift_mean=True, eps=1e-8)
advantages("whiten", "keeps_mean", lambda r: [r.normal(3, 7, mean=2), observed(r)], rl.formula_whiten, "formula",
           ddof=1, shift_mean=False, eps=1e-8)
advantages("gae", "observed",
           lambda r: [r.normal(3, 7), r.normal(3, 7), torch.zeros(3, dtype=torch.float64), observed(r)],
           verl.gae, "verl", BOTH, gamma=0.97, **{"lambda": 0.9})
advantages("gae", "ends", lambda r: [r.normal(3, 7), r.normal(3, 7), r.normal(3), torch.ones(3, 7, dtype=torch.uint8),
                                     r.bits(3, 7) & r.bits(3, 7), r.bits(3, 7) & r.bits(3, 7), r.normal(3, 7)],
           rl.torchrl_gae, "TorchRL", BOTH, gamma=0.96875, **{"lambda": 0.9375})  # TorchRL rounds both to f32

# --- critics and preferences --------------------------------------------------------------------------------------
case("rl.value_loss", "clip",
     lambda r: [r.normal(4, 5), r.normal(4, 5), r.normal(4, 5), padded(r, (5, 0, 2, 3), 5)], BOTH,
     compute=verl.value_loss, source="verl", constant=(1, 2), clip=0.5)
case("rl.bradley_terry", "plain", lambda r: [r.normal(7, std=3), r.normal(7, std=3)], BOTH,
     compute=rl.trl_bradley_terry, source="TRL")
case("rl.bradley_terry", "margin", lambda r: [r.normal(7), r.normal(7), r.uniform(0, 3, 7)],
     compute=rl.trl_bradley_terry, source="TRL", constant=(2,), centring=0.01)
for kind, smoothing in (("sigmoid", 0.0), ("sigmoid", 0.1), ("robust", 0.1), ("hinge", 0.0), ("ipo", 0.0)):
    case("rl.dpo", f"{kind}_smooth" if kind == "sigmoid" and smoothing else kind,
         lambda r: [r.normal(7, mean=-20, std=5) for _ in range(4)], BOTH if kind == "sigmoid" else ("f64",),
         compute=rl.trl_dpo, source="TRL", constant=(2, 3), kind=kind, beta=0.2, label_smoothing=smoothing)
