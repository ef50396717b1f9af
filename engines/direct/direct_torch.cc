// The direct engine in the trial process: runs the space's own constructor, to learn the space and to build its models.
#include <c10/util/Exception.h>

#include <exception>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "engines/model_builder.h"
#include "src/base/status.h"
#include "src/config/choices.h"
#include "src/nn/construction.h"
#include "src/nn/decide.h"
#include "src/nn/model_space.h"
#include "src/nn/registration_check.h"
#include "src/space/space.h"

namespace lanista {
namespace {

std::map<std::string, v1::Decision> ByLabel(const v1::Sample& sample) {
  std::map<std::string, v1::Decision> decisions;
  for (const v1::Decision& decision : sample.decisions()) decisions[decision.label()] = decision;
  return decisions;
}

// Answers from `sample`; what it lacks comes from `otherwise`.
nn::Construction::Answer FollowSample(const v1::Sample& sample, nn::Construction::Answer otherwise) {
  return [decisions = ByLabel(sample), otherwise = std::move(otherwise)](const v1::Choice& choice) {
    const auto found = decisions.find(choice.label());
    return found == decisions.end() ? otherwise(choice) : nn::CheckedDecision(choice, found->second);
  };
}

v1::Decision FirstOption(const v1::Choice& choice) { return MakeDecision(choice, 0); }

class DirectModelBuilder : public ModelBuilder {
 public:
  absl::StatusOr<v1::SpaceSpec> Discover(const v1::SpaceConfig& config, const DiscoveryOptions& options) override {
    if (config.has_choices()) return SpaceOfChoices(config.choices());
    LANISTA_ASSIGN_OR_RETURN(const auto make, FindFactory(config));
    const Params params = ParamsOf(config);
    LANISTA_ASSIGN_OR_RETURN(
        v1::SpaceSpec spec,
        DiscoverSpace([&](const v1::Sample& assignment) { return RunConstructor(make, params, assignment); }, options));
    // Only now: a parameter may be read under some choices alone.
    try {
      params.CheckAllRead();
    } catch (const ParamError& error) {
      return absl::InvalidArgumentError(error.what());
    }
    return spec;
  }

  absl::StatusOr<BuiltModel> Build(const v1::SpaceConfig& config, const v1::Sample& sample,
                                   uint64_t model_seed) override {
    LANISTA_ASSIGN_OR_RETURN(const auto make, FindFactory(config));
    nn::Construction construction(
        FollowSample(sample, [model_seed](const v1::Choice& choice) { return nn::DrawnDecision(choice, model_seed); }));
    try {
      BuiltModel built;
      const nn::RegistrationCheck check;
      built.model = make(ParamsOf(config));
      check.RequireRegistered(*built.model);
      built.actual_sample = construction.sample();
      return built;
    } catch (const nn::SpaceError& error) {
      return absl::InvalidArgumentError(error.what());
    } catch (const ParamError& error) {
      return absl::InvalidArgumentError(error.what());
    }
  }

 private:
  Params ParamsOf(const v1::SpaceConfig& config) const {
    Params params(config.params(), "the space");
    if (data().has_value()) params.SetData(*data());
    return params;
  }

  static absl::StatusOr<nn::ModelSpaceRegistry::Factory> FindFactory(const v1::SpaceConfig& config) {
    if (config.has_choices()) {
      return absl::InvalidArgumentError(
          "the evaluator asks for a network, and a space of `choices` has none: read the model's choices with "
          "sample(), or take a space that builds networks");
    }
    if (config.kind_case() != v1::SpaceConfig::kRegistered || !config.mutator().empty()) {
      return absl::InvalidArgumentError(
          "the direct engine takes a space { registered: ... }; graphs and mutators need `engine { graph {} }`");
    }
    const auto& registry = nn::ModelSpaceRegistry::Get();
    const auto* const factory = registry.Find(config.registered());
    if (factory == nullptr) return absl::NotFoundError(registry.UnknownName(config.registered()));
    return *factory;
  }

  // One run for discovery: SpaceError and ParamError mean that the space is wrong, anything else thrown that this model
  // cannot be built.
  static absl::StatusOr<ConstructionTrace> RunConstructor(const nn::ModelSpaceRegistry::Factory& make,
                                                          const Params& params, const v1::Sample& assignment) {
    nn::Construction construction(FollowSample(assignment, FirstOption));
    ConstructionTrace trace;
    try {
      const nn::RegistrationCheck check;
      check.RequireRegistered(*make(params));
    } catch (const nn::SpaceError& error) {
      return absl::InvalidArgumentError(error.what());
    } catch (const ParamError& error) {
      return absl::InvalidArgumentError(error.what());
    } catch (const c10::Error& error) {
      trace.error = error.what_without_backtrace();
    } catch (const std::exception& error) {
      trace.error = error.what();
    } catch (...) {
      trace.error = "the constructor threw something that is no std::exception";
    }
    for (const auto& asked : construction.asked()) {
      trace.asked.push_back({asked.choice, OptionOf(asked.choice, asked.decision)});
    }
    return trace;
  }
};

ModelBuilderRegistry::Result MakeDirectModelBuilder(const v1::DirectEngineConfig&) {
  return std::make_unique<DirectModelBuilder>();
}

}  // namespace

LANISTA_REGISTER_BUILT_IN(ModelBuilderRegistry, direct, v1::DirectEngineConfig, MakeDirectModelBuilder);

}  // namespace lanista
