#include "src/exporters/graph_formats_torch.h"

#include <c10/util/Exception.h>
#include <torch/csrc/jit/serialization/export.h>

#include <functional>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/output_files.h"
#include "src/base/status.h"
#include "src/exporters/common/formats.h"
#include "src/exporters/cpp/source.h"
#include "src/exporters/model_files_torch.h"
#include "src/exporters/onnx/model.h"
#include "src/exporters/python/source.h"
#include "src/exporters/torchscript/writer_torch.h"
#include "src/runtime/graph_module_torch.h"

namespace lanista::exporters {
namespace {

// The arguments of all writers.
struct Job {
  const runtime::GraphModule& module;
  const std::string& stem;
  const std::map<std::string, at::Tensor>& tensors;
  const std::vector<at::Tensor>& examples;
  const std::optional<v1::DataSpec>& data;
  OutputFiles* files;

  // STEM without its folder.
  std::string Name() const { return stem.substr(stem.rfind('/') + 1); }

  absl::StatusOr<SourceModel> Source(bool with_archives) const {
    LANISTA_ASSIGN_OR_RETURN(SourceModel model, ToSourceModel(module, tensors, examples, Name(), with_archives));
    model.data = data;
    return model;
  }
};

absl::Status WritePython(const Job& job) {
  LANISTA_ASSIGN_OR_RETURN(const SourceModel model, job.Source(/*with_archives=*/true));
  LANISTA_ASSIGN_OR_RETURN(const std::string source, PythonSource(model));
  LANISTA_RETURN_IF_ERROR(job.files->Write(job.stem + ".py", source));
  LANISTA_ASSIGN_OR_RETURN(OutputFile* const weights, job.files->Add(job.stem + ".pt"));
  return job.module.Save(weights);
}

absl::Status WriteCpp(const Job& job) {
  LANISTA_ASSIGN_OR_RETURN(const SourceModel model, job.Source(/*with_archives=*/true));
  LANISTA_ASSIGN_OR_RETURN(const std::string source, CppSource(model));
  LANISTA_RETURN_IF_ERROR(job.files->Write(job.stem + ".h", source));
  LANISTA_ASSIGN_OR_RETURN(OutputFile* const weights, job.files->Add(job.stem + ".weights.pt"));
  return job.module.Save(weights);
}

absl::Status WriteTorchScript(const Job& job) {
  LANISTA_ASSIGN_OR_RETURN(const SourceModel model, job.Source(/*with_archives=*/false));
  const OpaqueLoader load = [&](const v1::OpaqueModule& opaque, const std::string& path) {
    return OpaqueWithWeights(model.graph, opaque, path, job.tensors);
  };
  LANISTA_ASSIGN_OR_RETURN(const torch::jit::Module script, ToTorchScript(model, job.tensors, load));
  LANISTA_ASSIGN_OR_RETURN(OutputFile* const file, job.files->Add(job.stem + ".pt"));
  // LibTorch's writer throws in its destructor if it learns of an error, so errors are reported by Commit.
  const auto write = [file](const void* bytes, size_t count) {
    file->Write(bytes, count);
    return count;
  };
  // CheckReplaceable reads the mark. LibTorch drops it where it saves the model anew.
  torch::jit::ExportModule(script, write, {{"written_by", "TorchScript, written by Lanista"}});
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

const std::map<std::string, absl::Status (*)(const Job&)>& Writers() {
  static const auto* const writers = new std::map<std::string, absl::Status (*)(const Job&)>{
      {"cpp", WriteCpp}, {"onnx", WriteOnnx}, {"python", WritePython}, {"torchscript", WriteTorchScript}};
  return *writers;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> WriteModel(const runtime::GraphModule& module, const std::string& format,
                                                    const std::string& out_stem,
                                                    const std::vector<at::Tensor>& examples,
                                                    std::vector<std::string> inputs,
                                                    const std::optional<v1::DataSpec>& data) {
  const auto found = Writers().find(format);
  if (found == Writers().end()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "unknown format '", format,
        "'; known: ", absl::StrJoin(Writers(), ", ", [](std::string* out, const auto& item) { *out += item.first; })));
  }
  LANISTA_RETURN_IF_ERROR(CheckReplaceable(format, out_stem));
  for (const v1::Archive& archive : module.graph().archives()) inputs.push_back(archive.path());
  OutputFiles files(std::move(inputs));
  try {
    const std::map<std::string, at::Tensor> tensors = TensorsOf(module);
    const absl::Status written = found->second({module, out_stem, tensors, examples, data, &files});
    if (!written.ok()) return Annotate(written, absl::StrCat("format ", format));
  } catch (const c10::Error& error) {
    return absl::InternalError(absl::StrCat("format ", format, ": ", error.what_without_backtrace()));
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("format ", format, ": ", error.what()));
  }
  return files.Commit();
}

}  // namespace lanista::exporters
