// The names that are taken, for all registries together whose things one kind of message names: with one name for two
// things, a configuration would mean only one of them.
//
//   TakenNames<v1::SpaceConfig>()        // space { registered: NAME }: model spaces, and graph spaces
//   TakenNames<v1::EvaluatorConfig>()    // evaluator { custom { name: NAME } }
#ifndef LANISTA_SRC_BASE_TAKEN_NAMES_H_
#define LANISTA_SRC_BASE_TAKEN_NAMES_H_

#include <set>
#include <string>

namespace lanista {

// Filled before main, or before lanista::Init, by one thread; afterwards any thread may read it.
template <typename Message>
std::set<std::string>& TakenNames() {
  static auto* const names = new std::set<std::string>;
  return *names;
}

}  // namespace lanista

#endif  // LANISTA_SRC_BASE_TAKEN_NAMES_H_
