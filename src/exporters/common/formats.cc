#include "src/exporters/common/formats.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/descriptor.h"
#include "src/base/status.h"

namespace lanista::exporters {
namespace {

// Lanista's exports contain the mark within this many bytes.
constexpr std::streamsize kHeadBytes = 512;

// The mark of what a format writes as one file. It stands in the first record of LibTorch's archives: another program
// that saves the archive anew drops it.
const std::string& MarkOf(absl::string_view format) { return FindFormat(format)->rules.file(0).mark(); }

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

absl::Status CheckFile(const v1::ExportedFile& file, const std::string& stem) {
  const std::string path = stem + file.suffix();
  if (!Exists(path)) return absl::OkStatus();
  if (!file.belongs_to().empty() && !Exists(stem + file.belongs_to())) {
    return Refuse(path, absl::StrCat("it is not the weights of ", stem, file.belongs_to()));
  }
  if (!file.not_beside().empty() && Exists(stem + file.not_beside())) {
    return Refuse(path, absl::StrCat("it is the weights of ", stem, file.not_beside()));
  }
  const std::string head = HeadOf(path);
  if (absl::StrContains(head, file.mark())) return absl::OkStatus();
  if (absl::StrContains(head, MarkOf("weights"))) return Refuse(path, "it is a model's weights");
  if (absl::StrContains(head, MarkOf("torchscript"))) return Refuse(path, "it is a model in TorchScript");
  return Refuse(path, "Lanista did not write it");
}

}  // namespace

bool Format::Writes(absl::string_view suffix) const {
  return std::any_of(rules.file().begin(), rules.file().end(),
                     [suffix](const v1::ExportedFile& file) { return file.suffix() == suffix; });
}

const std::vector<Format>& Formats() {
  static const auto* const formats = [] {
    auto* const all = new std::vector<Format>;
    const google::protobuf::EnumDescriptor& values = *v1::ExportFormat::Name_descriptor();
    for (int i = 0; i < values.value_count(); ++i) {
      const google::protobuf::EnumValueDescriptor& value = *values.value(i);
      if (value.number() == v1::ExportFormat::NAME_UNSPECIFIED) continue;
      all->push_back({absl::AsciiStrToLower(value.name()), value.options().GetExtension(v1::export_format)});
    }
    return all;
  }();
  return *formats;
}

const Format* FindFormat(absl::string_view name) {
  const auto found =
      std::find_if(Formats().begin(), Formats().end(), [name](const Format& format) { return format.name == name; });
  return found == Formats().end() ? nullptr : &*found;
}

std::string NeedsName(v1::ExportFormat::Needs needs) {
  return absl::AsciiStrToLower(v1::ExportFormat::Needs_Name(needs));
}

std::string FormatNames(std::initializer_list<v1::ExportFormat::Needs> needs) {
  std::vector<std::string> names;
  for (const Format& format : Formats()) {
    if (std::find(needs.begin(), needs.end(), format.rules.needs()) != needs.end()) names.push_back(format.name);
  }
  return absl::StrJoin(names, ", ");
}

absl::Status CheckReplaceable(absl::string_view format, const std::string& stem) {
  const Format* const found = FindFormat(format);
  if (found == nullptr) return absl::OkStatus();
  for (const v1::ExportedFile& file : found->rules.file()) LANISTA_RETURN_IF_ERROR(CheckFile(file, stem));
  return absl::OkStatus();
}

}  // namespace lanista::exporters
