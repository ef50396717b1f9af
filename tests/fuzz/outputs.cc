// What nodes deliver of what their trials wrote, behind NodeService.DeliverOutput: parts in any order.
// Input: a byte; parts, each a length of two bytes and an OutputPart. Bits of the byte: 1, the announced digests are
// made right; 2, the model ends before the delivery does.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "src/base/sha256.h"
#include "src/base/temporary_folder.h"
#include "src/files/received_outputs.h"
#include "tests/fuzz/fuzz.h"

namespace lanista {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostParts = 64;
constexpr int kModel = 1;

std::string Content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

// The files in a folder and below it, with their digests.
std::map<std::string, std::string> DigestsIn(const fs::path& folder) {
  std::map<std::string, std::string> digests;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    fuzz::Require(!entry.is_symlink(), "a delivery made a link");
    if (entry.is_regular_file()) digests[entry.path().lexically_relative(folder).string()] = Sha256(Content(entry));
  }
  return digests;
}

// An experiment's folder beside one that is nobody's business.
class Site {
 public:
  Site() {
    fs::remove_all(root_);
    fs::create_directories(root_ + "/experiment/trials");
    fs::create_directories(root_ + "/outside");
    std::ofstream(root_ + "/outside/secret") << "secret";
    // A trial of this machine may leave one.
    fs::create_directory_symlink(root_ + "/outside", root_ + "/experiment/trials/link");
    outputs_.set_folder(root_ + "/experiment");
    outputs_.set_incoming_folder(root_ + "/experiment/incoming");
    outputs_.set_log_file(root_ + "/experiment/logs/7.log");
    v1::ModelOutputs& model = *outputs_.add_models();
    model.set_model(kModel);
    model.set_output_folder(root_ + "/experiment/trials/1");
    model.set_checkpoint_folder(root_ + "/experiment/checkpoints/1");
    // Its folder has become a link.
    v1::ModelOutputs& linked = *outputs_.add_models();
    linked.set_model(kModel + 1);
    linked.set_output_folder(root_ + "/experiment/trials/link/2");
    linked.set_checkpoint_folder(root_ + "/experiment/trials/link/3");
  }

  v1::AssignmentOutputs& outputs() { return outputs_; }

  // Where nobody delivers anything.
  void CheckOutside() const {
    fuzz::Require(DigestsIn(root_ + "/outside") == std::map<std::string, std::string>{{"secret", Sha256("secret")}},
                  "a delivery left its experiment's folder");
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(root_)) names.insert(entry.path().filename().string());
    fuzz::Require(names == std::set<std::string>{"experiment", "outside"}, "a delivery made something else");
    const fs::path incoming = outputs_.incoming_folder();
    fuzz::Require(!fs::exists(incoming) || fs::is_empty(incoming), "something of a delivery stays on its way");
  }

  // What was delivered is at its place, and nothing else.
  void CheckPlace(const v1::OutputHeader& header) const {
    std::map<std::string, std::string> announced;
    for (const v1::SetFile& file : header.files().files()) announced[file.path()] = file.sha256();
    if (header.log()) {
      fuzz::Require(Sha256(Content(outputs_.log_file())) == header.files().files(0).sha256(), "the log is another one");
    } else {
      const v1::ModelOutputs& model = outputs_.models(0);
      const bool is_output = header.has_output_of();
      fuzz::Require((is_output ? header.output_of() : header.checkpoint_of()) == kModel, "it went through a link");
      fuzz::Require(DigestsIn(is_output ? model.output_folder() : model.checkpoint_folder()) == announced,
                    "what is at its place is not what was announced");
    }
  }

  // Whatever is there, a node that asks for the checkpoint gets what it is told, or an error.
  void CheckCheckpoint() const {
    absl::StatusOr<FileSetReader> reader = ReadCheckpoint(outputs_, kModel);
    if (!reader.ok()) return;
    int64_t left = 0;
    for (const v1::SetFile& file : reader->files().files()) left += file.size();
    for (std::string piece;;) {
      const absl::StatusOr<bool> more = reader->Next(&piece);
      if (!more.ok()) return;
      if (!*more) break;
      left -= static_cast<int64_t>(piece.size());
    }
    fuzz::Require(left == 0, "a checkpoint has another size than was told");
  }

 private:
  static const std::string& Root() {
    static const TemporaryFolder folder = TemporaryFolder::Make().value();
    static const std::string root = folder.path() + "/site";
    return root;
  }

  const std::string root_ = Root();
  v1::AssignmentOutputs outputs_;
};

std::vector<v1::OutputPart> ParseParts(fuzz::Input* input) {
  std::vector<v1::OutputPart> parts;
  while (!input->empty() && parts.size() < kMostParts) {
    const absl::string_view bytes = input->Sized();
    // What gRPC cannot parse never comes here.
    v1::OutputPart part;
    if (part.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) parts.push_back(std::move(part));
  }
  return parts;
}

// Announces what comes, as far as it comes. REQUIRES: the first part is a header.
void MakeDigestsRight(std::vector<v1::OutputPart>* parts) {
  std::string content;
  for (const v1::OutputPart& part : *parts) content += part.bytes();
  size_t begin = 0;
  for (v1::SetFile& file : *parts->front().mutable_header()->mutable_files()->mutable_files()) {
    const auto size = static_cast<size_t>(std::clamp<int64_t>(file.size(), 0, static_cast<int64_t>(content.size())));
    file.set_sha256(Sha256(absl::string_view(content).substr(std::min(begin, content.size()), size)));
    begin += size;
  }
}

// As OutputReceiver does it. OK: it is at its place.
absl::Status Deliver(const std::vector<v1::OutputPart>& parts, bool ends_before, Site* site) {
  DiskRoom room;
  std::optional<ReceivedOutput> output;
  for (const v1::OutputPart& part : parts) {
    if (part.has_header() && !output.has_value()) {
      absl::StatusOr<ReceivedOutput> begun = ReceivedOutput::Begin(site->outputs(), part.header(), &room);
      if (!begun.ok()) return begun.status();
      output = *std::move(begun);
      continue;
    }
    if (!part.has_bytes() || !output.has_value()) return absl::InvalidArgumentError("");
    const absl::Status written = output->Write(part.bytes());
    if (!written.ok()) return written;
  }
  if (!output.has_value()) return absl::InvalidArgumentError("");
  if (ends_before) site->outputs().mutable_models()->DeleteSubrange(0, 1);
  return output->Commit(site->outputs());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  const uint8_t bits = input.Byte();
  std::vector<v1::OutputPart> parts = ParseParts(&input);
  const bool begins = !parts.empty() && parts.front().has_header();
  if ((bits & 1) != 0 && begins) MakeDigestsRight(&parts);
  const bool ends_before = (bits & 2) != 0;
  Site site;
  const absl::Status delivered = Deliver(parts, ends_before, &site);
  site.CheckOutside();
  if (delivered.ok()) {
    const v1::OutputHeader& header = parts.front().header();
    fuzz::Require(!ends_before || header.log(), "a model that has ended was given something");
    site.CheckPlace(header);
  }
  site.CheckCheckpoint();
  return 0;
}

}  // namespace lanista
