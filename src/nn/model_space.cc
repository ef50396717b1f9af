#include "src/nn/model_space.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace lanista::nn {

ModelSpaceRegistry& ModelSpaceRegistry::Get() {
  static auto* const registry = new ModelSpaceRegistry;
  return *registry;
}

bool ModelSpaceRegistry::Add(const std::string& name, Factory factory) {
  if (!factories_.emplace(name, std::move(factory)).second) {
    std::fprintf(stderr, "lanista: the model space '%s' is registered twice: give one of the two another name\n",
                 name.c_str());
    std::abort();
  }
  return true;
}

const ModelSpaceRegistry::Factory* ModelSpaceRegistry::Find(const std::string& name) const {
  const auto found = factories_.find(name);
  return found == factories_.end() ? nullptr : &found->second;
}

std::vector<std::string> ModelSpaceRegistry::Names() const {
  std::vector<std::string> names;
  for (const auto& entry : factories_) names.push_back(entry.first);
  return names;
}

std::string ModelSpaceRegistry::UnknownName(const std::string& name) const {
  return absl::StrCat("no model space '", name,
                      "' is registered in this program; known: ", absl::StrJoin(Names(), ", "));
}

}  // namespace lanista::nn
