#include "src/ops/registry_torch.h"

#include <utility>

#include "src/base/named_things.h"

namespace lanista::ops {
namespace {

NamedThings<OpBuilder>& Builders() {
  static auto* const builders = new NamedThings<OpBuilder>("builder of the operator");
  return *builders;
}

}  // namespace

const OpBuilder* FindOpBuilder(absl::string_view type) { return Builders().Find(type); }

bool RegisterOpBuilder(const std::string& type, OpBuilder builder) { return Builders().Add(type, std::move(builder)); }

}  // namespace lanista::ops
