#include "src/exporters/common/source_names.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace lanista::exporters {
namespace {

std::set<std::string> Words(absl::string_view text) { return absl::StrSplit(text, ' '); }

}  // namespace

std::string ToIdentifier(absl::string_view text) {
  std::string identifier;
  for (const char c : text) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c))) {
      identifier += c;
    } else if (!identifier.empty() && identifier.back() != '_') {
      identifier += '_';
    }
  }
  while (!identifier.empty() && identifier.back() == '_') identifier.pop_back();
  if (identifier.empty()) return "value";
  if (absl::ascii_isdigit(static_cast<unsigned char>(identifier[0]))) identifier = absl::StrCat("m", identifier);
  return identifier;
}

std::string ToClassName(absl::string_view text) {
  const size_t dot = text.rfind('.');
  if (dot != absl::string_view::npos) text.remove_prefix(dot + 1);
  std::string name;
  bool upper = true;
  for (const char c : ToIdentifier(text)) {
    if (c == '_') {
      upper = true;
      continue;
    }
    name += upper ? absl::ascii_toupper(static_cast<unsigned char>(c)) : c;
    upper = false;
  }
  return name;
}

bool IsIdentifier(absl::string_view text) {
  if (text.empty() || absl::ascii_isdigit(static_cast<unsigned char>(text[0]))) return false;
  for (const char c : text) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '_') return false;
  }
  return true;
}

const std::set<std::string>& PythonKeywords() {
  static const auto* const names = new std::set<std::string>(
      Words("False None True and as assert async await break class continue def del elif else except finally for from "
            "global if import in is lambda nonlocal not or pass raise return try while with yield"));
  return *names;
}

const std::set<std::string>& PythonReserved() {
  static const auto* const names = [] {
    auto* const all = new std::set<std::string>(PythonKeywords());
    all->insert({"base64", "bool", "F", "float", "int", "io", "len", "list", "math", "nn", "self", "str", "super",
                 "torch", "tuple"});
    return all;
  }();
  return *names;
}

const std::set<std::string>& CppReserved() {
  static const auto* const names = new std::set<std::string>(
      Words("NULL alignas alignof and and_eq asm assert at auto bitand bitor bool break c10 case catch char char16_t "
            "char32_t class compl const const_cast constexpr continue decltype default delete do double dynamic_cast "
            "else enum explicit export extern false float for friend goto if inline int int64_t long mutable "
            "namespace new noexcept not not_eq nullptr operator or or_eq private protected public register "
            "reinterpret_cast return short signed sizeof static static_assert static_cast std struct switch template "
            "this thread_local throw torch true try typedef typeid typename union unsigned using virtual void "
            "volatile wchar_t while xor xor_eq"));
  return *names;
}

const std::set<std::string>& PythonModuleMembers() {
  static const auto* const names = new std::set<std::string>(
      Words("T_destination add_module apply bfloat16 buffers call_super_init children compile cpu cuda double "
            "dump_patches eval extra_repr float forward get_buffer get_extra_state get_parameter get_submodule half "
            "ipu load_state_dict modules mtia named_buffers named_children named_modules named_parameters parameters "
            "register_buffer register_module register_parameter requires_grad_ set_extra_state set_submodule "
            "share_memory state_dict to to_empty train training type xpu zero_grad"));
  return *names;
}

const std::set<std::string>& CppModuleMembers() {
  static const auto* const names = new std::set<std::string>(
      Words("Module apply as buffers children clone eval forward is_serializable is_training load load_weights "
            "modules name named_buffers named_children named_modules named_parameters parameters pretty_print "
            "register_buffer register_module register_parameter save shared_from_this to train unregister_module "
            "zero_grad"));
  return *names;
}

std::string NameScope::Take(const std::string& wish) {
  std::string name = wish;
  for (int number = 2; !taken_.insert(name).second; ++number) name = absl::StrCat(wish, "_", number);
  return name;
}

std::string NameScope::TakeClass(absl::string_view graph) {
  const size_t end = graph.find_last_not_of("0123456789");
  if (end != absl::string_view::npos && end > 0 && graph[end] == '_') graph = graph.substr(0, end);
  const std::string wish = ToClassName(graph);
  const bool digit = absl::ascii_isdigit(static_cast<unsigned char>(wish.back()));
  std::string name = wish;
  for (int number = 2; !taken_.insert(name).second; ++number) name = absl::StrCat(wish, digit ? "_" : "", number);
  return name;
}

}  // namespace lanista::exporters
