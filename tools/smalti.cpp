// The command line `smalti`; its verbs are in src/driver/cli.
#include "driver/cli/Cli.h"

int main(int argc, char** argv) { return smalti::cli::main(argc, argv); }
