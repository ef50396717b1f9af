#include "src/config/config.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/text_format.h"
#include "src/base/status.h"
#include "src/config/data_paths.h"
#include "src/config/fields.h"
#include "src/config/parse.h"
#include "src/config/paths.h"
#include "src/config/validate.h"

namespace lanista {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::TextFormat;

// More than any configuration holds: what is larger is another kind of file.
constexpr std::streamsize kMaxBytes = 16 << 20;

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": is a folder; name the configuration file in it"));
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) return ErrnoToStatus(errno, path);
  std::string text(kMaxBytes + 1, '\0');
  file.read(text.data(), kMaxBytes + 1);
  if (file.bad()) return absl::UnavailableError(absl::StrCat(path, ": cannot be read"));
  if (file.gcount() > kMaxBytes) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": is larger than 16 MiB; is it a configuration?"));
  }
  text.resize(static_cast<size_t>(file.gcount()));
  // Windows editors mark UTF-8 so.
  constexpr absl::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (absl::StartsWith(text, kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  return text;
}

// ":line:column" of the field at `path`, or of the nearest block around it that is known; empty if none is.
std::string LocationOf(const std::string& path, const Descriptor* message, const TextFormat::ParseInfoTree* tree) {
  std::string location;
  const auto steps = ParseFieldPath(path);
  if (!steps.ok()) return location;
  for (const FieldStep& step : *steps) {
    const FieldDescriptor* const field = message == nullptr ? nullptr : message->FindFieldByName(step.name);
    // Entries of maps have no number.
    if (field == nullptr || tree == nullptr || (field->is_repeated() && step.index < 0)) break;
    int index = step.index;
    TextFormat::ParseLocation found = tree->GetLocation(field, index);
    // A list [a, b] has one location.
    while (found.line < 0 && index > 0) found = tree->GetLocation(field, --index);
    if (found.line < 0) break;
    location = absl::StrCat(":", found.line + 1, ":", found.column + 1);
    message = field->message_type();
    tree = message == nullptr ? nullptr : tree->GetTreeForNested(field, step.index);
  }
  return location;
}

// Whether the field at `path` lies in what `--set set=...` gave.
bool IsBelow(const std::string& path, const std::string& set) {
  return path == set || absl::StartsWith(path, set + ".") || absl::StartsWith(path, set + "[");
}

void FillDefaults(v1::ExperimentConfig& config) {
  if (!config.has_name()) config.set_name(config.space().registered());
  if (!config.has_engine()) config.mutable_engine()->mutable_direct();
  if (config.training_service().empty()) config.add_training_service()->mutable_local();
}

// Sets fields as `--set` does. Returns their paths.
absl::StatusOr<std::vector<std::string>> ApplyOverrides(v1::ExperimentConfig& config,
                                                        const std::vector<std::string>& overrides) {
  std::vector<std::string> set;
  for (const std::string& override_text : overrides) {
    const size_t equals = override_text.find('=');
    if (equals == std::string::npos) {
      return absl::InvalidArgumentError(absl::StrCat("--set ", override_text, ": write path.to.field=value"));
    }
    set.push_back(override_text.substr(0, equals));
    LANISTA_RETURN_IF_ERROR(Annotate(SetField(config, set.back(), override_text.substr(equals + 1)),
                                     absl::StrCat("--set ", override_text)));
  }
  LANISTA_RETURN_IF_ERROR(Annotate(ResolvePaths(config, UserDirectory()), "--set"));
  return set;
}

// `place`: where the configuration comes from, unless one of the fields that were `set` is at fault.
absl::Status ViolationError(const Violation& violation, std::string place, const std::vector<std::string>& set) {
  for (const std::string& one : set) {
    if (IsBelow(violation.path, one)) place = absl::StrCat("--set ", one);
  }
  return absl::InvalidArgumentError(absl::StrCat(place, ": ", violation.path, ": ", violation.message));
}

// Reads the file at `path`, resolves its paths, and says where its fields stand (protobuf text only).
absl::Status ReadConfig(const std::string& path, google::protobuf::Message& config,
                        TextFormat::ParseInfoTree& locations) {
  LANISTA_ASSIGN_OR_RETURN(const std::string full_path, ResolvePath(path, UserDirectory()));
  LANISTA_ASSIGN_OR_RETURN(const std::string text, ReadFile(full_path));
  if (absl::EndsWithIgnoreCase(path, ".json")) {
    LANISTA_RETURN_IF_ERROR(Annotate(ParseJsonConfig(text, config), path));
  } else if (const absl::Status parsed = ParseTextConfig(text, config, locations); !parsed.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ":", parsed.message()));  // path:line:column: what.
  }
  return Annotate(ResolvePaths(config, std::filesystem::path(full_path).parent_path().string()), path);
}

