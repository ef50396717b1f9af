"""Writes net.pt and dwconv.pt beside this file: the quick-start network of NNI's documents, as TorchScript.

    python3 examples/torchscript/make_net.py        # PyTorch is needed here, and nowhere after
"""

import pathlib

import torch
import torch.nn.functional as F
from torch import nn


class DepthwiseSeparableConv(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.depthwise = nn.Conv2d(in_channels, in_channels, 3, groups=in_channels)
        self.pointwise = nn.Conv2d(in_channels, out_channels, 1)

    def forward(self, x):
        return self.pointwise(self.depthwise(x))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 32, 3, 1)
        self.conv2 = nn.Conv2d(32, 64, 3, 1)
        self.dropout1 = nn.Dropout(0.25)
        self.dropout2 = nn.Dropout(0.5)
        self.fc1 = nn.Linear(9216, 128)
        self.fc2 = nn.Linear(128, 10)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.max_pool2d(self.conv2(x), 2)
        x = torch.flatten(self.dropout1(x), 1)
        x = self.fc2(self.dropout2(F.relu(self.fc1(x))))
        return F.log_softmax(x, dim=1)


if __name__ == "__main__":
    folder = pathlib.Path(__file__).parent
    torch.jit.script(Net()).save(str(folder / "net.pt"))
    torch.jit.script(DepthwiseSeparableConv(32, 64)).save(str(folder / "dwconv.pt"))
