"""Writes TorchScript files, good and bad, into the folder that is its argument. Needs torch."""

import io
import json
import os
import struct
import sys
import warnings
import zipfile
from typing import Dict, List, Optional, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

warnings.filterwarnings("ignore")
torch.manual_seed(0)


class Net(nn.Module):
    """The documents' example."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 4, 3)
        self.conv2 = nn.Conv2d(4, 8, 3, stride=2, padding="valid", bias=False)
        self.dropout1 = nn.Dropout(0.25)
        self.fc1 = nn.Linear(32, 16)
        self.fc2 = nn.Linear(16, 10)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.max_pool2d(self.conv2(x), 2)
        x = torch.flatten(self.dropout1(x), 1)
        x = F.dropout(F.relu(self.fc1(x)), p=0.5, training=self.training)
        return F.log_softmax(self.fc2(x), dim=1)


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv = nn.Conv2d(width, width, 3, padding=1)
        self.bn = nn.BatchNorm2d(width)
        self.relu = nn.ReLU()

    def forward(self, x):
        out = self.bn(self.relu(self.conv(x)))
        out += x
        return self.relu(out)


class Nested(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer1 = nn.Sequential(Block(2), Block(2))
        self.blocks = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])

    def forward(self, x):
        x = self.layer1(x)
        for block in self.blocks:
            x = block(x)
        return x


class Branches(nn.Module):
    """All that constants decide, and the training flag."""

    def __init__(self):
        super().__init__()
        self.deep = True
        self.rate = 0.5
        self.extra: Optional[nn.Linear] = None
        self.fc = nn.Linear(4, 4)
        self.noise = nn.Linear(4, 4)

    def forward(self, x: Tensor, mask: Optional[Tensor] = None) -> Tensor:
        if x.dim() != 2:
            raise ValueError("expected two dimensions")
        assert x.shape[1] == 4 and x.shape[0] > 0, f"width {x.shape[1]}"
        if self.deep:
            x = self.fc(x)
        else:
            x = x * 0
        if mask is not None:
            x = x * mask
        for _ in range(3):
            x = x + 1
        if self.training and self.rate > 0:
            x = x + self.noise(x)
        else:
            x = x * 2
        return x


class Auxiliary(nn.Module):
    """A second output while training, as GoogLeNet's."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.aux = nn.Linear(4, 2)

    def forward(self, x) -> Tuple[Tensor, Optional[Tensor]]:
        x = self.fc(x)
        aux: Optional[Tensor] = None
        if self.training:
            aux = self.aux(x)
        return x, aux


class WhileLoop(nn.Module):
    def forward(self, x):
        while bool(x.sum() > 1):
            x = x / 2
        return x


class KeepsLoop(nn.Module):
    def __init__(self):
        super().__init__()
        self.before = nn.Linear(4, 4)
        self.inner = nn.Sequential(nn.Linear(4, 4), WhileLoop())
        self.after = nn.Linear(4, 4)

    def forward(self, x):
        return self.after(self.inner(self.before(x)))


class DataBranch(nn.Module):
    def forward(self, x):
        if bool(x.sum() > 0):
            x = x * 2
        else:
            x = torch.cat([x, x])[: x.size(0)]
        return x


class Pair(nn.Module):
    def forward(self, x) -> Tuple[Tensor, Tensor]:
        total = x
        while bool(total.sum() > 1):
            total = total / 2
        return total, x


class Prints(nn.Module):
    def forward(self, x):
        print("hello")
        return x + 1


