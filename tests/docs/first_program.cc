// The program that docs/cpp_api.md begins with.
#include <iostream>

#include "tests/docs/my_net.h"

// What follows stands in the page.
#include "lanista/experiment.h"
#include "lanista/main.h"
#include "lanista/nn.h"

int main(int argc, char** argv) {
  lanista::RegisterSpace<Net>("net");
  lanista::Init(argc, argv);

  auto experiment = lanista::Experiment::Parse(R"pb(
    space { registered: "net" }
    strategy { random {} }
    evaluator { classification { dataset { synthetic_digits {} } } }
    max_trial_number: 20
  )pb");
  if (!experiment.ok()) return std::cerr << experiment.status() << "\n", 2;
  const absl::Status status = experiment->Run();
  if (!status.ok()) return std::cerr << status << "\n", 1;
  const auto best = experiment->TopModels(3);
  if (!best.ok()) return std::cerr << best.status() << "\n", 1;
  for (const lanista::FoundModel& model : *best) std::cout << model.sample << "\n";
}
