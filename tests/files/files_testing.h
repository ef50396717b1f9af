// Files on disk for tests of what travels.
#ifndef LANISTA_TESTS_FILES_FILES_TESTING_H_
#define LANISTA_TESTS_FILES_FILES_TESTING_H_

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"

namespace lanista {

// An empty folder of this test's own.
inline std::string FreshFolder() {
  static std::atomic<int> number{0};
  const std::string temp = std::filesystem::canonical(::testing::TempDir()).string();
  const std::string folder = absl::StrCat(temp, "/files_test_", ++number);
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

// Makes a file, with the folders around it, and returns its path.
inline std::string MakeFile(const std::string& path, const std::string& content) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

inline std::string Content(const std::string& path) {
  std::ostringstream content;
  content << std::ifstream(path, std::ios::binary).rdbuf();
  return content.str();
}

}  // namespace lanista

#endif  // LANISTA_TESTS_FILES_FILES_TESTING_H_
