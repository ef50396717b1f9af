// The version of Lanista.
#ifndef LANISTA_SRC_BASE_VERSION_H_
#define LANISTA_SRC_BASE_VERSION_H_

namespace lanista {

// Semantic versioning; CHANGELOG.md says what changed.
inline constexpr char kVersion[] = "0.1.0";

}  // namespace lanista

#endif  // LANISTA_SRC_BASE_VERSION_H_
