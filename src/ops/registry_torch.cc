#include "src/ops/registry_torch.h"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <utility>

namespace lanista::ops {
namespace {

std::map<std::string, OpBuilder>& Builders() {
  static auto* const builders = new std::map<std::string, OpBuilder>;
  return *builders;
}

}  // namespace

const OpBuilder* FindOpBuilder(absl::string_view type) {
  const auto found = Builders().find(std::string(type));
  return found == Builders().end() ? nullptr : &found->second;
}

bool RegisterOpBuilder(const std::string& type, OpBuilder builder) {
  if (!Builders().emplace(type, std::move(builder)).second) {
    std::fprintf(stderr, "lanista: the builder of operator '%s' is registered twice\n", type.c_str());
    std::abort();
  }
  return true;
}

}  // namespace lanista::ops
