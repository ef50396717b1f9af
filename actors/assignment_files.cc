#include "actors/assignment_files.h"

#include <variant>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "src/files/assignment_inputs.h"
#include "src/files/conversion_folder.h"
#include "src/storage/state_dir.h"

namespace lanista {

v1::AssignmentInputs InputsOf(const NodeAssignments::Assignment& assignment) {
  if (const auto* const trial = std::get_if<NodeAssignments::Trial>(&assignment.work)) return InputsOf(trial->spec);
  return InputsOf(std::get<NodeAssignments::Discovery>(assignment.work).request);
}

absl::StatusOr<v1::AssignmentOutputs> OutputsOf(const NodeAssignments::Assignment& assignment,
                                                const std::string& state_root, const WeightsBars& weights_bars) {
  if (const auto* const discovery = std::get_if<NodeAssignments::Discovery>(&assignment.work)) {
    if (!discovery->request.has_convert()) {
      return absl::NotFoundError("the assignment is no trial and no conversion: it writes nothing");
    }
    if (discovery->canceled) return absl::AbortedError("the conversion was canceled: nothing of it is taken any more");
    return OutputsOf(discovery->request.convert());
  }
  const auto& trial = std::get<NodeAssignments::Trial>(assignment.work);
  if (trial.canceled) return absl::AbortedError("the trial was canceled: nothing of it is taken any more");
  v1::AssignmentOutputs outputs;
  const absl::StatusOr<std::string> folder =
      StateDir::OpenReadOnly(state_root).ExperimentFolder(trial.spec.experiment());
  if (!folder.ok()) return folder.status();
  outputs.set_folder(*folder);
  outputs.set_incoming_folder(absl::StrCat(*folder, "/", IncomingFolder()));
  outputs.set_log_file(trial.spec.log_file());
  if (trial.spec.keep_weights()) *outputs.mutable_weights_bar() = weights_bars.Get(trial.spec.experiment());
  for (const v1::TrialModel& model : trial.spec.models()) {
    if (trial.open.count(model.model()) == 0) continue;
    v1::ModelOutputs& of_model = *outputs.add_models();
    of_model.set_model(model.model());
    of_model.set_output_folder(model.output_folder());
    of_model.set_checkpoint_folder(model.checkpoint_folder());
  }
  return outputs;
}

}  // namespace lanista
