// Reads methods of TorchScript modules: executes them on abstract values and writes nodes for the computations whose
// values are unknown.
//
// Known values (constants, hyper-parameters, lists of known length) are computed while reading, with LibTorch's own
// operators; branches and loops that they decide disappear. The training flag is never known.
#ifndef LANISTA_SRC_FRONTENDS_METHOD_READER_H_
#define LANISTA_SRC_FRONTENDS_METHOD_READER_H_

#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/ir/ir.h>

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "protos/graph.pb.h"
#include "src/frontends/abstract_value.h"
#include "src/frontends/graph_writer.h"

namespace lanista::frontends {

// How a MethodReader calls submodules and adds graphs for branches.
class ModuleCalls {
 public:
  virtual ~ModuleCalls() = default;

  // Calls `method` of a submodule with these arguments: adds a node to `writer` and returns its result. `name`: the
  // submodule's path relative to the graph that is being written. Throws Unsupported.
  virtual AbstractValue CallModule(const AbstractValue& module, const std::string& name, const std::string& method,
                                   const std::vector<AbstractValue>& arguments, GraphWriter* writer) = 0;
  // Adds a graph to the model. Returns its name.
  virtual std::string AddGraph(v1::Graph graph, const std::string& wish) = 0;
  // Records that a graph has a node for this module or parameter, under `name`, which is the end of its path.
  virtual void NoteOwner(const std::string& path, const std::string& name) = 0;
  // Counts steps: nodes that are executed, and elements of lists that are copied. Throws Unsupported if there were too
  // many.
  virtual void CountSteps(int64_t count) = 0;
};

// Reads one method of one module. Used by one thread.
class MethodReader {
 public:
  // `path`: the module's path in its file.
  MethodReader(ModuleCalls* calls, torch::jit::Module self, std::string path, GraphWriter* writer)
      : calls_(calls), self_(std::move(self)), path_(std::move(path)), writer_(writer) {}

  // Executes a function on its arguments (for a method, the module comes first) and returns its result. Throws
  // Unsupported.
  AbstractValue Call(const torch::jit::Graph& graph, const std::vector<AbstractValue>& arguments);

  // The module itself as a value.
  AbstractValue Self() const { return AbstractValue::Module(self_, path_); }

 private:
  using Values = std::vector<AbstractValue>;
  // Values by TorchScript's values.
  using Environment = std::unordered_map<const torch::jit::Value*, AbstractValue>;

  // ---- method_reader.cc: one node after the other ----
  void RunBlock(const torch::jit::Block* block, Environment* environment);
  void RunNode(const torch::jit::Node* node, Environment* environment);
  static Values Inputs(c10::ArrayRef<const torch::jit::Value*> values, const Environment& environment);
  AbstractValue CallFunction(const torch::jit::Node* node, Values inputs);
  AbstractValue CallMethod(const torch::jit::Node* node, Values inputs);
  // nullopt: not possible here, so that the function's code must be read.
  std::optional<AbstractValue> Interpolate(Values inputs);
  // A node without a name: known arguments become attributes, others input edges.
  v1::Node OperatorNode(const c10::FunctionSchema& schema, const Values& inputs);
  void AddOperator(const torch::jit::Node* node, const Values& inputs, Environment* environment);

  // ---- method_reader.cc: attributes of modules ----
  AbstractValue GetAttribute(const torch::jit::Node* node, const AbstractValue& object);
  AbstractValue Training();
  AbstractValue StateTensor(const AbstractValue& object, const std::string& name, const at::Tensor& tensor);
  std::string RelativeName(const std::string& path) const;

  // ---- control_flow.cc: branches and loops ----
  void If(const torch::jit::Node* node, Environment* environment);
  void Loop(const torch::jit::Node* node, Environment* environment);
  void Assert(const AbstractValue& condition, bool expected, const std::string& message);
  // A branch on the training flag; `first_arm`: the flag's value for which the first block runs.
  void TrainingSwitch(const torch::jit::Node* node, bool first_arm, Environment* environment);
  // A branch without effects that only combines booleans, as `and` and `or` do.
  void Combine(const torch::jit::Node* node, const AbstractValue& condition, Environment* environment);
  AbstractValue CombineBool(const AbstractValue& condition, const AbstractValue& first, const AbstractValue& second);
  AbstractValue Not(const AbstractValue& value);
  AbstractValue BoolNode(const std::string& type, const Values& inputs);

  // ---- folding.cc: computing known values ----
  // Operators on lists, tuples and dictionaries whose elements are known one by one. False: the node is no such
  // operator.
  bool RunOnElements(const torch::jit::Node* node, const Values& inputs, Environment* environment);
  bool RunOnDictionary(const torch::jit::Node* node, const Values& inputs, Environment* environment);
  // Operators whose result follows from the type of a value. False: as above.
  bool RunOnTypes(const torch::jit::Node* node, const Values& inputs, Environment* environment);
  // Operators whose inputs are all known. False: as above.
  bool RunOnConstants(const torch::jit::Node* node, const Values& inputs, Environment* environment);
  std::vector<AbstractValue>& Changeable(const AbstractValue& list);

  ModuleCalls* const calls_;
  const torch::jit::Module self_;
  const std::string path_;
  GraphWriter* writer_;
  // While an arm of a training switch is read: the flag's value there.
  std::optional<bool> training_;
  // Depth of function calls.
  int depth_ = 0;
  // Nodes that give tensors of the state_dict or the flag, by graph and name.
  std::map<std::pair<GraphWriter*, std::string>, AbstractValue> leaves_;
};

}  // namespace lanista::frontends

#endif  // LANISTA_SRC_FRONTENDS_METHOD_READER_H_
