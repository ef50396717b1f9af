// How evolutionary strategies make models from models. All respect conditions: choices that become active are drawn,
// those that are not active any more are dropped.
#ifndef LANISTA_SRC_STRATEGIES_VARIATION_H_
#define LANISTA_SRC_STRATEGIES_VARIATION_H_

#include <random>

#include "src/space/space.h"

namespace lanista {

// `parent` with exactly `mutations` of its active choices changed, each to another option; every choice is as likely,
// and so is every other option. Fewer where the parent has fewer choices with several options, or where no set of them
// was found that stay active together.
Space::Options Mutate(const Space& space, const Space::Options& parent, int mutations, std::mt19937_64& random);

// `parent` with each active choice changed to another option with this probability.
Space::Options MutateEach(const Space& space, const Space::Options& parent, double probability,
                          std::mt19937_64& random);

// Each choice, in the order of the space, from either parent where both have it, from the one that has it, or drawn
// where neither has.
Space::Options Crossover(const Space& space, const Space::Options& a, const Space::Options& b, std::mt19937_64& random);

}  // namespace lanista

#endif  // LANISTA_SRC_STRATEGIES_VARIATION_H_
