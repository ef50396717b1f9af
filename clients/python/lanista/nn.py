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
becomes a choice. isinstance, issubclass and subclasses work as with the classes of torch.nn.

A choice without a label gets one: "value_1", "layer_1", ... in the order in which a model made its choices.
"""

import copy
import inspect
import itertools
import json
import math
import os
import sys
import weakref

import torch
from torch import Tensor
from typing import Any, Callable, Dict, Iterable, List, NoReturn, Optional, Sequence, Tuple, Type, Union

# A number, string, bool, None, or a sequence of these.
Literal = Any
# Modules to choose from: a list, or a dict whose keys name them.
Candidates = Union[Sequence[torch.nn.Module], Dict[str, torch.nn.Module], torch.nn.ModuleDict]

# An object of JSON.
_Document = Dict[str, Any]
# label -> candidates.
_Choices = Dict[str, List[Literal]]
# label -> where the choice was made.
_Places = Dict[str, str]

_made: Dict[str, int] = {}


def _label(label: Optional[str], kind: str) -> str:
    """`label`, or an automatic one. Those are different in each process, whatever models it makes; the importer numbers
    them anew for each model, in the same order."""
    if label is None:
        _made[kind] = _made.get(kind, 0) + 1
        return f"auto:{kind}_{_made[kind]}"
    if not isinstance(label, str) or not label:
        raise TypeError(f"a label is a string that is not empty, not {label!r}")
    return label


def _place() -> str:
    """Where the caller of this file stands: "net.py:12"."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"


def _named(candidates: Candidates, what: str) -> Dict[str, torch.nn.Module]:
    """The candidates of a primitive by their names: a dict's keys, or numbers."""
    if isinstance(candidates, torch.nn.ModuleDict):
        candidates = dict(candidates.items())
    named = candidates if isinstance(candidates, dict) else {str(i): m for i, m in enumerate(candidates)}
    if not named:
        raise ValueError(f"a {what} needs at least one candidate")
    for name, module in named.items():
        if not isinstance(name, str) or not name or "." in name:
            raise TypeError(f"{what}: a candidate's name is a string without dots, not {name!r}")
        if not isinstance(module, torch.nn.Module):
            raise TypeError(f"{what}: candidate {name!r} is no module, but {module!r}")
    return named


# What holds a module that has parameters as a candidate or a block: (the primitive, what it is and where it stands).
_holders: "weakref.WeakKeyDictionary[torch.nn.Module, Tuple[weakref.ref[torch.nn.Module], str]]" = weakref.WeakKeyDictionary()


def _hold(holder: torch.nn.Module, what: str, modules: Iterable[torch.nn.Module]) -> None:
    """Refuses a module with parameters that two candidates would share: a mutation could not tell them apart."""
    place = f"{what} at {_place()}"
    for module in modules:
        inside = set(module.modules())
        for part in inside:
            if not part._parameters:
                continue
            known = _holders.get(part)
            # A choice within this candidate holds what is its own.
            other = known[0]() if known is not None else None
            if known is not None and other is not None and other not in inside:
                raise ValueError(
                    f"a {type(part).__name__} with parameters is in two places: the {known[1]}, and the {place}; "
                    "make a module for each"
                )
        for part in inside:
            if part._parameters and (part not in _holders or _holders[part][0]() is None):
                _holders[part] = (weakref.ref(holder), place)


