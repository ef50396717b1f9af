// Reads the module tree of a TorchScript file as a model.
#ifndef LANISTA_SRC_FRONTENDS_MODEL_READER_H_
#define LANISTA_SRC_FRONTENDS_MODEL_READER_H_

#include <torch/csrc/jit/api/module.h>

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
  // `basic_units`: classes whose modules are kept whole.
  ModelReader(std::set<std::string> basic_units, v1::ModelGraph* model);

  // Reads the whole module, called with `num_inputs` arguments (0: all that have no default). Throws Unsupported if not
  // even an opaque node can represent it, and LostChoice if the model would lack a choice of the file.
  void ReadRoot(const torch::jit::Module& module, int num_inputs);

  AbstractValue CallModule(const AbstractValue& module, const std::string& name, const std::string& method,
                           const std::vector<AbstractValue>& arguments, GraphWriter* writer) override;
  std::string AddGraph(v1::Graph graph, const std::string& wish) override;
  void CountSteps(int64_t count) override;
  void NoteOwner(const std::string& path, const std::string& name) override;

 private:
  // A call of a module's method that is to become a node.
  struct Call {
    const torch::jit::Module& module;
    // The module's path in the file, and its name relative to the graph.
    const std::string& path;
    const std::string& name;
    const std::string& method;
    // All arguments; default values are filled in.
    std::vector<AbstractValue> arguments;
    GraphWriter* writer;
  };

  // An input edge of an operator. `name`: the argument's name, if the position does not determine it.
  struct Argument {
    AbstractValue value;
    std::string name;
  };

  // Each adds a node and returns its result. All throw Unsupported.
  AbstractValue CallOperator(const Call& call, const ModuleOperator& op, const std::vector<Argument>& inputs);
  AbstractValue CallCell(const Call& call);
  AbstractValue CallOpaque(const Call& call);
  // A cell or, if that is impossible, an opaque node.
  AbstractValue CallUserModule(const Call& call);

  // ---- choice_reader.cc: the primitives of lanista.nn ----
  // Whether the module is a primitive; if so, adds its node and sets `result`.
  bool CallChoice(const Call& call, AbstractValue* result);
  // The module as a candidate of a choice: a node without inputs, named `name`.
  v1::Node Candidate(const torch::jit::Module& module, const std::string& path, const std::string& name,
                     const c10::TypePtr& input_type);
  // Replaces attributes of an operator by the choices that `lanista_choices` gives for them.
  void AddValueChoices(const torch::jit::Module& module, const std::string& path, v1::Operator* op);
  // Adds the choice to the model unless it is there already. Throws LostChoice if another choice has its label. `place`
  // is for that message.
  void AddValueChoice(const v1::ValueChoice& choice, const std::string& place);

  // Whether `op` can take these arguments; if so, `inputs` are its edges, and arguments of forward that are attributes
  // are added to `op`. Leaves out arguments with default values.
  static bool OperatorInputs(const Call& call, ModuleOperator* op, std::vector<Argument>* inputs);
  void ReadRootOnce(const torch::jit::Module& module, int num_inputs);
  void Warn(const std::string& warning);
  // Warns that a module became opaque.
  void WarnKept(const Call& call, const std::string& reason);

  const std::set<std::string> basic_units_;
  v1::ModelGraph* const model_;
  // Paths of modules within which parameters share memory or are used in two ways, with the reason.
  std::map<std::string, std::string> sharing_;
  // Label -> the place where the value choice was first found.
  std::map<std::string, std::string> value_places_;
  // Path of a module or parameter -> path of the outermost module that has a node for it.
  std::map<std::string, std::string> owners_;
  // How often each class name was used for a graph.
  std::map<std::string, int> graph_numbers_;
  // Number of nodes that were read, and depth of modules.
  int64_t steps_ = 0;
  int depth_ = 0;
};

}  // namespace lanista::frontends

#endif  // LANISTA_SRC_FRONTENDS_MODEL_READER_H_
