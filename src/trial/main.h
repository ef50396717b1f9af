// A user's own program: the whole command line plus what the program registers.
//
//   class Net : public lanista::nn::ModelSpace { ... };
//   LANISTA_REGISTER(model_space, "my_net", nn::MakeModelSpace<Net>);
//   int main(int argc, char** argv) { return lanista::Main(argc, argv); }
#ifndef LANISTA_SRC_TRIAL_MAIN_H_
#define LANISTA_SRC_TRIAL_MAIN_H_

namespace lanista {

// The command line of `lanista` (see docs/cli.md), or the trial process where the program was started as one by itself.
// Returns the exit status; where something could not be registered, stderr says why, and nothing is done. REQUIRES:
// called from main, once.
int Main(int argc, char** argv);

}  // namespace lanista

#endif  // LANISTA_SRC_TRIAL_MAIN_H_
