#include "src/exporters/common/formats.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/status.h"

namespace lanista::exporters {
namespace {

// Lanista's exports contain the mark within this many bytes.
constexpr std::streamsize kHeadBytes = 512;

// Marks of LibTorch's archives stand in their first record: another program that saves the archive anew drops it.
constexpr char kSourceMark[] = "written by Lanista";
constexpr char kWeightsMark[] = "weights, written by Lanista";
constexpr char kTorchScriptMark[] = "TorchScript, written by Lanista";
// The field producer_name.
constexpr char kOnnxMark[] = "\x12\x07lanista";
constexpr char kJsonMark[] = "{\n  \"experiment\": ";

bool Exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

absl::Status Refuse(const std::string& path, absl::string_view why) {
  return absl::FailedPreconditionError(
      absl::StrCat(path, " is not replaced: ", why, "; name another folder or file, or remove it"));
}

std::string HeadOf(const std::string& path) {
  std::string head(kHeadBytes, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(&head[0], kHeadBytes);
  head.resize(static_cast<size_t>(file.gcount()));
  return head;
}

absl::Status CheckFile(const FormatFile& file, const std::string& stem) {
  const std::string path = stem + file.suffix;
  if (!Exists(path)) return absl::OkStatus();
  if (!file.belongs_to.empty() && !Exists(stem + file.belongs_to)) {
    return Refuse(path, absl::StrCat("it is not the weights of ", stem, file.belongs_to));
  }
  if (!file.not_beside.empty() && Exists(stem + file.not_beside)) {
    return Refuse(path, absl::StrCat("it is the weights of ", stem, file.not_beside));
  }
  const std::string head = HeadOf(path);
  if (absl::StrContains(head, file.mark)) return absl::OkStatus();
  if (absl::StrContains(head, kWeightsMark)) return Refuse(path, "it is a model's weights");
  if (absl::StrContains(head, kTorchScriptMark)) return Refuse(path, "it is a model in TorchScript");
  return Refuse(path, "Lanista did not write it");
}

}  // namespace

bool Format::Writes(absl::string_view suffix) const {
  return std::any_of(files.begin(), files.end(), [suffix](const FormatFile& file) { return file.suffix == suffix; });
}

const std::vector<Format>& Formats() {
  using Needs = Format::Needs;
  static const auto* const formats = new std::vector<Format>{
      {"json", Needs::kSample, {{".json", kJsonMark}}},
      {"weights", Needs::kTrainedWeights, {{".weights.pt", kWeightsMark}}},
      {"python", Needs::kGraph, {{".py", kSourceMark}, {".pt", kWeightsMark, /*belongs_to=*/".py"}}},
      {"cpp", Needs::kGraph, {{".h", kSourceMark}, {".weights.pt", kWeightsMark}}},
      {"torchscript", Needs::kGraph, {{".pt", kTorchScriptMark, /*belongs_to=*/"", /*not_beside=*/".py"}}},
      {"onnx", Needs::kGraph, {{".onnx", kOnnxMark}}},
  };
  return *formats;
}

const Format* FindFormat(absl::string_view name) {
  const auto found =
      std::find_if(Formats().begin(), Formats().end(), [name](const Format& format) { return format.name == name; });
  return found == Formats().end() ? nullptr : &*found;
}

std::string NeedsName(Format::Needs needs) {
  switch (needs) {
    case Format::Needs::kSample:
      return "sample";
    case Format::Needs::kTrainedWeights:
      return "trained_weights";
    case Format::Needs::kGraph:
      return "graph";
  }
  return "";
}

std::string FormatNames(std::initializer_list<Format::Needs> needs) {
  std::vector<std::string> names;
  for (const Format& format : Formats()) {
    if (std::find(needs.begin(), needs.end(), format.needs) != needs.end()) names.push_back(format.name);
  }
  return absl::StrJoin(names, ", ");
}

absl::Status CheckReplaceable(absl::string_view format, const std::string& stem) {
  const Format* const found = FindFormat(format);
  if (found == nullptr) return absl::OkStatus();
  for (const FormatFile& file : found->files) LANISTA_RETURN_IF_ERROR(CheckFile(file, stem));
  return absl::OkStatus();
}

}  // namespace lanista::exporters
