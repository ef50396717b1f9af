"""Runs exported files and compares what they give with what GraphModule gave.

    check_export.py [FOLDER STEM FORMAT]...

FOLDER/data.pt holds {"inputs": [tensors], "outputs": [tensors]}. Prints what is wrong, and nothing otherwise.
"""
import contextlib
import importlib
import io
import sys
import traceback
import warnings

import torch
import torch.nn.functional as F


def flat(value):
    if isinstance(value, torch.Tensor):
        return [value]
    if value is None:
        return []
    if isinstance(value, (bool, int, float)):
        return [torch.tensor(value)]
    return [tensor for element in value for tensor in flat(element)]


def compare(outputs, expected, what):
    if len(outputs) != len(expected):
        print(f"{what}: {len(outputs)} outputs, not {len(expected)}")
        return
    for i, (output, wanted) in enumerate(zip(outputs, expected)):
        if output.shape != wanted.shape:
            print(f"{what}: output {i}: shape {list(output.shape)}, not {list(wanted.shape)}")
        elif not torch.allclose(output.double(), wanted.double(), rtol=1e-5, atol=1e-5, equal_nan=True):
            print(f"{what}: output {i}: {(output - wanted).abs().max().item()} off")


def load(folder, stem, format):
    if format == "torchscript":
        return torch.jit.load(f"{folder}/{stem}.pt")
    sys.path.insert(0, folder)
    sys.dont_write_bytecode = True
    model = importlib.import_module(stem).Model()
    weights = torch.load(f"{folder}/{stem}.pt", weights_only=True)
    model.load_state_dict(weights, strict=True)
    return model


# TorchScript's optimiser has random numbers of its own for dropout.
@torch.jit.optimized_execution(False)
def check_module(folder, stem, format, data):
    model = load(folder, stem, format)
    model.eval()
    torch.manual_seed(7)
    compare(flat(model(*data["inputs"])), data["outputs"], "evaluation")
    model.train()
    torch.manual_seed(7)
    outputs = flat(model(*data["inputs"]))
    if "training" in data:
        compare(outputs, data["training"], "training")
    loss = sum(output.double().pow(2).mean() for output in outputs if output.is_floating_point())
    if any(parameter.requires_grad for parameter in model.parameters()):
        loss.backward()


# The operators of ONNX that the tests' models use.
def attributes(node):
    import onnx
    return {attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in node.attribute}


def run_conv(x, w, b=None, **a):
    pads = a.get("pads", [0, 0, 0, 0])
    return F.conv2d(F.pad(x, (pads[1], pads[3], pads[0], pads[2])), w, b, a.get("strides", 1), 0,
                    a.get("dilations", 1), a.get("group", 1))


def run_conv_transpose(x, w, b=None, **a):
    pads = a.get("pads", [0, 0, 0, 0])
    return F.conv_transpose2d(x, w, b, a.get("strides", 1), pads[:2], a.get("output_padding", 0), a.get("group", 1),
                              a.get("dilations", 1))


def run_max_pool(x, **a):
    pads = a.get("pads", [0, 0, 0, 0])
    return F.max_pool2d(x, a["kernel_shape"], a.get("strides", 1), pads[:2], a.get("dilations", 1),
                        bool(a.get("ceil_mode", 0)))


def run_average_pool(x, **a):
    pads = a.get("pads", [0, 0, 0, 0])
    return F.avg_pool2d(x, a["kernel_shape"], a.get("strides", 1), pads[:2], bool(a.get("ceil_mode", 0)),
                        bool(a.get("count_include_pad", 0)))


def run_depth_to_space(x, **a):
    assert a["mode"] == b"CRD", a
    return F.pixel_shuffle(x, a["blocksize"])


def run_clip(x, low=None, high=None, **a):
    return x.clamp(None if low is None else low.item(), None if high is None else high.item())


def run_gemm(a, b, c=None, **at):
    a = a.t() if at.get("transA") else a
    b = b.t() if at.get("transB") else b
    product = at.get("alpha", 1.0) * (a @ b)
    return product if c is None else product + at.get("beta", 1.0) * c


