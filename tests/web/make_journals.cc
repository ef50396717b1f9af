// Writes random journals into a state folder as it is told on standard input, one command a line; answers each with a
// line, "ok" or what is wrong. It holds the experiments that it has begun, as the process that runs one does.
//
//   make_journals STATE
//
//   create ID ENGINE SEED   begins an experiment; ENGINE is direct, graph or cgo
//   grow ID MODELS          about so many models more
//   end ID STATE            the experiment ends: DONE, STOPPED or EXPERIMENT_FAILED
//   leave ID                its process is gone: the experiment was interrupted
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>

#include "src/storage/experiment_lock.h"
#include "src/storage/state_dir.h"
#include "tests/web/random_journal.h"

namespace lanista {
namespace {

std::optional<RandomJournal::Engine> EngineCalled(const std::string& name) {
  if (name == "direct") return RandomJournal::Engine::kDirect;
  if (name == "graph") return RandomJournal::Engine::kGraph;
  if (name == "cgo") return RandomJournal::Engine::kCgo;
  return std::nullopt;
}

class Experiments {
 public:
  explicit Experiments(StateDir state_dir) : state_dir_(std::move(state_dir)) {}

  std::string Do(const std::string& line) {
    std::istringstream words(line);
    std::string command, id, what;
    int seed = 0;
    words >> command >> id >> what >> seed;
    if (command == "create") return Create(id, what, seed);
    const auto held = held_.find(id);
    if (held == held_.end()) return "there is no experiment " + id;
    if (command == "grow") {
      held->second.journal->Grow(std::stoi(what));
    } else if (command == "end") {
      held->second.journal->End(what);
      held_.erase(held);
    } else if (command == "leave") {
      held_.erase(held);
    } else {
      return "unknown command: " + line;
    }
    return "ok";
  }

 private:
  struct Held {
    ExperimentLock lock;
    std::unique_ptr<RandomJournal> journal;
  };

  std::string Create(const std::string& id, const std::string& engine_name, int seed) {
    const std::optional<RandomJournal::Engine> engine = EngineCalled(engine_name);
    if (!engine.has_value()) return "unknown engine " + engine_name;
    const absl::StatusOr<bool> made = state_dir_.MakeExperimentFolder(id);
    if (!made.ok()) return made.status().ToString();
    const std::string folder = state_dir_.ExperimentFolder(id).value();
    absl::StatusOr<ExperimentLock> lock = ExperimentLock::Acquire(folder);
    if (!lock.ok()) return lock.status().ToString();
    held_.emplace(id, Held{*std::move(lock), std::make_unique<RandomJournal>(folder, seed, *engine, id)});
    return "ok";
  }

  const StateDir state_dir_;
  std::map<std::string, Held> held_;
};

int Main(int argc, char** argv) {
  const absl::StatusOr<StateDir> state_dir = StateDir::Open(argc == 2 ? argv[1] : "");
  if (!state_dir.ok()) {
    std::cerr << "make_journals STATE: " << state_dir.status() << "\n";
    return 2;
  }
  Experiments experiments(*state_dir);
  for (std::string line; std::getline(std::cin, line);) std::cout << experiments.Do(line) << std::endl;
  return ::testing::Test::HasFailure() ? 1 : 0;
}

}  // namespace
}  // namespace lanista

int main(int argc, char** argv) { return lanista::Main(argc, argv); }
