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
#include "src/config/data_paths.h"

namespace lanista {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// VisitPaths of the message at `place`.
absl::Status VisitBelow(const Message& message, const std::string& place,
                        const std::function<absl::Status(const std::string&, const std::string&)>& visit) {
  const Reflection* const reflection = message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const std::string at = absl::StrCat(place, place.empty() ? "" : ".", std::string(field->name()));
    const bool is_message = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && !field->is_map();
    if (is_message && !field->is_repeated()) {
      LANISTA_RETURN_IF_ERROR(VisitBelow(reflection->GetMessage(message, field), at, visit));
    }
    for (int i = 0; is_message && field->is_repeated() && i < reflection->FieldSize(message, field); ++i) {
      LANISTA_RETURN_IF_ERROR(
          VisitBelow(reflection->GetRepeatedMessage(message, field, i), absl::StrCat(at, "[", i, "]"), visit));
    }
    if (!HoldsPath(*field)) continue;
    const std::string path = reflection->GetString(message, field);
    if (!path.empty()) LANISTA_RETURN_IF_ERROR(visit(at, path));
  }
  return absl::OkStatus();
}

}  // namespace

bool HoldsPath(const FieldDescriptor& field) {
  // message.field.
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

std::string UserDirectory() {
  const char* const bazel = std::getenv("BUILD_WORKING_DIRECTORY");
  if (bazel != nullptr && *bazel != '\0') return bazel;
  std::error_code error;
  return std::filesystem::current_path(error).string();
}

absl::StatusOr<std::string> ResolvePath(const std::string& path, const std::string& folder) {
  if (path.empty() || IsDataPath(path)) return path;
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

absl::Status VisitPaths(const Message& config,
                        const std::function<absl::Status(const std::string& field, const std::string& path)>& visit) {
  return VisitBelow(config, "", visit);
}

absl::Status BarePathError(const std::string& field, const std::string& path) {
  return absl::InvalidArgumentError(
      absl::StrCat(field, ": '", path,
                   "' is a path of the client's machine, which the head does not read. Upload what is there, as "
                   "`lanista submit` and the Python client do; or, if it is large, name it as data that machines have: "
                   "data://NAME/sub, with `--data NAME=DIR` of `node` or `serve`"));
}

std::vector<std::string> PathsIn(const Message& config) {
  std::vector<std::string> paths;
  const absl::Status all = VisitPaths(config, [&paths](const std::string&, const std::string& path) {
    if (std::find(paths.begin(), paths.end(), path) == paths.end()) paths.push_back(path);
    return absl::OkStatus();
  });
  // The visitor returns none.
  static_cast<void>(all);
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
    } else if (HoldsPath(*field)) {
      reflection->SetString(config, field, map(reflection->GetString(*config, field)));
    }
  }
}

}  // namespace lanista
