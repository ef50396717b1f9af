// What is known of operators by name is what LibTorch's schemas say.
#include "src/exporters/onnx/memory_sharing.h"

#include <ATen/core/function_schema.h>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "src/ops/registry.h"
#include "src/runtime/aten_call_torch.h"

namespace lanista::exporters {
namespace {

TEST(MemorySharing, IsThatOfLibTorch) {
  int in_place = 0, views = 0;
  for (const std::string& type : ops::OpTypes()) {
    if (!absl::StrContains(type, "::")) continue;
    const auto found = runtime::FindAtenOperator(type);
    ASSERT_NE(found, nullptr) << type;
    const c10::FunctionSchema& schema = found->schema();
    if (schema.arguments().empty() || schema.returns().empty()) continue;
    const c10::AliasInfo* const input = schema.arguments()[0].alias_info();
    const bool is_tensor = schema.arguments()[0].type()->isSubtypeOf(*c10::TensorType::get());
    if (!is_tensor) continue;
    const bool writes = input != nullptr && input->isWrite();
    const bool shares = !writes && input != nullptr && schema.returns()[0].alias_info() != nullptr;
    v1::Operator op;
    op.set_type(type);
    EXPECT_EQ(WorksInPlace(op), writes) << schema;
    EXPECT_EQ(MayReturnView(type), shares) << schema;
    in_place += writes ? 1 : 0;
    views += shares ? 1 : 0;
  }
  EXPECT_GT(in_place, 10);
  EXPECT_GT(views, 15);
}

}  // namespace
}  // namespace lanista::exporters
