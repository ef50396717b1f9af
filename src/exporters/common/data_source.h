// The data of a trained model, as far as its users must know it: as JSON, and as functions in Python and C++.
#ifndef LANISTA_SRC_EXPORTERS_COMMON_DATA_SOURCE_H_
#define LANISTA_SRC_EXPORTERS_COMMON_DATA_SOURCE_H_

#include <string>

#include "nlohmann/json_fwd.hpp"
#include "protos/space.pb.h"

namespace lanista::exporters {

// Like protobuf's JSON, but 64-bit numbers are numbers:
// {"input_shape": [1, 28, 28], "model_input_shape": [1, 28, 28], "outputs": 10, "class_names": ["0", ...],
//  "preprocessing": [{"standardization": {"mean": [0.13], "std": [0.31]}}]}
// "class_names", "feature_names" and "target_names" are there if they are known.
nlohmann::ordered_json DataJson(const v1::DataSpec& data);

// DataJson as text on one line. Bytes that are not UTF-8 are replaced.
std::string DataJsonText(const v1::DataSpec& data);

// Python source: CLASS_NAMES, `preprocess(x)`, and `predict(model, x)` for raw samples. If a step of preprocessing is
// unknown (a user's own transform), a comment about it replaces the functions. The source uses torch and F.
std::string PythonPredict(const v1::DataSpec& data);

// The same in C++: class_names(), `preprocess(x)` and `predict(model, x)` for a class Model.
std::string CppPredict(const v1::DataSpec& data);

}  // namespace lanista::exporters

#endif  // LANISTA_SRC_EXPORTERS_COMMON_DATA_SOURCE_H_
