// Reads the module tree of a TorchScript file as a model.
#ifndef LANISTA_SRC_FRONTENDS_MODEL_READER_H_
#define LANISTA_SRC_FRONTENDS_MODEL_READER_H_

#include <torch/script.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "protos/graph.pb.h"
#include "src/frontends/method_reader.h"
#include "src/frontends/module_reader.h"

namespace lanista::frontends {

// Fills a model with the graphs of one TorchScript module. Used once, by one thread.
class ModelReader : public ModuleCalls {
 public:
  // `basic_units`: classes that are kept whole.
  ModelReader(std::set<std::string> basic_units, v1::ModelGraph* model);

  // Reads the whole module, called with `num_inputs` arguments (0: as many as have no default). Throws Unsupported
  // where not even one opaque node can stand for it, LostChoice where the model would lack a choice of the file.
  void ReadRoot(const torch::jit::Module& module, int num_inputs);

  AbstractValue CallModule(const AbstractValue& module, const std::string& name, const std::string& method,
                           const std::vector<AbstractValue>& arguments, GraphWriter* writer) override;
  std::string AddGraph(v1::Graph graph, const std::string& wish) override;
  void CountStep() override;
  void NoteOwner(const std::string& path, const std::string& name) override;

 private:
  // A call of a module's method, on its way to become a node.
  struct Call {
    const torch::jit::Module& module;
    // In the file, and as seen from the graph.
    const std::string& path;
    const std::string& name;
    const std::string& method;
    // With the defaults of those that the caller left out.
    std::vector<AbstractValue> arguments;
    GraphWriter* writer;
  };

  // An input edge of an operator; `name`: of the argument, where it does not follow from the place.
  struct Argument {
    AbstractValue value;
    std::string name;
  };

  // Each adds a node and returns what it gives. Throw Unsupported.
  AbstractValue CallOperator(const Call& call, const ModuleOperator& op, const std::vector<Argument>& inputs);
  AbstractValue CallCell(const Call& call);
  AbstractValue CallOpaque(const Call& call);
  // Cell or, where that cannot be, opaque.
  AbstractValue CallUserModule(const Call& call);

  // ---- choice_reader.cc: the primitives of lanista.nn ----
  // Whether the module is one: then its node is added and `result` set.
  bool CallChoice(const Call& call, AbstractValue* result);
  // The module as a node without inputs, for a choice: `name` is the candidate's.
  v1::Node Candidate(const torch::jit::Module& module, const std::string& path, const std::string& name,
                     const c10::TypePtr& input_type);
  // The choices that `lanista_choices` puts into the attributes of an operator.
  void AddValueChoices(const torch::jit::Module& module, const std::string& path, v1::Operator* op);
  // Adds it to the model's, once. Throws LostChoice where another one has its label. `place`: for that message.
  void AddValueChoice(const v1::ValueChoice& choice, const std::string& place);

  // Whether `op` takes these arguments; then `inputs` are its edges, and what forward is told of its attributes is in
  // `op`. Drops defaults.
  static bool OperatorInputs(const Call& call, ModuleOperator* op, std::vector<Argument>* inputs);
  void ReadRootOnce(const torch::jit::Module& module, int num_inputs);
  void Warn(const std::string& warning);
  // A module became opaque.
  void WarnKept(const Call& call, const std::string& reason);

  const std::set<std::string> basic_units_;
  v1::ModelGraph* const model_;
  // Paths of modules within which parameters share memory, or are used in two ways: why.
  std::map<std::string, std::string> sharing_;
  // By label: where the value choice was first found.
  std::map<std::string, std::string> value_places_;
  // By paths of modules and parameters: the outermost module that has a node for them.
  std::map<std::string, std::string> owners_;
  // How often each class name was used for a graph.
  std::map<std::string, int> graph_numbers_;
  // Nodes that were read, and modules within modules.
  int64_t steps_ = 0;
  int depth_ = 0;
};

}  // namespace lanista::frontends

#endif  // LANISTA_SRC_FRONTENDS_MODEL_READER_H_
