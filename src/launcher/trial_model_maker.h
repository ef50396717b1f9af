// Graphs and exports for the web page and for clients, as `export` makes them: in a trial process of a node, or in one
// of this machine where there is none.
#ifndef LANISTA_SRC_LAUNCHER_TRIAL_MODEL_MAKER_H_
#define LANISTA_SRC_LAUNCHER_TRIAL_MODEL_MAKER_H_

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "src/launcher/trial_program.h"
#include "src/launcher/trial_session.h"
#include "src/service/model_maker.h"

namespace lanista {

// Runs one trial process of this machine at a time, which ends when no caller waits. Callers have their turns in the
// order in which they came.
class TrialModelMaker final : public ModelMaker {
 public:
  // Has a node that runs the program of the model's space do it: see LocalHead::Convert.
  using Nodes = std::function<absl::StatusOr<v1::Converted>(const v1::Convert& request, const std::string& program,
                                                            const Abandoned& abandoned)>;

  struct Options {
    // So many callers wait behind the one whose turn it is.
    size_t max_waiting = 8;
    TrialSession::Limits limits;
    // Of graphs that were made and are kept.
    size_t max_kept_bytes = 32 << 20;
    // Of the files of one export.
    int64_t max_exported_bytes = int64_t{8} << 30;
    // Null where no node joins.
    Nodes nodes = nullptr;
  };

  explicit TrialModelMaker(TrialProgram program) : TrialModelMaker(std::move(program), Options()) {}
  TrialModelMaker(TrialProgram program, Options options) : program_(std::move(program)), options_(std::move(options)) {}

  using Text = std::shared_ptr<const std::string>;

  absl::StatusOr<Text> Graph(const std::string& folder, int model, const Abandoned& abandoned) override;
  absl::StatusOr<Exported> Export(const std::string& folder, const ExportRequest& request, const std::string& out,
                                  const Abandoned& abandoned) override;

 private:
  // The turn of one caller; the next one's begins with its end.
  class Turn;

  // Where a model comes from.
  struct Source {
    // The experiment's.
    std::string folder;
    // Discovered.program; empty: it is not known.
    std::string program;
  };

  absl::StatusOr<Turn> AwaitTurn(const Abandoned& abandoned);
  void EndTurn();
  // REQUIRES: it is the caller's turn. An error that another attempt may not have is INTERNAL.
  absl::StatusOr<v1::Converted> Convert(const v1::Convert& request, const Source& source, const Abandoned& abandoned);
  // UNAVAILABLE: no node that is there can do it.
  absl::StatusOr<v1::Converted> ConvertOnNode(const v1::Convert& request, const Source& source,
                                              const Abandoned& abandoned);
  // The process of this machine runs. FAILED_PRECONDITION: there is no such program.
  absl::Status StartSession(const Abandoned& abandoned);
  // The graph of a model, out of a trial process, as a document. REQUIRES: as above.
  absl::StatusOr<std::string> MakeGraph(const v1::SpaceModel& model, const Source& source, const Abandoned& abandoned);

  Text FindKept(const std::string& key);
  void Keep(const std::string& key, const Text& text);

  const TrialProgram program_;
  const Options options_;

  std::mutex mutex_;
  std::condition_variable turn_ended_;
  // Protected by mutex_. Who waits, by number: the first one has its turn.
  std::deque<int64_t> line_;
  int64_t last_number_ = 0;
  // Graphs that were made, the last one that was asked for first.
  std::list<std::pair<std::string, Text>> kept_;

  // Used by whose turn it is. Null: no trial process runs.
  std::unique_ptr<TrialSession> session_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_LAUNCHER_TRIAL_MODEL_MAKER_H_
