// Identifiers of generated source code.
#ifndef LANISTA_SRC_EXPORTERS_SOURCE_NAMES_H_
#define LANISTA_SRC_EXPORTERS_SOURCE_NAMES_H_

#include <set>
#include <string>

#include "absl/strings/string_view.h"

namespace lanista::exporters {

// Letters, digits and single underscores, not starting with a digit: "layer1.0-conv" -> "layer1_0_conv"; "" -> "value".
std::string ToIdentifier(absl::string_view text);

// ToIdentifier in CamelCase, of what stands after the last dot: "torchvision.basic_block" -> "BasicBlock".
std::string ToClassName(absl::string_view text);

// Whether `text` is an identifier of ASCII letters, digits and underscores. Keywords are.
bool IsIdentifier(absl::string_view text);

// Python's keywords, which TorchScript shares.
const std::set<std::string>& PythonKeywords();
// Keywords, and names that generated code uses itself: a name of the user's may not hide them.
const std::set<std::string>& PythonReserved();
const std::set<std::string>& CppReserved();
// What torch.nn.Module and torch::nn::Module have by themselves: an attribute must not be named so.
const std::set<std::string>& PythonModuleMembers();
const std::set<std::string>& CppModuleMembers();

// Names that are taken in one scope of the source.
class NameScope {
 public:
  explicit NameScope(std::set<std::string> taken) : taken_(std::move(taken)) {}

  // `wish`, or `wish` with a number; taken from now on.
  std::string Take(const std::string& wish);
  // A class for a graph; graphs of one class are numbered ("Block_2"), and so are classes: "Block", "Block2".
  std::string TakeClass(absl::string_view graph);
  bool IsTaken(const std::string& name) const { return taken_.count(name) > 0; }

 private:
  std::set<std::string> taken_;
};

}  // namespace lanista::exporters

#endif  // LANISTA_SRC_EXPORTERS_SOURCE_NAMES_H_
