"""The ```console blocks of documents: their commands are run, and their output must be the one that is printed there.

Lines beginning with `$ ` are commands (bash, in a copy of a folder of the repository), the lines after one its output:
standard output and error as they come. Times ("0.25 s") count as equal.

    python test/python/console_examples.py docs/errors/SM1001.md …     writes the outputs of now into documents
"""

import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


@dataclasses.dataclass
class Example:
    document: str
    line: int
    folder: str | None
    commands: list  # (command, expected output)

    def __str__(self):
        return f"{self.document}:{self.line}"


def examples_of(path, folder=None):
    """All blocks of a document. `<!-- folder: X -->` before a block names the folder that its commands run in."""
    found, block, start = [], None, 0
    for number, line in enumerate(path.read_text().splitlines(), 1):
        comment = re.match(r"<!-- folder: (\S+) -->", line)
        if comment:
            folder = comment[1]
        elif line == "```console" and block is None:
            block, start = [], number
        elif line == "```" and block is not None:
            commands = []
            for text in block:
                if text.startswith("$ "):
                    commands.append((text[2:], []))
                elif commands:
                    commands[-1][1].append(text)
            if commands:
                found.append(Example(str(path.relative_to(ROOT)), start, folder, commands))
            block = None
        elif block is not None:
            block.append(line)
    return found


def without_times(text):
    return re.sub(r"\b\d+(\.\d+)? (s|ms|min)\b", "_ s", text)


# Large things that the examples of a document need: links of these names stand where its commands run.
LINKS = {"docs/minilm.md": {"model": ROOT / "build/minilm-model"}}

# Devices for the documents that run programs on some: the plugin of test/pjrt.
VARIABLES = {"docs/tpu.md": {"TPU_LIBRARY_PATH": "{lib}/libsmalti_fake_pjrt.so", "FAKE_PJRT_DEVICES": "4",
                             "FAKE_PJRT_NUMERICS": "tpu"}}


# As root, on fewer cores than processes, without a network.
MPI_IN_A_CONTAINER = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                      "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_mpi_yield_when_idle": "1",
                      "OMPI_MCA_btl": "self,vader,tcp"}


def outputs_of(example, bin_dir, scratch):
    """What the commands of an example print now; they run in a copy, so that they may write."""
    place = scratch / "here"
    if example.folder and (ROOT / example.folder).is_dir():
        shutil.copytree(ROOT / example.folder, place)
    else:
        place.mkdir()
    for name, target in LINKS.get(example.document, {}).items():
        (place / name).symlink_to(target)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("SMALTI_")}
    environment |= {"PATH": f"{bin_dir}:{environment['PATH']}", "NO_COLOR": "1", "LC_ALL": "C.UTF-8", **MPI_IN_A_CONTAINER}
    for name, value in VARIABLES.get(example.document, {}).items():
        environment[name] = value.format(lib=pathlib.Path(bin_dir).parent / "lib")
    outputs = []
    for command, _ in example.commands:
        done = subprocess.run(["bash", "-c", command], cwd=place, env=environment, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, timeout=120)
        outputs.append("\n".join(line.rstrip() for line in done.stdout.rstrip("\n").split("\n")))
    return outputs


def run_example(example, bin_dir, scratch):
    for (command, expected), got in zip(example.commands, outputs_of(example, bin_dir, scratch)):
        wanted = "\n".join(line.rstrip() for line in expected).rstrip("\n")
        assert without_times(got) == without_times(wanted), f"{example}: $ {command}\n{got}"


def update(path, folder=None):
    """Writes the outputs of now into a document."""
    lines = path.read_text().splitlines()
    for example in reversed(examples_of(path, folder)):
        end = lines.index("```", example.line)
        with tempfile.TemporaryDirectory() as scratch:
            outputs = outputs_of(example, ROOT / "build/release/bin", pathlib.Path(scratch))
        block = []
        for (command, _), output in zip(example.commands, outputs):
            block += ["$ " + command, *([output] if output else [])]
        lines[example.line:end] = "\n".join(block).split("\n")
    path.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        document = pathlib.Path(name).resolve()
        update(document, f"test/errors/{document.stem}" if document.parent.name == "errors" else None)
