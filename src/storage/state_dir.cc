#include "src/storage/state_dir.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <random>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "src/base/hash.h"
#include "src/base/status.h"
#include "src/storage/experiment_lock.h"
#include "src/storage/file_system.h"

namespace lanista {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxIdLength = 100;
// Leaves room for the suffix and keeps paths short.
constexpr int kMaxNameLength = 60;
constexpr int kSuffixLength = 4;

bool IsIdCharacter(char c) { return absl::ascii_isalnum(c) || c == '_' || c == '.' || c == '-'; }

// The name as the readable part of an id.
std::string Slug(absl::string_view name) {
  std::string slug;
  for (const char c : name.substr(0, kMaxNameLength)) {
    const char next = IsIdCharacter(c) ? c : '-';
    const bool leading = slug.empty() && (next == '-' || next == '.');
    const bool repeated = !slug.empty() && slug.back() == next && (next == '-' || next == '.');
    if (!leading && !repeated) slug.push_back(next);
  }
  while (!slug.empty() && slug.back() == '-') slug.pop_back();
  return slug.empty() ? "experiment" : slug;
}

// Letters and digits that are not mistaken for each other.
std::string Suffix(uint64_t number) {
  constexpr absl::string_view kCharacters = "23456789abcdefghjkmnpqrstuvwxyz";
  std::string suffix;
  for (int i = 0; i < kSuffixLength; ++i) {
    suffix.push_back(kCharacters[number % kCharacters.size()]);
    number /= kCharacters.size();
  }
  return suffix;
}

}  // namespace

absl::Status CheckExperimentId(absl::string_view id) {
  const bool valid = !id.empty() && id.size() <= kMaxIdLength && std::all_of(id.begin(), id.end(), IsIdCharacter) &&
                     id[0] != '.' && id[0] != '-' && id.find("..") == absl::string_view::npos;
  if (valid) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("'", id.substr(0, kMaxIdLength),
                   "' cannot be an experiment's id: ids are made of letters, digits, '_', '.' and '-' (see `list`)"));
}

absl::StatusOr<StateDir> StateDir::Open(const std::string& path) {
  StateDir state_dir = OpenReadOnly(path);
  const fs::path experiments = fs::path(state_dir.root_) / "experiments";
  std::error_code error;
  fs::create_directories(experiments, error);
  if (!error && access(experiments.c_str(), W_OK | X_OK) != 0) error.assign(errno, std::generic_category());
  if (error) {
    return Annotate(
        ErrnoToStatus(error.value(), experiments.string()),
        absl::StrCat("cannot write to the state folder ", state_dir.root_, " (choose another one with --state-dir)"));
  }
  LANISTA_RETURN_IF_ERROR(CheckLocalFileSystem(state_dir.root_));
  return state_dir;
}

StateDir StateDir::OpenReadOnly(const std::string& path) {
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error);
  return StateDir(error ? path : absolute.lexically_normal().string());
}

std::string StateDir::SharedDataFolder() const { return absl::StrCat(root_, "/shared_data"); }

absl::StatusOr<std::string> StateDir::ExperimentFolder(absl::string_view id) const {
  LANISTA_RETURN_IF_ERROR(CheckExperimentId(id));
  return absl::StrCat(root_, "/experiments/", id);
}

absl::StatusOr<std::string> StateDir::NewExperimentId(absl::string_view name) const {
  const std::string slug = Slug(name);
  std::random_device random;
  while (true) {
    std::string id = absl::StrCat(slug, "-", Suffix(random()));
    LANISTA_ASSIGN_OR_RETURN(const bool is_new, MakeExperimentFolder(id));
    if (is_new) return id;
  }
}

std::string StateDir::IdOfRequest(absl::string_view name, absl::string_view request_id, int attempt) {
  return absl::StrCat(Slug(name), "-", Suffix(MixSeed({StableHash(request_id), static_cast<uint64_t>(attempt)})));
}

absl::StatusOr<bool> StateDir::MakeExperimentFolder(absl::string_view id) const {
  LANISTA_ASSIGN_OR_RETURN(const std::string folder, ExperimentFolder(id));
  std::error_code error;
  const bool is_new = fs::create_directory(folder, error);
  // Also where there is one: a process may have been killed in between.
  for (const char* const part : {"/logs", "/trials"}) {
    if (!error) fs::create_directory(folder + part, error);
  }
  if (error) return ErrnoToStatus(error.value(), absl::StrCat("cannot make the experiment's folder ", folder));
  return is_new;
}

absl::StatusOr<std::vector<std::string>> StateDir::List() const {
  const std::string experiments = root_ + "/experiments";
  std::vector<std::string> ids;
  std::error_code error;
  fs::directory_iterator entries(experiments, error);
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    const std::string id = entries->path().filename().string();
    std::error_code ignored;
    if (CheckExperimentId(id).ok() && fs::exists(entries->path() / "journal.db", ignored)) ids.push_back(id);
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    return ErrnoToStatus(error.value(), absl::StrCat("cannot list ", experiments));
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

std::string TrialLogFile(int trial) { return absl::StrCat("logs/trial-", trial, ".log"); }

std::string TrialOutputFolder(int trial, int model, bool merged) {
  return merged ? absl::StrCat("trials/", trial, "/", model) : absl::StrCat("trials/", trial);
}

std::string CheckpointFolder(int model) { return absl::StrCat("checkpoints/", model); }

std::string IncomingFolder() { return "incoming"; }

absl::Status RemoveExperiment(const StateDir& state_dir, absl::string_view id) {
  LANISTA_ASSIGN_OR_RETURN(const std::string folder, state_dir.ExperimentFolder(id));
  std::error_code error;
  if (!fs::is_directory(fs::symlink_status(folder, error))) {
    return absl::NotFoundError(absl::StrCat("there is no experiment '", id, "' in ", state_dir.root()));
  }
  LANISTA_ASSIGN_OR_RETURN(const ExperimentLock lock, ExperimentLock::Acquire(folder));
  fs::remove_all(folder, error);  // Removes links, never what they point to.
  if (error) return ErrnoToStatus(error.value(), absl::StrCat("cannot delete ", folder));
  return absl::OkStatus();
}

}  // namespace lanista