// What may be set when an experiment goes on.
constexpr const char* kResumable[] = {"max_trial_number", "max_duration", "trial_concurrency", "training_service",
                                      "trial_timeout",    "priority",     "requirements",      "output_limit"};

}  // namespace

absl::StatusOr<v1::ExperimentConfig> LoadConfig(const std::string& path, const std::vector<std::string>& overrides) {
  v1::ExperimentConfig config;
  TextFormat::ParseInfoTree locations;
  LANISTA_RETURN_IF_ERROR(ReadConfig(path, config, locations));

  LANISTA_ASSIGN_OR_RETURN(const std::vector<std::string> set, ApplyOverrides(config, overrides));
  FillDefaults(config);

  const std::optional<Violation> violation = FindViolation(config);
  if (!violation) return config;
  return ViolationError(*violation, absl::StrCat(path, LocationOf(violation->path, config.GetDescriptor(), &locations)),
                        set);
}

absl::StatusOr<v1::ExperimentConfig> ParseConfig(const std::string& text) {
  constexpr char kPlace[] = "the configuration";
  v1::ExperimentConfig config;
  TextFormat::ParseInfoTree locations;
  if (const absl::Status parsed = ParseTextConfig(text, config, locations); !parsed.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(kPlace, ":", parsed.message()));
  }
  LANISTA_RETURN_IF_ERROR(Annotate(ResolvePaths(config, UserDirectory()), kPlace));
  FillDefaults(config);
  const std::optional<Violation> violation = FindViolation(config);
  if (!violation) return config;
  return ViolationError(*violation,
                        absl::StrCat(kPlace, LocationOf(violation->path, config.GetDescriptor(), &locations)), {});
}

absl::StatusOr<v1::HeadConfig> LoadHeadConfig(const std::string& path) {
  v1::HeadConfig config;
  TextFormat::ParseInfoTree locations;
  LANISTA_RETURN_IF_ERROR(ReadConfig(path, config, locations));
  const std::optional<Violation> violation = FindViolation(config);
  if (!violation) return config;
  return ViolationError(*violation, absl::StrCat(path, LocationOf(violation->path, config.GetDescriptor(), &locations)),
                        {});
}

absl::StatusOr<v1::ExperimentConfig> CompleteConfig(v1::ExperimentConfig config) {
  LANISTA_RETURN_IF_ERROR(VisitPaths(config, [](const std::string& field, const std::string& path) {
    const bool is_whole = IsDataPath(path) || std::filesystem::path(path).is_absolute();
    return is_whole ? absl::OkStatus() : BarePathError(field, path);
  }));
  FillDefaults(config);
  LANISTA_RETURN_IF_ERROR(CheckConfig(config, ""));
  return config;
}

absl::StatusOr<v1::ExperimentConfig> ConfigToResume(v1::ExperimentConfig config,
                                                    const std::vector<std::string>& overrides) {
  for (const std::string& override_text : overrides) {
    LANISTA_ASSIGN_OR_RETURN(const std::vector<FieldStep> steps,
                             ParseFieldPath(override_text.substr(0, override_text.find('='))));
    const std::string& field = steps.front().name;
    if (std::find(std::begin(kResumable), std::end(kResumable), field) != std::end(kResumable)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--set ", override_text, ": '", field,
                     "' cannot be changed when an experiment goes on, only limits and placement can: ",
                     absl::StrJoin(kResumable, ", ")));
  }
  LANISTA_ASSIGN_OR_RETURN(const std::vector<std::string> set, ApplyOverrides(config, overrides));
  if (const std::optional<Violation> violation = FindViolation(config)) {
    return ViolationError(*violation, "the experiment's configuration", set);
  }
  return config;
}

}  // namespace lanista