class Stateful(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls = self.calls + 1
        return x + self.calls


class ChangesGivenList(nn.Module):
    def forward(self, xs: List[Tensor]) -> Tensor:
        xs.append(xs[0])
        return xs[-1]


class Refuses(nn.Module):
    """Modules that nodes cannot express, each of its own kind."""

    def __init__(self):
        super().__init__()
        self.branch = DataBranch()
        self.pair = Pair()
        self.stateful = Stateful()
        self.prints = Prints()

    def forward(self, x):
        a, b = self.pair(self.branch(x))
        return self.prints(self.stateful(a) + b)


class GuardedSize(nn.Module):
    """Asks for a size only where it is there."""

    def forward(self, x):
        assert not (x.dim() == 4 and x.size(3) == 5)
        return x + 1


class AssertsIfStrict(nn.Module):
    def __init__(self):
        super().__init__()
        self.strict = False

    def forward(self, x):
        fits = x.dim() == 3 and x.numel() == 24
        if self.strict:
            assert fits
        return x + 1


class Hostile(nn.Module):
    """Its attributes, because Python would fold constants when it saves the model."""

    def __init__(self):
        super().__init__()
        self.times = 10**18
        self.far = 2**63 - 1
        self.text = "ab"
        self.zero = 0


class RepeatsList(Hostile):
    def forward(self, x):
        ones = [1]
        return x + len(ones * self.times)


class RepeatsNothing(Hostile):
    def forward(self, x):
        nothing: List[int] = []
        return x + len(nothing * self.times)


class RepeatsFromTheLeft(Hostile):
    def forward(self, x):
        nothing: List[int] = []
        return x + len(self.times * nothing)


class DoublesList(Hostile):
    def forward(self, x):
        xs = [1]
        for _ in range(50):
            xs = xs + xs
        return x + len(xs)


class DoublesListInPlace(Hostile):
    def forward(self, x):
        xs = [1]
        for _ in range(50):
            xs += xs
        return x + len(xs)


class ExtendsList(Hostile):
    def forward(self, x):
        xs = [x]
        for _ in range(50):
            xs.extend(xs)
        return x + len(xs)


class DoublesText(Hostile):
    def forward(self, x):
        text = self.text
        for _ in range(50):
            text = text + text
        return x + len(text)


class PadsText(Hostile):
    def forward(self, x):
        return x + len(self.text.ljust(self.times))


class DividesByZero(Hostile):
    def forward(self, x):
        return x + self.times % self.zero


class SlicesFar(Hostile):
    def forward(self, x):
        xs = [1, 2, 3]
        return x + len(xs[1 :: self.far])


class Costly(nn.Module):
    """Nobody can run it."""

    def __init__(self):
        super().__init__()
        self.a = RepeatsList()
        self.b = RepeatsNothing()
        self.c = RepeatsFromTheLeft()
        self.d = DoublesList()
        self.e = DoublesListInPlace()
        self.f = ExtendsList()
        self.g = DoublesText()
        self.h = PadsText()
        self.i = DividesByZero()
        self.j = SlicesFar()

    def forward(self, x):
        return self.j(self.i(self.h(self.g(self.f(self.e(self.d(self.c(self.b(self.a(x))))))))))


class ChangesList(nn.Module):
    """The length of its list is not what it seems."""

    def __init__(self):
        super().__init__()
        self.changes = ChangesGivenList()

    def forward(self, x):
        xs = [x, x * 2]
        return self.changes(xs) + len(xs)


class Lists(nn.Module):
    def __init__(self):
        super().__init__()
        self.fcs = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])
        self.scales = [1.0, 2.0, 3.0]

    def pick(self, xs: List[Tensor], i: int) -> Tensor:
        return xs[i]

    def forward(self, x):
        outs: List[Tensor] = []
        for i, fc in enumerate(self.fcs):
            outs.append(fc(x) * self.scales[i])
        first, rest = outs[0], outs[1:]
        rest.extend([first])
        sizes = x.shape
        batch = sizes[0]
        table: Dict[str, Tensor] = {"a": first}
        table["b"] = torch.stack(rest).sum(0)
        y = torch.cat([self.pick(outs, -1), table["a"], table["b"]], 1)
        left, right = y.chunk(2, 1)
        return (left + right).view(batch, 2, -1).mean([1, 2], keepdim=True)


class DictOut(nn.Module):
    def forward(self, x) -> Dict[str, Tensor]:
        return {"out": x * 2, "aux": x + 1}


