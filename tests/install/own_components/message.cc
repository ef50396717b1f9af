// A strategy whose parameters are a protobuf message: CMakeLists.txt makes C++ of it.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "lanista/strategy.h"
#include "own.pb.h"

namespace {

// All models of a small space, in an order that the seed decides.
class Shuffled : public lanista::Strategy {
 public:
  Shuffled(const lanista::Space& space, int seed) : space_(space), order_(space.size()->get_ui()) {
    for (size_t i = 0; i < order_.size(); ++i) order_[i] = i;
    std::shuffle(order_.begin(), order_.end(), std::mt19937_64(static_cast<uint64_t>(seed)));
  }
  absl::StatusOr<Proposal> Ask(int count) override {
    Proposal proposal;
    for (; !order_.empty() && proposal.samples.size() < static_cast<size_t>(count); order_.pop_back()) {
      proposal.samples.push_back(space_.Unrank(mpz_class(static_cast<unsigned long>(order_.back()))));
    }
    proposal.exhausted = order_.empty();
    return proposal;
  }
  void Tell(const lanista::v1::Sample&, const lanista::Observation&) override {}

 private:
  const lanista::Space& space_;
  std::vector<size_t> order_;
};

absl::StatusOr<std::unique_ptr<lanista::Strategy>> MakeShuffled(const own::ShuffledConfig& config,
                                                                const lanista::StrategyContext& context) {
  return std::make_unique<Shuffled>(context.space, config.seed());
}

LANISTA_REGISTER(strategy, "shuffled", MakeShuffled);

}  // namespace
