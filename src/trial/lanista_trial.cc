// lanista-trial: the program that `lanista` starts as trial process.
#include "src/trial/main.h"

int main(int argc, char** argv) { return lanista::Main(argc, argv); }
