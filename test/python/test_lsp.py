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


def diagnostics_of(bin_dir, text):
    document = {"uri": URI, "languageId": "mlir", "version": 1, "text": text}
    session = [
        {"id": 0, "method": "initialize", "params": {"processId": None, "rootUri": None, "capabilities": {}}},
        {"method": "initialized", "params": {}},
        {"method": "textDocument/didOpen", "params": {"textDocument": document}},
        {"id": 1, "method": "shutdown"},
        {"method": "exit"},
    ]
    done = subprocess.run([bin_dir / "smalti-lsp-server"], input=b"".join(map(frame, session)), capture_output=True,
                          timeout=60)
    replies = list(messages(done.stdout))
    assert done.returncode == 0, done.stderr
    assert any(r.get("id") == 0 and "capabilities" in r["result"] for r in replies)
    published = [r["params"] for r in replies if r.get("method") == "textDocument/publishDiagnostics"]
    assert [p["uri"] for p in published] == [URI]
    return published[0]["diagnostics"]


def test_a_mistake_is_published_at_its_place(bin_dir):
    (diagnostic,) = diagnostics_of(bin_dir, MODULE)
    assert "'tpu.iota' op needs a dimension below the rank 2, has 2" in diagnostic["message"]
    assert diagnostic["range"]["start"] == {"line": 1, "character": 10}
    assert diagnostic["severity"] == 1


def test_a_good_module_has_no_diagnostics(bin_dir):
    assert diagnostics_of(bin_dir, MODULE.replace("i32: 2>", "i32: 1>")) == []