def run_reshape(x, shape, **a):
    sizes = [x.size(i) if size == 0 else size for i, size in enumerate(shape.tolist())]
    return x.reshape(sizes)


def run_slice(x, starts, ends, axes=None, steps=None, **a):
    axes = axes.tolist() if axes is not None else range(len(starts))
    steps = steps.tolist() if steps is not None else [1] * len(starts)
    for axis, start, end, step in zip(axes, starts.tolist(), ends.tolist(), steps):
        index = torch.arange(x.size(axis))[start:end:step]
        x = x.index_select(axis, index)
    return x


def run_lstm(x, w, r, b=None, lengths=None, h=None, c=None, p=None, **a):
    """Over [length, batch, features]; gates in ONNX's order: input, output, forget, cell."""
    hidden, directions = a["hidden_size"], w.size(0)
    outputs, states, cells = [], [], []
    for d in range(directions):
        state = torch.zeros(x.size(1), hidden) if h is None else h[d]
        cell = torch.zeros(x.size(1), hidden) if c is None else c[d]
        bias = torch.zeros(8 * hidden) if b is None else b[d]
        backward = d == 1 or a.get("direction") == b"reverse"
        steps = [None] * x.size(0)
        for t in reversed(range(x.size(0))) if backward else range(x.size(0)):
            gates = x[t] @ w[d].t() + state @ r[d].t() + bias[:4 * hidden] + bias[4 * hidden:]
            i, o, f, g = gates.chunk(4, 1)
            cell = f.sigmoid() * cell + i.sigmoid() * g.tanh()
            state = o.sigmoid() * cell.tanh()
            steps[t] = state
        outputs.append(torch.stack(steps))
        states.append(state)
        cells.append(cell)
    return torch.stack(outputs, 1), torch.stack(states), torch.stack(cells)


def run_rnn(x, w, r, b=None, lengths=None, h=None, **a):
    """Over [length, batch, features]."""
    hidden, directions = a["hidden_size"], w.size(0)
    activations = a.get("activations", [b"Tanh"] * directions)
    outputs, states = [], []
    for d in range(directions):
        activate = {b"Tanh": torch.tanh, b"Relu": torch.relu}[activations[d]]
        state = torch.zeros(x.size(1), hidden) if h is None else h[d]
        bias = torch.zeros(2 * hidden) if b is None else b[d]
        steps = [None] * x.size(0)
        for t in reversed(range(x.size(0))) if d == 1 else range(x.size(0)):
            state = activate(x[t] @ w[d].t() + state @ r[d].t() + bias[:hidden] + bias[hidden:])
            steps[t] = state
        outputs.append(torch.stack(steps))
        states.append(state)
    return torch.stack(outputs, 1), torch.stack(states)


def run_gru(x, w, r, b=None, lengths=None, h=None, **a):
    """Over [length, batch, features]; gates in ONNX's order: update, reset, hidden."""
    hidden, directions = a["hidden_size"], w.size(0)
    outputs, states = [], []
    for d in range(directions):
        state = torch.zeros(x.size(1), hidden) if h is None else h[d]
        bias = torch.zeros(6 * hidden) if b is None else b[d]
        steps = [None] * x.size(0)
        for t in reversed(range(x.size(0))) if d == 1 else range(x.size(0)):
            wz, wr, wh = (x[t] @ w[d].t() + bias[:3 * hidden]).chunk(3, 1)
            rz, rr, rh = (state @ r[d].t() + bias[3 * hidden:]).chunk(3, 1)
            assert a.get("linear_before_reset") == 1
            z = (wz + rz).sigmoid()
            state = (1 - z) * (wh + (wr + rr).sigmoid() * rh).tanh() + z * state
            steps[t] = state
        outputs.append(torch.stack(steps))
        states.append(state)
    return torch.stack(outputs, 1), torch.stack(states)


