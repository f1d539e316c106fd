"""The type of a golden case and the list that goldens_cases.py and goldens_cases_nn.py fill."""

import math
from dataclasses import dataclass, field
from typing import Callable

import torch

INF = math.inf


@dataclass
class Case:
    op: str
    variant: str
    dtype: str
    inputs: Callable  # Random -> list of tensors
    attributes: dict = field(default_factory=dict)
    zero: tuple = ()  # tensors that are zero by mathematics

    @property
    def name(self):
        return f"{self.op}.{self.dtype}.{self.variant}"


CASES = []
BOTH = ("f64", "f32")


def case(op, variant, inputs, dtypes=("f64",), zero=(), **attributes):
    CASES.extend(Case(op, variant, dtype, inputs, attributes, zero) for dtype in dtypes)


def ids(x):
    return torch.tensor(x, dtype=torch.int32)


def mask(x):
    return torch.tensor(x, dtype=torch.uint8)


def nonzero(r, *shape):
    """Normal values pushed away from 0, both signs."""
    x = r.normal(*shape)
    return r.values(x + torch.where(x < 0, -0.5, 0.5))
