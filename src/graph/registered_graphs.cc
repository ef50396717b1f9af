#include "src/graph/registered_graphs.h"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace lanista::graph {
namespace {

std::map<std::string, GraphFactory>& Factories() {
  static auto* const factories = new std::map<std::string, GraphFactory>;
  return *factories;
}

}  // namespace

bool RegisterGraph(const std::string& name, GraphFactory factory) {
  if (!Factories().emplace(name, std::move(factory)).second) {
    std::fprintf(stderr, "lanista: the graph space '%s' is registered twice: give one of the two another name\n",
                 name.c_str());
    std::abort();
  }
  return true;
}

std::vector<std::string> RegisteredGraphNames() {
  std::vector<std::string> names;
  for (const auto& factory : Factories()) names.push_back(factory.first);
  return names;
}

absl::StatusOr<v1::ModelGraph> MakeRegisteredGraph(const std::string& name, const Params::Values& params) {
  const auto found = Factories().find(name);
  if (found == Factories().end()) {
    const std::string known = absl::StrJoin(RegisteredGraphNames(), ", ");
    return absl::NotFoundError(absl::StrCat(
        "no graph space '", name, "' is registered in this program; known: ", known.empty() ? "none" : known));
  }
  try {
    return MakeWithParams(params, absl::StrCat("the graph space '", name, "'"), found->second);
  } catch (const std::exception& error) {
    return absl::InvalidArgumentError(absl::StrCat("the graph space '", name, "' threw: ", error.what()));
  }
}

}  // namespace lanista::graph
