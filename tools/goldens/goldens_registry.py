"""The type of a golden case and the list that the goldens_cases*.py fill."""

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
    compute: Callable | None = None  # instead of the op's entry in goldens_ops.OPS
    source: str = ""  # what computes it, when that is not PyTorch's op of the same meaning
    constant: tuple = ()  # numbers of float inputs that are not differentiated

    @property
    def name(self):
        return f"{self.op}.{self.dtype}.{self.variant}"


CASES = []
BOTH = ("f64", "f32")


def case(op, variant, inputs, dtypes=("f64",), zero=(), compute=None, source="", constant=(), **attributes):
    CASES.extend(Case(op, variant, dtype, inputs, attributes, zero, compute, source, constant)
                 for dtype in dtypes)


def ids(x):
    return torch.tensor(x, dtype=torch.int32)


def mask(x):
    return torch.tensor(x, dtype=torch.uint8)


def nonzero(r, *shape):
    """Normal values pushed away from 0, both signs."""
    x = r.normal(*shape)
    return r.values(x + torch.where(x < 0, -0.5, 0.5))
