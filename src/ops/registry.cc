#include "src/ops/registry.h"

#include <utility>

#include "src/base/named_things.h"

namespace lanista::ops {
namespace {

NamedThings<std::unique_ptr<graph::OpSchema>>& Schemas() {
  static auto* const schemas = new NamedThings<std::unique_ptr<graph::OpSchema>>("operator");
  return *schemas;
}

}  // namespace

const graph::OpSchema* FindOp(absl::string_view type) {
  const std::unique_ptr<graph::OpSchema>* const found = Schemas().Find(type);
  return found == nullptr ? nullptr : found->get();
}

std::vector<std::string> OpTypes() { return Schemas().Names(); }

bool RegisterOp(std::unique_ptr<graph::OpSchema> schema) {
  const std::string type = schema->type();
  return Schemas().Add(type, std::move(schema));
}

}  // namespace lanista::ops
