#include "src/config/paths.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.h"
#include "src/base/status.h"

namespace lanista {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// Fields that hold a path: message.field.
bool IsPath(const FieldDescriptor& field) {
  static const auto* const kPaths = new std::set<std::string>{
      "lanista.v1.IdxConfig.root",
      "lanista.v1.IdxConfig.images",
      "lanista.v1.IdxConfig.labels",
      "lanista.v1.Cifar10Config.root",
      "lanista.v1.CsvConfig.path",
      "lanista.v1.CsvConfig.validation_path",
      "lanista.v1.ImageFolderConfig.root",
      "lanista.v1.TorchScriptConfig.path",
      "lanista.v1.GraphFileConfig.path",
      "lanista.v1.ModuleCandidate.path",
      "lanista.v1.TableConfig.path",
      "lanista.v1.SlurmConfig.folder",
      "lanista.v1.MachineConfig.ssh_key_file",
  };
  return kPaths->count(std::string(field.full_name())) > 0;
}

// CheckAbsolutePaths of the message at `step`.
absl::Status CheckBelow(const Message& message, const std::string& step) {
  const absl::Status status = CheckAbsolutePaths(message);
  return status.ok() ? status : absl::InvalidArgumentError(absl::StrCat(step, ".", status.message()));
}

}  // namespace

std::string UserDirectory() {
  const char* const bazel = std::getenv("BUILD_WORKING_DIRECTORY");
  if (bazel != nullptr && *bazel != '\0') return bazel;
  std::error_code error;
  return std::filesystem::current_path(error).string();
}

absl::StatusOr<std::string> ResolvePath(const std::string& path, const std::string& folder) {
  if (path.empty()) return path;
  std::filesystem::path resolved = path;
  if (path == "~" || path.compare(0, 2, "~/") == 0) {
    const char* const home = std::getenv("HOME");
    if (home == nullptr || *home == '\0') {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": `~` is the home folder, but the variable HOME is not set; write the whole path"));
    }
    resolved = home + path.substr(1);
  }
  return (std::filesystem::path(folder) / resolved).lexically_normal().string();
}

absl::Status ResolvePaths(Message& config, const std::string& folder) {
  absl::Status status;
  MapPaths(
      [&](const std::string& path) {
        absl::StatusOr<std::string> resolved = ResolvePath(path, folder);
        status.Update(resolved.status());
        return resolved.ok() ? *std::move(resolved) : path;
      },
      &config);
  return status;
}

absl::Status CheckAbsolutePaths(const Message& config) {
  const Reflection* const reflection = config.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(config, &fields);
  for (const FieldDescriptor* field : fields) {
    const bool is_message = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && !field->is_map();
    if (is_message && !field->is_repeated()) {
      LANISTA_RETURN_IF_ERROR(CheckBelow(reflection->GetMessage(config, field), field->name()));
    }
    for (int i = 0; is_message && field->is_repeated() && i < reflection->FieldSize(config, field); ++i) {
      LANISTA_RETURN_IF_ERROR(CheckBelow(reflection->GetRepeatedMessage(config, field, i),
                                         absl::StrCat(std::string(field->name()), "[", i, "]")));
    }
    if (!IsPath(*field)) continue;
    const std::string path = reflection->GetString(config, field);
    if (std::filesystem::path(path).is_absolute()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(std::string(field->name()), ": '", path,
                     "' is relative; over the network a path is one of the head's machine and begins with '/'"));
  }
  return absl::OkStatus();
}

std::vector<std::string> PathsIn(const Message& config) {
  std::vector<std::string> paths;
  const auto add = [&paths](std::string path) {
    if (std::find(paths.begin(), paths.end(), path) == paths.end()) paths.push_back(std::move(path));
  };
  const auto add_all = [&add](const Message& message) {
    for (std::string& path : PathsIn(message)) add(std::move(path));
  };
  const Reflection* const reflection = config.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(config, &fields);
  for (const FieldDescriptor* field : fields) {
    const bool is_message = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && !field->is_map();
    if (is_message && !field->is_repeated()) add_all(reflection->GetMessage(config, field));
    for (int i = 0; is_message && field->is_repeated() && i < reflection->FieldSize(config, field); ++i) {
      add_all(reflection->GetRepeatedMessage(config, field, i));
    }
    if (!IsPath(*field)) continue;
    if (std::string path = reflection->GetString(config, field); !path.empty()) add(std::move(path));
  }
  return paths;
}

void MapPaths(const std::function<std::string(const std::string&)>& map, Message* config) {
  const Reflection* const reflection = config->GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(*config, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && !field->is_map()) {
      if (!field->is_repeated()) MapPaths(map, reflection->MutableMessage(config, field));
      for (int i = 0; field->is_repeated() && i < reflection->FieldSize(*config, field); ++i) {
        MapPaths(map, reflection->MutableRepeatedMessage(config, field, i));
      }
    } else if (IsPath(*field)) {
      reflection->SetString(config, field, map(reflection->GetString(*config, field)));
    }
  }
}

}  // namespace lanista
