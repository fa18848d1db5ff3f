// The command line `smalti`; its verbs are in src/driver/cli. `smalti tune` knows the kernel library's kernels by name.
#include "driver/cli/Cli.h"

#include "smalti/kernels/tunable.h"

int main(int argc, char** argv) { return smalti::cli::main(argc, argv, smalti::kernels::tunables()); }
