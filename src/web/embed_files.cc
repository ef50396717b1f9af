// embed_files OUT FILE...: writes the files, compressed, as a C++ source file (embedded_files.h). Runs while the
// program is built.
#include <zopfli/zopfli.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "src/base/sha256.h"

namespace {

// As a browser reads it. Zopfli takes seconds where zlib takes none, and makes a thirtieth less of the page's files
// than zlib's best.
std::string Gzip(const std::string& bytes) {
  ZopfliOptions options;
  ZopfliInitOptions(&options);
  unsigned char* out = nullptr;
  size_t size = 0;
  ZopfliCompress(&options, ZOPFLI_FORMAT_GZIP, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), &out,
                 &size);
  std::string compressed(reinterpret_cast<const char*>(out), size);
  std::free(out);
  return compressed;
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
    if (!file) {
      std::fprintf(stderr, "embed_files: cannot read %s\n", path.c_str());
      return 1;
    }
    const std::string bytes = Gzip(content);
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
