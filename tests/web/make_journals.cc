// Writes journals into a state folder as it is told on standard input, one command a line; answers each with a line,
// "ok" or what is wrong. It holds the experiments that it has begun, as the process that runs one does.
//
//   make_journals STATE
//
//   create ID ENGINE SEED   begins a random experiment; ENGINE is direct, graph or cgo
//   grow ID MODELS          about so many random models more
//   end ID STATE            the random experiment ends: DONE, STOPPED or FAILED
//   begin ID CONFIG         begins an experiment of this v1::ExperimentConfig, as text, without any other fact
//   write ID RECORDS        adds facts to any experiment: these records of a v1::JournalBatch, as text, in one batch
//   leave ID                its process is gone: an experiment that has not ended was interrupted
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/text_format.h"
#include "protos/messages.pb.h"
#include "src/base/status.h"
#include "src/storage/experiment_lock.h"
#include "src/storage/journal.h"
#include "src/storage/state_dir.h"
#include "tests/web/random_journal.h"

namespace lanista {
namespace {

std::optional<RandomJournal::Engine> EngineCalled(const std::string& name) {
  if (name == "direct") return RandomJournal::Engine::kDirect;
  if (name == "graph") return RandomJournal::Engine::kGraph;
  if (name == "cgo") return RandomJournal::Engine::kCgo;
  if (name == "quick") return RandomJournal::Engine::kQuick;
  return std::nullopt;
}

class Experiments {
 public:
  explicit Experiments(StateDir state_dir) : state_dir_(std::move(state_dir)) {}

  absl::Status Do(const std::string& line) {
    std::istringstream words(line);
    std::string command, id, rest;
    words >> command >> id >> std::ws;
    std::getline(words, rest);
    if (command == "create") return Create(id, rest);
    if (command == "begin") return BeginPlain(id, rest);
    const auto held = held_.find(id);
    if (held == held_.end()) return absl::NotFoundError(absl::StrCat("there is no experiment ", id));
    if (command == "write") return Write(rest, held->second);
    if (command == "leave") {
      held_.erase(held);
      return absl::OkStatus();
    }
    RandomJournal* const random = held->second.random.get();
    if (random == nullptr) return absl::InvalidArgumentError(absl::StrCat(id, " takes only write and leave"));
    if (command == "grow") {
      random->Grow(std::stoi(rest));
    } else if (command == "end") {
      random->End(rest);
      held_.erase(held);
    } else {
      return absl::InvalidArgumentError(absl::StrCat("unknown command ", command));
    }
    return absl::OkStatus();
  }

 private:
  // One of the two has the journal.
  struct Held {
    ExperimentLock lock;
    std::unique_ptr<RandomJournal> random;
    std::unique_ptr<JournalWriter> plain;
  };

  // Makes the folder of an experiment, and holds it.
  absl::StatusOr<std::pair<std::string, ExperimentLock>> Hold(const std::string& id) {
    LANISTA_RETURN_IF_ERROR(state_dir_.MakeExperimentFolder(id).status());
    LANISTA_ASSIGN_OR_RETURN(std::string folder, state_dir_.ExperimentFolder(id));
    LANISTA_ASSIGN_OR_RETURN(ExperimentLock lock, ExperimentLock::Acquire(folder));
    return std::make_pair(std::move(folder), std::move(lock));
  }

  absl::Status Create(const std::string& id, const std::string& rest) {
    std::istringstream words(rest);
    std::string engine_name;
    int seed = 0;
    words >> engine_name >> seed;
    const std::optional<RandomJournal::Engine> engine = EngineCalled(engine_name);
    if (!engine.has_value()) return absl::InvalidArgumentError(absl::StrCat("unknown engine ", engine_name));
    LANISTA_ASSIGN_OR_RETURN(auto held, Hold(id));
    held_.emplace(
        id, Held{std::move(held.second), std::make_unique<RandomJournal>(held.first, seed, *engine, id), nullptr});
    return absl::OkStatus();
  }

  absl::Status BeginPlain(const std::string& id, const std::string& config) {
    v1::ExperimentCreated created;
    created.set_experiment(id);
    if (!google::protobuf::TextFormat::ParseFromString(config, created.mutable_config())) {
      return absl::InvalidArgumentError("this is no v1::ExperimentConfig");
    }
    LANISTA_ASSIGN_OR_RETURN(auto held, Hold(id));
    LANISTA_ASSIGN_OR_RETURN(auto writer, JournalWriter::Create(held.first, created));
    held_.emplace(id, Held{std::move(held.second), nullptr, std::move(writer)});
    return absl::OkStatus();
  }

  static absl::Status Write(const std::string& records, const Held& held) {
    v1::JournalBatch batch;
    if (!google::protobuf::TextFormat::ParseFromString(records, &batch)) {
      return absl::InvalidArgumentError("these are no records of a v1::JournalBatch");
    }
    return (held.random != nullptr ? held.random->writer() : *held.plain).Write(batch).status();
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
  for (std::string line; std::getline(std::cin, line);) {
    const absl::Status done = experiments.Do(line);
    std::cout << (done.ok() ? "ok" : std::string(done.message())) << std::endl;
  }
  return ::testing::Test::HasFailure() ? 1 : 0;
}

}  // namespace
}  // namespace lanista

int main(int argc, char** argv) { return lanista::Main(argc, argv); }
