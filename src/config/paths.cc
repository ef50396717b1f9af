#include "src/config/paths.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.h"
#include "protos/experiment.pb.h"
#include "src/base/component.h"
#include "src/base/field_rules.h"
#include "src/config/data_paths.h"

namespace lanista {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

using PathVisitor = std::function<std::string(const std::string& place, const std::string& path)>;

// Puts visit(place, path) in the place of each path that is set in the message, which is at `place`.
void MapBelow(const std::string& place, const PathVisitor& visit, Message* message) {
  const Reflection* const reflection = message->GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(*message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->is_map()) continue;
    const std::string at = JoinPath(place, field->name());
    const int size = field->is_repeated() ? reflection->FieldSize(*message, field) : 1;
    for (int i = 0; i < size; ++i) {
      const std::string value_at = field->is_repeated() ? absl::StrCat(at, "[", i, "]") : at;
      if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        Message* const part = field->is_repeated() ? reflection->MutableRepeatedMessage(message, field, i)
                                                   : reflection->MutableMessage(message, field);
        MapBelow(value_at, visit, part);
        if (field->message_type() != v1::Custom::descriptor()) continue;
        const std::string params_at = JoinPath(value_at, "params");
        MapParamPaths(
            *message->GetDescriptor(),
            [&](const std::string& param, const std::string& path) { return visit(JoinPath(params_at, param), path); },
            static_cast<v1::Custom*>(part));
      } else if (HoldsPath(*field)) {
        if (field->is_repeated()) {
          reflection->SetRepeatedString(message, field, i,
                                        visit(value_at, reflection->GetRepeatedString(*message, field, i)));
        } else {
          reflection->SetString(message, field, visit(value_at, reflection->GetString(*message, field)));
        }
      }
    }
  }
}

}  // namespace

bool HoldsPath(const FieldDescriptor& field) { return RulesOf(field).path(); }

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
  const std::unique_ptr<Message> copy(config.New());
  copy->CopyFrom(config);
  absl::Status status;
  MapBelow(
      "",
      [&](const std::string& place, const std::string& path) {
        if (status.ok() && !path.empty()) status = visit(place, path);
        return path;
      },
      copy.get());
  return status;
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
  MapBelow(
      "", [&map](const std::string&, const std::string& path) { return map(path); }, config);
}

}  // namespace lanista
