// The files of examples/project, as they are built into the program (BUILD makes the list).
#ifndef LANISTA_SRC_LAUNCHER_PROJECT_TEMPLATES_H_
#define LANISTA_SRC_LAUNCHER_PROJECT_TEMPLATES_H_

#include <cstddef>

namespace lanista {

struct ProjectTemplate {
  // Without a folder: "main.cc".
  const char* name;
  // With words like @NAME@ to be replaced.
  const char* content;
};

extern const ProjectTemplate kProjectTemplates[];
extern const size_t kProjectTemplateCount;

}  // namespace lanista

#endif  // LANISTA_SRC_LAUNCHER_PROJECT_TEMPLATES_H_
