// validate.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "src/base/status.h"
#include "src/config/config.h"
#include "src/launcher/commands.h"
#include "src/launcher/console.h"
#include "src/launcher/device_requirements.h"
#include "src/launcher/exit_codes.h"
#include "src/launcher/head_port.h"
#include "src/launcher/interrupt_note.h"
#include "src/launcher/local_head.h"
#include "src/launcher/progress_view.h"
#include "src/space/space.h"
#include "src/storage/state_dir.h"
#include "src/views/documents.h"
#include "src/views/plan_view.h"
#include "src/views/tables.h"

namespace lanista {
absl::StatusOr<int> ValidateExperiment(const CommandContext& context) {
  LANISTA_ASSIGN_OR_RETURN(const v1::ExperimentConfig config, LoadConfig(context.line.config, context.line.overrides));
  const InterruptNote interrupted("interrupted: nothing was started");
  // Nothing is written there, and nothing but the experiment of a warm start is read.
  std::string root = ".";
  if (config.has_warm_start()) {
    LANISTA_ASSIGN_OR_RETURN(root, context.state_dir);
  }
  const StateDir state_dir = StateDir::OpenReadOnly(root);
  LocalHead::Options options{state_dir, context.trial_program};
  options.discovers_only = true;
  LANISTA_ASSIGN_OR_RETURN(const std::unique_ptr<LocalHead> head, LocalHead::Start(std::move(options), config));
  absl::StatusOr<v1::Validated> answer;
  {
    const ProgressView progress(config, StandardError(), [&] { return head->constructions(); });
    answer = head->Validate(config, context.line.explain_cgo ? context.line.samples : 0);
  }
  LANISTA_ASSIGN_OR_RETURN(v1::Validated validated, std::move(answer));
  LANISTA_ASSIGN_OR_RETURN(const Space space, Space::FromProto(std::move(*validated.mutable_space())));
  std::vector<std::string> warnings(space.spec().warnings().begin(), space.spec().warnings().end());
  if (!SeeksNodes(config.training_service())) {
    const std::string why = WhyNoDeviceFits(config.requirements(), context.labels, head->Devices());
    if (!why.empty()) {
      warnings.push_back(absl::StrCat("requirements: ", why, "; `run` refuses it here, a head (`submit`) takes it"));
    }
  }
  if (context.line.json) {
    LANISTA_ASSIGN_OR_RETURN(nlohmann::ordered_json document, SpaceDocument(config.name(), space.spec()));
    document["warnings"] = warnings;
    document["plan"] = context.line.explain_cgo ? PlanDocument(validated.plan()) : nlohmann::ordered_json();
    PrintJson(document);
    return kExitDone;
  }
  PrintText(space.Describe());
  PrintLine(absl::StrCat("size: ", SpaceSizeText(space.size() ? space.size()->get_str() : "")));
  for (const std::string& warning : warnings) PrintLine(absl::StrCat("warning: ", warning));
  if (context.line.explain_cgo) PrintText(absl::StrCat("\n", PlanText(PlanDocument(validated.plan())), "\n"));
  PrintLine(absl::StrCat(context.line.config, warnings.empty() ? " is fine." : " can run; see the warnings above."));
  return kExitDone;
}

}  // namespace lanista
