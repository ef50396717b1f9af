// validate.
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "src/base/status.h"
#include "src/config/config.h"
#include "src/launcher/commands.h"
#include "src/launcher/console.h"
#include "src/launcher/exit_codes.h"
#include "src/launcher/interrupt_note.h"
#include "src/launcher/local_head.h"
#include "src/launcher/progress_view.h"
#include "src/space/space.h"
#include "src/storage/state_dir.h"
#include "src/views/plan_view.h"
#include "src/views/tables.h"

namespace lanista {
namespace {

using Json = nlohmann::ordered_json;

Json ChoiceToJson(const v1::Choice& choice) {
  Json candidates = Json::array();
  for (const v1::Value& candidate : choice.candidates()) candidates.push_back(Json::parse(ValueToText(candidate)));
  // The choice is active if any condition holds; a condition holds if all of its terms do.
  Json conditions = Json::array();
  for (const v1::Condition& condition : choice.active_if()) {
    Json terms = Json::array();
    for (const v1::Term& term : condition.all_of())
      terms.push_back({{"label", term.label()}, {"chosen", term.chosen()}});
    conditions.push_back(terms);
  }
  return {{"label", choice.label()},
          {"kind", absl::AsciiStrToLower(v1::ChoiceKind_Name(choice.kind()))},
          {"candidates", candidates},
          {"n_chosen", choice.n_chosen()},
          {"active_if", conditions}};
}

}  // namespace

absl::StatusOr<int> ValidateExperiment(const CommandContext& context) {
  LANISTA_ASSIGN_OR_RETURN(const v1::ExperimentConfig config, LoadConfig(context.line.config, context.line.overrides));
  const InterruptNote interrupted("interrupted: nothing was started");
  // Nothing is written there, and nothing but the experiment of a warm start is read.
  std::string root = ".";
  if (config.has_warm_start()) {
    LANISTA_ASSIGN_OR_RETURN(root, context.state_dir);
  }
  const StateDir state_dir = StateDir::OpenReadOnly(root);
  LANISTA_ASSIGN_OR_RETURN(const std::unique_ptr<LocalHead> head,
                           LocalHead::Start({state_dir, context.trial_program}, config));
  absl::StatusOr<v1::Validated> answer;
  {
    const ProgressView progress(config, StandardError(), [&] { return head->constructions(); });
    answer = head->Validate(config, context.line.explain_cgo ? context.line.samples : 0);
  }
  LANISTA_ASSIGN_OR_RETURN(v1::Validated validated, std::move(answer));
  LANISTA_ASSIGN_OR_RETURN(const Space space, Space::FromProto(std::move(*validated.mutable_space())));
  if (context.line.json) {
    Json choices = Json::array();
    for (const v1::Choice& choice : space.spec().choices()) choices.push_back(ChoiceToJson(choice));
    Json document = {{"name", config.name()},
                     {"choices", choices},
                     {"space_size", space.size() ? Json(space.size()->get_str()) : Json(nullptr)},
                     {"warnings", space.spec().warnings()}};
    document["plan"] = context.line.explain_cgo ? PlanDocument(validated.plan()) : Json();
    PrintJson(document);
    return kExitDone;
  }
  PrintText(space.Describe());
  PrintLine(absl::StrCat("size: ", SpaceSizeText(space.size() ? space.size()->get_str() : "")));
  for (const std::string& warning : space.spec().warnings()) PrintLine(absl::StrCat("warning: ", warning));
  if (context.line.explain_cgo) PrintText(absl::StrCat("\n", PlanText(PlanDocument(validated.plan())), "\n"));
  const bool warned = !space.spec().warnings().empty();
  PrintLine(absl::StrCat(context.line.config, warned ? " can run; see the warnings above." : " is fine."));
  return kExitDone;
}

}  // namespace lanista
