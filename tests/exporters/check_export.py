"""Runs exported files and compares what they give with what GraphModule gave.

    check_export.py [FOLDER STEM FORMAT]...

FOLDER/data.pt holds {"inputs": [tensors], "outputs": [tensors]}. Prints what is wrong, and nothing otherwise.
"""
import contextlib
import importlib
import io
import sys
import traceback

import torch
import torch.nn.functional as F


def flat(value):
    if isinstance(value, torch.Tensor):
        return [value]
    if value is None:
        return []
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
    for axis, start, end in zip(axes, starts.tolist(), ends.tolist()):
        size = x.size(axis)
        start = min(start + size if start < 0 else start, size)
        end = min(end + size if end < 0 else end, size)
        x = x.narrow(axis, start, max(end - start, 0))
    return x


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
    "Div": lambda x, y, **a: x / y,
    "Flatten": lambda x, **a: x.flatten(a.get("axis", 1)),
    "Gather": lambda x, i, **a: torch.index_select(x, a.get("axis", 0), i.reshape(-1)).reshape(
        x.shape[:a.get("axis", 0)] + i.shape + x.shape[a.get("axis", 0) + 1:]),
    "Gemm": run_gemm,
    "GlobalAveragePool": lambda x, **a: x.mean((2, 3), keepdim=True),
    "HardSigmoid": lambda x, **a: (a.get("alpha", 0.2) * x + a.get("beta", 0.5)).clamp(0, 1),
    "Identity": lambda x, **a: x,
    "LeakyRelu": lambda x, **a: F.leaky_relu(x, a.get("alpha", 0.01)),
    "LogSoftmax": lambda x, **a: x.log_softmax(a.get("axis", -1)),
    "MatMul": lambda x, y, **a: x @ y,
    "MaxPool": run_max_pool,
    "Mul": lambda x, y, **a: x * y,
    "PRelu": lambda x, slope, **a: torch.where(x >= 0, x, x * slope),
    "ReduceMean": lambda x, **a: x.mean(a["axes"], keepdim=bool(a.get("keepdims", 1))),
    "Relu": lambda x, **a: x.relu(),
    "Reshape": run_reshape,
    "Shape": lambda x, **a: torch.tensor(x.shape),
    "Sigmoid": lambda x, **a: x.sigmoid(),
    "Slice": run_slice,
    "Softmax": lambda x, **a: x.softmax(a.get("axis", -1)),
    "Squeeze": lambda x, axes, **a: x.reshape([s for i, s in enumerate(x.shape) if i not in axes.tolist()]),
    "Sub": lambda x, y, **a: x - y,
    "Tanh": lambda x, **a: x.tanh(),
    "Transpose": lambda x, **a: x.permute(*a["perm"]),
    "Unsqueeze": lambda x, axes, **a: x.unsqueeze(axes.tolist()[0]),
}


def check_onnx(folder, stem, data):
    import numpy
    import onnx
    from onnx import numpy_helper
    model = onnx.load(f"{folder}/{stem}.onnx")
    onnx.checker.check_model(model, full_check=True)
    if model.opset_import[0].version < 13:
        print("opset", model.opset_import[0].version)
    for value in model.graph.input:
        if value.type.tensor_type.shape.dim[0].dim_param != "N":
            print(f"the first dimension of {value.name} is not N")
    values = {"": None}
    for tensor in model.graph.initializer:
        values[tensor.name] = torch.from_numpy(numpy.array(numpy_helper.to_array(tensor)))
    for value, tensor in zip(model.graph.input, data["inputs"]):
        values[value.name] = tensor
    for node in model.graph.node:
        result = OPERATORS[node.op_type](*[values[name] for name in node.input], **attributes(node))
        for name, output in zip(node.output, result if isinstance(result, tuple) else (result,)):
            values[name] = output
    compare([values[value.name] for value in model.graph.output], data["outputs"], "onnx")


def check(folder, stem, format):
    data = torch.load(f"{folder}/data.pt")
    if format == "onnx":
        check_onnx(folder, stem, data)
    else:
        check_module(folder, stem, format, data)


def main():
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
