"""Choices, marked where they stand in a PyTorch model.

    from lanista import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            feature = nn.ValueChoice([64, 128, 256], label="feature")
            self.conv = nn.LayerChoice({"conv": nn.Conv2d(1, 32, 3), "wide": nn.Conv2d(1, 32, 5, padding=1)})
            self.fc1 = nn.Linear(32 * 26 * 26, feature)
            self.fc2 = nn.Linear(feature, 10)
        ...

    torch.jit.script(Net()).save("net.pt")

The model itself is that of the first candidates: it runs, trains and scripts as any other. The choices travel in the saved
file: `lanista import net.pt` and `space { torchscript { path: "net.pt" } }` find them.

Every class of torch.nn is here under its own name; where an argument is a ValueChoice, or arithmetic on some, the attribute
becomes a choice.
"""

import copy
import inspect
import itertools
import json
import math

import torch
from torch import Tensor
from typing import List

_next_label = {}


def _automatic_label(kind):
    _next_label[kind] = _next_label.get(kind, 0) + 1
    return f"{kind}_{_next_label[kind]}"


def _literal(value):
    """A number, string, bool, None or sequence of these as the JSON of lanista.v1.Value."""
    if isinstance(value, bool):
        return {"b": value}
    if isinstance(value, int):
        return {"i": str(value)}
    if isinstance(value, float):
        return {"f": value}
    if isinstance(value, str):
        return {"s": value}
    if value is None:
        return {}
    if isinstance(value, (list, tuple)):
        return {"list": {"values": [_literal(element) for element in value]}}
    raise TypeError(f"{value!r} cannot be a candidate: use numbers, strings, bools, None, or lists of these")


