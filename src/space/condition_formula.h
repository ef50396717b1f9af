// The conditions that discovery infers, as formulas.
#ifndef LANISTA_SRC_SPACE_CONDITION_FORMULA_H_
#define LANISTA_SRC_SPACE_CONDITION_FORMULA_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace lanista::discovery {

// The condition under which a choice is active, made of terms "choice has one of these options (ascending)". All terms
// of a conjunction must hold, and at least one conjunction of a formula. Always() has one empty conjunction, Never()
// none.
using Conjunction = std::map<int, std::vector<int32_t>>;
using Formula = std::vector<Conjunction>;
const Formula& Always();
const Formula& Never();

// Whether `b` holds whenever `a` holds.
bool Implies(const Conjunction& a, const Conjunction& b);

// Adds a conjunction, merged with those that it implies, that imply it, or that differ in one choice only.
void AddTo(Formula* formula, Conjunction added);
Formula Or(Formula a, const Formula& b);
Formula And(const Formula& a, const Formula& b);

// Limit for conditions: longer ones would not help users either.
constexpr size_t kMostConjunctions = 256;

}  // namespace lanista::discovery

#endif  // LANISTA_SRC_SPACE_CONDITION_FORMULA_H_
