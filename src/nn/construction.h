// How mutation primitives get their decisions while a model's constructor runs (define-by-run).
//
// The primitives (ValueChoice, LayerChoice, InputChoice, Repeat, Cell) ask the *construction* that is active on their
// thread. Discovery, the direct engine and BuildFixed each install one. Without one, in a plain program, every choice
// takes its first option; during a search, asking without one is an error (SearchGuard).
//
// A label identifies a choice: all choices with the same label are one choice, which is asked once and gets the same
// answer everywhere. A choice without a label gets one from the path of its scope (a layer's candidate, a repeated
// block, a cell), its kind and its ordinal in that scope: `value_1`, `layer_2`, `layer_2/separable/value_1`,
// `repeat_1/0/layer_1`. When a scope is entered again (through a shared label), its ordinals start again, so that the
// choices inside are shared as well. Give a choice a label if an `if` decides whether it is asked: otherwise it would
// shift the ordinals of later choices.
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

// Thrown if a model space itself is wrong (one label with different candidates, a choice without candidates), or if a
// sample does not fit it. The message says what to change.
class SpaceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The source position at which a primitive was used, for messages. As a default argument, Here() is the caller's
// position.
struct Location {
  const char* file = "";
  int line = 0;

  static constexpr Location Here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return Location{file, line};
  }
};

// One construction of a model on this thread, for the lifetime of this object. Constructions nest: the innermost one
// answers.
//
//   Construction construction([](const v1::Choice& choice) { return MakeDecision(choice, 0); });
//   auto net = std::make_shared<Net>();
//   v1::Sample sample = construction.sample();
class Construction {
 public:
  // Decides a choice that has not been asked before. Exceptions pass through the model's constructor.
  using Answer = std::function<v1::Decision(const v1::Choice& choice)>;

  explicit Construction(Answer answer);
  ~Construction();
  Construction(const Construction&) = delete;
  Construction& operator=(const Construction&) = delete;

  struct Asked {
    v1::Choice choice;
    v1::Decision decision;
  };
  // The choices asked so far, each once, in the order of their first use.
  const std::vector<Asked>& asked() const { return asked_; }
  // The decisions of asked(), as a sample.
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

// While an object of this class lives, on any thread, a choice that no Construction answers is an error. Otherwise a
// model that asks in `forward`, for example, would silently take the first option. The trial process holds one.
class SearchGuard {
 public:
  SearchGuard();
  ~SearchGuard();
  SearchGuard(const SearchGuard&) = delete;
  SearchGuard& operator=(const SearchGuard&) = delete;
};

// ---- For authors of primitives ----

// Asks the active construction; without one, takes the first option. An empty `choice.label` is replaced by an
// automatic one. Throws SpaceError: no candidates, equal candidates, n_chosen out of range, too many combinations, a
// different choice with the same label, no construction during a search.
v1::Decision Ask(v1::Choice choice, Location where);

// `label`, or, if it is empty, the next automatic label for `kind` ("cell") in the current scope.
std::string LabelOr(const std::string& label, const std::string& kind);

// While an object of this class lives, automatic labels start with `path`: "layer_2/separable".
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
