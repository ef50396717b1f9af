#include "src/nn/model_space.h"

namespace lanista::nn {

ModelSpaceRegistry& ModelSpaceRegistry::Get() {
  static auto* const registry = new ModelSpaceRegistry;
  return *registry;
}

}  // namespace lanista::nn
