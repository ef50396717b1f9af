// evaluator { table { path: "models.csv" } }: answers from a table of models that were trained before, without a model.
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/metric_names.h"
#include "src/base/status.h"
#include "src/config/table_columns.h"
#include "src/config/validate.h"
#include "src/evaluators/evaluator.h"
#include "src/evaluators/model_table.h"
#include "src/space/space.h"

namespace lanista {
namespace {

using Clock = std::chrono::steady_clock;

constexpr char kPath[] = "evaluator.table";

class TableEvaluator : public Evaluator {
 public:
  explicit TableEvaluator(v1::TableConfig config)
      : config_(std::move(config)),
        step_time_(std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(config_.step_seconds()))) {
  }

  absl::Status Prepare(uint64_t) override {
    auto file = ReadTableFile(config_.path());
    if (!file.ok()) return Annotate(file.status(), kPath);
    file_ = *std::move(file);
    return absl::OkStatus();
  }

  absl::Status CheckSpace(v1::SpaceSpec* spec) override {
    v1::TableConfig config = config_;
    AddTableColumns(*spec, &config);
    const auto table = ModelTable::Create(file_, config);
    if (!table.ok()) return Annotate(table.status(), kPath);
    LANISTA_RETURN_IF_ERROR(Annotate(table->Check(*spec), kPath));
    LANISTA_ASSIGN_OR_RETURN(const Space space, Space::FromProto(*spec));
    if (space.size().has_value() && *space.size() != table->size()) {
      spec->add_warnings(absl::StrCat(config_.path(), " has ", table->size(), " of the ", space.size()->get_str(),
                                      " models; those that it lacks will fail"));
    }
    return absl::OkStatus();
  }

  std::vector<v1::FileDigest> Files() const override {
    v1::FileDigest digest;
    digest.set_path(file_.path);
    digest.set_sha256(file_.sha256);
    return {digest};
  }

  absl::Status Evaluate(TrialContext& context) override {
    if (!table_.has_value()) {
      auto table = ModelTable::Create(file_, config_);
      if (!table.ok()) return Annotate(table.status(), kPath);
      table_ = *std::move(table);
    }
    LANISTA_ASSIGN_OR_RETURN(const ModelTable::Results results, table_->Find(context.sample(), context.seed()));
    if (results.final.count(kDefaultMetric) == 0) {
      return absl::NotFoundError(
          absl::StrCat(config_.path(), " has no value of `default` for the model ", Space::ToJson(context.sample())));
    }
    for (const auto& metrics : results.steps) {
      if (!TakeStep(context)) return absl::CancelledError();
      context.ReportIntermediate(metrics);
    }
    // A model without steps takes the time of one step.
    if (results.steps.empty() && !TakeStep(context)) return absl::CancelledError();
    if (context.canceled()) return absl::CancelledError();
    context.ReportFinal(results.final);
    return absl::OkStatus();
  }

 private:
  // Waits as long as a step takes; false once the trial is canceled.
  bool TakeStep(const TrialContext& context) const {
    constexpr Clock::duration kAskEvery = std::chrono::milliseconds(10);
    const Clock::time_point end = Clock::now() + step_time_;
    while (!context.canceled()) {
      const Clock::duration left = end - Clock::now();
      if (left <= Clock::duration::zero()) return true;
      std::this_thread::sleep_for(std::min(left, kAskEvery));
    }
    return false;
  }

  const v1::TableConfig config_;
  const Clock::duration step_time_;
  TableFile file_;
  // Made in the first trial, because only the configuration of trials has the columns of all choices.
  std::optional<ModelTable> table_;
};

absl::StatusOr<std::unique_ptr<Evaluator>> MakeTable(const v1::TableConfig& config) {
  LANISTA_RETURN_IF_ERROR(CheckConfig(config, kPath));
  return std::make_unique<TableEvaluator>(config);
}

LANISTA_REGISTER_BUILT_IN(EvaluatorRegistry, table, v1::TableConfig, MakeTable);

}  // namespace
}  // namespace lanista
