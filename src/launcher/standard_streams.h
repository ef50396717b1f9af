// Standard input, output and error of the command line.
#ifndef LANISTA_SRC_LAUNCHER_STANDARD_STREAMS_H_
#define LANISTA_SRC_LAUNCHER_STANDARD_STREAMS_H_

namespace lanista {

// Opens those that are closed (`lanista show latest >&-`) on /dev/null, so that no other file gets their numbers, and
// with them what is printed. Before anything is opened.
void OpenClosedStandardStreams();

// Flushes stdout at the end of a program that would exit with `exit_code`. Returns that, or, where not all that was
// printed could be written and the exit code says that all is well, kExitFailed; the reason is told on stderr. A reader
// who left (`| head -1`) is no failure.
int CheckStandardOutput(int exit_code);

}  // namespace lanista

#endif  // LANISTA_SRC_LAUNCHER_STANDARD_STREAMS_H_
