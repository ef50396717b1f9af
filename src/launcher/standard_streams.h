// Standard input, output and error of the command line.
#ifndef LANISTA_SRC_LAUNCHER_STANDARD_STREAMS_H_
#define LANISTA_SRC_LAUNCHER_STANDARD_STREAMS_H_

namespace lanista {

// Opens standard streams that are closed (`lanista show latest >&-`) on /dev/null. Otherwise the next file that is
// opened would get such a stream's number, and the printed text. REQUIRES: nothing was opened yet.
void OpenClosedStandardStreams();

// Flushes stdout at the end of a program that would exit with `exit_code`, and returns the exit code to use. That is
// kExitFailed if `exit_code` says success but not all of the output could be written; the reason is printed to stderr.
// It is no failure if the reader of a pipe has ended (`| head -1`).
int CheckStandardOutput(int exit_code);

}  // namespace lanista

#endif  // LANISTA_SRC_LAUNCHER_STANDARD_STREAMS_H_
