#include "src/graph/io.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/text_format.h"
#include "google/protobuf/util/json_util.h"
#include "src/base/output_files.h"
#include "src/base/read_file.h"
#include "src/base/sha256.h"
#include "src/base/status.h"
#include "src/base/utf8.h"

namespace lanista::graph {
namespace {

namespace fs = std::filesystem;

// The size limit of protobuf messages.
constexpr uint64_t kMaxBytes = (uint64_t{1} << 31) - 1;

void SortAttributes(v1::Node* node) {
  if (node->has_op()) {
    std::stable_sort(node->mutable_op()->mutable_attr()->begin(), node->mutable_op()->mutable_attr()->end(),
                     [](const v1::Attribute& a, const v1::Attribute& b) { return a.key() < b.key(); });
  }
  const auto sort_all = [](google::protobuf::RepeatedPtrField<v1::Node>* nodes) {
    for (v1::Node& inner : *nodes) SortAttributes(&inner);
  };
  if (node->has_layer_choice()) sort_all(node->mutable_layer_choice()->mutable_candidates());
  if (node->has_repeat()) sort_all(node->mutable_repeat()->mutable_blocks());
  if (node->has_nas_cell()) sort_all(node->mutable_nas_cell()->mutable_op_candidates());
}

// The first mistake, with its place.
class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, google::protobuf::io::ColumnNumber column, const std::string& message) override {
    if (text_.empty()) text_ = absl::StrCat("line ", line + 1, ", column ", column + 1, ": ", message);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

absl::Status NoGraph() {
  return absl::InvalidArgumentError("this is no graph: `lanista import` makes one from a TorchScript file");
}

absl::StatusOr<v1::ModelGraph> ReadText(const std::string& content) {
  v1::ModelGraph model;
  FirstError error;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  parser.SetRecursionLimit(200);
  if (!parser.ParseFromString(content, &model)) return absl::InvalidArgumentError(error.text());
  // The other formats check this themselves.
  if (const std::optional<NonUtf8Field> found = FindNonUtf8(model)) {
    return absl::InvalidArgumentError(absl::StrCat(found->path, ": '", found->text, "' is not UTF-8"));
  }
  return model;
}

absl::StatusOr<v1::ModelGraph> ReadJson(const std::string& content) {
  v1::ModelGraph model;
  const auto status = google::protobuf::util::JsonStringToMessage(content, &model);
  if (!status.ok()) return absl::InvalidArgumentError(std::string(status.message()));
  return model;
}

absl::StatusOr<v1::ModelGraph> ReadBinary(const std::string& content) {
  v1::ModelGraph model;
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(content.data()),
                                                static_cast<int>(content.size()));
  stream.SetRecursionLimit(300);
  if (!model.ParseFromCodedStream(&stream) || !stream.ConsumedEntireMessage()) return NoGraph();
  return model;
}

// Takes from the model what this program has no fields for. Returns whether there was any.
bool DiscardUnknownFields(v1::ModelGraph* model) {
  const size_t size = model->ByteSizeLong();
  model->DiscardUnknownFields();
  return model->ByteSizeLong() != size;
}

// Makes the archives' paths absolute, or relative again.
void MapArchives(v1::ModelGraph* model, const fs::path& folder, bool absolute) {
  for (v1::Archive& archive : *model->mutable_archives()) {
    const fs::path path(archive.path());
    if (absolute) {
      archive.set_path((path.is_absolute() ? path : folder / path).lexically_normal().string());
    } else if (const fs::path relative = path.lexically_relative(folder);
               !relative.empty() && *relative.begin() != "..") {
      archive.set_path(relative.string());
    }
  }
}

}  // namespace

Format FormatOf(absl::string_view path) {
  if (absl::EndsWith(path, ".json")) return Format::kJson;
  for (const absl::string_view suffix : {".textproto", ".pbtxt", ".graph.txt", ".txt"}) {
    if (absl::EndsWith(path, suffix)) return Format::kText;
  }
  return Format::kBinary;
}

std::string Write(v1::ModelGraph model, Format format) {
  for (v1::Graph& graph : *model.mutable_graphs()) {
    for (v1::Node& node : *graph.mutable_nodes()) SortAttributes(&node);
  }
  std::string content;
  switch (format) {
    case Format::kText:
      google::protobuf::TextFormat::PrintToString(model, &content);
      return content;
    case Format::kJson: {
      google::protobuf::util::JsonPrintOptions options;
      options.preserve_proto_field_names = true;
      options.add_whitespace = true;
      google::protobuf::util::MessageToJsonString(model, &content, options);
      return content;
    }
    case Format::kBinary:
      break;
  }
  // The message has no maps, so equal graphs give equal bytes.
  return model.SerializeAsString();
}

absl::StatusOr<v1::ModelGraph> Read(const std::string& content, Format format) {
  absl::StatusOr<v1::ModelGraph> model = format == Format::kText   ? ReadText(content)
                                         : format == Format::kJson ? ReadJson(content)
                                                                   : ReadBinary(content);
  if (model.ok() && model->version() > 1) {
    return absl::InvalidArgumentError(absl::StrCat("the graph is of version ", model->version(),
                                                   "; this program reads version 1: use a newer Lanista"));
  }
  if (model.ok() && model->graphs().empty()) return NoGraph();
  // The other formats refuse these by name. Without them it would be another network.
  if (model.ok() && DiscardUnknownFields(&*model)) {
    return absl::InvalidArgumentError(
        "the graph has fields that this program does not know: use the Lanista that wrote it");
  }
  return model;
}

absl::StatusOr<v1::ModelGraph> ReadFile(const std::string& path, std::string* sha256) {
  LANISTA_ASSIGN_OR_RETURN(const std::string content, ReadWholeFile(path, kMaxBytes));
  if (sha256 != nullptr) *sha256 = Sha256(content);
  absl::StatusOr<v1::ModelGraph> model = Read(content, FormatOf(path));
  if (!model.ok()) return Annotate(model.status(), path);
  MapArchives(&*model, fs::absolute(path).parent_path(), /*absolute=*/true);
  return model;
}

absl::Status WriteFile(const std::string& path, v1::ModelGraph model, std::vector<std::string> inputs) {
  for (const v1::Archive& archive : model.archives()) inputs.push_back(archive.path());
  MapArchives(&model, fs::absolute(path).parent_path(), /*absolute=*/false);
  return lanista::WriteFile(path, Write(std::move(model), FormatOf(path)), inputs);
}

}  // namespace lanista::graph
