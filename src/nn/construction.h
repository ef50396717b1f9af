// How mutation primitives come to their choices while a model's constructor runs (define-by-run).
//
// The primitives (ValueChoice, LayerChoice, InputChoice, Repeat, Cell) ask the *construction* that is under way on
// their thread. Discovery, the direct engine and BuildFixed each install one that answers in their way. Where there is
// none, in a plain program, every choice takes its first option; while a search runs, it is an error (SearchGuard).
//
// A choice is known by its label. The same label is the same choice: it is asked once and answered alike everywhere. A
// choice without one gets the path of the scope it is asked in (a layer's candidate, a repeated block, a cell), its
// kind and its ordinal there: `value_1`, `layer_2`, `layer_2/separable/value_1`, `repeat_1/0/layer_1`. Entering a scope
// again (by a shared label) starts its ordinals again, so that what is inside is shared as well. Give labels where an
// `if` decides whether a choice is asked: it would shift the ordinals of those after it.
#ifndef LANISTA_SRC_NN_CONSTRUCTION_H_
#define LANISTA_SRC_NN_CONSTRUCTION_H_

#include <cstddef>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "protos/space.pb.h"

namespace lanista::nn {

// Thrown where a model space itself is wrong (the same label with other candidates, a choice without candidates), or
// where a sample does not fit it. The message says what to change.
class SpaceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Where a primitive was used, for messages. As a default argument, Here() is the caller's place.
struct Location {
  const char* file = "";
  int line = 0;

  static constexpr Location Here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return Location{file, line};
  }
};

// One construction of a model on this thread, from this object's making to its end. Constructions nest: the innermost
// answers.
//
//   Construction construction([](const v1::Choice& choice) { return MakeDecision(choice, 0); });
//   auto net = std::make_shared<Net>();
//   v1::Sample sample = construction.sample();
class Construction {
 public:
  // Decides a choice that has not been asked before. What it throws reaches the model's constructor.
  using Answer = std::function<v1::Decision(const v1::Choice& choice)>;

  explicit Construction(Answer answer);
  ~Construction();
  Construction(const Construction&) = delete;
  Construction& operator=(const Construction&) = delete;

  struct Asked {
    v1::Choice choice;
    v1::Decision decision;
  };
  // What was asked so far, each choice once, in the order of the first time.
  const std::vector<Asked>& asked() const { return asked_; }
  // The same as a sample.
  v1::Sample sample() const;

 private:
  friend v1::Decision Ask(v1::Choice choice, Location where);
  friend std::string LabelOr(const std::string& label, const std::string& kind);
  friend class LabelScope;

  struct Scope {
    std::string path;
    std::map<std::string, int> ordinals;
  };

  const Answer answer_;
  Construction* const outer_;
  std::vector<Asked> asked_;
  std::map<std::string, size_t> position_of_label_;
  std::vector<Scope> scopes_;
};

// While one of these lives, in any thread, a choice that no Construction answers is an error: the model of a search
// would silently take its first option where it asks in `forward`, for example. The trial process holds one.
class SearchGuard {
 public:
  SearchGuard();
  ~SearchGuard();
  SearchGuard(const SearchGuard&) = delete;
  SearchGuard& operator=(const SearchGuard&) = delete;
};

// ---- For authors of primitives ----

// Asks the construction under way; takes the first option if there is none. An empty `choice.label` becomes an
// automatic one. Throws SpaceError: no candidates, equal candidates, n_chosen out of range, too many combinations,
// another choice under this label, no construction in a search.
v1::Decision Ask(v1::Choice choice, Location where);

// `label`, or the next automatic label for `kind` ("cell") in the current scope if it is empty.
std::string LabelOr(const std::string& label, const std::string& kind);

// Automatic labels start with `path` while this lives: "layer_2/separable".
class LabelScope {
 public:
  explicit LabelScope(std::string path);
  ~LabelScope();
  LabelScope(const LabelScope&) = delete;
  LabelScope& operator=(const LabelScope&) = delete;

 private:
  Construction* const construction_;
};

}  // namespace lanista::nn

#endif  // LANISTA_SRC_NN_CONSTRUCTION_H_
