// Components that users register with a message of their own, whose fields are the component's parameters:
//
//   message AnnealingConfig {                                                           // annealing.proto
//     optional double start = 1 [(lanista.v1.rules).range = {above: 0}];
//   }
//   LANISTA_REGISTER(strategy, "annealing", MakeAnnealing);      // MakeAnnealing takes a const AnnealingConfig&
//
//   strategy { custom { name: "annealing" params { key: "start" value { f: 2.5 } } } }  // the configuration
//
// So such parameters are checked as built-in ones are, when a configuration is, and paths among them are found.
// Registration happens before main (or before lanista::Init); afterwards any thread may read.
#ifndef LANISTA_SRC_BASE_COMPONENT_H_
#define LANISTA_SRC_BASE_COMPONENT_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/map.h"
#include "google/protobuf/message.h"
#include "protos/experiment.pb.h"
#include "protos/graph.pb.h"
#include "src/base/field_rules.h"

namespace lanista {

// The messages of components, by the message that holds `custom` (StrategyConfig) and the component's name.
class Components {
 public:
  // Those of this program.
  static Components& Get();

  // The parameters of `custom { name: NAME }` in messages like `kind` are a message like `config`.
  void Add(const google::protobuf::Message& kind, const std::string& name, const google::protobuf::Message& config);

  // The default instance of the component's message; nullptr if this program has no such component, or if the component
  // reads its parameters by itself.
  const google::protobuf::Message* Find(const google::protobuf::Descriptor& kind, const std::string& name) const;

 private:
  std::map<std::pair<std::string, std::string>, const google::protobuf::Message*> messages_;
};

// Why a component cannot have this message, and what to do; nullopt if it can: fields are numbers, truth values,
// strings, enums and durations, or lists of them, and what they may hold is said (protos/options.proto).
std::optional<std::string> ProblemWithMessage(const google::protobuf::Descriptor& config);

// Sets the fields of `config` that `params` names. A violation's path is below `path`: a parameter that `config` does
// not have, or a value of another type than the field's. Values are not checked otherwise.
std::optional<Violation> ReadParams(const google::protobuf::Map<std::string, v1::Value>& params,
                                    const std::string& path, google::protobuf::Message* config);

// Sets and checks `config`, the message of the component that `custom` names. INVALID_ARGUMENT begins with the
// parameter, FAILED_PRECONDITION says what is wrong with the message itself.
absl::Status ReadComponent(const v1::Custom& custom, google::protobuf::Message* config);

// Which kind of component is set in `component` (StrategyConfig): the field of its oneof `kind`. nullptr: none is.
const google::protobuf::FieldDescriptor* ChosenKind(const google::protobuf::Message& component);

// The message of the component that is set in `component` (StrategyConfig): a built-in's field, which lives as long as
// `component`, or a `custom` one's parameters as its own message. nullptr: nothing is set, the component has no
// message, or its parameters do not fit.
std::shared_ptr<const google::protobuf::Message> MessageOf(const google::protobuf::Message& component);

// What is known of the component that is set in `component` (EngineConfig): the rules of its message, and for a
// `custom` one those of Custom, too. Nothing is set: the defaults.
v1::MessageRules RulesOfComponent(const google::protobuf::Message& component);

// The number with this meaning (NumberWithMeaning) of the component that is set in `component`: the steps that a model
// reports which runs to its end, of an EvaluatorConfig. nullopt: there is none.
std::optional<int64_t> NumberOfComponent(const google::protobuf::Message& component, v1::FieldRules::Meaning meaning);

// Calls `map` with each path among the parameters of the component, and puts its result in the path's place.
// `kind`: the message that holds `custom`.
void MapParamPaths(const google::protobuf::Descriptor& kind,
                   const std::function<std::string(const std::string& param, const std::string& path)>& map,
                   v1::Custom* custom);

}  // namespace lanista

#endif  // LANISTA_SRC_BASE_COMPONENT_H_
