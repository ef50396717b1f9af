// Registers users' own datasets and transforms.
//
//   absl::StatusOr<lanista::data::DataSplits> MakeSpirals(const lanista::Params& params,
//                                                         const lanista::data::DatasetRequest& request) {
//     lanista::data::DataSplits splits;
//     splits.train = lanista::data::MakeInMemoryDataset({inputs, targets});
//     ...
//     return splits;
//   }
//   LANISTA_REGISTER_DATASET("spirals", MakeSpirals);
//
// and then `dataset { custom { name: "spirals" params { key: "turns" value { i: 3 } } } }`.
#ifndef LANISTA_SRC_DATA_CUSTOM_H_
#define LANISTA_SRC_DATA_CUSTOM_H_

#include <memory>
#include <string>
#include <utility>

#include "src/base/custom.h"
#include "src/base/status.h"
#include "src/data/dataset.h"
#include "src/data/transform.h"

namespace lanista::data::internal {

// Converts the result to the type that the registry needs.
inline absl::StatusOr<std::unique_ptr<DataSplits>> Box(absl::StatusOr<DataSplits> splits) {
  if (!splits.ok()) return splits.status();
  return std::make_unique<DataSplits>(*std::move(splits));
}

}  // namespace lanista::data::internal

namespace lanista::kinds {
// For LANISTA_REGISTER(dataset, "name", make) and LANISTA_REGISTER(transform, "name", make).
struct dataset {
  using Registry = data::DatasetRegistry;
};
struct transform {
  using Registry = data::TransformRegistry;
};
}  // namespace lanista::kinds

// Registers `make`: absl::StatusOr<DataSplits>(const lanista::Params&, const DatasetRequest&). `make` must read all of
// its parameters.
#define LANISTA_REGISTER_DATASET(name, make)                                                                          \
  LANISTA_REGISTER_WITH_PARAMS(::lanista::data::DatasetRegistry, "dataset", name,                                     \
                               ([](const ::lanista::Params& params, const ::lanista::data::DatasetRequest& request) { \
                                 return ::lanista::data::internal::Box(make(params, request));                        \
                               }))

// Registers `make`: absl::StatusOr<std::unique_ptr<Transform>>(const lanista::Params&, const DataSplits& splits).
// `make` must read all of its parameters.
#define LANISTA_REGISTER_TRANSFORM(name, make) \
  LANISTA_REGISTER_WITH_PARAMS(::lanista::data::TransformRegistry, "transform", name, make)

#endif  // LANISTA_SRC_DATA_CUSTOM_H_
