#include "src/evaluators/training_options.h"

#include <algorithm>
#include <cmath>

#include "src/base/status.h"

namespace lanista {
namespace {

// More threads than this are a typing error.
constexpr int64_t kMostLoaderThreads = 256;
constexpr double kPi = 3.14159265358979323846;

bool AtLeastZero(double value) { return std::isfinite(value) && value >= 0; }

template <typename Config>
void CheckLearningRate(const Config& config, FieldCheck& check) {
  if (!config.has_learning_rate()) return;
  check.Require(std::isfinite(config.learning_rate()) && config.learning_rate() > 0, "learning_rate", "greater than 0",
                config.learning_rate());
}

template <typename Config>
absl::Status CheckAdam(const Config& config, FieldCheck check) {
  CheckLearningRate(config, check);
  check.Require(config.beta1() >= 0 && config.beta1() < 1, "beta1", "in [0, 1)", config.beta1());
  check.Require(config.beta2() >= 0 && config.beta2() < 1, "beta2", "in [0, 1)", config.beta2());
  check.Require(AtLeastZero(config.eps()), "eps", "at least 0", config.eps());
  check.Require(AtLeastZero(config.weight_decay()), "weight_decay", "at least 0", config.weight_decay());
  return check.status();
}

absl::Status CheckOptimizer(const v1::OptimizerConfig& optimizer, const std::string& path) {
  switch (optimizer.kind_case()) {
    case v1::OptimizerConfig::kAdam:
      return CheckAdam(optimizer.adam(), FieldCheck(path + ".adam"));
    case v1::OptimizerConfig::kAdamw:
      return CheckAdam(optimizer.adamw(), FieldCheck(path + ".adamw"));
    case v1::OptimizerConfig::kSgd: {
      const v1::SgdConfig& sgd = optimizer.sgd();
      FieldCheck check(path + ".sgd");
      CheckLearningRate(sgd, check);
      check.Require(AtLeastZero(sgd.momentum()), "momentum", "at least 0", sgd.momentum());
      check.Require(std::isfinite(sgd.dampening()), "dampening", "a finite number", sgd.dampening());
      check.Require(AtLeastZero(sgd.weight_decay()), "weight_decay", "at least 0", sgd.weight_decay());
      if (sgd.nesterov() && (sgd.momentum() <= 0 || sgd.dampening() != 0)) {
        check.Refuse(absl::StrCat(check.path(), ".nesterov needs a momentum greater than 0 and no dampening"));
      }
      return check.status();
    }
    case v1::OptimizerConfig::kRmsprop: {
      const v1::RmsPropConfig& rmsprop = optimizer.rmsprop();
      FieldCheck check(path + ".rmsprop");
      CheckLearningRate(rmsprop, check);
      check.Require(rmsprop.alpha() >= 0 && rmsprop.alpha() < 1, "alpha", "in [0, 1)", rmsprop.alpha());
      check.Require(AtLeastZero(rmsprop.eps()), "eps", "at least 0", rmsprop.eps());
      check.Require(AtLeastZero(rmsprop.weight_decay()), "weight_decay", "at least 0", rmsprop.weight_decay());
      check.Require(AtLeastZero(rmsprop.momentum()), "momentum", "at least 0", rmsprop.momentum());
      return check.status();
    }
    case v1::OptimizerConfig::KIND_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError(absl::StrCat(path, " is empty; set one of: sgd, adam, adamw, rmsprop"));
}

absl::Status CheckSchedule(const v1::ScheduleConfig& schedule, const std::string& path) {
  if (schedule.has_step()) {
    FieldCheck check(path + ".step");
    check.Require(schedule.step().step_size() >= 1, "step_size", "at least 1", schedule.step().step_size());
    if (schedule.step().has_gamma()) {
      check.Require(std::isfinite(schedule.step().gamma()) && schedule.step().gamma() > 0, "gamma", "greater than 0",
                    schedule.step().gamma());
    }
    return check.status();
  }
  if (schedule.has_cosine()) {
    FieldCheck check(path + ".cosine");
    check.Require(AtLeastZero(schedule.cosine().min_learning_rate()), "min_learning_rate", "at least 0",
                  schedule.cosine().min_learning_rate());
    return check.status();
  }
  return absl::OkStatus();
}

absl::Status CheckClipping(const v1::GradientClippingConfig& clipping, const std::string& path) {
  FieldCheck check(path);
  if (clipping.has_max_norm()) {
    check.Require(clipping.max_norm() > 0, "max_norm", "greater than 0", clipping.max_norm());
  }
  if (clipping.has_max_value()) {
    check.Require(clipping.max_value() > 0, "max_value", "greater than 0", clipping.max_value());
  }
  return check.status();
}

}  // namespace

absl::Status CheckTrainingOptions(const TrainingOptions& options, const std::string& path) {
  FieldCheck check(path);
  check.Require(options.batch_size >= 1, "batch_size", "at least 1", options.batch_size);
  check.Require(options.validation_batch_size >= 1, "validation_batch_size", "at least 1",
                options.validation_batch_size);
  check.Require(options.max_epochs >= 1, "max_epochs", "at least 1", options.max_epochs);
  const auto check_fraction = [&check](std::optional<double> fraction, absl::string_view field) {
    if (fraction) check.Require(*fraction > 0 && *fraction <= 1, field, "in (0, 1]", *fraction);
  };
  check_fraction(options.limit_train_batches, "limit_train_batches");
  check_fraction(options.limit_validation_batches, "limit_validation_batches");
  if (options.max_train_batches) {
    check.Require(*options.max_train_batches >= 1, "max_train_batches", "at least 1", *options.max_train_batches);
  }
  if (options.limit_train_batches && options.max_train_batches) {
    check.Refuse(absl::StrCat(path, ": set limit_train_batches (a fraction) or max_train_batches (a count), not both"));
  }
  check.Require(options.loader_threads >= 0 && options.loader_threads <= kMostLoaderThreads, "loader_threads",
                absl::StrCat("from 0 to ", kMostLoaderThreads), options.loader_threads);
  LANISTA_RETURN_IF_ERROR(check.status());
  LANISTA_RETURN_IF_ERROR(CheckOptimizer(options.optimizer, path + ".optimizer"));
  LANISTA_RETURN_IF_ERROR(CheckSchedule(options.schedule, path + ".schedule"));
  return CheckClipping(options.gradient_clipping, path + ".gradient_clipping");
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
