// Registers users' own datasets and transforms.
//
//   absl::StatusOr<lanista::data::DataSplits> MakeSpirals(const lanista::Params& params,
//                                                         const lanista::data::DatasetRequest& request) {
//     lanista::data::DataSplits splits;
//     splits.train = lanista::data::MakeInMemoryDataset({inputs, targets});
//     ...
//     return splits;
//   }
//   LANISTA_REGISTER(dataset, "spirals", MakeSpirals);
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
// For LANISTA_REGISTER(dataset, "name", make): an absl::StatusOr<DataSplits>(const Params&, const DatasetRequest&); and
// for LANISTA_REGISTER(transform, "name", make): an absl::StatusOr<std::unique_ptr<Transform>>(const Params&, const
// DataSplits& splits). They must read all of their parameters, and may leave out the second argument.
struct dataset : CustomKind<data::DatasetRegistry> {};
struct transform : CustomKind<data::TransformRegistry> {};
}  // namespace lanista::kinds

#endif  // LANISTA_SRC_DATA_CUSTOM_H_
