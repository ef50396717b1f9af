// Model spaces: choices under conditions; their size, their models by number, and samples of them.
#ifndef LANISTA_SRC_SPACE_SPACE_H_
#define LANISTA_SRC_SPACE_SPACE_H_

#include <gmpxx.h>

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "protos/space.pb.h"

namespace lanista {

// A model space. Immutable after FromProto: any thread may read.
//
// A choice has *options* 0 .. options(c)-1: its candidates, or (where n_chosen > 1) the combinations of n_chosen
// candidates in lexicographic order. A choice is active, or not, by its conditions on earlier choices. A model is the
// options of all active choices.
class Space {
 public:
  // Takes over `spec`; INVALID_ARGUMENT names the choice: no candidates, equal candidates, n_chosen out of range, a
  // label twice, a condition on an unknown or later label. Fills in the fingerprint; FAILED_PRECONDITION if the spec
  // has another one.
  static absl::StatusOr<Space> FromProto(v1::SpaceSpec spec);

  const v1::SpaceSpec& spec() const { return spec_; }
  const std::string& fingerprint() const { return spec_.fingerprint(); }
  // False: trials may ask for labels that are not listed.
  bool complete() const { return spec_.complete(); }

  // Number of models; nullopt if it is unknown (incomplete space, or conditions too entangled to count).
  const std::optional<mpz_class>& size() const { return size_; }

  // Model `number` in the lexicographic order of options. REQUIRES: size() has a value and 0 <= number < *size().
  v1::Sample Unrank(const mpz_class& number) const;

  // The first model in lexicographic order, and the one after `sample`; nullopt after the last. Works without a size:
  // this is how huge spaces are walked. REQUIRES: Check(sample) is OK.
  v1::Sample First() const;
  std::optional<v1::Sample> Next(const v1::Sample& sample) const;

  // Draws each active choice uniformly from its options.
  v1::Sample Random(std::mt19937_64& random) const;

  // OK if `sample` decides exactly the active choices with candidates of theirs; else INVALID_ARGUMENT names the label.
  absl::Status Check(const v1::Sample& sample) const;

  // {"label": candidate, ...}, a list where several are chosen: what people see and what `FromJson` reads. One line.
  static std::string ToJson(const v1::Sample& sample);
  // The fixed architecture from its JSON; INVALID_ARGUMENT names the label and what is allowed there.
  absl::StatusOr<v1::Sample> FromJson(const std::string& json) const;

  // A text that is equal for equal samples and short: for sets of seen samples.
  static std::string Key(const v1::Sample& sample);

  // The choices as a tree of conditions, for `validate`: one line a choice, indented below what it depends on.
  std::string Describe() const;

 private:
  v1::SpaceSpec spec_;
  std::optional<mpz_class> size_;
};

// What differs between two spaces, one line each ("choice 'p': candidates [0.25, 0.5] here, [0.25] there"); for
// refusals.
std::string DescribeDifference(const v1::SpaceSpec& here, const v1::SpaceSpec& there);

// Number of options of a choice; INVALID_ARGUMENT if it does not fit in 31 bits.
absl::StatusOr<int32_t> CountOptions(const v1::Choice& choice);

// The Decision that takes `option` of `choice` (candidate index, or rank of a combination), and the way back.
v1::Decision MakeDecision(const v1::Choice& choice, int32_t option);
int32_t OptionOf(const v1::Choice& choice, const v1::Decision& decision);

}  // namespace lanista

#endif  // LANISTA_SRC_SPACE_SPACE_H_
