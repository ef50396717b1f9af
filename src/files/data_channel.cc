#include "src/files/data_channel.h"

#include <utility>

#include "src/config/data_paths.h"
#include "src/config/paths.h"

namespace lanista {
namespace {

// The names in what the user's configuration gave for the space.
template <typename Work>
std::set<std::string> NamesInSpace(const Work& work) {
  std::set<std::string> names = DataNamesOf(PathsIn(work.space()));
  names.merge(DataNamesOf(PathsIn(work.engine())));
  return names;
}

// And for the evaluator.
template <typename Work>
std::set<std::string> NamesInWork(const Work& work) {
  std::set<std::string> names = NamesInSpace(work);
  names.merge(DataNamesOf(PathsIn(work.evaluator())));
  return names;
}

std::set<std::string> NamesOf(const v1::TrialRequest& request) {
  switch (request.kind_case()) {
    case v1::TrialRequest::kDiscover:
      return NamesInWork(request.discover());
    case v1::TrialRequest::kRun:
      return NamesInWork(request.run());
    case v1::TrialRequest::kConvert:
      return NamesInSpace(request.convert().model());
    default:
      return {};
  }
}

bool BeginsWork(const v1::TrialRequest& request) {
  return request.has_discover() || request.has_run() || request.has_convert() || request.has_import();
}

void MapFiles(const DataFolders& folders, google::protobuf::RepeatedPtrField<v1::FileDigest>* files) {
  for (v1::FileDigest& file : *files) file.set_path(folders.Here(file.path()));
}

}  // namespace

std::unique_ptr<TrialChannel> WithData(std::unique_ptr<TrialChannel> channel, const DataFolders& folders) {
  if (folders.empty()) return channel;
  return std::make_unique<DataChannel>(std::move(channel), folders);
}

absl::Status DataChannel::Start(const v1::Device& device, Handlers handlers) {
  handlers.on_event = [this, on_event = std::move(handlers.on_event)](v1::TrialEvent event) {
    ToNames(&event);
    on_event(std::move(event));
  };
  return channel_->Start(device, std::move(handlers));
}

absl::Status DataChannel::Send(const v1::TrialRequest& request) {
  if (!BeginsWork(request)) return channel_->Send(request);
  const std::set<std::string> names = NamesOf(request);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    used_ = names;
  }
  if (names.empty()) return channel_->Send(request);
  const auto here = [this](const std::string& path) { return folders_.Here(path); };
  v1::TrialRequest mapped = request;
  if (mapped.has_discover()) {
    MapWorkPaths(here, mapped.mutable_discover());
  } else if (mapped.has_run()) {
    MapWorkPaths(here, mapped.mutable_run());
    MapFiles(folders_, mapped.mutable_run()->mutable_space_files());
  } else {
    v1::SpaceModel* const model = mapped.mutable_convert()->mutable_model();
    MapSpacePaths(here, model);
    MapFiles(folders_, model->mutable_space_files());
  }
  return channel_->Send(mapped);
}

std::set<std::string> DataChannel::used() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return used_;
}

void DataChannel::ToNames(v1::TrialEvent* event) const {
  if (!event->has_discovered() && !event->has_model() && !event->has_converted()) return;
  const std::set<std::string> names = used();
  if (names.empty()) return;
  const auto rename = [&](std::string* text) { *text = folders_.Named(*text, names); };
  if (event->has_model()) {
    if (!event->model().ended().has_failure()) return;
    return rename(event->mutable_model()->mutable_ended()->mutable_failure()->mutable_message());
  }
  if (event->has_converted()) {
    if (event->converted().has_error()) rename(event->mutable_converted()->mutable_error()->mutable_message());
    return;
  }
  v1::Discovered& discovered = *event->mutable_discovered();
  if (discovered.has_error()) rename(discovered.mutable_error()->mutable_message());
  if (!discovered.has_space()) return;
  for (v1::FileDigest& file : *discovered.mutable_space()->mutable_files()) rename(file.mutable_path());
  if (!discovered.has_graph_space()) return;
  for (v1::Archive& archive : *discovered.mutable_graph_space()->mutable_base()->mutable_archives()) {
    rename(archive.mutable_path());
  }
}

}  // namespace lanista
