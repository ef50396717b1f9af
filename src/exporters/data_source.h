// What a trained model's user has to know of its data, as text: JSON, and functions in Python and C++.
#ifndef LANISTA_SRC_EXPORTERS_DATA_SOURCE_H_
#define LANISTA_SRC_EXPORTERS_DATA_SOURCE_H_

#include <string>

#include "nlohmann/json.hpp"
#include "protos/space.pb.h"

namespace lanista::exporters {

// As protobuf's JSON, with numbers as numbers: {"input_shape": [1, 28, 28], "model_input_shape": [1, 28, 28],
// "outputs": 10, "class_names": ["0", ...],
//  "preprocessing": [{"standardization": {"mean": [0.13], "std": [0.31]}}]}; "class_names", "feature_names" and
// "target_names" where they are known.
nlohmann::ordered_json DataJson(const v1::DataSpec& data);

// The same on one line.
std::string DataJsonText(const v1::DataSpec& data);

// Python: CLASS_NAMES, `preprocess(x)`, and `predict(model, x)` for raw samples; where a step of preprocessing is not
// known (a user's own transform), a comment that says so instead of the functions. Needs torch and F.
std::string PythonPredict(const v1::DataSpec& data);

// The same in C++: class_names(), `preprocess(x)` and `predict(model, x)`, for a class Model.
std::string CppPredict(const v1::DataSpec& data);

}  // namespace lanista::exporters

#endif  // LANISTA_SRC_EXPORTERS_DATA_SOURCE_H_