class Parameters(nn.Module):
    def __init__(self):
        super().__init__()
        self.token = nn.Parameter(torch.randn(1, 4))
        self.fixed = nn.Parameter(torch.randn(4), requires_grad=False)
        self.register_buffer("table", torch.arange(4.0))
        self.plain = torch.ones(2, 4)
        self.frozen = nn.Linear(4, 4)
        for parameter in self.frozen.parameters():
            parameter.requires_grad_(False)

    def forward(self, x):
        return self.frozen(x + self.token * self.fixed + self.table) + self.plain[0]


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)

    def forward(self, x):
        return self.fc(x)

    @torch.jit.export
    def decode(self, x):
        return x @ self.fc.weight


class Methods(nn.Module):
    """Calls what is not forward."""

    def __init__(self):
        super().__init__()
        self.encoder = Encoder()

    def double(self, x):
        return x * 2

    def forward(self, x):
        return self.encoder.decode(self.double(self.encoder(x)))


class Scaler(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.full((4,), 2.0))

    def forward(self, x):
        return x * self.scale

    @torch.jit.export
    def unscale(self, x):
        return x / self.scale


class TwoMethods(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Scaler()

    def forward(self, x):
        return self.encoder.unscale(self.encoder(x))


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Linear(4, 4, bias=False)
        self.decoder = nn.Linear(4, 4, bias=False)
        self.decoder.weight = self.embedding.weight

    def forward(self, x):
        return self.decoder(self.embedding(x))


class HoldsTied(nn.Module):
    def __init__(self):
        super().__init__()
        self.tied = Tied()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        return self.fc(self.tied(x))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(4, 3, num_layers=2, batch_first=True)
        self.fc = nn.Linear(3, 2)

    def forward(self, x):
        out, (h, c) = self.lstm(x)
        return self.fc(out[:, -1]) + self.fc(h[-1] + c[-1])


class Resizes(nn.Module):
    """By factors that do not give whole sizes, and in ways that TorchScript's old operator does not know."""

    def __init__(self):
        super().__init__()
        self.sharp = Sharpens()

    def forward(self, x):
        a = F.interpolate(x, scale_factor=1.7, mode="bilinear", align_corners=False)
        b = F.interpolate(x, scale_factor=[1.7, 1.3], mode="bicubic", recompute_scale_factor=True)
        c = F.interpolate(x, size=[9, 11])
        return a, b, c, self.sharp(x)


class Sharpens(nn.Module):
    def forward(self, x):
        x = F.interpolate(x, scale_factor=0.5, mode="bilinear", antialias=True)
        return F.interpolate(x, scale_factor=1.7, mode="nearest-exact")


class ReadsFile(nn.Module):
    def forward(self, x):
        while bool(x.sum() > 1):
            x = x + torch.from_file("/etc/hostname", size=1)
        return x


class HidesFile(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = ReadsFile()

    def forward(self, x):
        return self.inner(x)


class ForksFile(nn.Module):
    def forward(self, x):
        return torch.jit.wait(torch.jit.fork(read_file, x))


def read_file(x):
    return x + torch.from_file("/etc/hostname", size=1)


@torch.jit.interface
class Loads(object):
    def load(self, x: torch.Tensor) -> torch.Tensor:
        pass


@torch.jit.script
class Loader(object):
    def __init__(self):
        self.size = 1

    def load(self, x: torch.Tensor) -> torch.Tensor:
        return x + torch.from_file("/etc/hostname", size=1)


def load_through(loader: Loads, x: torch.Tensor) -> torch.Tensor:
    return loader.load(x)


class CallsInterface(nn.Module):
    def forward(self, x):
        return load_through(Loader(), x)


class SetsState(nn.Module):
    @torch.jit.export
    def __getstate__(self):
        return self.training

    @torch.jit.export
    def __setstate__(self, training: bool):
        self.training = training

    def forward(self, x):
        return x


class Hooked(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

        def double(self, inputs: Tuple[Tensor], output: Tensor):
            return output * 2

        self.register_forward_hook(double)

    def forward(self, x):
        return self.fc(x)


class HoldsHooked(nn.Module):
    """The code of its forward has the hook."""

    def __init__(self):
        super().__init__()
        self.hooked = Hooked()

    def forward(self, x):
        return self.hooked(x)


class NoForward(nn.Module):
    @torch.jit.export
    def run(self, x):
        return x


class NestedOut(nn.Module):
    """A state that comes in and goes out as a tuple, as in language models."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(4, 3, batch_first=True)

    def forward(self, x, state: Tuple[Tensor, Tensor]) -> Tuple[Tensor, Tuple[Tensor, Tensor]]:
        out, (h, c) = self.lstm(x, state)
        return out * 2, (h, c)


class Literals(nn.Module):
    """Tensors made of lists."""

    def forward(self, x):
        x = x * torch.tensor([1.0, 2.0, 3.0, 4.0]) + torch.tensor([[1, 2, 3, 4]])
        x = torch.where(torch.tensor([True, False, True, False]), x, -x)
        return x @ torch.tensor([[0.5, 1.0], [1.5, 2.0], [2.5, 3.0], [3.5, 4.0]]) + torch.tensor([x.size(1), 2]) + torch.tensor(2.0)


def attribute_zoo():
    """Modules with other than default attributes, in a chain."""
    return nn.Sequential(
        nn.Conv2d(2, 4, (3, 1), stride=(1, 2), padding=1, dilation=(2, 1), groups=2, padding_mode="reflect"),
        nn.BatchNorm2d(4, eps=1e-3, momentum=0.2, affine=False),
        nn.LeakyReLU(0.2, inplace=True),
        nn.ConvTranspose2d(4, 4, 2, stride=2, output_padding=1, bias=False),
        nn.GroupNorm(2, 4, affine=False),
        nn.MaxPool2d(3, stride=1, padding=1, ceil_mode=True),
        nn.AvgPool2d(2, count_include_pad=False),
        nn.AdaptiveAvgPool2d((2, 3)),
        nn.Flatten(),
        nn.Linear(24, 4, bias=False),
        nn.LayerNorm(4, elementwise_affine=False),
        nn.Hardtanh(-0.5, 0.5),
        nn.Softmax(dim=1),
    )


def save(module, name):
    torch.jit.script(module).save(f"{name}.pt")


def rewrite(source, target, change):
    """Copies an archive, with `change(name, bytes)` applied to its records; None leaves one out."""
    with zipfile.ZipFile(f"{source}.pt") as old, zipfile.ZipFile(f"{target}.pt", "w") as new:
        for info in old.infolist():
            content = change(info.filename, old.read(info.filename))
            if content is not None:
                new.writestr(info, content)


def write_bad_files():
    with open("net.pt", "rb") as file:
        content = file.read()
    for name, part in {"truncated": content[: len(content) // 2], "empty": b"", "text": b"not a model\n" * 9}.items():
        with open(f"{name}.pt", "wb") as file:
            file.write(part)
    torch.save(Net().state_dict(), "state_dict.pt")
    torch.save(Net().state_dict(), "old_state_dict.pt", _use_new_zipfile_serialization=False)
    torch.jit.trace(Net().eval(), torch.zeros(1, 1, 12, 12)).save("traced.pt")

    newer = lambda name, content: b"99999\n" if name.endswith("version") else content
    rewrite("net", "newer", newer)
    unknown = lambda name, content: content.replace(b"torch.flatten", b"torch.flutten") if name.endswith(".py") else content
    rewrite("net", "unknown_operator", unknown)

    spaces = lambda name, content: content.replace(b"def __setstate__", b"def  __setstate__")
    rewrite("sets_state", "sets_state_with_spaces", spaces)
    # LibTorch finds records whatever the case of their names.
    with zipfile.ZipFile("sets_state.pt") as old, zipfile.ZipFile("sets_state_shouted.pt", "w") as new:
        for info in old.infolist():
            name = info.filename[:-3] + ".PY" if info.filename.endswith(".py") else info.filename
            new.writestr(name, old.read(info.filename))
    with zipfile.ZipFile("net.pt") as file:
        weights = next(info for info in file.infolist() if info.filename.endswith("data/0"))
    rotten = bytearray(content)
    rotten[weights.header_offset + 100] ^= 1
    # Of the two counts of records, LibTorch believes this one.
    wide = content.index(b"PK\x06\x06") + 32
    two = content[:wide] + bytes([content[wide] - 1]) + content[wide + 1 :]
    for name, changed in {"bit_rot": bytes(rotten), "two_directories": two}.items():
        with open(f"{name}.pt", "wb") as file:
            file.write(changed)

    with zipfile.ZipFile("bomb.pt", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("a/data.pkl", b"x")
        file.writestr("a/constants.pkl", b"x")
        file.writestr("a/code/a.py", bytes(64 << 20))
    with zipfile.ZipFile("traversal.pt", "w") as file:
        file.writestr("a/data.pkl", b"x")
        file.writestr("a/../../code/evil.py", b"x")
    # Two entries of the directory lead to one record.
    with zipfile.ZipFile("overlap.pt", "w") as file:
        file.writestr("a/data.pkl", b"x" * 100)
        file.writestr("a/data/0", b"y" * 100)
    patch_directory("overlap", 1, 42, struct.pack("<I", 0))
    with zipfile.ZipFile("huge.pt", "w") as file:
        file.writestr("a/data.pkl", b"x" * 100)
    patch_directory("huge", 0, 24, struct.pack("<I", 0xF0000000))


def patch_directory(name, entry, offset, value):
    with open(f"{name}.pt", "rb") as file:
        content = bytearray(file.read())
    at = -1
    for _ in range(entry + 1):
        at = content.index(b"PK\x01\x02", at + 1)
    content[at + offset : at + offset + len(value)] = value
    with open(f"{name}.pt", "wb") as file:
        file.write(content)


def write_choices(python_path):
    sys.path.insert(0, python_path)
    from lanista import nn as choices

    class Space(nn.Module):
        def __init__(self):
            super().__init__()
            feature = choices.ValueChoice([8, 16], label="feature")
            self.fc1 = choices.Linear(4, feature)
            self.fc2 = choices.Linear(feature, 4)
            self.layer = choices.LayerChoice({"linear": nn.Linear(4, 4), "deep": nn.Sequential(nn.Linear(4, 4), nn.ReLU())}, label="layer")
            self.repeat = choices.Repeat(lambda i: nn.Linear(4, 4), (1, 3), label="depth")
            self.input = choices.InputChoice(2, label="skip")

        def forward(self, x):
            x = self.fc2(self.fc1(x))
            return self.repeat(self.input([self.layer(x), x]))

    save(Space(), "space")

    @choices.basic_unit
    class Unit(nn.Module):
        def __init__(self, width, **options):
            super().__init__()
            depth = options["depth"]
            self.fc1 = nn.Linear(width, 4 * depth)
            self.fc2 = nn.Linear(4 * depth, width)

        def forward(self, x):
            return self.fc2(torch.relu(self.fc1(x)))

    class Linked(nn.Module):
        def __init__(self):
            super().__init__()
            width = choices.ValueChoice([4, 8], label="width")
            self.fc = choices.Linear(3, width)
            self.unit = Unit(width, depth=choices.ValueChoice([1, 2, 3], label="depth"))
            self.out = choices.Linear(width, 4)
            candidates = {"linear": nn.Linear(4, 4), "relu": nn.ReLU()}
            self.cell = choices.Cell(candidates, num_nodes=2, num_ops_per_node=2, num_predecessors=2, label="cell")

        def forward(self, x):
            x = self.out(self.unit(self.fc(x)))
            return self.cell([x, x])

    save(Linked(), "linked")
    write_labels(choices)
    write_lost_choices(choices)


def write_labels(choices):
    class Automatic(nn.Module):
        def __init__(self):
            super().__init__()
            width = choices.ValueChoice([4, 8])
            self.fc = choices.Linear(4, width * 2)
            self.lstm = choices.LSTM(width * 2, choices.ValueChoice([3, 5]), batch_first=True)
            named = choices.LayerChoice([nn.ReLU(), nn.Tanh()], label="layer_1")
            self.layers = nn.Sequential(named, choices.LayerChoice([nn.ReLU(), nn.Tanh()]))

        def forward(self, x):
            return self.layers(self.lstm(self.fc(x))[0])

    save(Automatic(), "automatic")
    save(Automatic(), "automatic_again")


def write_lost_choices(choices):
    def layer(label="l"):
        return choices.LayerChoice([nn.Linear(4, 4), nn.Linear(4, 4, bias=False)], label=label)

    class Unused(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(4, 4)
            self.unused = layer()

        def forward(self, x):
            return self.fc(x)

    class Loop(nn.Module):
        def __init__(self):
            super().__init__()
            self.drop = choices.Dropout(choices.ValueChoice([0.1, 0.2], label="p"))

        def forward(self, x):
            while bool(x.sum() > 1):
                x = self.drop(x) / 2
            return x

    class Shared(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = layer("a")
            self.b = nn.Sequential(self.a.candidates[0])

        def forward(self, x):
            return self.b(self.a(x))

    class Clash(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = choices.Dropout(choices.ValueChoice([0.1, 0.2], label="p"))
            self.b = choices.Dropout(choices.ValueChoice([0.1, 0.3], label="p"))

        def forward(self, x):
            return self.b(self.a(x))

    save(Unused(), "lost_unused")
    save(nn.Sequential(Loop(), nn.Linear(4, 4)), "lost_loop")
    save(Shared(), "lost_shared")
    save(Clash(), "lost_clash")
    numbers = layer()
    numbers.lanista_names = [1, 2]
    save(nn.Sequential(numbers), "lost_names")
    label = layer()
    label.lanista_label = 3
    save(nn.Sequential(label), "lost_label")


def write_torchvision():
    try:
        import torchvision.models as models
    except ImportError:
        return
    for name in ["mobilenet_v3_small", "shufflenet_v2_x0_5", "googlenet", "efficientnet_b0", "densenet121", "swin_t"]:
        torch.jit.script(models.get_model(name, weights=None)).save(f"torchvision_{name}.pt")


def write_architectures():
    import classifiers
    import other_networks
    for name, make in {**classifiers.MODELS, **other_networks.MODELS}.items():
        save(make(), name)


def main():
    os.chdir(sys.argv[1])
    if sys.argv[2:] == ["torchvision"]:
        write_torchvision()
        return
    if sys.argv[2:] == ["architectures"]:
        write_architectures()
        return
    save(Net(), "net")
    save(Nested(), "nested")
    save(Branches(), "branches")
    save(Auxiliary(), "auxiliary")
    save(KeepsLoop(), "keeps_loop")
    save(WhileLoop(), "while_loop")
    save(Refuses(), "refuses")
    save(GuardedSize(), "guarded_size")
    save(AssertsIfStrict(), "asserts_if_strict")
    save(Costly(), "costly")
    save(ChangesList(), "changes_list")
    save(Lists(), "lists")
    save(Literals(), "literals")
    save(NestedOut(), "nested_out")
    save(DictOut(), "dict_out")
    save(Parameters(), "parameters")
    save(Methods(), "methods")
    save(TwoMethods(), "two_methods")
    save(HoldsTied(), "tied")
    save(Recurrent(), "recurrent")
    save(Resizes(), "resizes")
    save(attribute_zoo(), "zoo")
    save(nn.Linear(3, 2), "linear")
    save(HidesFile(), "reads_file")
    save(ForksFile(), "forks_file")
    save(SetsState(), "sets_state")
    save(CallsInterface(), "interface_file")
    save(NoForward(), "no_forward")
    save(Hooked(), "hooked")
    save(HoldsHooked(), "holds_hooked")
    write_bad_files()
    write_choices(sys.argv[2])


main()
