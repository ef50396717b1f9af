// Model spaces: choices with conditions; number of models, models by number, and samples.
#ifndef LANISTA_SRC_SPACE_SPACE_H_
#define LANISTA_SRC_SPACE_SPACE_H_

#include <gmpxx.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "protos/space.pb.h"

namespace lanista {

// A model space. Immutable after FromProto: any number of threads may read it.
//
// A choice has *options* 0 .. options(c)-1: its candidates, or (where n_chosen > 1) the combinations of n_chosen
// candidates in lexicographic order. Conditions on earlier choices decide whether a choice is active. A model is given
// by the options of all active choices.
//
// Models that discovery found to be impossible are not counted, numbered, walked or drawn. Check, OptionsOf and With do
// not look for them: code that changes models calls IsPossible.
class Space {
 public:
  // Takes over `spec`. INVALID_ARGUMENT names the choice: no candidates, equal candidates, n_chosen out of range (0 is
  // taken as 1), a repeated label, a condition on an unknown or later label. Also if the spec names impossible models
  // but the others cannot be counted, or there are none. Brings conditions into a canonical order and fills in the
  // fingerprint; FAILED_PRECONDITION if the spec has a different fingerprint.
  static absl::StatusOr<Space> FromProto(v1::SpaceSpec spec);

  const v1::SpaceSpec& spec() const { return spec_; }
  const std::string& fingerprint() const { return spec_.fingerprint(); }
  // False: trials may ask for labels that the spec does not list.
  bool complete() const { return spec_.complete(); }

  // Number of possible models; nullopt if it is unknown (incomplete space, or conditions too entangled to count).
  const std::optional<mpz_class>& size() const { return size_; }

  // Model `number` in the lexicographic order of options. REQUIRES: size() has a value and 0 <= number < *size().
  v1::Sample Unrank(const mpz_class& number) const;

  // The first model in lexicographic order, and the model after `sample`; nullopt after the last. They need no size, so
  // huge spaces can be walked. REQUIRES: Check(sample) is OK, and the model is possible.
  v1::Sample First() const;
  std::optional<v1::Sample> Next(const v1::Sample& sample) const;

  // Draws each active choice uniformly from its options; draws again if the model is impossible.
  v1::Sample Random(std::mt19937_64& random) const;

  // `sample` with `option` for choice number `choice`. Other choices keep their options if they are still active;
  // choices that become active are drawn at random; choices that become inactive are removed.
  // REQUIRES: OptionsOf(sample) is OK, `choice` is active in it, and 0 <= option < option_count(choice).
  v1::Sample With(const v1::Sample& sample, int choice, int32_t option, std::mt19937_64& random) const;

  // OK if `sample` decides exactly the active choices, in the order of the space, with their candidates; else
  // INVALID_ARGUMENT names the label. An incomplete space accepts unknown labels.
  absl::Status Check(const v1::Sample& sample) const;

  // {"label": candidate, ...}, with a list if several are chosen; shown to users and read by `FromJson`. One line. JSON
  // has no infinity and no NaN: they are written as the strings "inf", "-inf" and "nan".
  static std::string ToJson(const v1::Sample& sample);
  // Reads a fixed architecture from JSON; INVALID_ARGUMENT names the label and its allowed values. 2 also names the
  // candidate 2.0, and 2.0 the candidate 2, if only one of them exists. Labels that an incomplete space does not list
  // become decisions with values but without indices, at the end. INVALID_ARGUMENT also if the model is impossible.
  absl::StatusOr<v1::Sample> FromJson(const std::string& json) const;
  // The same of a JSON that leaves choices out: those of them that are active are drawn. FAILED_PRECONDITION: with what
  // was drawn, a choice that is named is not active, or the model is impossible; another draw may fit.
  absl::StatusOr<v1::Sample> Complete(const std::string& json, std::mt19937_64& random) const;

  // A short text that is the same for equal samples of one space and different for different ones: for sets of seen
  // samples.
  static std::string Key(const v1::Sample& sample);

  // The choices as a tree of conditions, for `validate`: one line per choice, indented below the choice that it depends
  // on.
  std::string Describe() const;

  // ---- Models as options, for algorithms ----

  // The option of each choice, in the order of the space; -1 for choices that are not active.
  using Options = std::vector<int32_t>;

  int choice_count() const { return spec_.choices_size(); }
  int32_t option_count(int choice) const;
  // Whether choice number `choice` is active, given the options of all earlier choices.
  bool IsActive(int choice, const Options& options) const;

  // The options of a sample; the error of Check if it does not fit the space. Labels that an incomplete space does not
  // list are left out.
  absl::StatusOr<Options> OptionsOf(const v1::Sample& sample) const;
  v1::Sample ToSample(const Options& options) const;

  // False if discovery found that the model with these options cannot be built.
  bool IsPossible(const Options& options) const;

  // Random, Next and With for options. Advance returns false after the last model and then does not change `options`.
  Options RandomOptions(std::mt19937_64& random) const;
  bool Advance(Options* options) const;
  Options With(Options options, int choice, int32_t option, std::mt19937_64& random) const;
  // The options of First().
  Options FirstOptions() const;

 private:
  struct Index;

  Space() = default;

  // Of `json`, with what it leaves out drawn from `random`; nullptr: nothing may be left out.
  absl::StatusOr<v1::Sample> ReadJson(const std::string& json, std::mt19937_64* random) const;

  // Sets the choices from `first` on, as their conditions have it: option 0, or not active.
  void SetToFirst(size_t first, Options* options) const;

  v1::SpaceSpec spec_;
  std::optional<mpz_class> size_;
  // Data derived from spec_, shared by copies of the space.
  std::shared_ptr<const Index> index_;
};

// The differences between two spaces for messages, one line each ("choice 'p': candidates [0.25, 0.5] here, [0.25]
// there").
std::string DescribeDifference(const v1::SpaceSpec& here, const v1::SpaceSpec& there);

// Number of options of a choice; INVALID_ARGUMENT if there is none, n_chosen is out of range, or the number does not
// fit into 31 bits.
absl::StatusOr<int32_t> CountOptions(const v1::Choice& choice);

// The Decision that takes `option` of `choice` (the index of a candidate, or of a combination of candidates).
// REQUIRES: 0 <= option < CountOptions(choice).
v1::Decision MakeDecision(const v1::Choice& choice, int32_t option);

// The option that `decision` takes; -1 if it does not fit the choice: an index that does not exist, indices that are
// not ascending or too few, or a value that is not the candidate with that index. A decision without indices is
// identified by its values.
int32_t OptionOf(const v1::Choice& choice, const v1::Decision& decision);

// A candidate as people see it, in JSON: 3, 0.5, "relu", [1, 2].
std::string ValueToText(const v1::Value& value);

// What was chosen, as a table has it in a cell: the candidate as above, but a text without its quotes; the list of them
// where several are chosen.
std::string DecisionToCell(const v1::Decision& decision);

}  // namespace lanista

#endif  // LANISTA_SRC_SPACE_SPACE_H_
