#include "src/runtime/archive_check.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/base/zip_directory.h"

namespace lanista::runtime {
namespace {

// Limits for compressed records. Weights are stored uncompressed; code is compressed, but never nearly as much as this.
constexpr uint64_t kMaxUnpackedBytes = uint64_t{256} << 20;
constexpr uint64_t kMaxRatio = 200;
constexpr uint64_t kSmall = uint64_t{1} << 20;
constexpr size_t kMaxRecords = 1000000;

constexpr char kHowTo[] = "what is needed is TorchScript: torch.jit.script(net).save(path)";

absl::Status Bad(const std::string& path, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat(path, " ", what));
}

// Says what the file is if it is no zip file.
absl::Status CheckMagic(const std::string& path, absl::string_view bytes) {
  if (bytes.size() < 2) return absl::OkStatus();  // ZipDirectory::Open reports the error.
  if (bytes[0] == '\x80') return Bad(path, absl::StrCat("was written by an old torch.save, or is a pickle; ", kHowTo));
  if (bytes.substr(0, 2) != "PK") return Bad(path, absl::StrCat("is no TorchScript file; ", kHowTo));
  return absl::OkStatus();
}

// LibTorch ignores case when it looks up records.
bool HasSuffix(const ZipRecord& record, absl::string_view suffix) {
  return absl::EndsWithIgnoreCase(record.name, suffix);
}

// LibTorch runs such code while it reads the file, before CheckOperators can inspect it.
absl::Status CheckContent(const std::string& path, const ZipRecord& record, std::string content) {
  if (HasSuffix(record, ".py") && absl::StrContains(content, "__setstate__")) {
    return Bad(path, absl::StrCat("is refused: '", record.name,
                                  "' has a __setstate__ method, which would run while the file is read"));
  }
  // Pickle writes module and class name on two lines.
  std::replace(content.begin(), content.end(), '\n', '.');
  if (HasSuffix(record, ".pkl") && absl::StrContains(content, "__torch__.torch.classes")) {
    return Bad(path, "is refused: it holds objects of C++ classes");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckArchive(const std::string& path, absl::string_view bytes) {
  LANISTA_RETURN_IF_ERROR(CheckMagic(path, bytes));
  LANISTA_ASSIGN_OR_RETURN(const ZipDirectory zip, ZipDirectory::Open(path, bytes, kMaxRecords));

  uint64_t unpacked = 0;
  bool has_code = false, has_data = false, has_constants = false;
  for (const ZipRecord& record : zip.records()) {
    if (record.compressed) {
      unpacked += record.size;
      if (unpacked > kMaxUnpackedBytes || (record.size > kSmall && record.size / kMaxRatio > record.packed_size)) {
        return Bad(path, absl::StrCat("is refused: its record '", record.name, "' would unpack to ", record.size,
                                      " bytes, from ", record.packed_size));
      }
    }
    if (HasSuffix(record, "/model.json")) {
      return Bad(path, "is refused: PyTorch 1.3 or older wrote it; save it anew with a later one");
    }
    has_code = has_code || absl::StrContains(record.name, "/code/");
    has_data = has_data || absl::EndsWith(record.name, "/data.pkl");
    has_constants = has_constants || absl::EndsWith(record.name, "/constants.pkl");
  }
  if (!has_data) return Bad(path, absl::StrCat("is a zip file without a module; ", kHowTo));
  if (!has_code || !has_constants) {
    return Bad(path, absl::StrCat("was written by torch.save (weights, or a pickled module); ", kHowTo));
  }
  for (const ZipRecord& record : zip.records()) {
    if (!HasSuffix(record, ".py") && !HasSuffix(record, ".pkl")) {
      LANISTA_RETURN_IF_ERROR(zip.Check(record));
      continue;
    }
    if (record.size > kMaxUnpackedBytes) return Bad(path, absl::StrCat("is refused: '", record.name, "' is too large"));
    LANISTA_ASSIGN_OR_RETURN(std::string content, zip.Read(record));
    LANISTA_RETURN_IF_ERROR(CheckContent(path, record, std::move(content)));
  }
  return absl::OkStatus();
}

}  // namespace lanista::runtime
