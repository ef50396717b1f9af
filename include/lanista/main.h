// The beginning of a program that uses Lanista.
//
//   int main(int argc, char** argv) {
//     lanista::RegisterSpace<Net>("net");          // lanista/nn.h; likewise evaluators, data sets, strategies, ...
//     lanista::Init(argc, argv);
//     ...                                          // lanista/experiment.h, lanista/client.h
//   }
//
// or, for a program that has the command line of `lanista` and nothing else (docs/cli.md):
//
//   int main(int argc, char** argv) { return lanista::Main(argc, argv); }
//
// Trials run in processes of their own, so that a model that crashes ends its trial and nothing else. Such a process is
// this program, started again: up to Init it does what main does, in Init it serves trials, and it never returns from
// there. So what main does before Init happens in each trial process, and should be registrations and nothing else.
#ifndef LANISTA_INCLUDE_LANISTA_MAIN_H_
#define LANISTA_INCLUDE_LANISTA_MAIN_H_

#include "src/trial/main.h"

namespace lanista {

// Makes this program ready for experiments. In a trial process of this program it serves trials until that ends, and
// does not return. An Experiment of a program that has not called it does not start, and says so; the same is true
// where something could not be registered, or is registered later. A second call does nothing. Main needs no Init.
//
// REQUIRES: called from main, with its arguments, before threads are started.
void Init(int argc, char** argv);

}  // namespace lanista

#endif  // LANISTA_INCLUDE_LANISTA_MAIN_H_
