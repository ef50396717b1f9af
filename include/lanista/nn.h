// Model spaces as ordinary LibTorch code: lanista::nn::ModelSpace, and the choices ValueChoice, LayerChoice,
// InputChoice, Repeat and Cell (docs/spaces.md).
//
//   class Net : public lanista::nn::ModelSpace {
//    public:
//     Net() {
//       const int64_t width = lanista::nn::ValueChoice({64, 128, 256}, "width");
//       hidden_ = register_module("hidden", torch::nn::Linear(784, width));
//       output_ = register_module("output", torch::nn::Linear(width, 10));
//     }
//     torch::Tensor forward(torch::Tensor x) override { return output_(torch::relu(hidden_(x.flatten(1)))); }
//    private:
//     torch::nn::Linear hidden_{nullptr}, output_{nullptr};
//   };
//
//   lanista::RegisterSpace<Net>("net");              // in main, before lanista::Init
//
// and in the configuration: space { registered: "net" }. nn::BuildFixed<Net>(json) makes a model that was found. The
// same at namespace scope: LANISTA_REGISTER(model_space, "net", lanista::nn::MakeModelSpace<Net>).
//
// Constructors and forward run in trial processes, on one thread. Where a constructor throws while the space is learnt,
// a warning says so, and the models that give the same answers up to there are left out; a space of which none is left
// is an error of the experiment. What either throws in a trial fails that model, with its text as the reason.
#ifndef LANISTA_INCLUDE_LANISTA_NN_H_
#define LANISTA_INCLUDE_LANISTA_NN_H_

#include <memory>
#include <string>
#include <utility>

#include "protos/experiment.pb.h"
#include "src/base/register.h"
#include "src/base/registrations.h"
#include "src/base/taken_names.h"
#include "src/nn/nn.h"

namespace lanista {

// Makes `factory`, which is called once for each model, known as `space { registered: NAME }`. What it captures must
// be the same in each process of this program: it is not sent anywhere. REQUIRES: before lanista::Init. A name that is
// taken, by a graph space too, is told when an experiment or lanista::Main starts, and so it is with all functions
// Register... of these headers.
inline void RegisterSpace(const std::string& name, nn::ModelSpaceRegistry::Factory factory) {
  if (!Registrations::Get().Admit("model space", name, TakenNames<v1::SpaceConfig>())) return;
  nn::ModelSpaceRegistry::Get().Add(name, std::move(factory));
}

// The same for a class whose constructor takes nothing or `const lanista::Params&`.
template <typename Net>
void RegisterSpace(const std::string& name) {
  RegisterSpace(
      name, [](const Params& params) -> std::shared_ptr<nn::ModelSpace> { return nn::MakeModelSpace<Net>(params); });
}

}  // namespace lanista

#endif  // LANISTA_INCLUDE_LANISTA_NN_H_
