# lit's configuration: every .mlir below is a test whose RUN lines use smalti-opt and FileCheck.
import os

import lit.formats

config.name = "smalti-ir"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir"]
config.test_source_root = os.path.dirname(__file__)
root = os.path.dirname(os.path.dirname(config.test_source_root))
bin_dir = os.environ.get("SMALTI_BIN_DIR", os.path.join(root, "build", "release", "bin"))
config.test_exec_root = os.path.join(os.path.dirname(bin_dir), "test", "ir")
config.environment["PATH"] = os.pathsep.join([bin_dir, "/usr/lib/llvm-22/bin", os.environ["PATH"]])
