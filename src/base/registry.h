// Registries: how strategies, evaluators, datasets and the like join Lanista, each with one line in its own file.
//
// A kind of thing has a configuration message with a oneof `kind`: a field for each built-in (its own message), and
// `custom { name params }` for what users register. `Create` finds the field that is set by reflection, so nothing
// grows but the oneof.
//
//   class Strategy { ... };
//   using StrategyRegistry = Registry<Strategy, v1::StrategyConfig, const Space&>;   // extra arguments of factories
//   LANISTA_REGISTER_BUILT_IN(StrategyRegistry, random, v1::RandomConfig, MakeRandom);   // last line of random.cc
//
// where `absl::StatusOr<std::unique_ptr<Strategy>> MakeRandom(const v1::RandomConfig&, const Space&)`. Users register
// with LANISTA_REGISTER(strategy, "mine", MakeMine) (custom.h).
//
// Registration happens before main; afterwards registries are read-only and may be used by any thread.
#ifndef LANISTA_SRC_BASE_REGISTRY_H_
#define LANISTA_SRC_BASE_REGISTRY_H_

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "protos/experiment.pb.h"
#include "src/base/component.h"
#include "src/base/taken_names.h"

namespace lanista {

// Things of the type `Base`, which messages like `Kind` (v1::StrategyConfig) name.
template <typename Base, typename Kind, typename... Args>
class Registry {
 public:
  using KindConfig = Kind;
  using Result = absl::StatusOr<std::unique_ptr<Base>>;
  using Factory = std::function<Result(const google::protobuf::Message& config, Args... args)>;

  // The one registry of this kind.
  static Registry& Get() {
    static Registry* const registry = new Registry;
    return *registry;
  }

  // Adds what the oneof's field `field` (or, with `custom`, the name in `custom { name }`) stands for. Ends the program
  // if there is one already: two definitions are a programmer's error.
  bool Add(const std::string& name, bool custom, Factory factory) {
    auto& factories = custom ? custom_ : built_in_;
    const bool taken = custom && !TakenNames<Kind>().insert(name).second;
    if (taken || !factories.emplace(name, std::move(factory)).second) {
      std::fprintf(stderr, "lanista: '%s' of %s is registered twice: give one of the two another name\n", name.c_str(),
                   Kind::descriptor()->name().c_str());
      std::abort();
    }
    return true;
  }

  // Makes what `config` (a message with a oneof `kind`) names. INVALID_ARGUMENT if nothing is set, NOT_FOUND (with the
  // known names) if it is not linked into this program.
  Result Create(const Kind& config, Args... args) const {
    const absl::StatusOr<Chosen> chosen = Find(config);
    if (!chosen.ok()) return chosen.status();
    return (*chosen->factory)(*chosen->config, args...);
  }

  // Checks what can be checked without making anything: the options of the fields and the checks over several of them
  // (field_rules.h), of a user's component too, and that the program has what `config` names. INVALID_ARGUMENT
  // "PATH: what is wrong", where `path` leads to `config`; NOT_FOUND as above.
  absl::Status Validate(const Kind& config, const std::string& path = "") const {
    if (const std::optional<Violation> violation = FindRuleViolation(config, path)) {
      return absl::InvalidArgumentError(
          absl::StrCat(violation->path, violation->path.empty() ? "" : ": ", violation->message));
    }
    return Find(config).status();
  }

  // All names, sorted; those for `custom` come as "custom:NAME".
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : built_in_) names.push_back(entry.first);
    for (const auto& entry : custom_) names.push_back("custom:" + entry.first);
    return names;
  }

 private:
  // What a configuration names.
  struct Chosen {
    const Factory* factory;
    const google::protobuf::Message* config;
  };

  absl::StatusOr<Chosen> Find(const Kind& config) const {
    const google::protobuf::FieldDescriptor* const field = ChosenKind(config);
    if (field == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("nothing is set in ", config.GetDescriptor()->name(), "; set one of: ", KnownNames()));
    }
    const google::protobuf::Message& chosen = config.GetReflection()->GetMessage(config, field);
    const bool custom = field->message_type() == v1::Custom::descriptor();
    const std::string& name = custom ? static_cast<const v1::Custom&>(chosen).name() : field->name();
    const auto& factories = custom ? custom_ : built_in_;
    const auto found = factories.find(name);
    if (found == factories.end()) {
      return absl::NotFoundError(absl::StrCat("'", name, "' is not registered in this program; known: ", KnownNames()));
    }
    return Chosen{&found->second, &chosen};
  }

  std::string KnownNames() const { return absl::StrJoin(Names(), ", "); }

  std::map<std::string, Factory> built_in_;
  std::map<std::string, Factory> custom_;
};

}  // namespace lanista

// Registers `make(const Config&, Args...)` for the oneof's field `field`.
#define LANISTA_REGISTER_BUILT_IN(RegistryType, field, Config, make)                                       \
  [[maybe_unused]] static const bool lanista_registered_##field = RegistryType::Get().Add(                 \
      #field, false, [](const google::protobuf::Message& config, auto&&... args) -> RegistryType::Result { \
        return make(static_cast<const Config&>(config), std::forward<decltype(args)>(args)...);            \
      })

#endif  // LANISTA_SRC_BASE_REGISTRY_H_
