#include "src/exporters/common/replaceable.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
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

absl::Status CheckMark(const std::string& path, absl::string_view mark) {
  if (!Exists(path)) return absl::OkStatus();
  const std::string head = HeadOf(path);
  if (absl::StrContains(head, mark)) return absl::OkStatus();
  if (absl::StrContains(head, kWeightsMark)) return Refuse(path, "it is a model's weights");
  if (absl::StrContains(head, kTorchScriptMark)) return Refuse(path, "it is a model in TorchScript");
  return Refuse(path, "Lanista did not write it");
}

}  // namespace

absl::Status CheckReplaceable(const std::string& format, const std::string& stem) {
  const std::string source = stem + ".py", weights = stem + ".pt";
  if (format == "python") {
    LANISTA_RETURN_IF_ERROR(CheckMark(source, kSourceMark));
    if (Exists(weights) && !Exists(source)) return Refuse(weights, absl::StrCat("it is not the weights of ", source));
    return CheckMark(weights, kWeightsMark);
  }
  if (format == "torchscript") {
    if (Exists(weights) && Exists(source)) return Refuse(weights, absl::StrCat("it is the weights of ", source));
    return CheckMark(weights, kTorchScriptMark);
  }
  if (format == "cpp") {
    LANISTA_RETURN_IF_ERROR(CheckMark(stem + ".h", kSourceMark));
    return CheckMark(stem + ".weights.pt", kWeightsMark);
  }
  if (format == "weights") return CheckMark(stem + ".weights.pt", kWeightsMark);
  if (format == "onnx") return CheckMark(stem + ".onnx", kOnnxMark);
  if (format == "json") return CheckMark(stem + ".json", kJsonMark);
  return absl::OkStatus();
}

bool IsSuffixOf(const std::string& format, absl::string_view suffix) {
  static const auto* const kSuffixes = new std::map<std::string, std::set<std::string>>{
      {"python", {".py", ".pt"}},   {"torchscript", {".pt"}}, {"cpp", {".h", ".weights.pt"}},
      {"weights", {".weights.pt"}}, {"onnx", {".onnx"}},      {"json", {".json"}},
  };
  const auto found = kSuffixes->find(format);
  return found != kSuffixes->end() && found->second.count(std::string(suffix)) > 0;
}

}  // namespace lanista::exporters
