#include "src/launcher/export_models.h"

#include <memory>

#include "src/base/status.h"
#include "src/launcher/trial_session.h"

namespace lanista {

absl::StatusOr<std::vector<std::string>> ExportWithTrialProgram(
    const JournalReader& experiment, const ExportOptions& options, const TrialProgram& trial_program,
    const std::function<void(const std::string& warning)>& warn) {
  std::unique_ptr<TrialSession> session;
  return ExportBest(experiment, options, [&](const v1::Convert& request) -> absl::StatusOr<std::vector<std::string>> {
    if (session == nullptr) {
      LANISTA_ASSIGN_OR_RETURN(session, TrialSession::Start(trial_program));
    }
    LANISTA_ASSIGN_OR_RETURN(const v1::Converted converted, session->Convert(request));
    for (const std::string& warning : converted.warnings()) warn(warning);
    return std::vector<std::string>(converted.files().begin(), converted.files().end());
  });
}

}  // namespace lanista
