// A strategy of its own: from the last model of the space to the first.
#include "lanista/strategy.h"

namespace {

class Backwards : public lanista::Strategy {
 public:
  explicit Backwards(const lanista::Space& space) : space_(space), next_(*space.size()) {}

  absl::StatusOr<Proposal> Ask(int count) override {
    Proposal proposal;
    while (next_ > 0 && proposal.samples.size() < static_cast<size_t>(count)) {
      proposal.samples.push_back(space_.Unrank(--next_));
    }
    proposal.exhausted = next_ == 0;
    return proposal;
  }

  // A strategy that learns does so here.
  void Tell(const lanista::v1::Sample&, const lanista::Observation&) override {}

 private:
  const lanista::Space& space_;
  mpz_class next_;
};

absl::StatusOr<std::unique_ptr<lanista::Strategy>> MakeBackwards(const lanista::Params&,
                                                                 const lanista::StrategyContext& context) {
  if (!context.space.size().has_value()) {
    return absl::InvalidArgumentError("backwards: the size of the space is not known");
  }
  return std::make_unique<Backwards>(context.space);
}

}  // namespace

LANISTA_REGISTER(strategy, "backwards", MakeBackwards);
