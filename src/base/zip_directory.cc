// Numbers of sections are those of PKWARE's APPNOTE.TXT.
#include "src/base/zip_directory.h"

#include <zlib.h>

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "src/base/status.h"

namespace lanista {
namespace {

constexpr uint32_t kLocalHeader = 0x04034b50;
constexpr uint32_t kDirectoryEntry = 0x02014b50;
constexpr size_t kEndSize = 22;
constexpr size_t kEntrySize = 46;
constexpr size_t kLocalHeaderSize = 30;
// Stands for "see the ZIP64 field".
constexpr uint64_t kElsewhere = 0xffffffff;

uint64_t Number(absl::string_view bytes, size_t at, int count) {
  uint64_t value = 0;
  for (int i = 0; i < count; ++i) {
    value |= static_cast<uint64_t>(static_cast<uint8_t>(bytes[at + static_cast<size_t>(i)])) << (8 * i);
  }
  return value;
}

// Puts the 64-bit numbers of an entry's extra field (4.5.3) where the entry has kElsewhere. False: they are missing.
bool ReadWideNumbers(absl::string_view extra, std::initializer_list<uint64_t*> numbers) {
  size_t at = 0;
  while (at + 4 <= extra.size()) {
    const uint64_t id = Number(extra, at, 2), size = Number(extra, at + 2, 2);
    if (at + 4 + size > extra.size()) return false;
    size_t field = at + 4;
    if (id == 1) {
      for (uint64_t* const number : numbers) {
        if (*number != kElsewhere) continue;
        if (field + 8 > at + 4 + size) return false;
        *number = Number(extra, field, 8);
        field += 8;
      }
    }
    at += 4 + size;
  }
  return std::all_of(numbers.begin(), numbers.end(), [](const uint64_t* number) { return *number != kElsewhere; });
}

// Names that mean a place outside of the archive.
bool LeadsElsewhere(const std::string& name) {
  if (name.empty() || name[0] == '/' || name.find('\\') != std::string::npos || name.find('\0') != std::string::npos) {
    return true;
  }
  for (const absl::string_view part : absl::StrSplit(name, '/')) {
    if (part == "..") return true;
  }
  return false;
}

}  // namespace

absl::Status ZipDirectory::Bad(const std::string& what) const {
  return absl::InvalidArgumentError(absl::StrCat(path_, " ", what));
}

absl::Status ZipDirectory::Damaged(const ZipRecord& record) const {
  return Bad(absl::StrCat("is damaged: its record '", record.name, "' cannot be read"));
}

absl::string_view ZipDirectory::Bytes(uint64_t offset, uint64_t count) const {
  return offset > bytes_.size() ? absl::string_view() : bytes_.substr(offset, count);
}

absl::StatusOr<ZipDirectory> ZipDirectory::Open(const std::string& path, absl::string_view bytes, size_t max_records) {
  ZipDirectory zip(path, bytes);
  LANISTA_RETURN_IF_ERROR(zip.ReadDirectory(max_records));
  LANISTA_RETURN_IF_ERROR(zip.CheckRecords());
  return zip;
}

absl::Status ZipDirectory::ReadDirectory(size_t max_records) {
  const absl::string_view magic = Bytes(0, 4);
  if (magic.size() < 4 || Number(magic, 0, 4) != kLocalHeader) return Bad("is no zip file");
  // The end record (4.3.16), behind it at most a comment.
  const absl::string_view tail = Bytes(bytes_.size() - std::min(bytes_.size(), kEndSize + 0xffff), bytes_.size());
  const size_t end = tail.rfind("PK\x05\x06");
  if (end == absl::string_view::npos || end + kEndSize > tail.size()) return Bad("is truncated: its end is missing");
  uint64_t count = Number(tail, end + 10, 2), directory_size = Number(tail, end + 12, 4);
  directory_start_ = Number(tail, end + 16, 4);
  // Its 64-bit sister (4.3.14) and the pointer to that (4.3.15) stand before it. Where they do, LibTorch believes them:
  // numbers that differ would show us one directory and LibTorch another.
  if (end >= 20 && tail.substr(end - 20, 4) == "PK\x06\x07") {
    const absl::string_view wide = Bytes(Number(tail, end - 20 + 8, 8), 56);
    if (wide.size() < 56 || wide.substr(0, 4) != "PK\x06\x06") return Bad("is damaged: its end makes no sense");
    const uint64_t wide_count = Number(wide, 32, 8), wide_size = Number(wide, 40, 8), wide_start = Number(wide, 48, 8);
    if ((count != 0xffff && count != wide_count) || (directory_size != kElsewhere && directory_size != wide_size) ||
        (directory_start_ != kElsewhere && directory_start_ != wide_start)) {
      return Bad("is refused: it has two directories");
    }
    count = wide_count;
    directory_size = wide_size;
    directory_start_ = wide_start;
  } else if (directory_start_ == kElsewhere || directory_size == kElsewhere || count == 0xffff) {
    return Bad("is truncated: its end is missing");
  }
  if (directory_start_ > bytes_.size() || directory_size > bytes_.size() - directory_start_) {
    return Bad("is damaged or truncated: its directory lies outside of the file");
  }
  if (count > max_records) return Bad(absl::StrCat("holds ", count, " records: that is no model"));
  const absl::string_view directory = Bytes(directory_start_, directory_size);
  size_t at = 0;
  for (uint64_t i = 0; i < count; ++i) LANISTA_RETURN_IF_ERROR(ReadEntry(directory, &at));
  return absl::OkStatus();
}

absl::Status ZipDirectory::ReadEntry(absl::string_view directory, size_t* at) {
  const auto damaged = [this] { return Bad("is damaged: its directory makes no sense"); };
  if (*at + kEntrySize > directory.size() || Number(directory, *at, 4) != kDirectoryEntry) return damaged();
  const uint64_t flags = Number(directory, *at + 8, 2), method = Number(directory, *at + 10, 2);
  ZipRecord record;
  record.crc = static_cast<uint32_t>(Number(directory, *at + 16, 4));
  record.packed_size = Number(directory, *at + 20, 4);
  record.size = Number(directory, *at + 24, 4);
  record.offset = Number(directory, *at + 42, 4);
  const size_t name_size = Number(directory, *at + 28, 2), extra_size = Number(directory, *at + 30, 2);
  const size_t comment_size = Number(directory, *at + 32, 2);
  const size_t end = *at + kEntrySize + name_size + extra_size + comment_size;
  if (end > directory.size()) return damaged();
  record.name = std::string(directory.substr(*at + kEntrySize, name_size));
  const absl::string_view extra = directory.substr(*at + kEntrySize + name_size, extra_size);
  if (!ReadWideNumbers(extra, {&record.size, &record.packed_size, &record.offset})) return damaged();
  if ((flags & 1) != 0 || (method != 0 && method != 8)) {
    return Bad(absl::StrCat("is no TorchScript: its record '", record.name, "' is encrypted or packed unusually"));
  }
  record.compressed = method == 8;
  records_.push_back(std::move(record));
  *at = end;
  return absl::OkStatus();
}

absl::Status ZipDirectory::CheckRecords() {
  std::set<std::string> names;
  std::vector<const ZipRecord*> by_offset;
  for (const ZipRecord& record : records_) {
    if (LeadsElsewhere(record.name)) {
      return Bad(absl::StrCat("is refused: its record '", record.name, "' has a name that leads out of the archive"));
    }
    if (!names.insert(record.name).second) {
      return Bad(absl::StrCat("is refused: it has two records '", record.name, "'"));
    }
    if (!record.compressed && record.size != record.packed_size) {
      return Bad(absl::StrCat("is damaged: its record '", record.name, "' claims to hold ", record.size, " bytes in ",
                              record.packed_size));
    }
    if (record.offset > directory_start_ || record.packed_size > directory_start_ - record.offset) {
      return Bad(absl::StrCat("is damaged or truncated: its record '", record.name, "' lies outside of the file"));
    }
    by_offset.push_back(&record);
  }
  std::sort(by_offset.begin(), by_offset.end(),
            [](const ZipRecord* a, const ZipRecord* b) { return a->offset < b->offset; });
  for (size_t i = 1; i < by_offset.size(); ++i) {
    const ZipRecord& before = *by_offset[i - 1];
    if (before.offset + kLocalHeaderSize + before.packed_size > by_offset[i]->offset) {
      return Bad(absl::StrCat("is refused: its records '", before.name, "' and '", by_offset[i]->name, "' overlap"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<absl::string_view> ZipDirectory::Packed(const ZipRecord& record) const {
  const absl::string_view header = Bytes(record.offset, kLocalHeaderSize);
  if (header.size() < kLocalHeaderSize || Number(header, 0, 4) != kLocalHeader) return Damaged(record);
  const uint64_t start = record.offset + kLocalHeaderSize + Number(header, 26, 2) + Number(header, 28, 2);
  const absl::string_view packed = Bytes(start, record.packed_size);
  if (packed.size() != record.packed_size) return Damaged(record);
  return packed;
}

absl::StatusOr<std::string> ZipDirectory::Unpack(const ZipRecord& record) const {
  LANISTA_ASSIGN_OR_RETURN(const absl::string_view packed, Packed(record));
  if (!record.compressed) return std::string(packed);
  // zlib counts in 32 bits.
  constexpr uint64_t kMax = std::numeric_limits<uInt>::max();
  if (record.size > kMax || record.packed_size > kMax) return Damaged(record);
  std::string bytes(record.size, '\0');
  z_stream stream = {};
  // Negative: without zlib's own header.
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return absl::ResourceExhaustedError("zlib has no memory");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(&bytes[0]);
  stream.avail_out = static_cast<uInt>(bytes.size());
  const int result = inflate(&stream, Z_FINISH);
  inflateEnd(&stream);
  if (result != Z_STREAM_END || stream.avail_out != 0) return Damaged(record);
  return bytes;
}

absl::Status ZipDirectory::CheckCrc(const ZipRecord& record, absl::string_view content) const {
  const uLong crc = crc32_z(0, reinterpret_cast<const Bytef*>(content.data()), content.size());
  if (crc == record.crc) return absl::OkStatus();
  return Bad(absl::StrCat("is damaged: the checksum of its record '", record.name,
                          "' is not that of its content; copy it again, or save it anew"));
}

absl::StatusOr<std::string> ZipDirectory::Read(const ZipRecord& record) const {
  LANISTA_ASSIGN_OR_RETURN(std::string content, Unpack(record));
  LANISTA_RETURN_IF_ERROR(CheckCrc(record, content));
  return content;
}

absl::Status ZipDirectory::Check(const ZipRecord& record) const {
  if (record.compressed) return Read(record).status();
  LANISTA_ASSIGN_OR_RETURN(const absl::string_view content, Packed(record));
  return CheckCrc(record, content);
}

}  // namespace lanista