class Expression:
    """Arithmetic on choices: stays linked to their labels."""

    def __init__(self, evaluate, document, choices):
        self.evaluate = evaluate  # Its value, from a dict of what each choice came to.
        self.document = document  # The JSON of lanista.v1.Expression.
        self.choices = choices  # label -> candidates.

    @property
    def first(self):
        """Its value where every choice takes its first candidate."""
        return self.evaluate({label: candidates[0] for label, candidates in self.choices.items()})

    @staticmethod
    def _operation(kind, function, *operands):
        expressions = [_expression(operand) for operand in operands]
        document = {"operation": {"kind": kind, "operands": [expression.document for expression in expressions]}}
        return Expression(
            lambda chosen: function(*(expression.evaluate(chosen) for expression in expressions)),
            document,
            _choices_of(expressions),
        )

    def __add__(self, other):
        return self._operation("ADD", lambda a, b: a + b, self, other)

    def __radd__(self, other):
        return self._operation("ADD", lambda a, b: a + b, other, self)

    def __sub__(self, other):
        return self._operation("SUBTRACT", lambda a, b: a - b, self, other)

    def __rsub__(self, other):
        return self._operation("SUBTRACT", lambda a, b: a - b, other, self)

    def __mul__(self, other):
        return self._operation("MULTIPLY", lambda a, b: a * b, self, other)

    def __rmul__(self, other):
        return self._operation("MULTIPLY", lambda a, b: a * b, other, self)

    def __truediv__(self, other):
        return self._operation("DIVIDE", lambda a, b: a / b, self, other)

    def __rtruediv__(self, other):
        return self._operation("DIVIDE", lambda a, b: a / b, other, self)

    def __floordiv__(self, other):
        return self._operation("FLOOR_DIVIDE", lambda a, b: a // b, self, other)

    def __rfloordiv__(self, other):
        return self._operation("FLOOR_DIVIDE", lambda a, b: a // b, other, self)

    def __mod__(self, other):
        return self._operation("MODULO", lambda a, b: a % b, self, other)

    def __rmod__(self, other):
        return self._operation("MODULO", lambda a, b: a % b, other, self)

    def __neg__(self):
        return self._operation("NEGATE", lambda a: -a, self)

    def __round__(self):
        return self._operation("ROUND", round, self)

    def __bool__(self):
        raise TypeError("a choice has no value yet: it cannot decide an `if`; use LayerChoice or Repeat")

    def __int__(self):
        raise TypeError("a choice has no value yet: hand it to a class of lanista.nn, which knows what to do")

    __index__ = __float__ = __int__


class ValueChoice(Expression):
    """One of several values. The same label is the same choice, wherever it stands."""

    def __init__(self, candidates, label=None):
        candidates = list(candidates)
        if not candidates:
            raise ValueError("a ValueChoice needs at least one candidate")
        for candidate in candidates:
            _literal(candidate)
        self.label = label or _automatic_label("value")
        super().__init__(lambda chosen: chosen[self.label], {"choice": self.label}, {self.label: candidates})


def maximum(*operands):
    """The largest of some choices and numbers."""
    return Expression._operation("MAXIMUM", max, *operands)


def minimum(*operands):
    """The smallest of some choices and numbers."""
    return Expression._operation("MINIMUM", min, *operands)


def _choices_of(expressions):
    """label -> candidates, of all the expressions."""
    choices = {}
    for expression in expressions:
        for label, candidates in expression.choices.items():
            if choices.setdefault(label, candidates) != candidates:
                raise ValueError(f"two choices have the label {label!r} and different candidates")
    return choices


def _value_choices(choices):
    """label -> candidates as the JSON of lanista.v1.ValueChoice."""
    return [
        {"label": label, "candidates": [_literal(candidate) for candidate in candidates]}
        for label, candidates in choices.items()
    ]


def _has_choice(value):
    if isinstance(value, (list, tuple)):
        return any(_has_choice(element) for element in value)
    return isinstance(value, Expression)


def _expression(value):
    """`value` as an Expression, whether it holds a choice or not."""
    if isinstance(value, Expression):
        return value
    if isinstance(value, (list, tuple)) and _has_choice(value):
        return Expression._operation("LIST", lambda *elements: tuple(elements), *value)
    return Expression(lambda chosen: value, {"literal": _literal(value)}, {})


def _expressions_in(arguments):
    """The choices among a call's arguments (inspect.BoundArguments), by name."""
    return {name: _expression(value) for name, value in arguments.arguments.items() if _has_choice(value)}


def _with_choices(cls):
    """A function that makes `cls`: its first candidate, with the choices as the string attribute `lanista_choices`."""
    signature = inspect.signature(cls.__init__)

    def make(*args, **kwargs):
        bound = signature.bind(None, *args, **kwargs)
        expressions = _expressions_in(bound)
        choices = _choices_of(expressions.values())
        for name, expression in expressions.items():
            bound.arguments[name] = expression.first
        module = cls(*bound.args[1:], **bound.kwargs)
        if expressions:
            attributes = {name: expression.document for name, expression in expressions.items()}
            module.lanista_choices = json.dumps({"attributes": attributes, "value_choices": _value_choices(choices)})
        return module

    make.__name__ = make.__qualname__ = cls.__name__
    make.__doc__ = cls.__doc__
    return make


class LayerChoice(torch.nn.Module):
    """One of several modules of one input. `candidates`: a list, or a dict whose keys name them."""

    def __init__(self, candidates, label=None):
        super().__init__()
        named = candidates if isinstance(candidates, dict) else {str(i): m for i, m in enumerate(candidates)}
        if not named:
            raise ValueError("a LayerChoice needs at least one candidate")
        self.lanista_label: str = label or _automatic_label("layer")
        self.lanista_names: List[str] = list(named)
        self.candidates = torch.nn.ModuleList(named.values())

    def forward(self, x: Tensor) -> Tensor:
        return self.candidates[0](x)


class InputChoice(torch.nn.Module):
    """`n_chosen` of `n_candidates` tensors, as one: their sum, mean or (along dimension 1) concatenation."""

    def __init__(self, n_candidates: int, n_chosen: int = 1, reduction: str = "sum", label=None):
        super().__init__()
        if reduction not in ("sum", "mean", "concat"):
            raise ValueError("reduction is 'sum', 'mean' or 'concat'")
        if not 1 <= n_chosen <= n_candidates:
            raise ValueError(f"n_chosen is from 1 to n_candidates ({n_candidates}), not {n_chosen}")
        self.lanista_label: str = label or _automatic_label("input")
        self.n_candidates = n_candidates
        self.n_chosen = n_chosen
        self.reduction = reduction

    def forward(self, candidates: List[Tensor]) -> Tensor:
        chosen = candidates[: self.n_chosen]
        if self.reduction == "concat":
            return torch.cat(chosen, 1)
        total = torch.stack(chosen).sum(0)
        return total / self.n_chosen if self.reduction == "mean" else total


class Repeat(torch.nn.Module):
    """A chain of blocks, of which the first `depth` run. `block`: makes the block of an index. `depth`: a number, a list of
    depths to choose from, or (least, most)."""

    def __init__(self, block, depth, label=None):
        super().__init__()
        if isinstance(depth, tuple):
            depths = list(range(depth[0], depth[1] + 1))
        else:
            depths = sorted(depth) if isinstance(depth, list) else [depth]
        if not depths or depths[0] < 0:
            raise ValueError("depth is a number, a list or a pair (least, most), from 0 on")
        self.lanista_label: str = label or _automatic_label("repeat")
        self.lanista_depths: List[int] = depths
        self.blocks = torch.nn.ModuleList(block(i) for i in range(depths[-1]))

    def forward(self, x: Tensor) -> Tensor:
        for i, block in enumerate(self.blocks):
            if i < self.lanista_depths[0]:
                x = block(x)
        return x


class Cell(torch.nn.Module):
    """A cell as in NASNet and DARTS: each of `num_nodes` nodes is the sum of `num_ops_per_node` operators, each chosen from the
    candidates (a list, or a dict whose keys name them) and applied to one earlier node or input. The output concatenates
    all nodes ("all"), or those that no other reads ("loose_end"), along dimension 1. Called with a list of
    `num_predecessors` tensors."""

    def __init__(
        self, op_candidates, num_nodes, num_ops_per_node=1, num_predecessors=1, merge_op="all", label=None
    ):
        super().__init__()
        named = op_candidates if isinstance(op_candidates, dict) else {str(i): m for i, m in enumerate(op_candidates)}
        if not named:
            raise ValueError("a Cell needs at least one candidate")
        if merge_op not in ("all", "loose_end"):
            raise ValueError("merge_op is 'all' or 'loose_end'")
        if min(num_nodes, num_ops_per_node, num_predecessors) < 1:
            raise ValueError("num_nodes, num_ops_per_node and num_predecessors are at least 1")
        self.lanista_label: str = label or _automatic_label("cell")
        self.lanista_names: List[str] = list(named)
        self.num_nodes = num_nodes
        self.num_ops_per_node = num_ops_per_node
        self.num_predecessors = num_predecessors
        self.loose_end = merge_op == "loose_end"
        # What is copied for each place.
        self.candidates = torch.nn.ModuleList(named.values())
        first = self.candidates[0]
        self.ops = torch.nn.ModuleList(copy.deepcopy(first) for _ in range(num_nodes * num_ops_per_node))

    def forward(self, inputs: List[Tensor]) -> Tensor:
        nodes: List[Tensor] = []
        for i, op in enumerate(self.ops):
            y = op(inputs[0])
            if i % self.num_ops_per_node == 0:
                nodes.append(y)
            else:
                nodes[-1] = nodes[-1] + y
        return torch.cat(nodes, 1)


class LinkedChoice(torch.nn.Module):
    """The instances of a basic unit, one for each combination of its choices."""

    def __init__(self, instances, choices):
        super().__init__()
        self.lanista_choices: str = json.dumps({"value_choices": _value_choices(choices)})
        self.candidates = torch.nn.ModuleList(instances)

    def forward(self, x: Tensor) -> Tensor:
        return self.candidates[0](x)


def basic_unit(cls):
    """Lets the constructor of a module of one's own take choices: `basic_unit(MyConv)(kernel_size=ValueChoice([1, 3, 5]))`. One
    instance is built for each combination of candidates (at most 64), and the choices select among them. Also good as a
    decorator of the class. The module takes one tensor and returns one."""
    signature = inspect.signature(cls.__init__)

    def make(*args, **kwargs):
        bound = signature.bind(None, *args, **kwargs)
        expressions = _expressions_in(bound)
        if not expressions:
            return cls(*args, **kwargs)
        choices = _choices_of(expressions.values())
        count = math.prod(len(candidates) for candidates in choices.values())
        if count > 64:
            raise ValueError(f"{cls.__name__}: its choices have {count} combinations, and a basic unit at most 64")
        instances = []
        for combination in itertools.product(*choices.values()):
            chosen = dict(zip(choices, combination))
            for name, expression in expressions.items():
                bound.arguments[name] = expression.evaluate(chosen)
            instances.append(cls(*bound.args[1:], **bound.kwargs))
        return LinkedChoice(instances, choices)

    make.__name__ = make.__qualname__ = cls.__name__
    make.__doc__ = cls.__doc__
    return make


Module = torch.nn.Module


def __getattr__(name):
    member = getattr(torch.nn, name)
    if inspect.isclass(member) and issubclass(member, torch.nn.Module) and not name.startswith("_"):
        containers = (torch.nn.Sequential, torch.nn.ModuleList, torch.nn.ModuleDict)
        return member if issubclass(member, containers) else _with_choices(member)
    return member
