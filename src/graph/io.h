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

// How a graph is written. Reading a file and writing it again, in any order of formats, gives the same bytes.
enum class Format { kText, kJson, kBinary };

// Decides by the file's suffix.
Format FormatOf(absl::string_view path);

// Sorts the attributes by key first, so that equal graphs are written as equal bytes.
std::string Write(v1::ModelGraph model, Format format);

// INVALID_ARGUMENT names line and column (text) or the field (JSON), or says that the content is no graph of Lanista's
// or of a newer version. Checks nothing else: see Validate.
absl::StatusOr<v1::ModelGraph> Read(const std::string& content, Format format);

// The same for files. Relative archive paths in a graph are relative to the file's folder: ReadFile makes them
// absolute, WriteFile makes them relative if the archive lies in that folder or below it. NOT_FOUND: no such file. The
// suffix alone decides the format: a binary file with a text suffix is INVALID_ARGUMENT. `sha256` receives the digest
// of the bytes that were read. WriteFile overwrites neither `inputs` nor an archive of the graph; its errors are those
// of lanista::WriteFile.
absl::StatusOr<v1::ModelGraph> ReadFile(const std::string& path, std::string* sha256 = nullptr);
absl::Status WriteFile(const std::string& path, v1::ModelGraph model, std::vector<std::string> inputs = {});

}  // namespace lanista::graph

#endif  // LANISTA_SRC_GRAPH_IO_H_
