// The models of an experiment that have no outcome yet, and the room that they take.
#ifndef LANISTA_SRC_EXPERIMENT_MODELS_IN_FLIGHT_H_
#define LANISTA_SRC_EXPERIMENT_MODELS_IN_FLIGHT_H_

#include <map>

namespace lanista {

// A merged trial gives back its room as a whole: a model takes room until it has ended, and so have all others of its
// last trial (or they try again in another one). Until then its device is busy anyway; and a strategy that is asked as
// soon as there is room has then heard of all of them, and can propose as many that are merged again.
//
// A plain object, used by one thread.
class ModelsInFlight {
 public:
  void Add(int model);

  // The model's next attempt is made by this trial. No matter where the model is not in flight.
  void Plan(int model, int trial);

  // REQUIRES: it is in flight.
  void End(int model);

  bool empty() const { return models_.empty(); }
  int size() const { return static_cast<int>(models_.size()); }
  // In models.
  int room_taken() const { return size() + held_; }

 private:
  struct Trial {
    // Those in flight whose last trial it is, and those that ended in it.
    int in_flight = 0;
    int ended = 0;
  };

  // One model in flight less. `ended`: it takes room as long as the trial has others.
  void Leave(int trial, bool ended);

  // Each model's last trial; 0: none yet.
  std::map<int, int> models_;
  std::map<int, Trial> trials_;
  // All that ended in these trials.
  int held_ = 0;
};

}  // namespace lanista

#endif  // LANISTA_SRC_EXPERIMENT_MODELS_IN_FLIGHT_H_
