// Man pages of a program's commands.
#ifndef LANISTA_SRC_LAUNCHER_MAN_PAGE_H_
#define LANISTA_SRC_LAUNCHER_MAN_PAGE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "src/launcher/command_tree.h"

namespace lanista {

// The names of all pages: "lanista", "lanista-run", ...
std::vector<std::string> ManPageNames(const CommandTree& tree);

// A page (section 1, for man(1)), by its name. INVALID_ARGUMENT: there is none of this name; says which there are.
absl::StatusOr<std::string> ManPage(const CommandTree& tree, const std::string& name);

}  // namespace lanista

#endif  // LANISTA_SRC_LAUNCHER_MAN_PAGE_H_
