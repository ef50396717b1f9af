// For users: datasets and transforms of their own.
//
//   absl::StatusOr<lanista::data::DataSplits> MakeSpirals(const lanista::data::Params& params,
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

#include "google/protobuf/map.h"
#include "src/base/registry.h"
#include "src/base/status.h"
#include "src/data/dataset.h"
#include "src/data/transform.h"

namespace lanista::data {

// What the config hands to something registered: `custom { params }`.
using Params = google::protobuf::Map<std::string, v1::Value>;

namespace internal {

// As the registry wants it.
inline absl::StatusOr<std::unique_ptr<DataSplits>> Box(absl::StatusOr<DataSplits> splits) {
  if (!splits.ok()) return splits.status();
  return std::make_unique<DataSplits>(*std::move(splits));
}

}  // namespace internal
}  // namespace lanista::data

// Registers `make`: absl::StatusOr<DataSplits>(const Params&, const DatasetRequest&).
#define LANISTA_REGISTER_DATASET(name, make)                                                                        \
  LANISTA_REGISTER_CUSTOM(::lanista::data::DatasetRegistry, name,                                                   \
                          [](const ::lanista::v1::Custom& custom, const ::lanista::data::DatasetRequest& request) { \
                            return ::lanista::data::internal::Box(make(custom.params(), request));                  \
                          })

// Registers `make`: absl::StatusOr<std::unique_ptr<Transform>>(const Params&, const DataSplits& splits).
#define LANISTA_REGISTER_TRANSFORM(name, make)                                                                 \
  LANISTA_REGISTER_CUSTOM(::lanista::data::TransformRegistry, name,                                            \
                          [](const ::lanista::v1::Custom& custom, const ::lanista::data::DataSplits& splits) { \
                            return make(custom.params(), splits);                                              \
                          })

#endif  // LANISTA_SRC_DATA_CUSTOM_H_
