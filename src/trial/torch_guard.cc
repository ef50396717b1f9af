#include "src/trial/torch_guard.h"

#include <c10/util/Exception.h>

#include <exception>
#include <new>
#include <string>

#include "absl/strings/str_cat.h"
#include "src/base/bounded_message.h"
#include "src/base/out_of_memory.h"
#include "src/evaluators/evaluator.h"

namespace lanista {
namespace {

GuardResult Failed(v1::Failure::Reason reason, const std::string& message) {
  GuardResult result;
  result.outcome = v1::ModelEnded::FAILED;
  result.failure.set_reason(reason);
  result.failure.set_message(BoundedMessage(message));
  return result;
}

// An error or exception with this text.
GuardResult Failed(std::string message) {
  const v1::Failure::Reason reason = SaysOutOfMemory(message) ? v1::Failure::OUT_OF_MEMORY : v1::Failure::EXCEPTION;
  return Failed(reason, std::move(message));
}

}  // namespace

GuardResult Guard(const std::function<absl::Status()>& code) {
  try {
    const absl::Status status = code();
    if (status.ok()) return {};
    if (absl::IsCancelled(status)) {
      GuardResult canceled;
      canceled.outcome = v1::ModelEnded::CANCELED;
      return canceled;
    }
    if (absl::IsDataLoss(status)) return Failed(v1::Failure::DATA_UNREADABLE, std::string(status.message()));
    return Failed(std::string(status.message()));
  } catch (const NanMetricError& error) {
    return Failed(v1::Failure::NAN_LOSS, error.what());
  } catch (const c10::Error& error) {
    return Failed(error.what_without_backtrace());
  } catch (const std::bad_alloc&) {
    return Failed(v1::Failure::OUT_OF_MEMORY, "an allocation failed (std::bad_alloc)");
  } catch (const std::exception& error) {
    return Failed(error.what());
  } catch (...) {
    return Failed(v1::Failure::EXCEPTION, "something was thrown that is no std::exception");
  }
}

GuardResult GuardTrial(const std::atomic<bool>& canceled, const std::function<absl::Status()>& code) {
  return Guard([&] {
    const absl::Status status = code();
    if (!absl::IsCancelled(status) || canceled) return status;
    return absl::InternalError(absl::StrCat("CANCELLED, though the trial was not canceled: ", status.message()));
  });
}

absl::Status GuardStatus(const std::function<absl::Status()>& code) {
  absl::Status status;
  const GuardResult result = Guard([&] {
    status = code();
    return absl::OkStatus();
  });
  if (result.outcome == v1::ModelEnded::SUCCEEDED) return status;
  return absl::InternalError(result.failure.message());
}

}  // namespace lanista
