// What the options of single fields (protos/options.proto) do not say of evaluators and their optimizers. Without
// LibTorch, because `lanista` checks configurations, too.
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "protos/experiment.pb.h"
#include "src/base/field_rules.h"

namespace lanista {
namespace {

std::optional<Violation> CheckClassification(const v1::ClassificationConfig& evaluator, const std::string& path) {
  if (!evaluator.has_label_smoothing() || evaluator.loss() != v1::ClassificationConfig::NLL) return std::nullopt;
  return Violation{JoinPath(path, "label_smoothing"), "goes with loss: CROSS_ENTROPY only"};
}

std::optional<Violation> CheckSgd(const v1::SgdConfig& sgd, const std::string& path) {
  if (!sgd.nesterov() || (sgd.momentum() > 0 && sgd.dampening() == 0)) return std::nullopt;
  return Violation{JoinPath(path, "nesterov"), "needs a momentum greater than 0 and no dampening"};
}

std::optional<Violation> CheckTable(const v1::TableConfig& table, const std::string& path) {
  std::set<std::string> labels;
  std::set<std::string> columns;
  for (int i = 0; i < table.column_size(); ++i) {
    const std::string at = absl::StrCat(JoinPath(path, "column"), "[", i, "]");
    const v1::TableColumnConfig& column = table.column(i);
    if (!labels.insert(column.label()).second) {
      return Violation{at + ".label", absl::StrCat("choice '", column.label(), "' is named twice; keep one")};
    }
    if (!columns.insert(column.column()).second) {
      return Violation{at + ".column", absl::StrCat("column '", column.column(), "' is named twice; keep one")};
    }
  }
  return std::nullopt;
}

}  // namespace

LANISTA_REGISTER_CHECK(v1::ClassificationConfig, CheckClassification);
LANISTA_REGISTER_CHECK(v1::SgdConfig, CheckSgd);
LANISTA_REGISTER_CHECK(v1::TableConfig, CheckTable);

}  // namespace lanista
