#include "src/graph/registered_graphs.h"

#include <exception>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "protos/experiment.pb.h"
#include "src/base/named_things.h"
#include "src/base/taken_names.h"

namespace lanista::graph {
namespace {

NamedThings<GraphFactory>& Factories() {
  static auto* const factories = new NamedThings<GraphFactory>("graph space", &TakenNames<v1::SpaceConfig>());
  return *factories;
}

}  // namespace

bool RegisterGraph(const std::string& name, GraphFactory factory) { return Factories().Add(name, std::move(factory)); }

absl::StatusOr<v1::ModelGraph> MakeRegisteredGraph(const std::string& name, const Params::Values& params) {
  const GraphFactory* const factory = Factories().Find(name);
  if (factory == nullptr) return absl::NotFoundError(Factories().UnknownName(name));
  try {
    return MakeWithParams(params, absl::StrCat("the graph space '", name, "'"), *factory);
  } catch (const std::exception& error) {
    return absl::InvalidArgumentError(absl::StrCat("the graph space '", name, "' threw: ", error.what()));
  }
}

}  // namespace lanista::graph
