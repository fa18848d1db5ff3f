"""Programs that are ended by Ctrl-C."""
import os
import signal
import subprocess
import sys


def errors_after_ctrl_c(program):
    """Starts a Python program, which prints "running", interrupts it, and returns what it then writes to stderr."""
    # Shells start commands in the background with SIGINT ignored, which children inherit.
    heed = lambda: signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}, preexec_fn=heed)
    assert process.stdout.readline() == "running\n"
    process.send_signal(signal.SIGINT)
    return process.communicate(timeout=60)[1]
