"""Static objects of functions have no destructors (base/Lasting.h): calls may run while the program ends."""

import re
import subprocess

import pytest

# Those of the command line; what tells the end of the program; resources of MLIR, whose destructors do nothing.
ALLOWED = re.compile(r"CLI::|_GLOBAL__sub_I|smalti::isAlive\(|::getEffects\(|smalti::mayChangeMemory\(")


@pytest.mark.parametrize("library", ["libsmalti.so", "libsmalti_kernels.so"])
def test_no_function_registers_a_destructor(bin_dir, library):
    code = subprocess.Popen(["objdump", "-d", "-C", "--no-show-raw-insn", bin_dir.parent / "lib" / library],
                            stdout=subprocess.PIPE, text=True)
    function, found = "", set()
    for line in code.stdout:
        if line.endswith(">:\n"):
            function = line.split(" <", 1)[1][:-3]
        elif "<__cxa_atexit@plt>" in line and not ALLOWED.search(function):
            found.add(function)
    assert code.wait() == 0 and function
    assert not found
