#include "src/files/local_work.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "src/config/data_paths.h"
#include "src/config/paths.h"
#include "src/files/input_set.h"
#include "src/files/trial_outputs.h"

namespace lanista {

LocalWork::~LocalWork() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::string LocalWork::Here(const std::string& path) const {
  // Data is where the node has it.
  return inputs_ == nullptr || path.empty() || IsDataPath(path) ? path
                                                                : absl::StrCat(inputs_->root(), NormalPath(path));
}

std::string LocalWork::AtHead(const std::string& text) const {
  return inputs_ == nullptr ? text : absl::StrReplaceAll(text, {{absl::StrCat(inputs_->root(), "/"), "/"}});
}

std::string LocalWork::log_file() const { return absl::StrCat(folder_, "/log"); }

std::string LocalWork::output_folder(int model) const { return absl::StrCat(folder_, "/output-", model); }

std::string LocalWork::checkpoint_folder(int model) const { return absl::StrCat(folder_, "/checkpoint-", model); }

void LocalWork::ToHere(v1::TrialSpec* spec) const {
  MapWorkPaths([this](const std::string& path) { return Here(path); }, spec);
  ToHere(spec->mutable_space_files());
  if (!spec->log_file().empty()) spec->set_log_file(log_file());
  for (v1::TrialModel& model : *spec->mutable_models()) {
    model.set_output_folder(output_folder(model.model()));
    if (!model.checkpoint_folder().empty()) model.set_checkpoint_folder(checkpoint_folder(model.model()));
  }
}

void LocalWork::ToHere(v1::Discover* request) const {
  if (request->has_convert()) return ToHere(request->mutable_convert());
  MapWorkPaths([this](const std::string& path) { return Here(path); }, request);
}

void LocalWork::ToHere(v1::Convert* request) const {
  v1::SpaceModel& model = *request->mutable_model();
  MapSpacePaths([this](const std::string& path) { return Here(path); }, &model);
  ToHere(model.mutable_space_files());
  model.set_weights_file(Here(model.weights_file()));
  const std::string name = std::filesystem::path(request->out()).filename().string();
  request->set_out(absl::StrCat(output_folder(kConvertedModel), "/", name));
}

void LocalWork::ToHere(google::protobuf::RepeatedPtrField<v1::FileDigest>* files) const {
  for (v1::FileDigest& file : *files) {
    if (inputs_ == nullptr || IsDataPath(file.path())) continue;
    file.set_sha256(inputs_->DigestHere(NormalPath(file.path()), file.sha256()));
    file.set_path(Here(file.path()));
  }
}

void LocalWork::ToHead(v1::Discovered* discovered) const {
  if (inputs_ == nullptr) return;
  if (discovered->has_error()) discovered->mutable_error()->set_message(AtHead(discovered->error().message()));
  if (discovered->has_converted()) {
    v1::Converted& converted = *discovered->mutable_converted();
    if (converted.has_error()) converted.mutable_error()->set_message(AtHead(converted.error().message()));
    for (std::string& warning : *converted.mutable_warnings()) warning = AtHead(warning);
  }
  if (!discovered->has_space()) return;
  for (v1::FileDigest& file : *discovered->mutable_space()->mutable_files()) {
    file.set_path(AtHead(file.path()));
    file.set_sha256(inputs_->DigestAtHead(file.path(), file.sha256()));
  }
  if (!discovered->has_graph_space()) return;
  for (v1::Archive& archive : *discovered->mutable_graph_space()->mutable_base()->mutable_archives()) {
    archive.set_path(AtHead(archive.path()));
  }
}

void LocalWork::ToHead(v1::ModelEvent* event) const {
  if (!event->ended().has_failure()) return;
  v1::Failure& failure = *event->mutable_ended()->mutable_failure();
  failure.set_message(AtHead(failure.message()));
}

}  // namespace lanista
