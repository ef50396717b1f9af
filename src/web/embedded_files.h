// The page's files, as they are built into the program (embed_files.cc makes the list).
#ifndef LANISTA_SRC_WEB_EMBEDDED_FILES_H_
#define LANISTA_SRC_WEB_EMBEDDED_FILES_H_

#include <cstddef>

namespace lanista {

struct EmbeddedFile {
  // Without a folder: "index.html".
  const char* name;
  // Compressed with gzip.
  const unsigned char* bytes;
  size_t size;
  // Uncompressed.
  size_t full_size;
  // Of the uncompressed bytes.
  const char* sha256;
};

extern const EmbeddedFile kEmbeddedFiles[];
extern const size_t kEmbeddedFileCount;

}  // namespace lanista

#endif  // LANISTA_SRC_WEB_EMBEDDED_FILES_H_
