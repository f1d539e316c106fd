#!/usr/bin/env python3
"""Writes trajectories of Gymnasium's classic control problems to tests/goldens/environments, one file each.

    pip install gymnasium safetensors numpy
    python3 tools/goldens/make_environment_goldens.py [--out tests/goldens/environments]

A file holds episodes one after the other, T steps in all. Each tensor's row t belongs to step t:
  state        F64 [T, S]  before the step, env.unwrapped.state
  action       F64 [T, A]
  next_state   F64 [T, S]  after it
  observation  F32 [T, O]  after it, as Gymnasium gives it
  reward       F64 [T]
  terminated, truncated  U8 [T]
  elapsed      I32 [T]     steps of the episode before this one
"""

import argparse
import pathlib

import gymnasium
import numpy as np
from safetensors.numpy import save_file


def random_discrete(rng, state, n):
    return int(rng.integers(n))


def balance(rng, state, n):
    """Keeps the pole up until the clock runs out."""
    return int(3 * state[2] + state[3] + 0.1 * state[0] + 0.3 * state[1] > 0)


def swing(rng, state, n):
    """Pushes the way the car is going: up the hill in about 120 steps."""
    return 2 if state[1] >= 0 else 0


def pump(rng, state, n):
    """Torque along the elbow's turning feeds the swing until the tip is up."""
    return 2 if state[3] > 0 else 0


def random_torque(rng, state, n):
    return np.array([rng.uniform(-2.5, 2.5)])  # some beyond the limits


# name: episodes of (policy, steps at most, first state or None for Gymnasium's own)
CASES = {
    "CartPole-v1": [(random_discrete, 40, None)] * 3 + [(balance, 500, None)] + [(random_discrete, 9, [2.3, 3.0, 0, 0])],
    "MountainCar-v0": [(random_discrete, 200, None), (swing, 200, None), (random_discrete, 30, [-1.15, -0.06])],
    "Pendulum-v1": [(random_torque, 200, None), (random_torque, 30, [20.0, 7.9]), (random_torque, 30, [-9.0, -7.5])],
    "Acrobot-v1": [(pump, 500, None), (random_discrete, 60, None), (pump, 40, [3.0, -3.0, 12.0, 28.0])],
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("tests/goldens/environments"))
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    for name, episodes in CASES.items():
        rows = {k: [] for k in "state action next_state observation reward terminated truncated elapsed".split()}
        rng = np.random.default_rng(7)
        env = gymnasium.make(name, disable_env_checker=True)
        for number, (policy, steps, first) in enumerate(episodes):
            env.reset(seed=number)
            if first is not None:
                env.unwrapped.state = np.array(first, dtype=np.float64)
            for elapsed in range(steps):
                before = np.array(env.unwrapped.state, dtype=np.float64)
                action = policy(rng, before, getattr(env.action_space, "n", None))
                observation, reward, terminated, truncated, _ = env.step(action)
                rows["state"].append(before)
                rows["action"].append(np.atleast_1d(np.float64(action)))
                rows["next_state"].append(np.array(env.unwrapped.state, dtype=np.float64))
                rows["observation"].append(observation)
                rows["reward"].append(float(reward))
                rows["terminated"].append(terminated)
                rows["truncated"].append(truncated)
                rows["elapsed"].append(elapsed)
                if terminated or truncated:
                    break
        types = {"observation": np.float32, "terminated": np.uint8, "truncated": np.uint8, "elapsed": np.int32}
        tensors = {k: np.ascontiguousarray(np.stack(v), dtype=types.get(k, np.float64)) for k, v in rows.items()}
        save_file(tensors, out / f"{name}.safetensors", {"gymnasium": gymnasium.__version__})
        ends = int(tensors["terminated"].sum()), int(tensors["truncated"].sum())
        print(f"{name}: {len(tensors['reward'])} steps, {ends[0]} terminated, {ends[1]} truncated")


if __name__ == "__main__":
    main()
