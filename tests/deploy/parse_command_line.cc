// The command line of Lanista with nothing behind it, in place of `lanista` for tests of files that have commands in
// them. Prints its arguments, one a line; mistakes and exit codes are Lanista's.
#include <cstdio>
#include <variant>

#include "src/launcher/command_line.h"

int main(int argc, char** argv) {
  const auto parsed = lanista::ParseCommandLine(argc, argv);
  if (const auto* const end = std::get_if<lanista::CommandLineExit>(&parsed)) {
    std::fprintf(end->exit_code == 0 ? stdout : stderr, "%s\n", end->text.c_str());
    return end->exit_code;
  }
  for (int i = 1; i < argc; ++i) std::puts(argv[i]);
  return 0;
}
