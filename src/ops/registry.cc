#include "src/ops/registry.h"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <utility>

namespace lanista::ops {
namespace {

std::map<std::string, std::unique_ptr<graph::OpSchema>, std::less<>>& Schemas() {
  static auto* const schemas = new std::map<std::string, std::unique_ptr<graph::OpSchema>, std::less<>>;
  return *schemas;
}

}  // namespace

const graph::OpSchema* FindOp(absl::string_view type) {
  const auto found = Schemas().find(std::string(type));
  return found == Schemas().end() ? nullptr : found->second.get();
}

std::vector<std::string> OpTypes() {
  std::vector<std::string> types;
  for (const auto& entry : Schemas()) types.push_back(entry.first);
  return types;
}

bool RegisterOp(std::unique_ptr<graph::OpSchema> schema) {
  const std::string type = schema->type();
  if (!Schemas().emplace(type, std::move(schema)).second) {
    std::fprintf(stderr, "lanista: operator '%s' is registered twice\n", type.c_str());
    std::abort();
  }
  return true;
}

}  // namespace lanista::ops
