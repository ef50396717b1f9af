// embed_files OUT FILE...: writes the files, compressed, as a C++ source file (embedded_files.h). Runs while the
// program is built.
#include <zlib.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "src/base/sha256.h"

namespace {

// Empty: it could not be compressed.
std::string Gzip(const std::string& bytes) {
  constexpr int kGzipFormat = 15 + 16;
  z_stream stream = {};
  if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, kGzipFormat, 8, Z_DEFAULT_STRATEGY) != Z_OK) return "";
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(&out[0]);
  stream.avail_out = static_cast<uInt>(out.size());
  const bool done = deflate(&stream, Z_FINISH) == Z_STREAM_END;
  out.resize(done ? stream.total_out : 0);
  deflateEnd(&stream);
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: embed_files OUT FILE...\n");
    return 2;
  }
  std::ofstream out(argv[1]);
  out << "// Made by src/web/embed_files.cc.\n#include \"src/web/embedded_files.h\"\n\nnamespace lanista {\nnamespace "
         "{\n";
  std::string list;
  for (int i = 2; i < argc; ++i) {
    const std::string path = argv[i];
    std::ifstream file(path, std::ios::binary);
    const std::string content((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    const std::string bytes = Gzip(content);
    if (!file || bytes.empty()) {
      std::fprintf(stderr, "embed_files: cannot read or compress %s\n", path.c_str());
      return 1;
    }
    const std::string name = "kFile" + std::to_string(i - 1);
    out << "const unsigned char " << name << "[] = {";
    for (size_t at = 0; at < bytes.size(); ++at) {
      out << (at % 24 == 0 ? "\n  " : "") << static_cast<int>(static_cast<unsigned char>(bytes[at])) << ",";
    }
    out << "\n};\n";
    list += "    {\"" + path.substr(path.rfind('/') + 1) + "\", " + name + ", sizeof(" + name + "), " +
            std::to_string(content.size()) + ", \"" + lanista::Sha256(content) + "\"},\n";
  }
  out << "}  // namespace\n\nconst EmbeddedFile kEmbeddedFiles[] = {\n"
      << list << "};\nconst size_t kEmbeddedFileCount = " << argc - 2 << ";\n\n}  // namespace lanista\n";
  out.close();
  return out ? 0 : 1;
}
