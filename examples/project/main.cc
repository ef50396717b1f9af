// The command line of Lanista, which knows the components of this project, too.
#include "lanista/main.h"

int main(int argc, char** argv) { return lanista::Main(argc, argv); }
