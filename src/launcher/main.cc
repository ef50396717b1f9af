// lanista: the command line. Trials run in lanista-trial, which alone links LibTorch.
#include "src/launcher/launcher.h"

int main(int argc, char** argv) { return lanista::LauncherMain(argc, argv, {}); }
