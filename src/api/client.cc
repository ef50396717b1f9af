#include "include/lanista/client.h"

#include <utility>

#include "nlohmann/json.hpp"
#include "protos/service.pb.h"
#include "src/api/head_calls.h"
#include "src/api/results.h"
#include "src/base/guard.h"
#include "src/base/status.h"
#include "src/launcher/head_connection.h"
#include "src/rpc/head_client.h"

namespace lanista {

class Client::Impl {
 public:
  explicit Impl(std::unique_ptr<HeadClient> head) : head_(std::move(head)) {}

  HeadClient& head() { return *head_; }

 private:
  const std::unique_ptr<HeadClient> head_;
};

Client::Client(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Client::~Client() = default;
Client::Client(Client&& other) noexcept = default;
Client& Client::operator=(Client&& other) noexcept = default;

absl::StatusOr<Client> Client::Connect(const HeadSettings& head) {
  LANISTA_ASSIGN_OR_RETURN(std::unique_ptr<HeadClient> connected, api::ConnectTo(head));
  return Client(std::make_unique<Impl>(std::move(connected)));
}

absl::StatusOr<std::string> Client::Submit(const v1::ExperimentConfig& config, const std::string& request_id) {
  LANISTA_ASSIGN_OR_RETURN(v1::ExperimentConfig checked, api::CheckedConfig(config));
  return api::SubmitTo(impl_->head(), std::move(checked), request_id);
}

absl::StatusOr<ExperimentStatus> Client::Get(const std::string& experiment) {
  return api::StatusFrom(impl_->head(), experiment);
}

absl::StatusOr<std::vector<ExperimentStatus>> Client::List() {
  LANISTA_ASSIGN_OR_RETURN(const nlohmann::ordered_json document, impl_->head().ListAll());
  std::vector<ExperimentStatus> experiments;
  for (const nlohmann::ordered_json& entry : document["experiments"]) {
    LANISTA_ASSIGN_OR_RETURN(ExperimentStatus status, api::StatusOf(entry));
    experiments.push_back(std::move(status));
  }
  return experiments;
}

absl::Status Client::Watch(const std::string& experiment, const EventCallback& callback, int64_t after) {
  v1::WatchRequest request;
  request.set_experiment(experiment);
  request.set_after(after);
  absl::Status thrown;
  LANISTA_RETURN_IF_ERROR(FollowOnHead(
      impl_->head(), &request,
      [&](const v1::ExperimentEvent& event) {
        const absl::StatusOr<bool> more =
            GuardCall("the callback of events", [&]() -> absl::StatusOr<bool> { return callback(event); });
        thrown = more.status();
        return more.ok() && *more;
      },
      api::PrintNote));
  return thrown;
}

absl::Status Client::Stop(const std::string& experiment, const std::string& reason) {
  v1::StopExperimentRequest request;
  request.set_experiment(experiment);
  request.set_reason(reason);
  return impl_->head().Stop(request).status();
}

absl::Status Client::Resume(const std::string& experiment, const std::vector<std::string>& overrides) {
  v1::ResumeExperimentRequest request;
  request.set_experiment(experiment);
  for (const std::string& set : overrides) request.add_set(set);
  return impl_->head().Resume(request).status();
}

absl::Status Client::Delete(const std::string& id) {
  v1::DeleteExperimentRequest request;
  request.set_experiment(id);
  return impl_->head().Delete(request).status();
}

absl::StatusOr<std::vector<FoundModel>> Client::TopModels(const std::string& experiment, int k) {
  LANISTA_RETURN_IF_ERROR(api::CheckTop("Client::TopModels", k));
  return api::TopModelsFrom(impl_->head(), experiment, k);
}

absl::StatusOr<std::vector<std::string>> Client::Export(const std::string& experiment, const ExportSettings& settings) {
  return api::ExportFrom(impl_->head(), experiment, settings);
}

}  // namespace lanista
