// Names the layer in which a model's forward failed: LibTorch's own message tells two shapes, but not where they met.
#ifndef LANISTA_SRC_EVALUATORS_LAYER_DIAGNOSIS_H_
#define LANISTA_SRC_EVALUATORS_LAYER_DIAGNOSIS_H_

#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>

#include <string>

namespace lanista {

namespace nn {
class Model;
}  // namespace nn

// A message for users about `error`, which `model.forward(input)` threw. Do not call this for errors that say that
// memory ran out, nor for those of CUDA: they say nothing about the model's layers.
//
//   layer 'fc1' (Linear): input [100, 9216] does not fit weight [128, 1024]: mat1 and mat2 shapes cannot be multiplied
//   ...
//
// or, where an operator without parameters failed, the operator, its inputs and the last layer before it:
//
//   operator 'cat' on [8, 3] and [8, 4, 1], after layer 'stem.conv' (Conv2d): Tensors must have same number ...
//
// Runs forward a second time, on the same batch, and watches its operators. This changes the model's buffers and the
// random stream. If the second run does not fail in an operator, the message names only the last layer, if there is
// one. REQUIRES: nothing else runs the model meanwhile.
std::string DescribeForwardError(nn::Model& model, const at::Tensor& input, const c10::Error& error);

}  // namespace lanista

#endif  // LANISTA_SRC_EVALUATORS_LAYER_DIAGNOSIS_H_
