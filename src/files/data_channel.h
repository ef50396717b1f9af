// A trial process that is told where this machine has the data that paths of the form data://NAME/sub name.
#ifndef LANISTA_SRC_FILES_DATA_CHANNEL_H_
#define LANISTA_SRC_FILES_DATA_CHANNEL_H_

#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "src/config/data_folders.h"
#include "src/trial_process/channel.h"

namespace lanista {

// Puts this machine's paths into discoveries, trials and conversions, and data://NAME back into what is said of them:
// the digests of the space's files, and errors. So nobody else learns where the folders are, and what a discovery found
// on one machine holds on all.
class DataChannel : public TrialChannel {
 public:
  DataChannel(std::unique_ptr<TrialChannel> channel, DataFolders folders)
      : folders_(std::move(folders)), channel_(std::move(channel)) {}

  absl::Status Start(const v1::Device& device, Handlers handlers) override;
  absl::Status Send(const v1::TrialRequest& request) override;
  void Recorded(const v1::EventsRecorded& recorded) override { channel_->Recorded(recorded); }
  std::chrono::milliseconds held_up() const override { return channel_->held_up(); }
  void Kill() override { channel_->Kill(); }

 private:
  // The names of the data in the request that was sent last.
  std::set<std::string> used() const;
  void ToNames(v1::TrialEvent* event) const;

  const DataFolders folders_;
  mutable std::mutex mutex_;
  // Protected by mutex_.
  std::set<std::string> used_;
  // Last: its threads use the rest.
  const std::unique_ptr<TrialChannel> channel_;
};

// `channel`, as it is where this machine has no data.
std::unique_ptr<TrialChannel> WithData(std::unique_ptr<TrialChannel> channel, const DataFolders& folders);

}  // namespace lanista

#endif  // LANISTA_SRC_FILES_DATA_CHANNEL_H_
