// An assignment on a node that does not see the head's files: where this machine has what it reads, and where it may
// write. Translates between the head's paths and the node's.
#ifndef LANISTA_SRC_FILES_LOCAL_WORK_H_
#define LANISTA_SRC_FILES_LOCAL_WORK_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "google/protobuf/repeated_field.h"
#include "protos/node.pb.h"
#include "protos/trial.pb.h"
#include "src/files/input_tree.h"

namespace lanista {

// Constant; any thread may use it. As long as it lives its files stay; the destructor removes what the trial wrote.
class LocalWork {
 public:
  // `inputs`: null: it reads no files. `folder`: not there yet, or empty; trials leave logs, outputs and checkpoints
  // there.
  LocalWork(std::shared_ptr<const InputTree> inputs, std::string folder)
      : inputs_(std::move(inputs)), folder_(std::move(folder)) {}
  ~LocalWork();
  LocalWork(const LocalWork&) = delete;
  LocalWork& operator=(const LocalWork&) = delete;

  const std::string& folder() const { return folder_; }
  std::string log_file() const;
  std::string output_folder(int model) const;
  std::string checkpoint_folder(int model) const;

  // Puts this machine's paths in the place of the head's.
  void ToHere(v1::TrialSpec* spec) const;
  void ToHere(v1::Discover* request) const;
  // And back: in what was discovered, and in the texts of errors. Not in the names of converted files, whose folder is
  // the head's to choose.
  void ToHead(v1::Discovered* discovered) const;
  void ToHead(v1::ModelEvent* event) const;

 private:
  void ToHere(v1::Convert* request) const;
  void ToHere(google::protobuf::RepeatedPtrField<v1::FileDigest>* files) const;
  std::string Here(const std::string& path) const;
  std::string AtHead(const std::string& text) const;

  const std::shared_ptr<const InputTree> inputs_;
  const std::string folder_;
};

using LocalWorkPtr = std::shared_ptr<const LocalWork>;

}  // namespace lanista

#endif  // LANISTA_SRC_FILES_LOCAL_WORK_H_
