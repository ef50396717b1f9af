// Lanista's inline API: model spaces as ordinary LibTorch code (define-by-run).
//
//   #include <torch/torch.h>
//
//   #include "lanista/nn.h"
//
//   namespace nn = lanista::nn;
//
//   class Net : public nn::ModelSpace { ... };              // asks ValueChoice, LayerChoice, InputChoice, Repeat, Cell
//   LANISTA_REGISTER(model_space, "my_net", nn::MakeModelSpace<Net>);
//
// A plain `Net net;` is the first model of the space; nn::BuildFixed<Net>(json) is a model that a search has found, and
// nn::LoadWeights(*net, "1-model-17.weights.pt") loads its trained weights.
#ifndef LANISTA_SRC_NN_NN_H_
#define LANISTA_SRC_NN_NN_H_

#include "src/nn/cell.h"
#include "src/nn/construction.h"
#include "src/nn/fixed.h"
#include "src/nn/input_choice.h"
#include "src/nn/layer_choice.h"
#include "src/nn/model.h"
#include "src/nn/model_space.h"
#include "src/nn/params.h"
#include "src/nn/repeat.h"
#include "src/nn/state_dict.h"
#include "src/nn/value_choice.h"

#endif  // LANISTA_SRC_NN_NN_H_
