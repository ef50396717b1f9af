// Reads methods of TorchScript modules: runs them on abstract values, and writes down as nodes what is not known.
//
// What is known (constants, hyper-parameters, lists of known length) is computed while reading, by LibTorch's own
// operators; branches and loops that it decides disappear. The training flag is never known.
#ifndef LANISTA_SRC_FRONTENDS_METHOD_READER_H_
#define LANISTA_SRC_FRONTENDS_METHOD_READER_H_

#include <torch/csrc/jit/ir/ir.h>
#include <torch/script.h>

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "protos/graph.pb.h"
#include "src/frontends/abstract_value.h"
#include "src/frontends/graph_writer.h"

namespace lanista::frontends {

// Where calls of submodules go, and graphs of branches.
class ModuleCalls {
 public:
  virtual ~ModuleCalls() = default;

  // Calls `method` of a submodule with these arguments: adds a node to `writer` and returns what it gives. `name`: the
  // submodule's path as seen from the graph that is being written. Throws Unsupported.
  virtual AbstractValue CallModule(const AbstractValue& module, const std::string& name, const std::string& method,
                                   const std::vector<AbstractValue>& arguments, GraphWriter* writer) = 0;
  // Adds a graph to the model. Returns its name.
  virtual std::string AddGraph(v1::Graph graph, const std::string& wish) = 0;
  // A graph has a node for this module or parameter, under `name`, the end of its path.
  virtual void NoteOwner(const std::string& path, const std::string& name) = 0;
  // Counts a step; throws Unsupported where there were too many.
  virtual void CountStep() = 0;
};

// Reads one method of one module. Used by one thread.
class MethodReader {
 public:
  // `path`: of the module in its file.
  MethodReader(ModuleCalls* calls, torch::jit::Module self, std::string path, GraphWriter* writer)
      : calls_(calls), self_(std::move(self)), path_(std::move(path)), writer_(writer) {}

  // Runs a function on its arguments (a method: its module first) and returns its result. Throws Unsupported.
  AbstractValue Call(const torch::jit::Graph& graph, const std::vector<AbstractValue>& arguments);

  // The module itself as a value.
  AbstractValue Self() const { return AbstractValue::Module(self_, path_); }

 private:
  using Values = std::vector<AbstractValue>;
  // Edges between two methods of the reader: values by those of TorchScript.
  using Environment = std::unordered_map<const torch::jit::Value*, AbstractValue>;

  // ---- method_reader.cc: one node after the other ----
  void RunBlock(const torch::jit::Block* block, Environment* environment);
  void RunNode(const torch::jit::Node* node, Environment* environment);
  static Values Inputs(c10::ArrayRef<const torch::jit::Value*> values, const Environment& environment);
  AbstractValue CallFunction(const torch::jit::Node* node, Values inputs);
  AbstractValue CallMethod(const torch::jit::Node* node, Values inputs);
  // nullopt: its code must be followed.
  std::optional<AbstractValue> Interpolate(Values inputs);
  // A node without a name: known arguments are attributes, others edges.
  v1::Node OperatorNode(const c10::FunctionSchema& schema, const Values& inputs);
  void AddOperator(const torch::jit::Node* node, const Values& inputs, Environment* environment);

  // ---- attribute_reader.cc: attributes of modules ----
  AbstractValue GetAttribute(const torch::jit::Node* node, const AbstractValue& object);
  AbstractValue Training();
  AbstractValue StateTensor(const AbstractValue& object, const std::string& name, const at::Tensor& tensor);
  std::string RelativeName(const std::string& path) const;

  // ---- control_flow.cc: branches and loops ----
  void If(const torch::jit::Node* node, Environment* environment);
  void Loop(const torch::jit::Node* node, Environment* environment);
  void Assert(const AbstractValue& condition, bool expected, const std::string& message);
  // A branch on the training flag; `first_arm`: whether the flag is on in the first block.
  void TrainingSwitch(const torch::jit::Node* node, bool first_arm, Environment* environment);
  // A branch without effects that only combines truth values, as `and` and `or` do.
  void Combine(const torch::jit::Node* node, const AbstractValue& condition, Environment* environment);
  AbstractValue CombineBool(const AbstractValue& condition, const AbstractValue& first, const AbstractValue& second);
  AbstractValue Not(const AbstractValue& value);
  AbstractValue BoolNode(const std::string& type, const Values& inputs);

  // ---- folding.cc: what is known ----
  // Operators on lists, tuples and dictionaries whose elements stand apart. False: it is none of these.
  bool RunOnElements(const torch::jit::Node* node, const Values& inputs, Environment* environment);
  bool RunOnDictionary(const torch::jit::Node* node, const Values& inputs, Environment* environment);
  // Operators whose result follows from the type of a value.
  bool RunOnTypes(const torch::jit::Node* node, const Values& inputs, Environment* environment);
  // Operators of which all inputs are known.
  bool RunOnConstants(const torch::jit::Node* node, const Values& inputs, Environment* environment);
  std::vector<AbstractValue>& Changeable(const AbstractValue& list);

  ModuleCalls* const calls_;
  const torch::jit::Module self_;
  const std::string path_;
  GraphWriter* writer_;
  // In an arm of a training switch: what the flag is there.
  std::optional<bool> training_;
  // Functions within functions.
  int depth_ = 0;
  // Nodes that stand for tensors and the flag, by graph and name.
  std::map<std::pair<GraphWriter*, std::string>, AbstractValue> leaves_;
};

}  // namespace lanista::frontends

#endif  // LANISTA_SRC_FRONTENDS_METHOD_READER_H_
