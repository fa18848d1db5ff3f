"""`smalti time` of programs whose loops hold no kernel."""

import json
import subprocess

import pytest

LOOP = """module @m {
  func.func public @main(%arg0: tensor<1024x1024xf32>, %n: tensor<i32>) -> (tensor<1024x1024xf32>) {
    %z = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %limit = LIMIT
    %0:2 = stablehlo.while(%i = %z, %x = %arg0) : tensor<i32>, tensor<1024x1024xf32>
     cond {
      %t = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %t : tensor<i1>
    } do {
      BODY
      %2 = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %2, %1 : tensor<i32>, tensor<1024x1024xf32>
    }
    return %0#1 : tensor<1024x1024xf32>
  }
}
"""
PRODUCT = ("%1 = stablehlo.dot_general %x, %arg0, contracting_dims = [1] x [0] : "
           "(tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>")
INNER = """%6:2 = stablehlo.while(%k = %z, %y = %x) : tensor<i32>, tensor<1024x1024xf32>
       cond {
        %u = stablehlo.compare LT, %k, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %u : tensor<i1>
      } do {
        %4 = stablehlo.add %y, %arg0 : tensor<1024x1024xf32>
        %5 = stablehlo.add %k, %one : tensor<i32>
        stablehlo.return %5, %4 : tensor<i32>, tensor<1024x1024xf32>
      }
      %1 = stablehlo.negate %6#1 : tensor<1024x1024xf32>"""


@pytest.fixture
def time(smalti, tmp_path):
    def of(limit, body=PRODUCT, arguments=("--json",)):
        (tmp_path / "m.mlir").write_text(LOOP.replace("LIMIT", limit).replace("BODY", body))
        done = subprocess.run([smalti, "time", "m.mlir", "--chip", "v5e", *arguments], capture_output=True, text=True, cwd=tmp_path,
                              timeout=120)
        assert done.returncode == 0, done.stderr
        if "--json" not in arguments:
            return done.stdout
        (module,) = json.loads(done.stdout)["modules"]
        return module["chips"]["v5e"]
    return of


def constant(n):
    return f"stablehlo.constant dense<{n}> : tensor<i32>"


def test_iterations_are_counted(time):
    once = time(constant(1))
    assert once["ops"]["count"] == 1 and once["loops_counted_once"] == []
    for n in (0, 10, 1_000_000):
        many = time(constant(n))
        assert many["ops"]["count"] == n and many["loops_counted_once"] == []
        assert many["us"] == pytest.approx(n * once["us"])


def test_loops_in_loops(time):
    inner = time(constant(3), INNER)
    assert inner["ops"]["count"] == 3 * (3 + 1)


UNKNOWN = "stablehlo.add %n, %one : tensor<i32>"


def test_an_unknown_number_of_iterations_is_said(time):
    once = time(UNKNOWN)
    assert once["loops_counted_once"] == ["m.mlir:6:12"]
    assert once["us"] > time(constant(1))["us"]  # the counter may be in HBM
    lines = time(UNKNOWN, arguments=()).splitlines()
    assert lines[0].endswith("dominated by: ops around the kernels; 1 loop counted once")
    assert "note: how often the loop at m.mlir:6:12 runs is not known: one iteration is counted" in lines


def test_an_input_that_decides_can_be_given(time):
    known = time(UNKNOWN, arguments=("--assume", "1=9", "--json"))  # and the sum before the loop
    assert known["ops"]["count"] == 10 + 1 and known["loops_counted_once"] == []
