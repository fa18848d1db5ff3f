"""The language server, driven as an editor does: a module with a mistake is opened, the diagnostic comes back."""

import json
import subprocess

MODULE = """func.func @kernel(%x: memref<8x128xf32, #tpu.memory_space<vmem>>) {
  %rows = tpu.iota {dimensions = array<i32: 2>} : vector<8x128xi32>
  return
}
"""
URI = "file:///kernel.mlir"


def frame(message):
    body = json.dumps({"jsonrpc": "2.0"} | message).encode()
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


def messages(output):
    """All messages of a server's output."""
    while output:
        head, _, output = output.partition(b"\r\n\r\n")
        length = int(head.split(b"Content-Length:")[1].split(b"\r\n")[0])
        yield json.loads(output[:length])
        output = output[length:]


def diagnostics_of(bin_dir, text, *changes):
    """What is published when a document is opened, and after each change."""
    document = {"uri": URI, "languageId": "mlir", "version": 1, "text": text}
    session = [
        {"id": 0, "method": "initialize", "params": {"processId": None, "rootUri": None, "capabilities": {}}},
        {"method": "initialized", "params": {}},
        {"method": "textDocument/didOpen", "params": {"textDocument": document}},
        *({"method": "textDocument/didChange", "params": {"textDocument": {"uri": URI, "version": 2 + i},
                                                          "contentChanges": [{"text": change}]}}
          for i, change in enumerate(changes)),
        {"id": 1, "method": "shutdown"},
        {"method": "exit"},
    ]
    done = subprocess.run([bin_dir / "smalti-lsp-server"], input=b"".join(map(frame, session)), capture_output=True,
                          timeout=60)
    replies = list(messages(done.stdout))
    assert done.returncode == 0, done.stderr
    assert any(r.get("id") == 0 and "capabilities" in r["result"] for r in replies)
    published = [r["params"] for r in replies if r.get("method") == "textDocument/publishDiagnostics"]
    assert [p["uri"] for p in published] == [URI] * (1 + len(changes))
    return [p["diagnostics"] for p in published]


def test_a_mistake_is_published_at_its_place(bin_dir):
    ((diagnostic,),) = diagnostics_of(bin_dir, MODULE)
    assert "'tpu.iota' op needs a dimension below the rank 2, has 2" in diagnostic["message"]
    assert diagnostic["range"]["start"] == {"line": 1, "character": 10}
    assert diagnostic["severity"] == 1


def test_a_good_module_has_no_diagnostics(bin_dir):
    assert diagnostics_of(bin_dir, MODULE.replace("i32: 2>", "i32: 1>")) == [[]]


DEEP = "module {\n" * 100_000  # MLIR's parser recurses
TOO_DEEP = {"range": {"start": {"line": 128, "character": 7}, "end": {"line": 128, "character": 7}}, "severity": 1, "source": "smalti",
            "code": "SM2201", "message": "brackets are nested too deep: 128 levels at most"}


def test_text_that_is_nested_too_deep_is_a_diagnostic(bin_dir):
    """Other limits of modules are the same rule."""
    good = MODULE.replace("i32: 2>", "i32: 1>")
    assert diagnostics_of(bin_dir, DEEP) == [[TOO_DEEP]]
    *others, last = diagnostics_of(bin_dir, good, DEEP, good)
    assert last == [] and others[1] in ([TOO_DEEP], [])  # of a version that is already replaced
    (long,) = diagnostics_of(bin_dir, "#a = " + "9" * 1000)
    assert [d["message"] for d in long] == ["a number has too many digits: 40 at most"]


def test_a_message_that_is_nested_too_deep_is_ignored(bin_dir):
    session = b"Content-Length: 200000\r\n\r\n" + b"[" * 200_000 + frame({"id": 0, "method": "initialize", "params": {
        "processId": None, "rootUri": None, "capabilities": {}}}) + frame({"id": 1, "method": "shutdown"}) + frame({"method": "exit"})
    done = subprocess.run([bin_dir / "smalti-lsp-server"], input=session, capture_output=True, timeout=60, check=False)
    assert (done.returncode, [m["id"] for m in messages(done.stdout)]) == (0, [0, 1])
    assert "smalti-lsp-server: a message is nested too deep and is ignored" in done.stderr.decode()
