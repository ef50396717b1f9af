// Models for the tests of the graph formats: built from text, exported, and run by other programs.
#ifndef LANISTA_TESTS_EXPORTERS_EXPORTED_MODEL_H_
#define LANISTA_TESTS_EXPORTERS_EXPORTED_MODEL_H_

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "protos/graph.pb.h"

namespace lanista {

namespace runtime {
class GraphModule;
}  // namespace runtime

// A model of `text`, in protobuf text format; aborts the test program where it is not one.
std::shared_ptr<runtime::GraphModule> BuildModel(const std::string& text);
std::shared_ptr<runtime::GraphModule> BuildModel(const v1::ModelGraph& graph);

// A small convolutional network that has a cell called twice with one module, a cell of torch.nn.Sequential's kind, a
// training switch, containers, a parameter of its own and operators in between. Input [N, 3, 8, 8], output [N, 5].
std::string SmallNet();

// A TorchScript module of [N, width] tensors with a loop, a parameter in a module of its own and a buffer; saved in
// `folder`. Returns the file's path.
std::string SaveLoop(const std::string& folder, int width);

// Statistics of batch norms that are not those of the beginning: an export that loses them is noticed.
void RandomizeStatistics(runtime::GraphModule& module);

// An empty folder for this test case.
std::string TestFolder(const std::string& name);

// Runs the model in evaluation mode, with the random numbers of check_export.py. Its outputs, flat: tuples and lists
// are taken apart, and none is left out.
std::vector<at::Tensor> Evaluate(runtime::GraphModule& module, const std::vector<at::Tensor>& inputs);
std::vector<at::Tensor> Flatten(const std::vector<c10::IValue>& values);

// Runs the model in training mode, with the random numbers of check_export.py.
std::vector<at::Tensor> Train(runtime::GraphModule& module, const std::vector<at::Tensor>& inputs);

// Writes lists of tensors by name for Python's torch.load.
void WriteTensors(const std::string& path, const std::map<std::string, std::vector<at::Tensor>>& tensors);

// Whether /usr/bin/python3 can import these modules ("torch, onnx").
bool HasPython(const std::string& modules);

// The status and output (stdout and stderr) of a shell command.
struct Ran {
  int status = 0;
  std::string output;
};
Ran RunCommand(const std::string& command);

// An exported model, and data.pt, in a folder of its own; see check_export.py.
struct Export {
  std::string folder, stem, format;
};

// Runs check_export.py: its output, empty if the exported files do what they should.
std::string CheckExports(const std::vector<Export>& exports);
std::string CheckExport(const std::string& folder, const std::string& stem, const std::string& format);

}  // namespace lanista

#endif  // LANISTA_TESTS_EXPORTERS_EXPORTED_MODEL_H_
