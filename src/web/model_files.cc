#include "src/web/model_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "src/base/open_beneath.h"
#include "src/base/status.h"
#include "src/storage/journal.h"
#include "src/storage/state_dir.h"
#include "src/storage/trial_files.h"

namespace lanista {
namespace {

constexpr size_t kMaxFiles = 1000;

struct CloseFolder {
  void operator()(DIR* folder) const { closedir(folder); }
};

// Below the experiment's folder; "": the model has not been tried yet.
absl::StatusOr<std::string> OutputFolder(const ExperimentPlace& place, int model) {
  LANISTA_ASSIGN_OR_RETURN(const JournalReader reader, JournalReader::Open(place.folder));
  LANISTA_RETURN_IF_ERROR(reader.FindModel(model).status());
  int trial = 0;
  LANISTA_RETURN_IF_ERROR(reader.VisitAttempts(std::vector<int>{model}, [&trial](const AttemptRecord& attempt) {
    trial = attempt.trial;
    return absl::OkStatus();
  }));
  if (trial == 0) return std::string();
  LANISTA_ASSIGN_OR_RETURN(const auto members, reader.MembersOf({trial}));
  return TrialOutputFolder(trial, model, members.at(trial).size() > 1);
}

}  // namespace

absl::StatusOr<std::vector<ModelFile>> ListModelFiles(const ExperimentPlace& place, int model) {
  LANISTA_ASSIGN_OR_RETURN(const std::string folder, OutputFolder(place, model));
  std::vector<ModelFile> files;
  if (folder.empty()) return files;
  absl::StatusOr<UniqueFd> at = OpenFolderBeneath(place.folder, folder);
  if (absl::IsNotFound(at.status())) return files;
  if (!at.ok()) return at.status();
  // The stream owns the descriptor that it is made of.
  const std::unique_ptr<DIR, CloseFolder> entries(fdopendir(fcntl(at->get(), F_DUPFD_CLOEXEC, 0)));
  if (entries == nullptr) return lanista::ErrnoToStatus(errno, folder);
  JournalFiles journals(place.folder);
  while (const dirent* const entry = readdir(entries.get())) {
    struct stat status = {};
    if (fstatat(at->get(), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode)) continue;
    if (journals.Have(status)) continue;
    files.push_back({entry->d_name, static_cast<uint64_t>(status.st_size)});
    if (files.size() >= kMaxFiles) break;
  }
  std::sort(files.begin(), files.end(), [](const ModelFile& a, const ModelFile& b) { return a.name < b.name; });
  return files;
}

absl::StatusOr<UniqueFd> OpenModelFile(const ExperimentPlace& place, int model, const std::string& name) {
  LANISTA_ASSIGN_OR_RETURN(const std::string folder, OutputFolder(place, model));
  if (folder.empty() || name.find('/') != std::string::npos) {
    return absl::NotFoundError(absl::StrCat("model ", model, " has no file '", name, "'"));
  }
  return OpenTrialFile(place.folder, absl::StrCat(folder, "/", name));
}

}  // namespace lanista