def run_pad(x, pads, value=None, **a):
    pads, rank = pads.tolist(), x.dim()
    flat_pads = [pads[side * rank + axis] for axis in reversed(range(rank)) for side in (0, 1)]
    mode = a.get("mode", b"constant").decode()
    if mode == "constant":
        return F.pad(x, flat_pads, value=0.0 if value is None else value.item())
    while flat_pads[-2:] == [0, 0]:
        flat_pads = flat_pads[:-2]
    return F.pad(x, flat_pads, {"edge": "replicate"}.get(mode, mode))


def run_resize(x, roi=None, scales=None, sizes=None, **a):
    mode = {b"nearest": "nearest", b"linear": "bilinear", b"cubic": "bicubic"}[a["mode"]]
    corners = {} if mode == "nearest" else {"align_corners": a["coordinate_transformation_mode"] == b"align_corners"}
    if sizes is not None:
        assert sizes.tolist()[:2] == list(x.shape[:2])
        return F.interpolate(x, size=sizes.tolist()[2:], mode=mode, **corners)
    return F.interpolate(x, scale_factor=scales.tolist()[2:], mode=mode, recompute_scale_factor=False, **corners)


def run_div(x, y, **a):
    return x / y if x.is_floating_point() else torch.div(x, y, rounding_mode="trunc")


