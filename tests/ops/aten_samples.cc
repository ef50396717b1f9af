#include "tests/ops/aten_samples.h"

#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "src/graph/graph.h"
#include "src/graph/value_types.h"

namespace lanista::ops {

const std::vector<Sample>& Samples() {
  static const auto* const samples = [] {
    auto* const all = new std::vector<Sample>{
        {"leaky_relu", "self=@ negative_slope=0.2", {{11, 3}}},
        {"elu", "self=@ alpha=2", {{11, 3}}},
        {"hardtanh", "self=@ min_val=0 max_val=6", {{11, 3}}},
        {"clamp", "self=@ min=0", {{11, 3}}},
        {"clamp_", "self=@ max=0.5", {{11, 3}}},
        {"clamp_min", "self=@ min=0", {{11, 3}}},
        {"clamp_max", "self=@ max=0", {{11, 3}}},
        {"gelu", "self=@ approximate='tanh'", {{11, 3}}},
        {"softplus", "self=@", {{11, 3}}},
        {"dropout", "input=@ p=0.5 train=True", {{11, 3}}},
        {"dropout_", "self=@ p=0.5 train=False", {{11, 3}}},
        {"softmax.int", "self=@ dim=1", {{11, 3}}},
        {"log_softmax.int", "self=@ dim=-1", {{11, 3}}},
        {"softmax.int", "self=@ dim=-1 dtype=7", {{11, 3}}},
        {"sqrt", "self=@i", {{11, 3}}},
        {"abs", "self=@i", {{11, 3}}},
        {"contiguous", "self=@", {{11, 3}}},
        {"detach", "self=@", {{11, 3}}},
        {"clone", "self=@", {{11, 3}}},
        {"to.dtype", "self=@ dtype=7", {{11, 3}}},
        {"to.device", "self=@ device='cpu' dtype=4", {{11, 3}}},
        {"to.prim_Device", "self=@ device='cpu' dtype=None", {{11, 3}}},
        {"to.prim_dtype", "self=@ dtype=11", {{11, 3}}},
        // Two tensors, or a tensor and a number.
        {"add.Tensor", "self=@ other=@", {{11, 3, 4}, {3, 1}}},
        {"add.Tensor", "self=@ other=@i", {{11, 3}, {3}}},
        {"add.Tensor", "self=@i other=@b", {{11, 3}, {3}}},
        {"add_.Tensor", "self=@ other=@", {{11, 3, 4}, {3, 1}}},
        {"sub.Tensor", "self=@ other=@ alpha=2", {{3, 1}, {11, 3, 4}}},
        {"sub_.Tensor", "self=@ other=@", {{11, 3}, {3}}},
        {"rsub.Tensor", "self=@ other=@", {{11, 3}, {3}}},
        {"mul.Tensor", "self=@ other=@", {{11, 3}, {11, 3}}},
        {"mul_.Tensor", "self=@ other=@", {{11, 3}, {11, 3}}},
        {"div.Tensor", "self=@ other=@", {{11, 3}, {1}}},
        {"div.Tensor", "self=@i other=@i", {{11, 3}, {1}}},
        {"div_.Tensor", "self=@ other=@", {{11, 3}, {1}}},
        {"pow.Tensor_Tensor", "self=@ exponent=@", {{11, 3}, {1}}},
        {"pow.Tensor_Scalar", "self=@ exponent=2", {{11, 3}}},
        {"maximum", "self=@ other=@", {{11, 3}, {3}}},
        {"minimum", "self=@ other=@", {{11, 3}, {3}}},
        {"max.other", "self=@ other=@", {{11, 3}, {3}}},
        {"min.other", "self=@ other=@", {{11, 3}, {3}}},
        {"logical_and", "self=@b other=@b", {{11, 3}, {3}}},
        {"logical_or", "self=@b other=@b", {{11, 3}, {3}}},
        {"where.self", "condition=@b self=@ other=@", {{11, 3}, {3}, {11, 1}}},
        {"masked_fill.Scalar", "self=@ mask=@b value=-1.5", {{11, 3}, {3}}},
        {"masked_fill_.Scalar", "self=@ mask=@b value=0", {{11, 3}, {3}}},
        // Shapes.
        {"view", "self=@ size=[-1,12]", {{11, 3, 4}}},
        {"view", "self=@ size=[-1,3,2,2]", {{11, 3, 4}}},
        {"view", "self=@ size=[33,4]", {{11, 3, 4}}, "-"},
        {"reshape", "self=@ shape=[-1,4]", {{11, 3, 4}}, "0"},
        {"reshape", "self=@ shape=[132]", {{11, 3, 4}}, "-"},
        {"flatten.using_ints", "self=@ start_dim=1", {{11, 3, 4, 5}}},
        {"flatten.using_ints", "self=@", {{11, 3, 4, 5}}, "0"},
        {"flatten.using_ints", "self=@ start_dim=-2", {{11, 3, 4, 5}}},
        {"unsqueeze", "self=@ dim=1", {{11, 3}}},
        {"unsqueeze", "self=@ dim=-1", {{11, 3}}},
        {"unsqueeze_", "self=@ dim=-2", {{11, 3}}},
        {"squeeze.dim", "self=@ dim=1", {{11, 1, 3}}},
        {"squeeze.dim", "self=@ dim=-1", {{11, 1, 3}}},
        {"squeeze", "self=@", {{3, 1, 4, 1}}},
        {"permute", "self=@ dims=[0,2,1]", {{11, 3, 4}}},
        {"permute", "self=@ dims=[-1,0,1]", {{11, 3, 4}}},
        {"transpose.int", "self=@ dim0=1 dim1=-1", {{11, 3, 4}}},
        {"t", "self=@", {{3, 4}}},
        {"pixel_shuffle", "self=@ upscale_factor=2", {{11, 8, 3, 4}}},
        // Parts.
        {"slice.Tensor", "self=@ dim=1 start=0 end=9223372036854775807", {{11, 5}}},
        {"slice.Tensor", "self=@ dim=1 start=1 end=-1 step=2", {{11, 6}}},
        {"slice.Tensor", "self=@ dim=-1 start=4 end=3", {{11, 6}}},
        {"slice.Tensor", "self=@ dim=0 start=1 end=None", {{11, 6}}, "0"},
        {"slice.Tensor", "self=@ dim=0 end=1", {{11, 6}}, "0"},
        {"narrow", "self=@ dim=1 start=-3 length=2", {{11, 6}}},
        {"select.int", "self=@ dim=1 index=-1", {{11, 6, 3}}},
        {"select.int", "self=@ dim=0 index=1", {{11, 6, 3}}},
        {"embedding", "weight=@ indices=@i", {{5, 4}, {11, 3}}},
        {"chunk", "self=@ chunks=3 dim=1", {{11, 7}}},
        {"chunk", "self=@ chunks=4 dim=-1", {{11, 6}}},
        {"split.Tensor", "self=@ split_size=2 dim=1", {{11, 5}}},
        {"split.sizes", "self=@ split_size=[1,4] dim=1", {{11, 5}}},
        {"split", "self=@ split_sizes=[1,4] dim=1", {{11, 5}}},
        {"split_with_sizes", "self=@ split_sizes=[2,3] dim=-1", {{11, 5}}},
        {"unbind.int", "self=@ dim=1", {{11, 3, 4}}},
        {"cat", "tensors=@ tensors=@ dim=1", {{11, 3, 4}, {11, 5, 4}}},
        {"stack", "tensors=@ tensors=@ dim=1", {{11, 3}, {11, 3}}},
        {"stack", "tensors=@ tensors=@ dim=-1", {{11, 3}, {11, 3}}},
        // Reductions.
        {"mean", "self=@", {{11, 3}}},
        {"mean.dim", "self=@ dim=[2,-1]", {{11, 3, 4, 5}}},
        {"mean.dim", "self=@ dim=[1] keepdim=True", {{11, 3, 4}}},
        {"mean.dim", "self=@ dim=None keepdim=True", {{11, 3, 4}}},
        {"sum", "self=@", {{11, 3}}},
        {"sum", "self=@b", {{11, 3}}},
        {"sum.dim_IntList", "self=@i dim=[-1]", {{11, 3}}},
        {"amax", "self=@ dim=[1]", {{11, 3}}},
        {"amin", "self=@", {{11, 3}}},
        {"max", "self=@", {{11, 3}}},
        {"min", "self=@", {{11, 3}}},
        {"max.dim", "self=@ dim=1", {{11, 3}}},
        {"min.dim", "self=@ dim=-1 keepdim=True", {{11, 3}}},
        {"argmax", "self=@ dim=1", {{11, 3}}},
        {"argmax", "self=@", {{11, 3}}},
        {"argmin", "self=@ dim=1 keepdim=True", {{11, 3}}},
        {"cumsum", "self=@ dim=1", {{11, 3}}},
        // Products.
        {"matmul", "self=@ other=@", {{11, 3, 4}, {4, 5}}},
        {"matmul", "self=@ other=@", {{11, 1, 3, 4}, {7, 4, 5}}},
        {"matmul", "self=@ other=@", {{4}, {4, 5}}},
        {"matmul", "self=@ other=@", {{11, 3, 4}, {4}}},
        {"matmul", "self=@ other=@", {{4}, {4}}},
        {"mm", "self=@ mat2=@", {{11, 4}, {4, 5}}},
        {"bmm", "self=@ mat2=@", {{11, 3, 4}, {11, 4, 5}}},
        {"addmm", "self=@ mat1=@ mat2=@ beta=2", {{5}, {11, 4}, {4, 5}}},
        {"baddbmm", "self=@ batch1=@ batch2=@", {{11, 3, 5}, {11, 3, 4}, {11, 4, 5}}},
        {"linear", "input=@ weight=@ bias=@", {{11, 3, 4}, {5, 4}, {5}}},
        {"linear", "input=@ weight=@", {{4}, {5, 4}}},
        {"einsum", "equation='bid,bjd->bij' tensors=@ tensors=@", {{11, 3, 4}, {11, 5, 4}}},
        {"einsum", "equation='ii->i' tensors=@", {{3, 3}}},
        {"conv2d", "input=@ weight=@ bias=@ stride=[2,1] padding=[1,0]", {{11, 4, 9, 9}, {6, 4, 3, 3}, {6}}},
        {"conv2d", "input=@ weight=@ groups=2 dilation=[2,2]", {{11, 4, 9, 9}, {6, 2, 3, 3}}},
        // Windows.
        {"max_pool2d", "self=@ kernel_size=[3,2] padding=[1,0] ceil_mode=True", {{11, 3, 9, 9}}},
        {"max_pool2d", "self=@ kernel_size=[3,3] stride=[2,2]", {{11, 3, 9, 8}}},
        {"max_pool2d", "self=@ kernel_size=[2,2] stride=[1,2] dilation=[2,3]", {{3, 9, 8}}},
        {"max_pool1d", "self=@ kernel_size=[3] stride=[2]", {{11, 3, 9}}},
        {"avg_pool1d", "self=@ kernel_size=[3] stride=[2] padding=[1]", {{11, 3, 9}}},
        {"avg_pool2d", "self=@ kernel_size=[2,2] ceil_mode=True", {{11, 3, 9, 8}}},
        {"adaptive_avg_pool1d", "self=@ output_size=[2]", {{11, 3, 5}}},
        {"adaptive_avg_pool2d", "self=@ output_size=[1,1]", {{11, 3, 4, 5}}},
        {"adaptive_max_pool2d", "self=@ output_size=[3,2]", {{11, 3, 4, 5}}},
        {"constant_pad_nd", "self=@ pad=[1,2,0,-1] value=0.5", {{11, 3, 4}}},
        {"pad", "self=@ pad=[1,1]", {{11, 3, 4}}},
        {"pad", "self=@ pad=[1,2] mode='reflect'", {{11, 3, 4}}},
        {"__interpolate", "input=@ size=7", {{11, 3, 4, 5}}},
        {"__interpolate", "input=@ scale_factor=1.5 mode='bilinear' align_corners=False", {{11, 3, 5, 7}}},
        {"__interpolate",
         "input=@ scale_factor=1.5 mode='bilinear' align_corners=False recompute_scale_factor=False",
         {{11, 3, 5, 7}}},
        {"__interpolate.size_list", "input=@ size=[7,9] mode='bicubic'", {{11, 3, 4, 5}}},
        {"__interpolate.scale_list", "input=@ scale_factor=[2.0,1.3]", {{11, 3, 4, 5}}},
        {"__interpolate.size_list_scale_list", "input=@ scale_factor=[2.0,0.7]", {{11, 3, 4, 5}}},
        {"upsample_nearest2d.vec", "input=@ output_size=None scale_factors=[2.0,1.5]", {{11, 3, 4, 5}}},
        {"upsample_bilinear2d.vec", "input=@ output_size=[3,7] align_corners=True scale_factors=None", {{11, 3, 4, 5}}},
        {"upsample_bicubic2d.vec", "input=@ output_size=[3,7] align_corners=False scale_factors=None", {{11, 3, 4, 5}}},
        // New tensors.
        {"zeros", "size=[2,3]", {}, "-"},
        {"zeros", "size=[2,3] dtype=4", {}, "-"},
        {"ones", "size=[2,3]", {}, "-"},
        {"empty.memory_format", "size=[2,3]", {}, "-"},
        {"rand", "size=[2,3]", {}, "-"},
        {"randn", "size=[2,3]", {}, "-"},
        {"full", "size=[2,3] fill_value=1.5", {}, "-"},
        {"full", "size=[2,3] fill_value=1", {}, "-"},
        {"new_zeros", "self=@i size=[4,3]", {{11, 3}}},
        {"new_ones", "self=@ size=[4,3]", {{11, 3}}},
        {"new_empty", "self=@ size=[4,3] dtype=11", {{11, 3}}},
        {"zeros_like", "self=@ dtype=4", {{11, 3}}},
        {"ones_like", "self=@", {{11, 3}}},
        {"empty_like", "self=@", {{11, 3}}},
        {"rand_like", "self=@", {{11, 3}}},
        {"randn_like", "self=@", {{11, 3}}},
        {"arange", "end=7", {}},
        {"arange.start", "start=-3 end=5 dtype=6", {}},
        {"arange.start_step", "start=9 end=0 step=-2", {}},
        {"tensor", "data=[1.5,2.5]", {}},
        {"tensor", "data=[1,2] dtype=6", {}},
        {"tensor", "data=[True,False]", {}},
        {"tensor.int", "t=3", {}},
        {"tensor.float", "t=2.5 dtype=7", {}},
        {"tensor.bool", "t=True", {}},
        {"as_tensor", "data=@ dtype=7", {{11, 3}}},
        {"as_tensor", "data=@i", {{11, 3}}},
        {"as_tensor.list", "data=[1,2] dtype=6", {}},
        {"as_tensor.int", "t=3", {}},
        {"as_tensor.float", "t=2.5 dtype=7", {}},
        {"as_tensor.bool", "t=True", {}},
        {"triu", "self=@ diagonal=1", {{11, 3, 4}}},
        {"tril", "self=@", {{11, 3, 4}}},
        {"bernoulli_.float", "self=@ p=0.3", {{11, 3}}},
        {"normal_", "self=@", {{11, 3}}},
        {"uniform_", "self=@ from=-1 to=2", {{11, 3}}},
        {"expand", "self=@ size=[11,5,4]", {{11, 1, 4}}, "-"},
        {"expand", "self=@ size=[-1,5,-1]", {{11, 1, 4}}},
        {"expand", "self=@ size=[6,3,4]", {{3, 4}}},
        {"repeat", "self=@ repeats=[1,3,1]", {{11, 1, 4}}},
        {"repeat", "self=@ repeats=[3,1,2]", {{3, 4}}},
        {"batch_norm",
         "input=@ weight=@ bias=@ running_mean=@ running_var=@ training=False momentum=0.1 eps=1e-05 "
         "cudnn_enabled=False",
         {{11, 3, 4}, {3}, {3}, {3}, {3}}},
        {"layer_norm", "input=@ normalized_shape=[3,4] weight=@ bias=@", {{11, 3, 4}, {3, 4}, {3, 4}}},
        // Sizes.
        {"size", "self=@", {{11, 3, 4}}},
        {"size.int", "self=@ dim=0", {{11, 3}}},
        {"size.int", "self=@ dim=-1", {{11, 3}}},
        {"len.Tensor", "t=@", {{11, 3}}},
        {"dim", "self=@", {{11, 3}}},
        {"numel", "self=@", {{11, 3}}, "0"},
        {"add.int", "a=-3 b=5", {}},
        {"sub.int", "a=-3 b=5", {}},
        {"mul.int", "a=-3 b=5", {}},
        {"floordiv.int", "a=-7 b=2", {}},
        {"floordiv.int", "a=7 b=2", {}},
        {"remainder.int", "a=-7 b=3", {}},
        {"remainder.int", "a=7 b=-3", {}},
        {"neg.int", "a=7", {}},
        {"prim::dtype", "a=@i", {{11, 3}}, nullptr, true},
        {"prim::device", "a=@", {{11, 3}}},
        {"neg.float", "a=2.5", {}},
        {"neg.Scalar", "a=2.5", {}},
        {"floor.int", "a=7", {}, nullptr, true},
        {"floor.float", "a=-2.5", {}, nullptr, true},
        {"floor.Scalar", "a=2.5", {}, nullptr, true},
        {"ceil.int", "a=7", {}, nullptr, true},
        {"ceil.float", "a=-2.5", {}, nullptr, true},
        {"ceil.Scalar", "a=2.5", {}, nullptr, true},
        {"sqrt.int", "a=2", {}},
        {"sqrt.float", "a=2.5", {}},
        {"sqrt.Scalar", "a=2.5", {}},
        {"Int.Tensor", "a=@i", {{}}, nullptr, true},
        {"Int.float", "a=-2.5", {}, nullptr, true},
        {"Int.bool", "a=True", {}, nullptr, true},
        {"Int.Scalar", "a=2.5", {}, nullptr, true},
        {"Float.Tensor", "a=@", {{1}}},
        {"Float.int", "a=2", {}},
        {"Float.bool", "a=True", {}},
        {"Float.Scalar", "a=2", {}},
        {"Bool.Tensor", "a=@i", {{1}}},
        {"Bool.int", "a=2", {}},
        {"Bool.float", "a=0.0", {}},
        {"__not__", "self=True", {}},
        {"__and__.bool", "a=True b=False", {}},
        {"__or__.bool", "a=True b=False", {}},
        {"div", "a=7 b=2", {}},
        {"div.int", "a=7 b=2", {}},
        {"div.float", "a=7.5 b=2.5", {}},
        {"pow.int", "a=2 b=3", {}},
        {"pow.float", "a=2.5 b=0.5", {}},
        {"pow.int_float", "a=2 b=-0.5", {}},
        {"pow.float_int", "a=-1.5 b=3", {}},
        {"len.t", "a=[4,5,6]", {}},
        {"__getitem__.t", "list=[4,5,6] idx=-1", {}},
        {"slice.t", "l=[4,5,6,7] start=-3 end=9 step=2", {}},
        {"add.t", "a=[4,5] b=[6]", {}},
        {"mul.left_t", "l=[4,5] n=2", {}},
        {"mul.right_", "n=3 l=[4]", {}},
        {"eq.int_list", "a=[4,5] b=[4,5]", {}},
        {"ne.int_list", "a=[4,5] b=[4,5]", {}},
        {"eq.int", "a=1 b=1", {}},
        {"ne.int", "a=1 b=1", {}},
        {"lt.int", "a=1 b=2", {}},
        {"le.int", "a=1 b=2", {}},
        {"gt.int", "a=1 b=2", {}},
        {"ge.int", "a=1 b=2", {}},
    };
    for (const char* const unary :
         {"relu",   "relu_",      "sigmoid", "sigmoid_",    "tanh",        "tanh_",       "exp",
          "exp_",   "log",        "sqrt",    "rsqrt",       "sin",         "cos",         "erf",
          "square", "reciprocal", "neg",     "abs",         "sign",        "floor",       "ceil",
          "round",  "silu",       "silu_",   "logical_not", "hardswish",   "hardswish_",  "mish",
          "selu",   "relu6",      "gelu",    "hardtanh_",   "leaky_relu_", "hardsigmoid", "hardsigmoid_"}) {
      all->push_back({unary, "self=@", {{11, 3}}});
    }
    for (const char* const scalar :
         {"add.Scalar", "sub.Scalar", "rsub.Scalar", "mul.Scalar", "div.Scalar", "add_.Scalar", "mul_.Scalar",
          "div_.Scalar", "eq.Scalar", "ne.Scalar", "lt.Scalar", "le.Scalar", "gt.Scalar", "ge.Scalar"}) {
      all->push_back({scalar, "self=@ other=2", {{11, 3}}});
      all->push_back({scalar, "self=@ other=2.5", {{11, 3}}});
      if (!absl::StrContains(scalar, "_.")) all->push_back({scalar, "self=@i other=2.5", {{11, 3}}});
    }
    for (const char* const name : {"add", "sub", "mul", "floordiv", "remainder", "eq", "ne", "lt", "le", "gt", "ge"}) {
      all->push_back({name, "a=-7.5 b=2"});
      all->push_back({absl::StrCat(name, ".float"), "a=-7.5 b=2.5"});
      all->push_back({absl::StrCat(name, ".int_float"), "a=-7 b=2.5"});
      all->push_back({absl::StrCat(name, ".float_int"), "a=-7.5 b=2"});
    }
    for (const char* const both : {"eq.Tensor", "ne.Tensor", "lt.Tensor", "le.Tensor", "gt.Tensor", "ge.Tensor"}) {
      all->push_back({both, "self=@ other=@", {{11, 3}, {3}}});
    }
    return all;
  }();
  return *samples;
}

v1::Value ValueOf(absl::string_view text) {
  int64_t integer = 0;
  double number = 0;
  if (text == "None") return v1::Value();
  if (text == "True" || text == "False") return graph::BoolValue(text == "True");
  if (text.front() == '\'') return graph::StringValue(std::string(text.substr(1, text.size() - 2)));
  if (text.front() == '[') {
    v1::Value list;
    list.mutable_list();
    for (const absl::string_view part : absl::StrSplit(text.substr(1, text.size() - 2), ',', absl::SkipEmpty())) {
      *list.mutable_list()->add_values() = ValueOf(part);
    }
    return list;
  }
  if (absl::SimpleAtoi(text, &integer)) return graph::IntValue(integer);
  EXPECT_TRUE(absl::SimpleAtod(text, &number)) << text;
  return graph::FloatValue(number);
}

std::string TypeOf(const Sample& sample) {
  return absl::StrContains(sample.type, "::") ? sample.type : "aten::" + sample.type;
}

Call CallOf(const Sample& sample) {
  Call call;
  call.node.set_name("node");
  call.node.mutable_op()->set_type(TypeOf(sample));
  for (const absl::string_view part : absl::StrSplit(sample.arguments, ' ')) {
    const std::vector<std::string> sides = absl::StrSplit(part, absl::MaxSplits('=', 1));
    if (sides[1][0] != '@') {
      v1::Attribute* const attribute = call.node.mutable_op()->add_attr();
      attribute->set_key(sides[0]);
      *attribute->mutable_value() = ValueOf(sides[1]);
      continue;
    }
    const Shape& shape = sample.shapes.at(call.inputs.size());
    v1::Edge* const edge = call.node.add_inputs();
    edge->set_node(absl::StrCat("x", call.inputs.size()));
    edge->set_arg(sides[0]);
    const bool integer = sides[1] == "@i", boolean = sides[1] == "@b";
    call.types.push_back(graph::TensorType(integer   ? v1::Tensor::INT64
                                           : boolean ? v1::Tensor::BOOL
                                                     : v1::Tensor::FLOAT32,
                                           shape));
    const at::Tensor floats = at::rand(shape);
    call.inputs.emplace_back(integer ? at::ones(shape, at::kLong) : boolean ? floats.gt(0.5) : floats);
  }
  return call;
}

}  // namespace lanista::ops
