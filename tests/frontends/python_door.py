"""What lanista.nn refuses, and with which words. Its argument: the folder of the Python client. Needs torch."""

import json
import sys
import unittest

import torch

sys.path.insert(0, sys.argv.pop())
from lanista import nn


def width(**kwargs):
    return nn.ValueChoice([4, 8], **kwargs)


class PythonDoor(unittest.TestCase):
    def test_a_choice_is_never_compared(self):
        for compare in (
            lambda: width() == 4,
            lambda: width() != 4,
            lambda: 4 < width() + 1,
            lambda: width() in (4, 8),
        ):
            with self.assertRaisesRegex(TypeError, "cannot be compared"):
                compare()
        with self.assertRaisesRegex(TypeError, "cannot decide an `if`"):
            bool(width())

    def test_candidates_differ(self):
        for candidates in ([1, 1, 2], [[1, 2], (1, 2)]):
            with self.assertRaisesRegex(ValueError, "twice"):
                nn.ValueChoice(candidates)
        with self.assertRaisesRegex(TypeError, "are a list, not 'abc'"):
            nn.ValueChoice("abc")
        nn.ValueChoice([1, True, 1.0])

    def test_labels_and_names_are_strings(self):
        for make in (
            lambda label: width(label=label),
            lambda label: nn.LayerChoice([nn.ReLU()], label=label),
            lambda label: nn.Repeat(lambda i: nn.ReLU(), 2, label=label),
        ):
            with self.assertRaisesRegex(TypeError, "a label is a string that is not empty, not 3"):
                make(3)
        with self.assertRaisesRegex(TypeError, "not 1"):
            nn.LayerChoice({1: nn.ReLU(), 2: nn.Tanh()})
        with self.assertRaisesRegex(TypeError, "candidate 'a' is no module"):
            nn.Cell({"a": 3}, num_nodes=1)

    def test_a_module_with_parameters_has_one_place(self):
        linear = nn.Linear(4, 4)
        first = nn.LayerChoice([linear, nn.ReLU()], label="first")
        with self.assertRaisesRegex(ValueError, r"LayerChoice 'first' at python_door.py:\d+, and the LayerChoice 'second'"):
            nn.LayerChoice([nn.Sequential(linear), nn.ReLU()], label="second")
        with self.assertRaisesRegex(ValueError, "Repeat"):
            nn.Repeat(lambda i: linear, (1, 3))
        # A choice within a candidate, and modules without parameters.
        relu = nn.ReLU()
        nn.LayerChoice([nn.Sequential(first, relu), relu])
        nn.LayerChoice([nn.Linear(4, 4), relu])

    def test_repeat_takes_a_list_of_blocks(self):
        blocks = [nn.Linear(4, 4) for _ in range(3)]
        repeat = nn.Repeat(blocks, (1, 3))
        self.assertEqual([block for block in repeat.blocks], blocks)
        self.assertEqual(len(nn.Repeat([nn.ReLU()] * 3, [0, 2]).blocks), 2)
        with self.assertRaisesRegex(ValueError, "the list has 1 blocks, and up to 2 may run"):
            nn.Repeat([nn.ReLU()], (1, 2))

    def test_an_input_choice_has_a_number(self):
        with self.assertRaisesRegex(TypeError, "n_chosen is a number, not None; for any number of inputs"):
            nn.InputChoice(2, n_chosen=None)

    def test_a_clash_names_both_places(self):
        with self.assertRaisesRegex(ValueError, r"'p'.*\[4, 8\] at python_door.py:\d+, and \[1\] at python_door.py"):
            nn.Linear(width(label="p"), nn.ValueChoice([1], label="p"))

    def test_the_classes_of_torch_say_which_to_use(self):
        for make in (torch.nn.Linear, torch.nn.Embedding, torch.nn.LSTM):
            with self.assertRaisesRegex(TypeError, f"use lanista.nn.{make.__name__}"):
                make(4, width())
        for make in (lambda: torch.nn.Conv2d(1, width(), 3), lambda: torch.nn.Dropout(nn.ValueChoice([0.1, 0.2]))):
            with self.assertRaisesRegex(TypeError, "lanista.nn"):
                make()

    def test_classes_are_classes(self):
        conv = nn.Conv2d(1, width(), 3)
        self.assertIsInstance(conv, nn.Conv2d)
        self.assertIs(type(conv), torch.nn.Conv2d)
        self.assertNotIsInstance(conv, nn.Linear)
        self.assertIsInstance(conv, (nn.Linear, nn.Conv2d))
        self.assertTrue(issubclass(nn.Conv2d, nn.Module))
        self.assertIs(nn.Conv2d, nn.Conv2d)

        class Scaled(nn.Linear):
            def __init__(self):
                super().__init__(2, 3)

            def forward(self, x):
                return 2 * torch.nn.functional.linear(x, self.weight, self.bias)

        self.assertTrue(issubclass(Scaled, torch.nn.Linear) and issubclass(Scaled, nn.Linear))
        self.assertEqual(torch.jit.script(Scaled())(torch.zeros(1, 2)).shape, (1, 3))

    def test_recurrent_networks_take_choices(self):
        for make in (nn.RNN, nn.GRU, nn.LSTM):
            module = make(3, width(label="hidden"), num_layers=nn.ValueChoice([2, 1], label="depth"), batch_first=True)
            self.assertEqual((module.hidden_size, module.num_layers, module.batch_first), (4, 2, True))
            attributes = json.loads(module.lanista_choices)["attributes"]
            self.assertEqual(attributes, {"hidden_size": {"choice": "hidden"}, "num_layers": {"choice": "depth"}})
        self.assertTrue(nn.GRU(3, 4, 1, True, True).batch_first)


unittest.main()
