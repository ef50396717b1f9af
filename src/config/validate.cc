#include "src/config/validate.h"

#include <cstdint>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "protos/experiment.pb.h"
#include "protos/graph.pb.h"
#include "src/base/component.h"
#include "src/base/metric_names.h"
#include "src/base/utf8.h"
#include "src/config/choices.h"
#include "src/config/data_paths.h"
#include "src/config/labels.h"

namespace lanista {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// What goes together with a space of choices, which has no networks.
std::optional<Violation> CheckWithoutNetworks(const v1::ExperimentConfig& config, const std::string& path) {
  if (!config.space().has_choices()) return std::nullopt;
  if (RulesOfComponent(config.engine()).knows_graphs()) {
    return Violation{JoinPath(path, "engine"),
                     "a space of `choices` has no networks to make graphs of or to train together: leave 'engine' out, "
                     "or use engine { direct {} }"};
  }
  if (config.keep_weights().best() > 0) {
    return Violation{JoinPath(path, "keep_weights.best"),
                     "a space of `choices` has no networks, so there are no weights to keep: leave it out"};
  }
  if (!RulesOfComponent(config.evaluator()).trains_networks()) return std::nullopt;
  return Violation{absl::StrCat(JoinPath(path, "evaluator."), ChosenKind(config.evaluator())->name()),
                   "trains networks, and a space of `choices` has none: use `table`, `constant`, or a function of "
                   "your own that reads the sample (custom)"};
}

std::optional<Violation> CheckConstraint(const v1::ConstraintConfig& limit, const std::string& path) {
  if (!limit.has_max() && !limit.has_min()) {
    return Violation{path, "limits nothing: set 'max', 'min', or both"};
  }
  if (!limit.has_max() || !limit.has_min() || limit.min() <= limit.max()) return std::nullopt;
  return Violation{JoinPath(path, "min"),
                   absl::StrCat("must be at most 'max', which is ", limit.max(), ", got ", limit.min())};
}

// What nobody could tell of the experiment's models; `field` (objectives or constraint) wants it.
std::optional<Violation> CheckMetric(const v1::ExperimentConfig& config, const std::string& metric,
                                     absl::string_view field, const std::string& path) {
  if (RulesOfComponent(config.evaluator()).reports_any_metric()) return std::nullopt;
  // The engine `direct` is the default.
  const bool graphs = RulesOfComponent(config.engine()).knows_graphs();
  if (metric == kFlopsMetric && !graphs) {
    return Violation{path,
                     "on the engine `direct` a model is C++ code, and no graph whose operations could be counted: use "
                     "engine { graph {} } or engine { cgo {} }, or take the metric `params`"};
  }
  if (metric == kMemoryMetric && field == "objectives") {
    return Violation{path,
                     "`memory` is an estimate that is made before a model trains, and no metric that models have: "
                     "limit it by constraint { metric: \"memory\" max: ... }, or take the metric `params`"};
  }
  if (metric == kMemoryMetric && !graphs) {
    return Violation{path,
                     "the memory that a model takes is estimated from its graph, and models of the engine `direct` "
                     "have none: use engine { graph {} } or engine { cgo {} }, or limit `params`"};
  }
  return std::nullopt;
}

// What models are compared by, and their limits.
std::optional<Violation> CheckGoals(const v1::ExperimentConfig& config, const std::string& path) {
  const auto metric_path = [&path](absl::string_view field, int i) {
    return absl::StrCat(JoinPath(path, field), "[", i, "].metric");
  };
  if (config.objective() != v1::ObjectiveConfig::GOAL_UNSPECIFIED && config.objectives_size() > 0) {
    return Violation{
        JoinPath(path, "objective"),
        "'objective' and 'objectives' exclude each other: say it by objectives { metric: \"default\" goal: "
        "... }"};
  }
  std::set<std::string> seen;
  for (int i = 0; i < config.objectives_size(); ++i) {
    const v1::ObjectiveConfig& objective = config.objectives(i);
    const std::string metric = objective.has_metric() ? objective.metric() : kDefaultMetric;
    const std::string at = metric_path("objectives", i);
    if (metric.empty()) return Violation{at, "must not be empty; leave it out for the metric `default`"};
    if (!seen.insert(metric).second) {
      return Violation{at, absl::StrCat("'", metric, "' is an objective already; keep one")};
    }
    if (auto violation = CheckMetric(config, metric, "objectives", at)) return violation;
    if (i == 0 && metric != kDefaultMetric && config.has_early_stopping()) {
      return Violation{at, "early_stopping compares reports of `default`: it has to be the first of the objectives"};
    }
  }
  seen.clear();
  for (int i = 0; i < config.constraint_size(); ++i) {
    const std::string& metric = config.constraint(i).metric();
    const std::string at = metric_path("constraint", i);
    if (!seen.insert(metric).second) {
      return Violation{at, absl::StrCat("'", metric, "' is limited already; one block may have both 'max' and 'min'")};
    }
    if (auto violation = CheckMetric(config, metric, "constraint", at)) return violation;
  }
  return std::nullopt;
}

std::optional<Violation> CheckExperiment(const v1::ExperimentConfig& config, const std::string& path) {
  if (auto violation = CheckWithoutNetworks(config, path)) return violation;
  return CheckGoals(config, path);
}

std::optional<Violation> CheckRequirements(const v1::RequirementsConfig& requirements, const std::string& path) {
  const std::string at = JoinPath(path, "node_labels");
  if (static_cast<int>(requirements.node_labels().size()) > kMaxLabels) {
    return Violation{at, absl::StrCat("at most ", kMaxLabels, " labels")};
  }
  for (const auto& [key, value] : LabelsOf(requirements.node_labels())) {
    absl::Status status = CheckLabelKey(key);
    if (!status.ok()) return Violation{at, absl::StrCat("'", key, "': ", std::string(status.message()))};
    status = CheckLabelValue(value);
    if (!status.ok()) {
      return Violation{JoinPath(at, key), absl::StrCat("'", value, "': ", std::string(status.message()))};
    }
  }
  return std::nullopt;
}

std::optional<Violation> CheckTorchScript(const v1::TorchScriptConfig& torchscript, const std::string& path) {
  for (int i = 0; i < torchscript.input_shape_size(); ++i) {
    for (int j = 0; j < torchscript.input_shape(i).dims_size(); ++j) {
      const int64_t dim = torchscript.input_shape(i).dims(j);
      if (dim == -1 || dim >= 1) continue;
      return Violation{absl::StrCat(JoinPath(path, "input_shape"), "[", i, "].dims[", j, "]"),
                       absl::StrCat("must be at least 1, or -1 (any size), got ", dim)};
    }
  }
  return std::nullopt;
}

std::optional<Violation> CheckChoices(const v1::ChoicesConfig& choices, const std::string& path) {
  return FindViolationInChoices(choices, path);
}

std::optional<Violation> CheckSpace(const v1::SpaceConfig& space, const std::string& path) {
  if (!space.has_choices()) return std::nullopt;
  const auto without_network = [&path](const char* field, const char* what) {
    return Violation{JoinPath(path, field),
                     absl::StrCat(what, "; a space of `choices` has none of these: leave it out")};
  };
  if (!space.params().empty()) return without_network("params", "is handed to the constructor of a registered space");
  if (!space.mutator().empty()) return without_network("mutator", "changes a graph");
  if (space.weights() != v1::SpaceConfig::WEIGHTS_UNSPECIFIED) {
    return without_network("weights", "is about what the weights of a graph start from");
  }
  if (!space.frozen().empty()) return without_network("frozen", "is about the weights of a graph");
  return std::nullopt;
}

// data:// stands for a folder of each machine on which trials run.
std::optional<Violation> CheckDataPath(const FieldDescriptor& field, const std::string& value,
                                       const std::string& path) {
  if (!IsDataPath(value)) return std::nullopt;
  if (RulesOf(field).of_head()) {
    return Violation{path, "must be a folder of the head's; data:// is for what trials read"};
  }
  const absl::Status status = ParseDataPath(value).status();
  if (status.ok()) return std::nullopt;
  return Violation{path, absl::StrCat("'", value, "': ", std::string(status.message()))};
}

LANISTA_REGISTER_CHECK(v1::ConstraintConfig, CheckConstraint);
LANISTA_REGISTER_CHECK(v1::ExperimentConfig, CheckExperiment);
LANISTA_REGISTER_CHECK(v1::RequirementsConfig, CheckRequirements);
LANISTA_REGISTER_CHECK(v1::TorchScriptConfig, CheckTorchScript);
LANISTA_REGISTER_CHECK(v1::ChoicesConfig, CheckChoices);
LANISTA_REGISTER_CHECK(v1::SpaceConfig, CheckSpace);

}  // namespace

std::optional<Violation> FindViolation(const Message& config) {
  if (const std::optional<NonUtf8Field> found = FindNonUtf8(config)) {
    return Violation{found->path, absl::StrCat("'", found->text, "' is not UTF-8; texts and paths must be")};
  }
  return FindRuleViolation(config, "", CheckDataPath);
}

absl::Status CheckConfig(const Message& config, const std::string& path) {
  const std::optional<Violation> violation = FindViolation(config);
  if (!violation) return absl::OkStatus();
  std::string place = path;
  if (!violation->path.empty()) place = JoinPath(path, violation->path);
  return absl::InvalidArgumentError(absl::StrCat(place, place.empty() ? "" : ": ", violation->message));
}

}  // namespace lanista
