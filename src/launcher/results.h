// Whether a search was a success, for exit codes and the last lines of the output.
#ifndef LANISTA_SRC_LAUNCHER_RESULTS_H_
#define LANISTA_SRC_LAUNCHER_RESULTS_H_

#include <string>

#include "nlohmann/json.hpp"

namespace lanista {

// Why an experiment that came to its end has no result, from the document of `show`; empty: it has one.
inline std::string FindNoResult(const nlohmann::ordered_json& document) {
  if (!document["best"].empty()) return "";
  // The document names the nearest one.
  if (!document["nearest"].is_null()) return "no model is within the limits";
  return document["models"]["stopped_early"] > 0 ? "" : "no model succeeded";
}

}  // namespace lanista

#endif  // LANISTA_SRC_LAUNCHER_RESULTS_H_
