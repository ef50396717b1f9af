// Builds recurrent networks. The states are inputs and outputs of their own: forward(input, h0, c0) -> out, h, c.
#include <torch/nn/modules/rnn.h>

#include "src/ops/modules/module_torch.h"

namespace lanista::ops {
namespace {

namespace nn = torch::nn;

template <typename Options>
Options SequenceOptions(const Attributes& a) {
  Options options(a.Int("input_size"), a.Int("hidden_size"));
  options.num_layers(a.Int("num_layers"))
      .bias(a.Bool("bias"))
      .batch_first(a.Bool("batch_first"))
      .dropout(a.Float("dropout"))
      .bidirectional(a.Bool("bidirectional"));
  return options;
}

template <typename Options>
Options CellOptions(const Attributes& a) {
  Options options(a.Int("input_size"), a.Int("hidden_size"));
  options.bias(a.Bool("bias"));
  return options;
}

template <typename Options>
void SetNonlinearity(const Attributes& a, Options* options) {
  if (a.String("nonlinearity") == "relu") options->nonlinearity(torch::kReLU);
}

// LibTorch 1.13 takes batches only, so a single sequence becomes a batch of one. The axis of the batch in the input and
// in the states; -1: the input has a batch already.
struct BatchAxis {
  BatchAxis(const torch::Tensor& x, int64_t rank, int64_t axis) : input(x.dim() == rank - 1 ? axis : -1) {}

  torch::Tensor Add(const torch::Tensor& x, int64_t axis) const { return input < 0 ? x : x.unsqueeze(axis); }
  torch::Tensor Remove(const torch::Tensor& x, int64_t axis) const { return input < 0 ? x : x.squeeze(axis); }

  const int64_t input;
};

// The batch axis of a state: [layers, batch, features].
constexpr int64_t kStateAxis = 1;

// RNN and GRU.
template <typename Module>
std::unique_ptr<OpModule> MakeSequence(Module module, bool batch_first) {
  const int64_t axis = batch_first ? 0 : 1;
  return MakeModuleOp(module, [axis](auto& network, Inputs inputs, c10::IValue* outputs) {
    const torch::Tensor& x = inputs[0].toTensor();
    const BatchAxis batch(x, 3, axis);
    const torch::Tensor h0 = inputs.size() > 1 ? batch.Add(inputs[1].toTensor(), kStateAxis) : torch::Tensor();
    const auto [out, h] = network.forward(batch.Add(x, axis), h0);
    outputs[0] = batch.Remove(out, axis);
    outputs[1] = batch.Remove(h, kStateAxis);
  });
}

std::unique_ptr<OpModule> MakeRnn(const Attributes& a) {
  auto options = SequenceOptions<nn::RNNOptions>(a);
  SetNonlinearity(a, &options);
  return MakeSequence(nn::RNN(options), a.Bool("batch_first"));
}

std::unique_ptr<OpModule> MakeGru(const Attributes& a) {
  return MakeSequence(nn::GRU(SequenceOptions<nn::GRUOptions>(a)), a.Bool("batch_first"));
}

using LstmStates = std::tuple<torch::Tensor, torch::Tensor>;

std::unique_ptr<OpModule> MakeLstm(const Attributes& a) {
  const int64_t axis = a.Bool("batch_first") ? 0 : 1;
  const nn::LSTM module(SequenceOptions<nn::LSTMOptions>(a).proj_size(a.Int("proj_size")));
  return MakeModuleOp(module, [axis](nn::LSTMImpl& network, Inputs inputs, c10::IValue* outputs) {
    const torch::Tensor& x = inputs[0].toTensor();
    const BatchAxis batch(x, 3, axis);
    torch::optional<LstmStates> states;
    if (inputs.size() > 2) {
      states = LstmStates(batch.Add(inputs[1].toTensor(), kStateAxis), batch.Add(inputs[2].toTensor(), kStateAxis));
    }
    const auto [out, last] = network.forward(batch.Add(x, axis), states);
    outputs[0] = batch.Remove(out, axis);
    outputs[1] = batch.Remove(std::get<0>(last), kStateAxis);
    outputs[2] = batch.Remove(std::get<1>(last), kStateAxis);
  });
}

// RNNCell and GRUCell.
template <typename Module>
std::unique_ptr<OpModule> MakeCell(Module module) {
  return MakeModuleOp(module, [](auto& cell, Inputs inputs, c10::IValue* outputs) {
    const torch::Tensor& x = inputs[0].toTensor();
    const BatchAxis batch(x, 2, 0);
    const torch::Tensor h0 = inputs.size() > 1 ? batch.Add(inputs[1].toTensor(), 0) : torch::Tensor();
    outputs[0] = batch.Remove(cell.forward(batch.Add(x, 0), h0), 0);
  });
}

std::unique_ptr<OpModule> MakeRnnCell(const Attributes& a) {
  auto options = CellOptions<nn::RNNCellOptions>(a);
  SetNonlinearity(a, &options);
  return MakeCell(nn::RNNCell(options));
}

std::unique_ptr<OpModule> MakeGruCell(const Attributes& a) {
  return MakeCell(nn::GRUCell(CellOptions<nn::GRUCellOptions>(a)));
}

std::unique_ptr<OpModule> MakeLstmCell(const Attributes& a) {
  const nn::LSTMCell module(CellOptions<nn::LSTMCellOptions>(a));
  return MakeModuleOp(module, [](nn::LSTMCellImpl& cell, Inputs inputs, c10::IValue* outputs) {
    const torch::Tensor& x = inputs[0].toTensor();
    const BatchAxis batch(x, 2, 0);
    torch::optional<LstmStates> states;
    if (inputs.size() > 2) {
      states = LstmStates(batch.Add(inputs[1].toTensor(), 0), batch.Add(inputs[2].toTensor(), 0));
    }
    const auto [h, c] = cell.forward(batch.Add(x, 0), states);
    outputs[0] = batch.Remove(h, 0);
    outputs[1] = batch.Remove(c, 0);
  });
}

LANISTA_REGISTER_OP_BUILDER("RNN", MakeRnn);
LANISTA_REGISTER_OP_BUILDER("LSTM", MakeLstm);
LANISTA_REGISTER_OP_BUILDER("GRU", MakeGru);
LANISTA_REGISTER_OP_BUILDER("RNNCell", MakeRnnCell);
LANISTA_REGISTER_OP_BUILDER("LSTMCell", MakeLstmCell);
LANISTA_REGISTER_OP_BUILDER("GRUCell", MakeGruCell);

}  // namespace
}  // namespace lanista::ops
