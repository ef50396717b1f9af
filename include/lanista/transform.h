// Transforms change a sample while it is loaded: an image is cut, a column is scaled (docs/spaces.md).
//
//   class Brighten : public lanista::data::Transform {
//    public:
//     explicit Brighten(const lanista::Params& params) : by_(params.Get<double>("by", 0.1)) {}
//     at::Tensor Apply(const at::Tensor& input, lanista::data::SampleRandom& random) const override {
//       return input + std::uniform_real_distribution<double>(0, by_)(random);
//     }
//    private:
//     const double by_;
//   };
//
//   lanista::RegisterTransform<Brighten>("brighten");          // in main, before lanista::Init
//
// and in the configuration: classification { augmentation { custom { name: "brighten" } } transform { ... } }. The same
// at namespace scope: LANISTA_REGISTER(transform, "brighten", MakeBrighten).
//
// A transform is made once in each trial process, owned by the data that it belongs to, and never changes: any number
// of threads apply it at the same time. Random numbers come from `random` alone, so that each sample of each epoch is
// the same wherever it is loaded. Apply returns a tensor of its own, because its input may be a part of the dataset;
// what it throws fails the trial. A shape that does not fit is an error of OutputShape, which is asked before any
// sample is loaded.
#ifndef LANISTA_INCLUDE_LANISTA_TRANSFORM_H_
#define LANISTA_INCLUDE_LANISTA_TRANSFORM_H_

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "src/api/register.h"
#include "src/base/custom.h"
#include "src/data/custom.h"
#include "src/data/transform.h"

namespace lanista {

// Registers `make`, an absl::StatusOr<std::unique_ptr<data::Transform>>(const Params&, const data::DataSplits&), for
// `custom { name: NAME }` in lists of transforms. It may leave out the splits, from which statistics of the training
// data can be taken. REQUIRES: before lanista::Init.
template <typename Make>
void RegisterTransform(const std::string& name, Make make) {
  api::Register<data::TransformRegistry>("transform", name, std::move(make));
}

// Registers a class of transforms, whose constructor takes (const Params&, const data::DataSplits&), one of both, or
// nothing.
template <typename MyTransform>
void RegisterTransform(const std::string& name) {
  static_assert(std::is_base_of_v<data::Transform, MyTransform>, "a transform derives from lanista::data::Transform");
  RegisterTransform(name, [](const Params& params, const data::DataSplits& splits) -> data::TransformRegistry::Result {
    return api::Construct<MyTransform>(params, splits);
  });
}

}  // namespace lanista

#endif  // LANISTA_INCLUDE_LANISTA_TRANSFORM_H_
