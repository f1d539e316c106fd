#!/usr/bin/env python3
"""PPO with rl/control/trainer.h's default recipe, in PyTorch and Gymnasium: what to compare its curves and times with.

    pip install torch gymnasium numpy
    python3 tools/compare/compare_ppo.py [--environment CartPole-v1] [--steps 500000] [--seed 1] [--threads 1]

As in CleanRL's ppo.py, an episode that the clock cuts is taken for one that ended. Discrete actions only.
"""

import argparse
import collections
import time

import gymnasium
import numpy as np
import torch
from torch import nn

ENVIRONMENTS, STEPS, EPOCHS, MINIBATCHES = 4, 128, 4, 4
GAMMA, LAMBDA, CLIP, ENTROPY, VALUE, MAX_NORM, LR = 0.99, 0.95, 0.2, 0.01, 0.5, 0.5, 2.5e-4


def perceptron(inputs, outputs, last_gain):
    sizes = [(inputs, 64, 2**0.5), (64, 64, 2**0.5), (64, outputs, last_gain)]
    layers = []
    for n, m, gain in sizes:
        linear = nn.Linear(n, m)
        nn.init.orthogonal_(linear.weight, gain)
        nn.init.zeros_(linear.bias)
        layers += [linear, nn.Tanh()]
    return nn.Sequential(*layers[:-1])


def act(policy, observation):
    """Sampled actions and their log-probabilities."""
    logits = policy(observation).log_softmax(1)
    actions = torch.multinomial(logits.exp(), 1)
    return actions[:, 0], logits.gather(1, actions)[:, 0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--environment", default="CartPole-v1")
    parser.add_argument("--steps", type=int, default=500000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    environments = [gymnasium.make(options.environment) for _ in range(ENVIRONMENTS)]
    inputs = environments[0].observation_space.shape[0]
    policy, critic = perceptron(inputs, int(environments[0].action_space.n), 0.01), perceptron(inputs, 1, 1.0)
    parameters = [*policy.parameters(), *critic.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=LR, eps=1e-5)
    last = collections.deque(maxlen=100)
    running = np.zeros(ENVIRONMENTS)
    seen = np.stack([e.reset(seed=1000 * options.seed + i)[0] for i, e in enumerate(environments)])
    batch = ENVIRONMENTS * STEPS
    iterations = options.steps // batch
    start, marks = time.perf_counter(), [iterations * k // 5 for k in range(1, 6)]

    for iteration in range(1, iterations + 1):
        optimizer.param_groups[0]["lr"] = LR * (1 - (iteration - 1) / iterations)
        observations = torch.zeros(STEPS, ENVIRONMENTS, inputs)
        actions = torch.zeros(STEPS, ENVIRONMENTS, dtype=torch.long)
        log_probs, values, rewards, ends = (torch.zeros(STEPS, ENVIRONMENTS) for _ in range(4))
        with torch.no_grad():
            for t in range(STEPS):
                observations[t] = torch.from_numpy(seen)
                actions[t], log_probs[t] = act(policy, observations[t])
                values[t] = critic(observations[t])[:, 0]
                for i, action in enumerate(actions[t].tolist()):
                    seen[i], reward, terminated, truncated, _ = environments[i].step(action)
                    running[i] += reward
                    rewards[t, i] = reward
                    if terminated or truncated:
                        ends[t, i] = 1
                        last.append(running[i])
                        running[i] = 0
                        seen[i], _ = environments[i].reset()
            advantages = torch.zeros(STEPS, ENVIRONMENTS)
            value, advantage = critic(torch.from_numpy(seen))[:, 0], 0
            for t in reversed(range(STEPS)):
                delta = rewards[t] + GAMMA * value * (1 - ends[t]) - values[t]
                advantage = delta + GAMMA * LAMBDA * (1 - ends[t]) * advantage
                advantages[t], value = advantage, values[t]
            returns = (advantages + values).flatten()
        observations, actions, old = observations.reshape(batch, inputs), actions.flatten(), log_probs.flatten()
        advantages, values = advantages.flatten(), values.flatten()
        for _ in range(EPOCHS):
            for part in torch.randperm(batch).split(batch // MINIBATCHES):
                log_p = policy(observations[part]).log_softmax(1)
                ratio = (log_p.gather(1, actions[part, None])[:, 0] - old[part]).exp()
                a = advantages[part]
                a = (a - a.mean()) / (a.std() + 1e-8)
                policy_loss = -torch.min(ratio * a, ratio.clamp(1 - CLIP, 1 + CLIP) * a).mean()
                v = critic(observations[part])[:, 0]
                near = values[part] + (v - values[part]).clamp(-CLIP, CLIP)
                value_loss = 0.5 * torch.max((v - returns[part]) ** 2, (near - returns[part]) ** 2).mean()
                entropy = -(log_p.exp() * log_p).sum(1).mean()
                optimizer.zero_grad()
                (policy_loss + VALUE * value_loss - ENTROPY * entropy).backward()
                nn.utils.clip_grad_norm_(parameters, MAX_NORM)
                optimizer.step()
        if iteration in marks:
            print(f"{iteration * batch}: {np.mean(last):.1f}  ({time.perf_counter() - start:.1f} s)", flush=True)


if __name__ == "__main__":
    main()
