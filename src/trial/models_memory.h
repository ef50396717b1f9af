// Measures how much of this process's memory the models of a trial use.
#ifndef LANISTA_SRC_TRIAL_MODELS_MEMORY_H_
#define LANISTA_SRC_TRIAL_MODELS_MEMORY_H_

#include <cstdint>
#include <optional>

#include "protos/trial.pb.h"

namespace lanista {

// Watches the process's resident memory from the first model of a trial on: built-in evaluators have loaded their data
// by then. Used by the trial's thread.
class ModelsMemory {
 public:
  // For a trial on this device. Nothing is measured on GPUs, nor in a process that does other things as well.
  explicit ModelsMemory(const v1::Device& device)
      : measured_(device.kind() == v1::DeviceKind::CPU && device.isolation() != v1::LocalConfig::IN_PROCESS) {}

  // To be called before a model is built. All but the first call do nothing.
  void Start();

  // The largest growth of the process's memory since Start, in bytes. 0: not known.
  int64_t Peak() const;

 private:
  bool measured_;
  std::optional<int64_t> before_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_TRIAL_MODELS_MEMORY_H_
