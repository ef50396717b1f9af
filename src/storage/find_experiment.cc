#include "src/storage/find_experiment.h"

#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "src/base/display_text.h"
#include "src/base/status.h"
#include "src/storage/journal.h"

namespace lanista {
namespace {

constexpr absl::string_view kLatest = "latest";
// The most ids that the message for an ambiguous text lists.
constexpr size_t kMaxListed = 10;

// The experiment that was created last.
std::optional<std::string> Latest(const StateDir& state_dir, const std::vector<std::string>& ids) {
  std::optional<std::string> latest;
  absl::Time created = absl::InfinitePast();
  for (const std::string& id : ids) {
    const absl::StatusOr<JournalReader> reader = JournalReader::Open(*state_dir.ExperimentFolder(id));
    if (!reader.ok() || reader->created() < created) continue;
    created = reader->created();
    latest = id;
  }
  return latest;
}

}  // namespace

absl::StatusOr<std::string> FindExperiment(const StateDir& state_dir, absl::string_view text) {
  LANISTA_ASSIGN_OR_RETURN(const std::string folder, state_dir.ExperimentFolder(text));
  std::error_code ignored;
  if (std::filesystem::is_directory(std::filesystem::symlink_status(folder, ignored))) return std::string(text);
  LANISTA_ASSIGN_OR_RETURN(const std::vector<std::string> ids, state_dir.List());
  if (text == kLatest) {
    if (const std::optional<std::string> latest = Latest(state_dir, ids)) return *latest;
    return absl::NotFoundError(absl::StrCat("there is no experiment that can be read in ", state_dir.root()));
  }
  std::vector<std::string> found;
  for (const std::string& id : ids) {
    if (absl::StartsWith(id, text)) found.push_back(id);
  }
  if (found.empty()) {
    return absl::NotFoundError(absl::StrCat("there is no experiment '", text, "' in ", state_dir.root(),
                                            "; `list` shows those that are there"));
  }
  if (found.size() == 1) return found.front();
  const size_t count = found.size();
  if (count > kMaxListed) found.resize(kMaxListed);
  return absl::InvalidArgumentError(absl::StrCat("'", text, "' is the beginning of the ids of ",
                                                 Counted(static_cast<int64_t>(count), "experiment"), ": ",
                                                 absl::StrJoin(found, ", "), count > kMaxListed ? ", ..." : ""));
}

}  // namespace lanista
