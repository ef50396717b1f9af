// Graph files: protobuf text (.graph.txt, .textproto, .pbtxt), JSON (.json) and binary (anything else; "net.graph").
#ifndef LANISTA_SRC_GRAPH_IO_H_
#define LANISTA_SRC_GRAPH_IO_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "protos/graph.pb.h"

namespace lanista::graph {

// How a graph is written. Each form, read and written again, gives the same bytes, through any of the others.
enum class Format { kText, kJson, kBinary };

// By the file's suffix.
Format FormatOf(absl::string_view path);

// Attributes are sorted by key first: the one canonical spelling of a graph.
std::string Write(v1::ModelGraph model, Format format);

// INVALID_ARGUMENT names line and column (text), the field (JSON), or says that it is no graph of ours or of a newer
// version. Nothing more is checked: see Validate.
absl::StatusOr<v1::ModelGraph> Read(const std::string& content, Format format);

// The same for files. A graph's relative archive paths count from the file's folder: ReadFile makes them absolute,
// WriteFile relative where the archive lies in that folder or below it. NOT_FOUND: no such file. A binary file may be
// given a text suffix or the other way round: ReadFile says so. `sha256`: gets the digest of what was read. WriteFile
// overwrites neither `inputs` nor an archive of the graph; its errors are those of lanista::WriteFile.
absl::StatusOr<v1::ModelGraph> ReadFile(const std::string& path, std::string* sha256 = nullptr);
absl::Status WriteFile(const std::string& path, v1::ModelGraph model, std::vector<std::string> inputs = {});

}  // namespace lanista::graph

#endif  // LANISTA_SRC_GRAPH_IO_H_
