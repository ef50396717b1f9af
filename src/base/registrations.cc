#include "src/base/registrations.h"

#include "absl/strings/str_cat.h"

namespace lanista {

Registrations& Registrations::Get() {
  static auto* const registrations = new Registrations;
  return *registrations;
}

bool Registrations::Admit(const std::string& kind, const std::string& name, const std::set<std::string>& taken) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::string problem;
  if (closed_) {
    problem = absl::StrCat(
        "was registered after lanista::Init, so trial processes, which begin in Init, do not know it: register it "
        "before Init");
  } else if (name.empty()) {
    problem = "needs a name: configurations refer to it by its name";
  } else if (taken.count(name) > 0) {
    problem = "is registered twice: give one of the two another name";
  }
  if (problem.empty()) return true;
  if (status_.ok()) status_ = absl::FailedPreconditionError(absl::StrCat("the ", kind, " '", name, "' ", problem));
  return false;
}

void Registrations::Close() {
  const std::lock_guard<std::mutex> lock(mutex_);
  closed_ = true;
}

absl::Status Registrations::status() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return status_;
}

}  // namespace lanista
