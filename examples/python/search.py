"""A PyTorch network with choices: searched by a head on this machine, and the best model loaded back. docs/python.md
has the commands before this one, which writes net.pt and best/ into the folder where it is started:

    /usr/bin/python3 LANISTA/examples/python/search.py 127.0.0.1:7421
"""
import sys

import torch
from lanista import nn
from lanista.client import Client


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        width = nn.ValueChoice([8, 16, 32], label="width")
        self.conv = nn.Conv2d(1, width, 3, stride=2)
        self.act = nn.LayerChoice({"relu": nn.ReLU(), "silu": nn.SiLU()}, label="act")
        self.fc = nn.Linear(width * 13 * 13, 10)

    def forward(self, x):
        return self.fc(torch.flatten(self.act(self.conv(x)), 1))


head = sys.argv[1]  # HOST:PORT
torch.jit.script(Net()).save("net.pt")
data = {"synthetic_digits": {"train_samples": 1000, "validation_samples": 500}}
experiment = Client(head).submit({
    "space": {"torchscript": {"path": "net.pt", "input_shape": [{"dims": [-1, 1, 28, 28]}]}}, "engine": {"graph": {}},
    "strategy": {"random": {}}, "evaluator": {"classification": {"dataset": data, "max_epochs": 2}},
    "keep_weights": {"best": 1}, "max_trial_number": 6})
for event in experiment.watch():
    if event.HasField("outcome"):
        print(f"model {event.outcome.model}: {event.outcome.metrics.values['default']:.3f}")
best = experiment.best()[0]
print(f"the best is model {best['id']}: {best['sample']}")
net = torch.jit.load(experiment.export("best", format="torchscript", overwrite=True)[0]).eval()
print("it predicts", net(torch.zeros(1, 1, 28, 28)).argmax().item())
