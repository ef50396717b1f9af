// Identifiers of generated source code.
#ifndef LANISTA_SRC_EXPORTERS_COMMON_SOURCE_NAMES_H_
#define LANISTA_SRC_EXPORTERS_COMMON_SOURCE_NAMES_H_

#include <set>
#include <string>

#include "absl/strings/string_view.h"

namespace lanista::exporters {

// Letters, digits and single underscores, not starting with a digit: "layer1.0-conv" -> "layer1_0_conv"; "" -> "value".
std::string ToIdentifier(absl::string_view text);

// The part after the last dot, as an identifier in CamelCase: "torchvision.basic_block" -> "BasicBlock".
std::string ToClassName(absl::string_view text);

// Whether `text` is an identifier of ASCII letters, digits and underscores. Keywords count as identifiers.
bool IsIdentifier(absl::string_view text);

// Python's keywords, which TorchScript shares.
const std::set<std::string>& PythonKeywords();
// Keywords, and names that generated code uses itself: a user's name must not hide them.
const std::set<std::string>& PythonReserved();
const std::set<std::string>& CppReserved();
// Members of torch.nn.Module and torch::nn::Module: an attribute must not have such a name.
const std::set<std::string>& PythonModuleMembers();
const std::set<std::string>& CppModuleMembers();

// The names that are taken in one scope of the source.
class NameScope {
 public:
  explicit NameScope(std::set<std::string> taken) : taken_(std::move(taken)) {}

  // Returns `wish`, or `wish` with a number, and takes that name.
  std::string Take(const std::string& wish);
  // The name of a graph's class. Graphs of one class are numbered ("Block_2"), and so are their classes: "Block",
  // "Block2".
  std::string TakeClass(absl::string_view graph);
  bool IsTaken(const std::string& name) const { return taken_.count(name) > 0; }

 private:
  std::set<std::string> taken_;
};

}  // namespace lanista::exporters

#endif  // LANISTA_SRC_EXPORTERS_COMMON_SOURCE_NAMES_H_