def _literal(value: Literal) -> _Document:
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

    def __init__(self, evaluate: Callable[[Dict[str, Literal]], Literal], document: _Document, choices: _Choices):
        self.evaluate = evaluate  # Its value, from a dict of what each choice came to.
        self.document = document  # The JSON of lanista.v1.Expression.
        self.choices = choices  # label -> candidates.
        self.places: _Places = {}  # label -> where the choice was made.

    @property
    def first(self) -> Any:
        """Its value where every choice takes its first candidate."""
        return self.evaluate({label: candidates[0] for label, candidates in self.choices.items()})

    @staticmethod
    def _operation(kind: str, function: Callable[..., Literal], *operands: Any) -> "Expression":
        expressions = [_expression(operand) for operand in operands]
        document = {"operation": {"kind": kind, "operands": [expression.document for expression in expressions]}}
        result = Expression(
            lambda chosen: function(*(expression.evaluate(chosen) for expression in expressions)),
            document,
            _choices_of(expressions),
        )
        result.places = _places_of(expressions)
        return result

    def __add__(self, other: "Operand") -> "Expression":
        return self._operation("ADD", lambda a, b: a + b, self, other)

    def __radd__(self, other: "Operand") -> "Expression":
        return self._operation("ADD", lambda a, b: a + b, other, self)

    def __sub__(self, other: "Operand") -> "Expression":
        return self._operation("SUBTRACT", lambda a, b: a - b, self, other)

    def __rsub__(self, other: "Operand") -> "Expression":
        return self._operation("SUBTRACT", lambda a, b: a - b, other, self)

    def __mul__(self, other: "Operand") -> "Expression":
        return self._operation("MULTIPLY", lambda a, b: a * b, self, other)

    def __rmul__(self, other: "Operand") -> "Expression":
        return self._operation("MULTIPLY", lambda a, b: a * b, other, self)

    def __truediv__(self, other: "Operand") -> "Expression":
        return self._operation("DIVIDE", lambda a, b: a / b, self, other)

    def __rtruediv__(self, other: "Operand") -> "Expression":
        return self._operation("DIVIDE", lambda a, b: a / b, other, self)

    def __floordiv__(self, other: "Operand") -> "Expression":
        return self._operation("FLOOR_DIVIDE", lambda a, b: a // b, self, other)

    def __rfloordiv__(self, other: "Operand") -> "Expression":
        return self._operation("FLOOR_DIVIDE", lambda a, b: a // b, other, self)

    def __mod__(self, other: "Operand") -> "Expression":
        return self._operation("MODULO", lambda a, b: a % b, self, other)

    def __rmod__(self, other: "Operand") -> "Expression":
        return self._operation("MODULO", lambda a, b: a % b, other, self)

    def __neg__(self) -> "Expression":
        return self._operation("NEGATE", lambda a: -a, self)

    def __round__(self) -> "Expression":
        return self._operation("ROUND", round, self)

    def __bool__(self) -> NoReturn:
        raise TypeError("a choice has no value yet: it cannot decide an `if`; use LayerChoice or Repeat")

    def _compare(self, other: Any) -> NoReturn:
        raise TypeError(
            "a choice has no value yet: it cannot be compared; use LayerChoice, Repeat, maximum or minimum, or make the "
            "module that compares it a basic_unit. Classes of torch.nn compare their arguments: take those of lanista.nn"
        )

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _compare
    __hash__ = object.__hash__

    def __int__(self) -> NoReturn:
        raise TypeError(
            "a choice has no value yet: hand it to a class of lanista.nn, which knows what to do, or make your own class "
            "a basic_unit"
        )

    __index__ = __float__ = __iter__ = __len__ = __int__

    def __repr__(self) -> str:
        return f"<an expression of the choices {', '.join(self.choices)}>"


Operand = Union[Expression, int, float]


class ValueChoice(Expression):
    """One of several values. The same label is the same choice, wherever it stands."""

    def __init__(self, candidates: Sequence[Literal], label: Optional[str] = None):
        if isinstance(candidates, (str, bytes)):
            raise TypeError(f"the candidates of a ValueChoice are a list, not {candidates!r}")
        candidates = list(candidates)
        if not candidates:
            raise ValueError("a ValueChoice needs at least one candidate")
        literals = [_literal(candidate) for candidate in candidates]
        for i, literal in enumerate(literals):
            if literal in literals[:i]:
                raise ValueError(f"a ValueChoice has the candidate {candidates[i]!r} twice")
        self.label = _label(label, "value")
        self.place = _place()
        super().__init__(lambda chosen: chosen[self.label], {"choice": self.label}, {self.label: candidates})
        self.places = {self.label: self.place}

    def __repr__(self) -> str:
        return f"ValueChoice({self.choices[self.label]!r}, label={self.label!r})"


def maximum(*operands: Operand) -> Expression:
    """The largest of some choices and numbers."""
    return Expression._operation("MAXIMUM", max, *operands)


def minimum(*operands: Operand) -> Expression:
    """The smallest of some choices and numbers."""
    return Expression._operation("MINIMUM", min, *operands)


def _choices_of(expressions: Iterable[Expression]) -> _Choices:
    """label -> candidates, of all the expressions."""
    choices: _Choices = {}
    places: Dict[str, Optional[str]] = {}
    for expression in expressions:
        for label, candidates in expression.choices.items():
            place = expression.places.get(label)
            if choices.setdefault(label, candidates) != candidates:
                raise ValueError(
                    f"the label {label!r} stands for two choices: {choices[label]} at {places[label]}, and {candidates} "
                    f"at {place}"
                )
            places.setdefault(label, place)
    return choices


def _places_of(expressions: Iterable[Expression]) -> _Places:
    """label -> where the choice was made, of all the expressions."""
    places: _Places = {}
    for expression in expressions:
        for label, place in expression.places.items():
            places.setdefault(label, place)
    return places


def _value_choices(choices: _Choices, places: _Places) -> _Document:
    """label -> candidates as the JSON of lanista.v1.ValueChoice, and where each was made."""
    return {
        "value_choices": [
            {"label": label, "candidates": [_literal(candidate) for candidate in candidates]}
            for label, candidates in choices.items()
        ],
        "places": places,
    }


def _has_choice(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(_has_choice(element) for element in value)
    return isinstance(value, Expression)


def _expression(value: Any) -> Expression:
    """`value` as an Expression, whether it holds a choice or not."""
    if isinstance(value, Expression):
        return value
    if isinstance(value, (list, tuple)) and _has_choice(value):
        return Expression._operation("LIST", lambda *elements: tuple(elements), *value)
    return Expression(lambda chosen: value, {"literal": _literal(value)}, {})


def _gathered(arguments: inspect.BoundArguments) -> Dict[str, Any]:
    """What a parameter such as **kwargs holds of a call: the dict that is among the arguments."""
    for parameter in arguments.signature.parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            return arguments.arguments.get(parameter.name, {})
    return {}


def _expressions_in(arguments: inspect.BoundArguments) -> Dict[str, Expression]:
    """The choices among a call's arguments, by name."""
    gathered = _gathered(arguments)
    named = {**arguments.arguments, **gathered}
    return {name: _expression(value) for name, value in named.items() if value is not gathered and _has_choice(value)}


def _signature_of(cls: Type[torch.nn.Module]) -> inspect.Signature:
    if cls not in (torch.nn.RNN, torch.nn.GRU, torch.nn.LSTM):
        return inspect.signature(cls.__init__)

    # Those are (*args, **kwargs), and what follows num_layers has another order in each version of torch.
    def init(
        self: torch.nn.Module,
        input_size: Union[Expression, int],
        hidden_size: Union[Expression, int],
        num_layers: Union[Expression, int] = 1,
        **kwargs: Any,
    ) -> None:
        pass

    return inspect.signature(init)


class _Layer:
    """A class of torch.nn whose constructor takes choices. What it makes are instances of the class of torch.nn: the first
    candidate, with the choices as the string attribute `lanista_choices`. A subclass is one of the class of torch.nn."""

    def __init__(self, cls: Type[torch.nn.Module]):
        self._cls = cls
        self._signature = _signature_of(cls)
        self.__name__ = self.__qualname__ = cls.__name__
        self.__doc__ = cls.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> torch.nn.Module:
        if not _has_choice(args) and not _has_choice(list(kwargs.values())):
            return self._cls(*args, **kwargs)
        bound = self._signature.bind(None, *args, **kwargs)
        expressions = _expressions_in(bound)
        choices = _choices_of(expressions.values())
        arguments = dict(list(bound.arguments.items())[1:])
        arguments.update(arguments.pop("kwargs", {}))
        arguments.update({name: expression.first for name, expression in expressions.items()})
        module = self._cls(**arguments)
        attributes = {name: expression.document for name, expression in expressions.items()}
        places = _places_of(expressions.values())
        # By setattr: torch declares a module's attributes as tensors and modules only, which mypy would hold against it.
        setattr(module, "lanista_choices", json.dumps({"attributes": attributes, **_value_choices(choices, places)}))
        return module

    def __mro_entries__(self, bases: Tuple[object, ...]) -> Tuple[Type[torch.nn.Module]]:
        return (self._cls,)

    def __instancecheck__(self, instance: object) -> bool:
        return isinstance(instance, self._cls)

    def __subclasscheck__(self, subclass: type) -> bool:
        return issubclass(subclass, self._cls)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") and name != "__bases__":
            raise AttributeError(name)
        return getattr(self._cls, name)

    def __repr__(self) -> str:
        return f"<{self._cls.__name__} of lanista.nn>"


def _refuse_choices_in_torch() -> None:
    """Lets the classes of torch.nn say what is wrong where they are given a choice: their own error names none."""
    plain = torch.nn.Module.__setattr__

    def set_attribute(self: torch.nn.Module, name: str, value: Any) -> None:
        if isinstance(value, Expression) and type(self).__module__.startswith("torch.nn."):
            raise TypeError(
                f"torch.nn.{type(self).__name__} takes no choice ({name}={value!r}): use lanista.nn.{type(self).__name__}"
            )
        plain(self, name, value)

    # By setattr: mypy refuses an assignment to a method.
    setattr(torch.nn.Module, "__setattr__", set_attribute)


_refuse_choices_in_torch()


class LayerChoice(torch.nn.Module):
    """One of several modules of one input. `candidates`: a list, or a dict whose keys name them."""

    def __init__(self, candidates: Candidates, label: Optional[str] = None):
        super().__init__()
        named = _named(candidates, "LayerChoice")
        self.lanista_label: str = _label(label, "layer")
        _hold(self, f"LayerChoice {self.lanista_label!r}", named.values())
        self.lanista_names: List[str] = list(named)
        self.candidates = torch.nn.ModuleList(named.values())

    def forward(self, x: Tensor) -> Tensor:
        return self.candidates[0](x)


class InputChoice(torch.nn.Module):
    """`n_chosen` of `n_candidates` tensors, as one: their sum, mean or (along dimension 1) concatenation."""

    def __init__(
        self, n_candidates: int, n_chosen: int = 1, reduction: str = "sum", label: Optional[str] = None
    ):
        super().__init__()
        if reduction not in ("sum", "mean", "concat"):
            raise ValueError("reduction is 'sum', 'mean' or 'concat'")
        if not isinstance(n_chosen, int):
            raise TypeError(
                f"n_chosen is a number, not {n_chosen!r}; for any number of inputs take a LayerChoice of Identity and a "
                "module that returns zeros for each, and add them"
            )
        if not 1 <= n_chosen <= n_candidates:
            raise ValueError(f"n_chosen is from 1 to n_candidates ({n_candidates}), not {n_chosen}")
        self.lanista_label: str = _label(label, "input")
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
    """A chain of blocks, of which the first `depth` run. `block`: makes the block of an index, or is a list of at least as
    many blocks as may run. `depth`: a number, a list of depths to choose from, or (least, most)."""

    def __init__(
        self,
        block: Union[Callable[[int], torch.nn.Module], Sequence[torch.nn.Module]],
        depth: Union[int, List[int], Tuple[int, int]],
        label: Optional[str] = None,
    ):
        super().__init__()
        if isinstance(depth, tuple):
            depths = list(range(depth[0], depth[1] + 1))
        else:
            depths = sorted(depth) if isinstance(depth, list) else [depth]
        if not depths or depths[0] < 0:
            raise ValueError("depth is a number, a list or a pair (least, most), from 0 on")
        self.lanista_label: str = _label(label, "repeat")
        self.lanista_depths: List[int] = depths
        if not callable(block) and len(block) < depths[-1]:
            raise ValueError(f"the list has {len(block)} blocks, and up to {depths[-1]} may run")
        make = block if callable(block) else block.__getitem__
        self.blocks = torch.nn.ModuleList(make(i) for i in range(depths[-1]))
        _hold(self, f"Repeat {self.lanista_label!r}", self.blocks)

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
        self,
        op_candidates: Candidates,
        num_nodes: int,
        num_ops_per_node: int = 1,
        num_predecessors: int = 1,
        merge_op: str = "all",
        label: Optional[str] = None,
    ):
        super().__init__()
        named = _named(op_candidates, "Cell")
        if merge_op not in ("all", "loose_end"):
            raise ValueError("merge_op is 'all' or 'loose_end'")
        if min(num_nodes, num_ops_per_node, num_predecessors) < 1:
            raise ValueError("num_nodes, num_ops_per_node and num_predecessors are at least 1")
        self.lanista_label: str = _label(label, "cell")
        _hold(self, f"Cell {self.lanista_label!r}", named.values())
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

    def __init__(self, instances: List[torch.nn.Module], choices: _Choices, places: _Places):
        super().__init__()
        self.lanista_choices: str = json.dumps(_value_choices(choices, places))
        self.candidates = torch.nn.ModuleList(instances)

    def forward(self, x: Tensor) -> Tensor:
        return self.candidates[0](x)


def basic_unit(cls: Type[torch.nn.Module]) -> Callable[..., torch.nn.Module]:
    """Lets the constructor of a module of one's own take choices: `basic_unit(MyConv)(kernel_size=ValueChoice([1, 3, 5]))`. One
    instance is built for each combination of candidates (at most 64), and the choices select among them. Also good as a
    decorator of the class. The module takes one tensor and returns one."""
    signature = inspect.signature(cls.__init__)

    def make(*args: Any, **kwargs: Any) -> torch.nn.Module:
        bound = signature.bind(None, *args, **kwargs)
        expressions = _expressions_in(bound)
        if not expressions:
            return cls(*args, **kwargs)
        choices = _choices_of(expressions.values())
        count = math.prod(len(candidates) for candidates in choices.values())
        if count > 64:
            raise ValueError(f"{cls.__name__}: its choices have {count} combinations, and a basic unit at most 64")
        instances = []
        gathered = _gathered(bound)
        for combination in itertools.product(*choices.values()):
            chosen = dict(zip(choices, combination))
            for name, expression in expressions.items():
                (gathered if name in gathered else bound.arguments)[name] = expression.evaluate(chosen)
            instances.append(cls(*bound.args[1:], **bound.kwargs))
        return LinkedChoice(instances, choices, _places_of(expressions.values()))

    make.__name__ = make.__qualname__ = cls.__name__
    make.__doc__ = cls.__doc__
    return make


Module = torch.nn.Module


def __getattr__(name: str) -> Any:
    member = getattr(torch.nn, name)
    if inspect.isclass(member) and issubclass(member, torch.nn.Module) and not name.startswith("_"):
        containers = (torch.nn.Sequential, torch.nn.ModuleList, torch.nn.ModuleDict)
        if issubclass(member, containers) or member is torch.nn.Module:
            return member
        # Kept: nn.Conv2d is nn.Conv2d.
        globals()[name] = _Layer(member)
        return globals()[name]
    return member
