#!/usr/bin/env python3
"""Writes what PPO makes of one rollout to tests/goldens/ppo: discrete.safetensors and continuous.safetensors.

    pip install torch numpy safetensors
    python3 tools/goldens/make_ppo_goldens.py [--out tests/goldens/ppo]

A random actor and critic, a random rollout of B environments and T steps whose old log-probabilities and values are a
little off, so that every clip range bites, and three full-batch updates with PyTorch's Adam in float64. The losses are
written as in CleanRL's ppo.py and ppo_continuous_action.py. All inputs are exact in float32.
  before.NAME, after.NAME   the weights                     observations [B, T, D], actions [B, T, k]
  log_prob, values, rewards, advantages, returns [B, T]     advantages and returns by GAE, with
  terminated, truncated U8 [B, T], next_values [B], final_values [B, T]
  report: policy loss, value loss, entropy, k1, k3, clip fraction, gradient norm, means over the updates
"""

import argparse
import pathlib

import numpy as np
import torch
from safetensors.numpy import save_file

B, T, D, HIDDEN, K, CHOICES = 3, 8, 4, 6, 2, 3
EPOCHS, LR, CLIP, VALUE_CLIP, ENTROPY, VALUE, MAX_NORM, GAMMA, LAMBDA = 3, 1e-2, 0.1, 0.1, 0.02, 0.5, 0.5, 0.97, 0.9


def generalized_advantages(r):
    advantages = torch.zeros(B, T)
    following = torch.zeros(B)
    for t in reversed(range(T)):
        value = r["next_values"] if t == T - 1 else r["values"][:, t + 1]
        value = torch.where(r["truncated"][:, t] > 0, r["final_values"][:, t], value)
        value = torch.where(r["terminated"][:, t] > 0, torch.zeros(B), value)
        goes_on = (r["terminated"][:, t] + r["truncated"][:, t] == 0).double()
        following = r["rewards"][:, t] + GAMMA * value - r["values"][:, t] + GAMMA * LAMBDA * goes_on * following
        advantages[:, t] = following
    return advantages


def make(discrete, rng):
    def normal(*shape, std=1.0):
        return torch.from_numpy(rng.normal(0, std, shape).astype(np.float32)).double()

    outputs = CHOICES if discrete else K
    weights = {}
    for name, (out, inner) in {
        "actor.0": (HIDDEN, D), "actor.1": (HIDDEN, HIDDEN), "critic.0": (HIDDEN, D), "critic.1": (HIDDEN, HIDDEN),
        "policy_head": (outputs, HIDDEN), "value_head": (1, HIDDEN),
    }.items():
        weights[name + ".weight"] = normal(out, inner, std=0.7)
        weights[name + ".bias"] = normal(out, std=0.3)
    if not discrete:
        weights["log_std"] = normal(K, std=0.4)
    parameters = {name: torch.nn.Parameter(w.clone()) for name, w in weights.items()}

    def perceptron(x, trunk, head):
        for i in range(2):
            x = torch.tanh(x @ parameters[f"{trunk}.{i}.weight"].T + parameters[f"{trunk}.{i}.bias"])
        return x @ parameters[head + ".weight"].T + parameters[head + ".bias"]

    def evaluate(observations, actions):
        policy, value = perceptron(observations, "actor", "policy_head"), perceptron(observations, "critic", "value_head")
        if discrete:
            distribution = torch.distributions.Categorical(logits=policy)
            return distribution.log_prob(actions[:, 0]), distribution.entropy(), value[:, 0]
        distribution = torch.distributions.Normal(policy, parameters["log_std"].exp().expand_as(policy))
        return distribution.log_prob(actions).sum(1), distribution.entropy().sum(1), value[:, 0]

    r = {"observations": normal(B, T, D)}
    if discrete:
        r["actions"] = torch.from_numpy(rng.integers(0, CHOICES, (B, T, 1))).double()
    else:
        r["actions"] = normal(B, T, K)
    flat = {"observations": r["observations"].reshape(-1, D), "actions": r["actions"].reshape(B * T, -1)}
    with torch.no_grad():
        log_prob, _, value = evaluate(flat["observations"], flat["actions"])
    r["log_prob"] = (log_prob.reshape(B, T) + normal(B, T, std=0.1)).float().double()
    r["values"] = (value.reshape(B, T) + normal(B, T, std=0.1)).float().double()
    r["rewards"] = normal(B, T)
    r["terminated"] = torch.from_numpy((rng.random((B, T)) < 0.15).astype(np.float64))
    r["truncated"] = torch.from_numpy((rng.random((B, T)) < 0.15).astype(np.float64))
    r["next_values"] = normal(B)
    r["final_values"] = normal(B, T)
    r["advantages"] = generalized_advantages(r).float().double()
    r["returns"] = (r["advantages"] + r["values"]).float().double()
    old, old_value = r["log_prob"].reshape(-1), r["values"].reshape(-1)
    advantages, returns = r["advantages"].reshape(-1), r["returns"].reshape(-1)

    optimizer = torch.optim.Adam(list(parameters.values()), lr=LR, eps=1e-5)
    report = torch.zeros(7)
    for _ in range(EPOCHS):
        log_prob, entropy, value = evaluate(flat["observations"], flat["actions"])
        log_ratio = log_prob - old
        ratio = log_ratio.exp()
        a = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        policy_loss = torch.max(-a * ratio, -a * torch.clamp(ratio, 1 - CLIP, 1 + CLIP)).mean()
        near = old_value + torch.clamp(value - old_value, -VALUE_CLIP, VALUE_CLIP)
        value_loss = 0.5 * torch.max((value - returns) ** 2, (near - returns) ** 2).mean()
        loss = policy_loss - ENTROPY * entropy.mean() + VALUE * value_loss
        optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(list(parameters.values()), MAX_NORM)
        optimizer.step()
        clipped = ((ratio - 1).abs() > CLIP).double().mean()
        report += torch.stack([policy_loss, value_loss, entropy.mean(), -log_ratio.mean(),
                               ((ratio - 1) - log_ratio).mean(), clipped, norm]).detach() / EPOCHS
    tensors = {name: x.numpy().astype(np.uint8 if name in ("terminated", "truncated") else np.float32)
               for name, x in r.items()}
    tensors |= {"before." + name: w.numpy().astype(np.float32) for name, w in weights.items()}
    tensors |= {"after." + name: p.detach().numpy() for name, p in parameters.items()}
    tensors["report"] = report.numpy()
    return {name: np.ascontiguousarray(x) for name, x in tensors.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("tests/goldens/ppo"))
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    torch.set_default_dtype(torch.float64)
    for name in ("discrete", "continuous"):
        tensors = make(name == "discrete", np.random.default_rng(11))
        save_file(tensors, out / f"{name}.safetensors", {"torch": torch.__version__})
        print(name, tensors["report"])


if __name__ == "__main__":
    main()
