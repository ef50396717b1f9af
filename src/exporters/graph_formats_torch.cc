#include "src/exporters/graph_formats_torch.h"

#include <c10/util/Exception.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <functional>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/status.h"
#include "src/exporters/cpp_source.h"
#include "src/exporters/model_files_torch.h"
#include "src/exporters/onnx_model.h"
#include "src/exporters/python_source.h"
#include "src/exporters/torchscript_torch.h"

namespace lanista::exporters {
namespace {

// Files under temporary names, until Commit. Those that were not committed are removed.
class Files {
 public:
  ~Files() {
    for (const auto& [temporary, path] : files_) std::remove(temporary.c_str());
  }

  // The name under which the file for `path` is to be written. The order of calls is that of Commit's answer.
  std::string Add(const std::string& path) {
    files_.emplace_back(absl::StrCat(path, ".tmp.", getpid()), path);
    return files_.back().first;
  }

  absl::Status Write(const std::string& path, const std::string& content) {
    std::ofstream file(Add(path), std::ios::binary | std::ios::trunc);
    file << content;
    file.close();
    return file ? absl::OkStatus() : ErrnoToStatus(errno, absl::StrCat("cannot write ", path));
  }

  absl::StatusOr<std::vector<std::string>> Commit() {
    std::vector<std::string> paths;
    for (const auto& [temporary, path] : files_) {
      if (std::rename(temporary.c_str(), path.c_str()) != 0) {
        return ErrnoToStatus(errno, absl::StrCat("cannot write ", path));
      }
      paths.push_back(path);
    }
    files_.clear();
    return paths;
  }

 private:
  // Temporary and final names.
  std::vector<std::pair<std::string, std::string>> files_;
};

// What all writers get.
struct Job {
  const ops::GraphModule& module;
  const std::string& stem;
  const std::map<std::string, at::Tensor>& tensors;
  const std::vector<at::Tensor>& examples;
  Files* files;

  // STEM without its folders.
  std::string Name() const { return stem.substr(stem.rfind('/') + 1); }

  absl::StatusOr<SourceModel> Source(bool with_archives) const {
    return ToSourceModel(module, tensors, examples, Name(), with_archives);
  }
};

absl::Status WritePython(const Job& job) {
  LANISTA_ASSIGN_OR_RETURN(const SourceModel model, job.Source(/*with_archives=*/true));
  LANISTA_ASSIGN_OR_RETURN(const std::string source, PythonSource(model));
  LANISTA_RETURN_IF_ERROR(job.files->Write(job.stem + ".py", source));
  return job.module.Save(job.files->Add(job.stem + ".pt"));
}

absl::Status WriteCpp(const Job& job) {
  LANISTA_ASSIGN_OR_RETURN(const SourceModel model, job.Source(/*with_archives=*/true));
  LANISTA_ASSIGN_OR_RETURN(const std::string source, CppSource(model));
  LANISTA_RETURN_IF_ERROR(job.files->Write(job.stem + ".h", source));
  return job.module.Save(job.files->Add(job.stem + ".weights.pt"));
}

absl::Status WriteTorchScript(const Job& job) {
  LANISTA_ASSIGN_OR_RETURN(const SourceModel model, job.Source(/*with_archives=*/false));
  const OpaqueLoader load = [&](const v1::OpaqueModule& opaque, const std::string& path) {
    return OpaqueWithWeights(model.graph, opaque, path, job.tensors);
  };
  LANISTA_ASSIGN_OR_RETURN(const torch::jit::Module script, ToTorchScript(model, job.tensors, load));
  script.save(job.files->Add(job.stem + ".pt"));
  return absl::OkStatus();
}

absl::Status WriteOnnx(const Job& job) {
  LANISTA_ASSIGN_OR_RETURN(const SourceModel model, job.Source(/*with_archives=*/false));
  const TensorReader read = [&](const std::string& name) -> absl::StatusOr<std::string> {
    const at::Tensor& tensor = job.tensors.at(name);
    return std::string(static_cast<const char*>(tensor.data_ptr()), tensor.nbytes());
  };
  LANISTA_ASSIGN_OR_RETURN(const std::string content, OnnxModel(model, read));
  return job.files->Write(job.stem + ".onnx", content);
}

const std::map<std::string, absl::Status (*)(const Job&)>& Formats() {
  static const auto* const formats = new std::map<std::string, absl::Status (*)(const Job&)>{
      {"cpp", WriteCpp}, {"onnx", WriteOnnx}, {"python", WritePython}, {"torchscript", WriteTorchScript}};
  return *formats;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> WriteModel(const ops::GraphModule& module, const std::string& format,
                                                    const std::string& out_stem,
                                                    const std::vector<at::Tensor>& examples) {
  const auto found = Formats().find(format);
  if (found == Formats().end()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "unknown format '", format,
        "'; known: ", absl::StrJoin(Formats(), ", ", [](std::string* out, const auto& item) { *out += item.first; })));
  }
  Files files;
  try {
    const std::map<std::string, at::Tensor> tensors = TensorsOf(module);
    const absl::Status written = found->second({module, out_stem, tensors, examples, &files});
    if (!written.ok()) return Annotate(written, absl::StrCat("format ", format));
  } catch (const c10::Error& error) {
    return absl::InternalError(absl::StrCat("format ", format, ": ", error.what_without_backtrace()));
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("format ", format, ": ", error.what()));
  }
  return files.Commit();
}

}  // namespace lanista::exporters
