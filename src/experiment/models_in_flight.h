// The models of an experiment that have no outcome yet, and the room that they take.
#ifndef LANISTA_SRC_EXPERIMENT_MODELS_IN_FLIGHT_H_
#define LANISTA_SRC_EXPERIMENT_MODELS_IN_FLIGHT_H_

#include <map>

namespace lanista {

// A merged trial gives back its room as a whole: a model takes room until all models of its last trial have ended, or
// are tried again in another trial. Until then the device is busy anyway. And a strategy, which is asked as soon as
// there is room, then knows the outcomes of all of them and can propose as many new models, which are merged again.
//
// A plain object, used by one thread.
class ModelsInFlight {
 public:
  void Add(int model);

  // This trial makes the model's next attempt. Does nothing if the model is not in flight.
  void Plan(int model, int trial);

  // The model has its outcome. REQUIRES: it is in flight.
  void End(int model);

  bool empty() const { return models_.empty(); }
  int size() const { return static_cast<int>(models_.size()); }
  // The room that is taken, in models.
  int room_taken() const { return size() + held_; }

 private:
  struct Trial {
    // The number of models in flight whose last trial this is, and of those that ended in it.
    int in_flight = 0;
    int ended = 0;
  };

  // Removes a model in flight from its trial. `ended`: it still takes room as long as others of the trial are in
  // flight.
  void Leave(int trial, bool ended);

  // Each model's last trial; 0: none yet.
  std::map<int, int> models_;
  std::map<int, Trial> trials_;
  // The number of ended models that still take room, in all trials.
  int held_ = 0;
};

}  // namespace lanista

#endif  // LANISTA_SRC_EXPERIMENT_MODELS_IN_FLIGHT_H_
