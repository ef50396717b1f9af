// The networks that benchmarks measure, as graphs and as TorchScript files.
#ifndef LANISTA_BENCH_NETWORKS_H_
#define LANISTA_BENCH_NETWORKS_H_

#include <cstdint>
#include <string>

#include "protos/graph.pb.h"

namespace lanista::bench {

// torchvision's resnet18 (He et al., "Deep Residual Learning for Image Recognition", 2015) for inputs [N, channels,
// size, size].
v1::ModelGraph ResNet18Graph(int64_t channels, int64_t size);

// Two convolutions and two linear layers, for inputs [N, 1, 28, 28].
v1::ModelGraph SmallCnnGraph();

// The space "mnist_cnn" (src/nn/hub) as a graph.
v1::ModelGraph MnistSpaceGraph();

// A TorchScript file of `model`, with weights. The destructor removes the file.
class ScriptFile {
 public:
  explicit ScriptFile(const v1::ModelGraph& model);
  ~ScriptFile();
  ScriptFile(const ScriptFile&) = delete;
  ScriptFile& operator=(const ScriptFile&) = delete;

  std::string path() const { return stem_ + ".pt"; }
  // The graph that is imported from the file.
  v1::ModelGraph Import() const;

 private:
  const std::string stem_;
};

}  // namespace lanista::bench

#endif  // LANISTA_BENCH_NETWORKS_H_