def run_split(x, sizes=None, outputs=1, **a):
    axis = a.get("axis", 0)
    return torch.split(x, sizes.tolist() if sizes is not None else x.size(axis) // outputs, axis)


def run_squeeze(x, axes, **a):
    gone = [axis % x.dim() for axis in axes.tolist()]
    return x.reshape([size for i, size in enumerate(x.shape) if i not in gone])


OPERATORS = {
    "Add": lambda x, y, **a: x + y,
    "AveragePool": run_average_pool,
    "BatchNormalization": lambda x, w, b, m, v, **a: F.batch_norm(x, m, v, w, b, eps=a.get("epsilon", 1e-5)),
    "Cast": lambda x, **a: x.to({1: torch.float32, 7: torch.int64, 9: torch.bool}[a["to"]]),
    "Clip": run_clip,
    "Concat": lambda *x, **a: torch.cat(x, a["axis"]),
    "Conv": run_conv,
    "ConvTranspose": run_conv_transpose,
    "DepthToSpace": run_depth_to_space,
    "Div": run_div,
    "Einsum": lambda *x, **a: torch.einsum(a["equation"].decode(), *x),
    "Equal": lambda x, y, **a: x == y,
    "Erf": lambda x, **a: x.erf(),
    "Exp": lambda x, **a: x.exp(),
    "Expand": lambda x, shape, **a: torch.broadcast_to(x, torch.broadcast_shapes(x.shape, shape.tolist())),
    "Flatten": lambda x, **a: x.flatten(a.get("axis", 1)),
    "GRU": run_gru,
    "Gather": lambda x, i, **a: torch.index_select(x, a.get("axis", 0), i.reshape(-1) % x.size(a.get("axis", 0))).reshape(
        x.shape[:a.get("axis", 0)] + i.shape + x.shape[a.get("axis", 0) + 1:]),
    "Gemm": run_gemm,
    "GlobalAveragePool": lambda x, **a: x.mean((2, 3), keepdim=True),
    "HardSigmoid": lambda x, **a: (a.get("alpha", 0.2) * x + a.get("beta", 0.5)).clamp(0, 1),
    "Identity": lambda x, **a: x,
    "LSTM": run_lstm,
    "LeakyRelu": lambda x, **a: F.leaky_relu(x, a.get("alpha", 0.01)),
    "LogSoftmax": lambda x, **a: x.log_softmax(a.get("axis", -1)),
    "MatMul": lambda x, y, **a: x @ y,
    "MaxPool": run_max_pool,
    "Mod": lambda x, y, **a: torch.remainder(x, y),
    "Mul": lambda x, y, **a: x * y,
    "Neg": lambda x, **a: -x,
    "Not": lambda x, **a: ~x,
    "PRelu": lambda x, slope, **a: torch.where(x >= 0, x, x * slope),
    "Pad": run_pad,
    "RNN": run_rnn,
    "Range": lambda start, end, step, **a: torch.arange(start.item(), end.item(), step.item()),
    "Pow": lambda x, y, **a: x ** y,
    "ReduceMax": lambda x, **a: x.amax(a["axes"], keepdim=bool(a.get("keepdims", 1))),
    "ReduceMean": lambda x, **a: x.mean(a["axes"], keepdim=bool(a.get("keepdims", 1))),
    "Relu": lambda x, **a: x.relu(),
    "ReduceSum": lambda x, axes, **a: x.sum(axes.tolist(), keepdim=bool(a.get("keepdims", 1))),
    "Reshape": run_reshape,
    "Resize": run_resize,
    "Shape": lambda x, **a: torch.tensor(x.shape),
    "Sigmoid": lambda x, **a: x.sigmoid(),
    "Slice": run_slice,
    "Softmax": lambda x, **a: x.softmax(a.get("axis", -1)),
    "Split": run_split,
    "Sqrt": lambda x, **a: x.sqrt(),
    "Squeeze": run_squeeze,
    "Sub": lambda x, y, **a: x - y,
    "Tanh": lambda x, **a: x.tanh(),
    "Tile": lambda x, repeats, **a: x.repeat(repeats.tolist()),
    "Transpose": lambda x, **a: x.permute(*a["perm"]),
    "Unsqueeze": lambda x, axes, **a: x.unsqueeze(axes.tolist()[0]),
    "Where": lambda c, x, y, **a: torch.where(c, x, y),
}


def check_onnx(folder, stem, data):
    import numpy
    import onnx
    from onnx import numpy_helper
    model = onnx.load(f"{folder}/{stem}.onnx")
    onnx.checker.check_model(model, full_check=True)
    if model.opset_import[0].version < 13:
        print("opset", model.opset_import[0].version)
    if model.graph.input[0].type.tensor_type.shape.dim[0].dim_param != "N":
        print(f"the first dimension of {model.graph.input[0].name} is not N")
    constants = {"": None}
    for tensor in model.graph.initializer:
        constants[tensor.name] = torch.from_numpy(numpy.array(numpy_helper.to_array(tensor)))
    compare(run_onnx(model, constants, data["inputs"]), data["outputs"], "onnx")
    # Images one by one give the same: the file takes batches of any size.
    size = data["inputs"][0].size(0)
    if len(data["inputs"]) == 1 and data["inputs"][0].dim() == 4 and all(
            output.dim() > 0 and output.size(0) == size for output in data["outputs"]):
        compare(run_onnx(model, constants, [data["inputs"][0][:1]]), [output[:1] for output in data["outputs"]],
                "onnx, another batch")


def run_onnx(model, constants, inputs):
    values = dict(constants)
    for value, tensor in zip(model.graph.input, inputs):
        values[value.name] = tensor
    for node in model.graph.node:
        more = {"outputs": len(node.output)} if node.op_type == "Split" else {}
        result = OPERATORS[node.op_type](*[values[name] for name in node.input], **attributes(node), **more)
        for name, output in zip(node.output, result if isinstance(result, tuple) else (result,)):
            values[name] = output
    return [values[value.name] for value in model.graph.output]


def check(folder, stem, format):
    data = torch.load(f"{folder}/data.pt", weights_only=False)  # typed lists, of the test itself
    if format == "onnx":
        check_onnx(folder, stem, data)
    else:
        check_module(folder, stem, format, data)


def main():
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    for folder, stem, format in zip(*[iter(sys.argv[1:])] * 3):
        found = io.StringIO()
        with contextlib.redirect_stdout(found):
            try:
                check(folder, stem, format)
            except Exception:
                print(traceback.format_exc())
        for line in found.getvalue().splitlines():
            print(f"{stem} {format}: {line}")


main()
