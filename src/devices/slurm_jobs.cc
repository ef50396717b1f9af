#include "src/devices/slurm_jobs.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/clock.h"

namespace lanista {
namespace {

// A node that has joined for so long, and has no work, gets none of what waits: its devices are not what is lacking.
constexpr absl::Duration kSettling = absl::Seconds(30);
constexpr absl::Duration kFirstDelay = absl::Seconds(10);
constexpr absl::Duration kLongestDelay = absl::Minutes(10);

// Whether a job with this state waits in Slurm's queue. While Slurm puts a job back into the queue it shows how it does
// so in the place of PENDING.
bool IsQueued(absl::string_view state) { return state == "PENDING" || state == "REQUEUED" || state == "REQUEUE_HOLD"; }

}  // namespace

SlurmJobs::SlurmJobs(Options options, const v1::SlurmLedger& ledger)
    : options_(std::move(options)), prefix_(ledger.prefix()), last_number_(ledger.last_number()) {
  for (const v1::SlurmLedgerJob& job : ledger.job()) {
    jobs_[job.number()].id = job.id();
    jobs_[job.number()].asked = absl::InfinitePast();
  }
}

SlurmJobs::Decision SlurmJobs::Decide(absl::Time now, int waiting, const std::vector<v1::NodeStatus>& nodes) {
  UpdateNodes(now, nodes);
  Decision decision;
  decision.look = !jobs_.empty() && (!looked_.has_value() || now - *looked_ >= options_.poll_interval);
  CancelHeld(now, decision);
  DrainCopies(decision);
  DrainIdle(now, waiting, decision);

  const int wanted = (waiting + options_.devices_per_node - 1) / options_.devices_per_node;
  const int needed = std::max(wanted - CountSettling(now), options_.min_nodes - CountHere());
  if (CountComing() < needed && CountAll() < options_.max_nodes && now >= not_before_ && !MayHaveAnother()) {
    decision.submit = ++last_number_;
    jobs_[last_number_].asked = now;
  }
  CancelSurplus(now, needed, decision);
  return decision;
}

std::optional<std::pair<int, int>> SlurmJobs::Parse(absl::string_view name) const {
  if (!absl::StartsWith(name, absl::StrCat(prefix_, "-"))) return std::nullopt;
  name.remove_prefix(prefix_.size() + 1);
  const size_t point = std::min(name.find('.'), name.size());
  int number = 0, copy = 0;
  if (!absl::SimpleAtoi(name.substr(0, point), &number) || number < 1) return std::nullopt;
  if (point < name.size() && (!absl::SimpleAtoi(name.substr(point + 1), &copy) || copy < 0)) return std::nullopt;
  return std::pair(number, copy);
}

void SlurmJobs::UpdateNodes(absl::Time now, const std::vector<v1::NodeStatus>& nodes) {
  std::map<std::string, Node> earlier = std::exchange(nodes_, {});
  for (auto& entry : jobs_) entry.second.here = false;
  for (const v1::NodeStatus& status : nodes) {
    const auto name = Parse(status.name());
    if (!name.has_value()) continue;
    const auto known = earlier.find(status.name());
    Node node = known == earlier.end() ? Node() : known->second;
    if (known == earlier.end()) {
      std::tie(node.number, node.copy) = *name;
      node.joined = now;
      problem_.clear();
    }
    node.leaving = node.leaving || status.condition() == v1::NodeStatus::DRAINING;
    if (status.busy() > 0) {
      node.worked = true;
      failures_ = 0;
      node.idle_since.reset();
    } else if (!node.idle_since.has_value()) {
      node.idle_since = now;
    }
    if (const auto job = jobs_.find(node.number); job != jobs_.end()) {
      job->second.here = true;
      job->second.newest_copy = std::max(job->second.newest_copy, node.copy);
      // Of a job that was requeued while its first copy lives, that copy is not the node which will come.
      if (node.copy >= job->second.next_copy) job->second.had_node = true;
      job->second.canceled.reset();
    }
    nodes_[status.name()] = node;
  }
}

void SlurmJobs::CancelHeld(absl::Time now, Decision& decision) {
  for (auto& [number, job] : jobs_) {
    if (!IsHeld(job) || job.here || job.canceled.has_value()) continue;
    Delay(now, absl::StrCat("job ", job.id, " was held by Slurm (", job.reason, ") and is canceled"));
    job.canceled = now;
    decision.cancel.push_back(job.id);
  }
}

void SlurmJobs::DrainCopies(Decision& decision) {
  std::map<int, int> newest;
  for (const auto& [name, node] : nodes_) newest[node.number] = std::max(newest[node.number], node.copy);
  for (auto& [name, node] : nodes_) {
    if (node.leaving || node.copy == newest[node.number]) continue;
    node.leaving = true;
    decision.drain.push_back(name);
  }
}

void SlurmJobs::DrainIdle(absl::Time now, int waiting, Decision& decision) {
  int here = CountHere();
  for (auto& [name, node] : nodes_) {
    if (node.leaving || !node.idle_since.has_value() || now - *node.idle_since < options_.idle_timeout) continue;
    // What waits cannot run there (its job ends too soon): it is replaced.
    const bool useless = waiting > 0 && now - node.joined >= kSettling;
    if (here <= options_.min_nodes && !useless) continue;
    if (useless && !node.worked) Delay(now, absl::StrCat("node ", name, " got none of the work that waits"));
    node.leaving = true;
    --here;
    decision.drain.push_back(name);
  }
}

void SlurmJobs::CancelSurplus(absl::Time now, int needed, Decision& decision) {
  int surplus = CountComing() - std::max(needed, 0);
  if (surplus <= 0) return surplus_since_.reset();
  if (!surplus_since_.has_value()) surplus_since_ = now;
  if (now - *surplus_since_ < options_.idle_timeout) return;
  for (auto entry = jobs_.rbegin(); entry != jobs_.rend() && surplus > 0; ++entry) {
    Job& job = entry->second;
    // Where a copy of it still works, Slurm would end that as the copy of a job that it does not know.
    if (!IsComing(job) || job.id.empty() || job.here) continue;
    job.canceled = now;
    decision.cancel.push_back(job.id);
    --surplus;
  }
}

void SlurmJobs::Submitted(int number, const std::string& id) {
  jobs_[number].id = id;
  problem_.clear();
}

void SlurmJobs::NotSubmitted(absl::Time now, int number, const std::string& why) {
  jobs_[number].refused = now;
  Delay(now, why);
}

void SlurmJobs::Looked(absl::Time asked, absl::Time now, const std::vector<QueuedJob>& queue) {
  looked_ = answered_ = asked;
  look_problem_.clear();
  std::map<int, const QueuedJob*> found;
  for (const QueuedJob& queued : queue) {
    const auto name = Parse(queued.name);
    if (!name.has_value()) continue;
    found[name->first] = &queued;
    // A ledger that came out of a backup does not know it.
    last_number_ = std::max(last_number_, name->first);
    Job& job = jobs_[name->first];
    job.id = queued.id;
    job.state = queued.state;
    job.reason = queued.reason;
    job.missing = 0;
    job.refused.reset();
    // scancel was of no use: if it is still too many, it is canceled again.
    if (IsQueued(queued.state) && job.canceled.has_value() && *job.canceled < asked) job.canceled.reset();
    // It was requeued: another node will come of it, even where its first copy still lives.
    if (IsQueued(queued.state)) {
      job.had_node = false;
      job.next_copy = job.newest_copy + 1;
    }
  }
  for (auto next = jobs_.begin(); next != jobs_.end();) {
    const auto entry = next++;
    Job& job = entry->second;
    if (found.count(entry->first) > 0 || job.asked >= asked) continue;
    if (++job.missing < (job.id.empty() ? 2 : 1)) continue;
    // What became of an earlier head's jobs while it was away says nothing.
    const bool own = job.asked != absl::InfinitePast();
    if (own && !job.had_node && !job.canceled.has_value() && !job.refused.has_value() && !job.id.empty()) {
      Delay(now, absl::StrCat("job ", job.id, " ended before its node had joined; see ", options_.log_folder, "/",
                              NameOf(entry->first), ".log"));
    }
    jobs_.erase(entry);
  }
}

void SlurmJobs::NotLooked(absl::Time now, const std::string& why) {
  looked_ = now;
  look_problem_ = why;
}

std::string SlurmJobs::NameOf(int number) const { return absl::StrCat(prefix_, "-", number); }

v1::SlurmLedger SlurmJobs::Ledger() const {
  v1::SlurmLedger ledger;
  ledger.set_prefix(prefix_);
  ledger.set_last_number(last_number_);
  for (const auto& [number, job] : jobs_) {
    v1::SlurmLedgerJob& entry = *ledger.add_job();
    entry.set_number(number);
    entry.set_id(job.id);
  }
  return ledger;
}

int SlurmJobs::ExpectedDevices() const {
  const int here = CountHere();
  const int growth = std::min(std::max(here, 1), options_.max_nodes - here);
  return options_.devices_per_node * std::max({CountComing(), growth, 0});
}

std::vector<v1::NodeStatus> SlurmJobs::Coming() const {
  std::vector<v1::NodeStatus> coming;
  for (const auto& [number, job] : jobs_) {
    if (!IsComing(job)) continue;
    v1::NodeStatus& node = coming.emplace_back();
    node.set_name(NameOf(number));
    node.set_condition(v1::NodeStatus::COMING);
    node.set_devices(options_.devices_per_node);
    if (job.asked != absl::InfinitePast()) *node.mutable_since() = ToTimestamp(job.asked);
    std::string because =
        job.id.empty() ? "sbatch has not said whether it took it" : absl::StrCat("Slurm job ", job.id);
    if (!job.state.empty()) absl::StrAppend(&because, " ", job.state);
    // Slurm writes None where there is nothing to say.
    if (IsQueued(job.state) && !job.reason.empty() && job.reason != "None") {
      absl::StrAppend(&because, " (", job.reason, ")");
    }
    node.set_because(because);
  }
  return coming;
}

std::string SlurmJobs::Because() const {
  std::vector<std::string> parts;
  std::map<std::string, int> reasons;
  for (const auto& entry : jobs_) {
    if (!IsComing(entry.second)) continue;
    const Job& job = entry.second;
    const bool has_reason = IsQueued(job.state) && !job.reason.empty() && job.reason != "None";
    ++reasons[has_reason               ? absl::StrCat("waits in Slurm's queue (", job.reason, ")")
              : job.state == "RUNNING" ? "runs, and its node has not joined"
                                       : "was submitted to Slurm"];
  }
  for (const auto& [reason, count] : reasons) {
    parts.push_back(count == 1 ? absl::StrCat("a job ", reason) : absl::StrCat(count, " jobs, of each: ", reason));
  }
  if (!problem_.empty()) parts.push_back(problem_);
  if (!look_problem_.empty()) parts.push_back(look_problem_);
  return absl::StrJoin(parts, "; ");
}

bool SlurmJobs::IsHeld(const Job& job) {
  // "launch failed requeued held", "launch failure limit exceeded requeued held", "user env retrieval failed requeued
  // held". Where somebody holds a job by hand (JobHeldUser, JobHeldAdmin) it is left to them.
  return IsQueued(job.state) && (absl::StrContains(job.reason, "requeued held") || job.reason == "JobHoldMaxRequeue");
}

bool SlurmJobs::IsComing(const Job& job) {
  return !job.had_node && !job.canceled.has_value() && !job.refused.has_value() && job.state != "COMPLETING" &&
         !IsHeld(job);
}

int SlurmJobs::CountComing() const {
  return static_cast<int>(
      std::count_if(jobs_.begin(), jobs_.end(), [](const auto& entry) { return IsComing(entry.second); }));
}

int SlurmJobs::CountHere() const {
  return static_cast<int>(
      std::count_if(nodes_.begin(), nodes_.end(), [](const auto& entry) { return !entry.second.leaving; }));
}

int SlurmJobs::CountSettling(absl::Time now) const {
  return static_cast<int>(std::count_if(nodes_.begin(), nodes_.end(), [&](const auto& entry) {
    return !entry.second.leaving && !entry.second.worked && now - entry.second.joined < kSettling;
  }));
}

bool SlurmJobs::MayHaveAnother() const {
  return std::any_of(jobs_.begin(), jobs_.end(), [this](const auto& entry) {
    const std::optional<absl::Time>& refused = entry.second.refused;
    return refused.has_value() && (!answered_.has_value() || *answered_ < *refused);
  });
}

int SlurmJobs::CountAll() const {
  const auto without_job = std::count_if(nodes_.begin(), nodes_.end(), [this](const auto& entry) {
    return !entry.second.leaving && jobs_.count(entry.second.number) == 0;
  });
  return static_cast<int>(jobs_.size()) + static_cast<int>(without_job);
}

void SlurmJobs::Delay(absl::Time now, const std::string& why) {
  problem_ = why;
  not_before_ = now + std::min(kLongestDelay, kFirstDelay * (1 << std::min(failures_, 10)));
  ++failures_;
}

}  // namespace lanista
