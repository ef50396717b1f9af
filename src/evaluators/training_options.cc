#include "src/evaluators/training_options.h"

#include <algorithm>
#include <cmath>

namespace lanista {
namespace {

constexpr double kPi = 3.14159265358979323846;

}  // namespace

std::chrono::nanoseconds ToChrono(const google::protobuf::Duration& duration) {
  // 64 bits hold 292 years of nanoseconds; a configuration may say 10,000.
  constexpr int64_t kMostSeconds = int64_t{200} * 365 * 24 * 3600;
  return std::chrono::seconds(std::min<int64_t>(duration.seconds(), kMostSeconds)) +
         std::chrono::nanoseconds(duration.nanos());
}

int64_t LimitBatches(int64_t batches, std::optional<double> fraction, std::optional<int64_t> maximum) {
  if (fraction) {
    // 0.29 * 100 is a little less than 29 in binary.
    const auto part = static_cast<int64_t>(*fraction * static_cast<double>(batches) * (1 + 1e-12));
    batches = std::clamp<int64_t>(part, 1, batches);
  }
  return maximum ? std::min(batches, *maximum) : batches;
}

double LearningRateAt(const v1::ScheduleConfig& schedule, double base, int64_t epoch, int64_t max_epochs) {
  if (schedule.has_step()) {
    const double gamma = schedule.step().has_gamma() ? schedule.step().gamma() : 0.1;
    return base * std::pow(gamma, static_cast<double>(epoch / schedule.step().step_size()));
  }
  if (schedule.has_cosine()) {
    const double minimum = schedule.cosine().min_learning_rate();
    const double progress = static_cast<double>(epoch) / static_cast<double>(max_epochs);
    return minimum + (base - minimum) * (1 + std::cos(kPi * progress)) / 2;
  }
  return base;
}

}  // namespace lanista
