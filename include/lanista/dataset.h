// Data sets of one's own, also from tensors in memory (docs/spaces.md). Their transforms: lanista/transform.h.
//
//   lanista::RegisterDataset("spirals", [] {                  // in main, before lanista::Init
//     auto [inputs, classes] = DrawSpirals(/*seed=*/1);
//     return lanista::data::ClassificationSplits({inputs.slice(0, 0, 800), classes.slice(0, 0, 800)},
//                                                {inputs.slice(0, 800), classes.slice(0, 800)});
//   });
//
// and in the configuration: evaluator { classification { dataset { custom { name: "spirals" } } } }.
//
// Tensors never travel between processes: each trial process is this program again, registers the same function, and
// makes the data by calling it. So the function must give the same data in each process: draw with a seed of its
// own, and read files that all processes (on nodes, too) can see. The same at namespace scope, for a function of
// (const Params&, const data::DatasetRequest&): LANISTA_REGISTER(dataset, "spirals", MakeSpirals).
//
// The function is called by one thread, once for each process. An error that it returns, and what it throws, is told
// when the experiment starts, and nothing trains. A data::Dataset of your own is read by any number of threads at the
// same time and never changes; what its reading throws fails the trial.
#ifndef LANISTA_INCLUDE_LANISTA_DATASET_H_
#define LANISTA_INCLUDE_LANISTA_DATASET_H_

#include <string>
#include <type_traits>
#include <utility>

#include "src/api/register.h"
#include "src/api/tensor_splits_torch.h"
#include "src/base/custom.h"
#include "src/data/custom.h"
#include "src/data/dataset.h"

namespace lanista {

// Registers `make` for `dataset { custom { name: NAME } }`: it returns data::DataSplits, or an absl::StatusOr of them,
// and takes nothing, or (const Params&), or (const Params&, const data::DatasetRequest&); with a message of your own in
// place of Params (docs/cpp_api.md) it returns an absl::StatusOr. REQUIRES: before lanista::Init.
template <typename Make>
void RegisterDataset(const std::string& name, Make make) {
  if constexpr (internal::kTakesMessage<Make>) {
    api::Register<data::DatasetRegistry>("dataset", name, std::move(make));
  } else {
    api::Register<data::DatasetRegistry>(
        "dataset", name,
        [make](const Params& params, const data::DatasetRequest& request) -> data::DatasetRegistry::Result {
          if constexpr (std::is_invocable_v<const Make&, const Params&, const data::DatasetRequest&>) {
            return data::internal::Box(make(params, request));
          } else if constexpr (std::is_invocable_v<const Make&, const Params&>) {
            return data::internal::Box(make(params));
          } else {
            return data::internal::Box(make());
          }
        });
  }
}

// Registers a class of data sets, whose constructor fills in its splits and takes (const Params&, const
// data::DatasetRequest&), one of both, or nothing. Only the splits are kept: what they need, their Datasets own, not
// other members of the class.
template <typename MySplits>
void RegisterDataset(const std::string& name) {
  static_assert(std::is_base_of_v<data::DataSplits, MySplits>,
                "a data set's class derives from lanista::data::DataSplits");
  RegisterDataset(name, [](const Params& params, const data::DatasetRequest& request) -> data::DataSplits {
    return std::move(*api::Construct<MySplits>(params, request));
  });
}

}  // namespace lanista

#endif  // LANISTA_INCLUDE_LANISTA_DATASET_H_
