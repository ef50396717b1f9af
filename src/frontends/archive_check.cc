#include "src/frontends/archive_check.h"

#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/frontends/zip_directory.h"

namespace lanista::frontends {
namespace {

// Weights are stored as they are; code shrinks when it is packed, and has never come near these.
constexpr uint64_t kMaxUnpackedBytes = uint64_t{256} << 20;
constexpr uint64_t kMaxRatio = 200;
constexpr uint64_t kSmall = uint64_t{1} << 20;
constexpr size_t kMaxRecords = 1000000;

constexpr char kHowTo[] = "what is needed is TorchScript: torch.jit.script(net).save(path)";

absl::Status Bad(const std::string& path, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat(path, " ", what));
}

// What a file that is no zip file may be.
absl::Status CheckMagic(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  char magic[2] = {};
  if (!file.read(magic, sizeof(magic))) return absl::OkStatus();  // ZipDirectory says why.
  if (magic[0] == '\x80') return Bad(path, absl::StrCat("was written by an old torch.save, or is a pickle; ", kHowTo));
  if (magic[0] != 'P' || magic[1] != 'K') return Bad(path, absl::StrCat("is no TorchScript file; ", kHowTo));
  return absl::OkStatus();
}

// LibTorch calls these while it reads, before anyone can look at what the code does.
absl::Status CheckContent(const std::string& path, const ZipRecord& record, const std::string& content) {
  if (absl::EndsWith(record.name, ".py") && absl::StrContains(content, "def __setstate__")) {
    return Bad(path, absl::StrCat("is refused: '", record.name,
                                  "' has a __setstate__ method, which would run while the file is read"));
  }
  if (absl::EndsWith(record.name, ".pkl") && absl::StrContains(content, "__torch__.torch.classes")) {
    return Bad(path, "is refused: it holds objects of C++ classes");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckArchive(const std::string& path) {
  LANISTA_RETURN_IF_ERROR(CheckMagic(path));
  LANISTA_ASSIGN_OR_RETURN(ZipDirectory zip, ZipDirectory::Open(path, kMaxRecords));

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
    has_code = has_code || absl::StrContains(record.name, "/code/");
    has_data = has_data || absl::EndsWith(record.name, "/data.pkl");
    has_constants = has_constants || absl::EndsWith(record.name, "/constants.pkl");
  }
  if (!has_data) return Bad(path, absl::StrCat("is a zip file without a module; ", kHowTo));
  if (!has_code || !has_constants) {
    return Bad(path, absl::StrCat("was written by torch.save (weights, or a pickled module); ", kHowTo));
  }
  for (const ZipRecord& record : zip.records()) {
    if (!absl::EndsWith(record.name, ".py") && !absl::EndsWith(record.name, "/data.pkl") &&
        !absl::EndsWith(record.name, "/constants.pkl")) {
      continue;
    }
    if (record.size > kMaxUnpackedBytes) return Bad(path, absl::StrCat("is refused: '", record.name, "' is too large"));
    LANISTA_ASSIGN_OR_RETURN(const std::string content, zip.Read(record));
    LANISTA_RETURN_IF_ERROR(CheckContent(path, record, content));
  }
  return absl::OkStatus();
}

}  // namespace lanista::frontends
