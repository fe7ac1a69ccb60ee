"""Ways in which a second index gets beside the pick, each as files, variables and words.

`WHEELS`, `CORP` and `EVIL` stand for the wheel host's page of the picked backend, an index of the user's own, and one
that has builds of the family with a higher build tag.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

WHEELS = "https://download.pytorch.org/whl/cu126"


class Attack(NamedTuple):
    """What is put where, and what `torchpick install` is asked; `says`: part of what a refusal must say."""

    name: str
    files: Mapping[str, str] = {}
    environ: Mapping[str, str] = {}
    words: tuple[str, ...] = ("-r", "r.txt")
    says: str = ""
    folder: str = "."


def _lines(name: str, text: str, says: str = "") -> Attack:
    return Attack(name, {"r.txt": f"torch\nnumpy\n{text}\n"}, says=says)


SPELLINGS = {
    "plain": WHEELS,
    "upper case": "HTTPS://Download.PyTorch.Org/whl/cu126",
    "port": "https://download.pytorch.org:443/whl/cu126",
    "user": "https://me:pass@download.pytorch.org/whl/cu126",
    "user with at": "https://me:p%40ss@download.pytorch.org/whl/cu126",
    "trailing dot": "https://download.pytorch.org./whl/cu126",
    "escaped host": "https://download%2Epytorch.org/whl/cu126",
    "escaped letter": "https://%64ownload.pytorch.org/whl/cu126",
    "ideographic stop": "https://download.pytorch\u3002org/whl/cu126",
    "wide letter": "https://\uff44ownload.pytorch.org/whl/cu126",
    "soft hyphen": "https://down\u00adload.pytorch.org/whl/cu126",
    "no slashes": "https:download.pytorch.org/whl/cu126",
    "many slashes": "https:////download.pytorch.org/whl/cu126",
    "dots in the path": "https://download.pytorch.org/whl/../whl/cu126",
    "other name": "https://download-r2.pytorch.org/whl/cu126",
    "backend as a fragment": "https://download.pytorch.org/whl/cu126/#x",
    "query": "https://download.pytorch.org/whl/cu126?x=CORP",
}

IN_FILES = (
    *(_lines(f"extra index, {name}", f"--extra-index-url {url}") for name, url in SPELLINGS.items()),
    *(_lines(f"index, {name}", f"-i {url}") for name, url in SPELLINGS.items()),
    _lines("find links", f"--find-links {WHEELS}/numpy/"),
    _lines("find links, short", f"-f{WHEELS}/numpy/"),
    _lines("abbreviation", f"--extra-index {WHEELS}"),
    _lines("shorter abbreviation", f"--ext={WHEELS}"),
    _lines("abbreviated index", f"--ind {WHEELS}"),
    _lines("abbreviated links", f"--fi {WHEELS}/numpy/"),
    _lines("old name", f"--pypi-url {WHEELS}"),
    _lines("several on one line", f"--index-url CORP --extra-index-url {WHEELS}"),
    _lines("several on one line, the other way round", f"--extra-index-url {WHEELS} --index-url CORP"),
    _lines("behind a switch", f"--prefer-binary --extra-index-url {WHEELS}"),
    _lines("quoted", f"--extra-index-url '{WHEELS}'"),
    _lines("quoted option", f'"--extra-index-url" {WHEELS}', says="r.txt line 3"),
    _lines("half quoted", "--extra-index-url 'https://download.pytorch'.org/whl/cu126"),
    _lines("backslash", "--extra-index-url https://download.pytorch\\.org/whl/cu126"),
    _lines("unclosed quote", f"--extra-index-url '{WHEELS}", says="r.txt line 3"),
    _lines("continued", f"--extra-index-url \\\n  {WHEELS}"),
    _lines("continued in the option", f"--extra-\\\nindex-url {WHEELS}"),
    _lines("continued in the host", "--extra-index-url https://download.pyt\\\norch.org/whl/cu126"),
    _lines("continued after a comment's backslash", f"# all well \\\n--extra-index-url {WHEELS}"),
    _lines("indented", f"    --extra-index-url {WHEELS}"),
    _lines("tab", f"--extra-index-url\t{WHEELS}"),
    _lines("line separator", f"# harmless\u2028--extra-index-url {WHEELS}"),
    _lines("form feed", f"# harmless\x0c--extra-index-url {WHEELS}"),
    _lines("carriage return", f"numpy\r--extra-index-url {WHEELS}\r"),
    _lines("on a requirement's line", f"filelock --extra-index-url {WHEELS}"),
    _lines("behind an editable", f"-e . --extra-index-url {WHEELS}", says="r.txt"),
    _lines("after two dashes", f"--pre -- --extra-index-url {WHEELS}"),
    _lines("in doubt", "--con c.txt", says="r.txt line 3"),
    Attack(
        "variable in the host",
        {"r.txt": "torch\nnumpy\n--extra-index-url https://${OUR_HOST}/whl/cu126\n"},
        {"OUR_HOST": "download.pytorch.org"},
    ),
    Attack(
        "variable with the option",
        {"r.txt": "torch\nnumpy\n--pre ${MORE}\n"},
        {"MORE": f"--extra-index-url {WHEELS}"},
    ),
    Attack("nested", {"r.txt": "torch\n-r more.txt\n", "more.txt": f"numpy\n--extra-index-url {WHEELS}\n"}),
    Attack("nested constraints", {"r.txt": "torch\nnumpy\n-c more.txt\n", "more.txt": f"--extra-index-url {WHEELS}\n"}),
    Attack("nested, abbreviated", {"r.txt": "torch\nnumpy\n--requirem more.txt\n", "more.txt": f"--ext {WHEELS}\n"}, says="r.txt line 3"),  # noqa: E501 # one attack a line
    Attack(
        "nested in a circle",
        {"r.txt": f"torch\n--extra-index-url {WHEELS}\n-r more.txt\n", "more.txt": "numpy\n-r r.txt\n"},
    ),
    Attack(
        "in a folder below",
        {"r.txt": "torch\n-r sub/more.txt\n", "sub/more.txt": "numpy\n-r x.txt\n", "sub/x.txt": f"-i {WHEELS}\n"},
    ),
    Attack("a file URL", {"r.txt": "torch\n-r FILE/more.txt\n", "more.txt": f"numpy\n--extra-index-url {WHEELS}\n"}),
    Attack("a constraint that is named", {"c.txt": f"--extra-index-url {WHEELS}\n"}, words=("torch", "numpy", "-c", "c.txt")),  # noqa: E501 # one attack a line
    Attack("remote file", {"r.txt": "torch\n-r REMOTE/wheels.txt\n"}),
    Attack("remote file that is named", words=("torch", "-r", "REMOTE/wheels.txt")),
    Attack("remote constraints", {"r.txt": "torch\nnumpy\n-c REMOTE/limits.txt\n"}),
    Attack("remote file that is not there", words=("torch", "-r", "REMOTE/none.txt"), says="none.txt"),
    Attack(
        "UTF-7",
        {"r.txt": f"# coding: utf-7\ntorch\nnumpy\n+AC0ALQ-extra-index-url {WHEELS}\n"},
        says="r.txt",
    ),
)  # fmt: skip

PLAIN = ("torch", "numpy")
IN_SETTINGS = (
    Attack("PIP_EXTRA_INDEX_URL", environ={"PIP_EXTRA_INDEX_URL": WHEELS}, words=PLAIN),
    Attack("PIP_extra_index_url", environ={"PIP_extra_index_url": WHEELS}, words=PLAIN),
    Attack("PIP_PYPI_URL", environ={"PIP_PYPI_URL": WHEELS}, words=PLAIN),
    Attack("PIP_FIND_LINKS", environ={"PIP_FIND_LINKS": f"{WHEELS}/numpy/"}, words=PLAIN),
    Attack("PIP_CONSTRAINT", {"c.txt": f"--extra-index-url {WHEELS}\n"}, {"PIP_CONSTRAINT": "c.txt"}, PLAIN),
    Attack("PIP_CONSTRAINT, remote", {}, {"PIP_CONSTRAINT": "REMOTE/limits.txt"}, PLAIN),
    Attack("PIP_REQUIREMENT", {"c.txt": f"numpy\n--extra-index {WHEELS}\n"}, {"PIP_REQUIREMENT": "c.txt"}, PLAIN),
    Attack(
        "PIP_REQUIREMENT, nested",
        {"c.txt": "-r d.txt\n", "d.txt": f"numpy\n-f {WHEELS}/numpy/\n"},
        {"PIP_REQUIREMENT": "c.txt"},
        PLAIN,
    ),
    Attack("UV_CONSTRAINT", {"c.txt": f"--extra-index-url {WHEELS}\n"}, {"UV_CONSTRAINT": "c.txt"}, PLAIN),
    Attack("UV_OVERRIDE", {"c.txt": f"--extra-index-url {WHEELS}\nnumpy\n"}, {"UV_OVERRIDE": "c.txt"}, PLAIN),
    Attack("UV_OVERRIDE of torch", {"c.txt": "torch==2.15.0\n"}, {"UV_OVERRIDE": "c.txt"}, PLAIN),
    Attack("UV_BUILD_CONSTRAINT", {"c.txt": f"-i {WHEELS}\n"}, {"UV_BUILD_CONSTRAINT": "c.txt"}, PLAIN),
    Attack("UV_INDEX", environ={"UV_INDEX": f"x.y={WHEELS}"}, words=PLAIN),
    Attack("UV_EXTRA_INDEX_URL", environ={"UV_EXTRA_INDEX_URL": SPELLINGS["escaped host"]}, words=PLAIN),
    Attack("UV_FIND_LINKS", environ={"UV_FIND_LINKS": f"{WHEELS}/numpy/"}, words=PLAIN),
    Attack("UV_TORCH_BACKEND", environ={"UV_TORCH_BACKEND": "cu130"}, words=PLAIN),
    Attack("pip.conf", {"HOME/.config/pip/pip.conf": f"[install]\nextra_index_url = {WHEELS}\n"}, {}, PLAIN),
    Attack("pip.conf, old name", {"HOME/.config/pip/pip.conf": f"[global]\npypi-url = {WHEELS}\n"}, {}, PLAIN),
    Attack("pip.conf, links", {"HOME/.pip/pip.conf": f"[global]\n--Find-Links: {WHEELS}/numpy/\n"}, {}, PLAIN),
    Attack(
        "pip.conf, constraint",
        {"HOME/.config/pip/pip.conf": "[install]\nconstraint = HERE/c.txt\n", "c.txt": f"--extra-index-url {WHEELS}\n"},
        {},
        PLAIN,
    ),
    Attack("odd table name", {"pyproject.toml": f'[ tool . uv ]\nextra-index-url = ["{WHEELS}"]\n'}, {}, PLAIN),
    Attack("quoted table name", {"pyproject.toml": f'["tool"."uv"]\nextra-index-url = ["{WHEELS}"]\n'}, {}, PLAIN),
    Attack("escaped table name", {"pyproject.toml": f'["tool"."\\u0075v"]\nindex-url = "{WHEELS}"\n'}, {}, PLAIN),
    Attack("inline table", {"pyproject.toml": f'tool = {{ uv = {{ index-url = "{WHEELS}" }} }}\n'}, {}, PLAIN),
    Attack("dotted keys", {"pyproject.toml": f'tool.uv.pip.extra-index-url = ["{WHEELS}"]\n'}, {}, PLAIN),
    Attack("array of tables", {"pyproject.toml": f'[[tool.uv.index]]\nurl = "{WHEELS}"\n'}, {}, PLAIN),
    Attack("inline array", {"pyproject.toml": f'[tool.uv]\nindex = [{{ url = "{WHEELS}", default = true }}]\n'}, {}, PLAIN),  # noqa: E501 # one attack a line
    Attack("uv.toml", {"uv.toml": f'find-links = ["{WHEELS}/numpy/"]\n'}, {}, PLAIN),
    Attack("uv.toml, escaped", {"uv.toml": '"extra-\\u0069ndex-url" = ["https:\\u002f/download.pytorch.org/whl/cu126"]\n'}, {}, PLAIN),  # noqa: E501 # one attack a line
    Attack("the user's uv.toml", {"HOME/.config/uv/uv.toml": f'[[index]]\nurl = "{WHEELS}"\n'}, {}, PLAIN),
    Attack("UV_CONFIG_FILE", {"x.toml": f'extra-index-url = ["{WHEELS}"]\n'}, {"UV_CONFIG_FILE": "x.toml"}, PLAIN),
)  # fmt: skip

BEHIND_THE_DASHES = (
    Attack("an index behind the dashes", words=(*PLAIN, "--", "--extra-index-url", WHEELS)),
    Attack("in one word", words=(*PLAIN, "--", f"--extra-index-url={WHEELS}")),
    Attack("in two letters", words=(*PLAIN, "--", f"-i{WHEELS}")),
    Attack("with a name", words=(*PLAIN, "--", f"--index=a.b={WHEELS}")),
    Attack(
        "in a file", {"x.txt": f"numpy\n--ext {WHEELS}\n"}, words=(*PLAIN, "--", "-r", "x.txt"), says="after `--`"
    ),
    Attack(
        "in a file's file",
        {"x.txt": "-r y.txt\n", "y.txt": f"-i {WHEELS}\n"},
        words=(*PLAIN, "--", "--requirement=x.txt"),
        says="after `--`",
    ),
    Attack(
        "in constraints",
        {"x.txt": f"--extra-index-url {WHEELS}\n"},
        words=(*PLAIN, "--", "-cx.txt"),
        says="after `--`",
    ),
)  # fmt: skip

# Another index that has the family, with a build tag that sorts before no tag.
OTHER_SUPPLIERS = (
    Attack("build tag, extra index", {"r.txt": "torch\nnumpy\n--extra-index-url EVIL\n"}),
    Attack("build tag, index", {"r.txt": "torch\nnumpy\n--index-url EVIL\n"}),
    Attack("build tag, links", {"r.txt": "torch\nnumpy\n--find-links EVILtorch/\n"}),
    Attack("build tag, PIP_EXTRA_INDEX_URL", environ={"PIP_EXTRA_INDEX_URL": "EVIL"}, words=PLAIN),
    Attack("build tag, PIP_FIND_LINKS", environ={"PIP_FIND_LINKS": "EVILtorch/"}, words=PLAIN),
    Attack("build tag, UV_INDEX", environ={"UV_INDEX": "EVIL"}, words=PLAIN),
    Attack("build tag, UV_FIND_LINKS", environ={"UV_FIND_LINKS": "EVILtorch/"}, words=PLAIN),
    Attack("build tag of a companion", environ={"UV_INDEX": "EVIL", "PIP_EXTRA_INDEX_URL": "EVIL"}, words=("torchvision",)),  # noqa: E501 # one attack a line
    Attack("build tag, behind the dashes", words=(*PLAIN, "--", "--extra-index-url", "EVIL")),
    Attack("build tag, links behind the dashes", words=(*PLAIN, "--", "--find-links", "EVILtorch/")),
)  # fmt: skip

# Another file of the very version, named by its address where something binds the installer unasked.
BAD = "torch @ BADWHEEL"
LIMIT = {"c.txt": f"{BAD}\n"}
OTHER = 'override-dependencies = ["torch==2.15.0"]\n'
OVERRIDE = f'override-dependencies = ["{BAD}"]\n'
SOURCE = '[tool.uv.sources]\ntorch = { url = "BADWHEEL" }\n'
BY_ADDRESS = (
    Attack("address, constraint", LIMIT, words=(*PLAIN, "-c", "c.txt"), says="c.txt line 1"),
    Attack("address, constraint of a file", {"r.txt": "torch\nnumpy\n-c c.txt\n", **LIMIT}, says="c.txt line 1"),
    Attack("address, UV_CONSTRAINT", LIMIT, {"UV_CONSTRAINT": "c.txt"}, PLAIN, says="UV_CONSTRAINT: c.txt line 1"),
    Attack("address, PIP_CONSTRAINT", LIMIT, {"PIP_CONSTRAINT": "c.txt"}, PLAIN, says="PIP_CONSTRAINT: c.txt line 1"),
    Attack("address, the host's layout", {"c.txt": "torch @ LAYOUT\n"}, words=(*PLAIN, "-c", "c.txt"), says="leads"),
    Attack("address, UV_OVERRIDE", LIMIT, {"UV_OVERRIDE": "c.txt"}, PLAIN, says="c.txt line 1"),
    Attack(
        "address, constraint-dependencies",
        {"pyproject.toml": f'[tool.uv]\nconstraint-dependencies = ["{BAD}"]\n'}, {}, PLAIN,
        says="pyproject.toml constraint-dependencies leads torch to",
    ),
    Attack(
        "address, override-dependencies", {"pyproject.toml": f"[tool.uv]\n{OVERRIDE}"}, {}, PLAIN,
        says="pyproject.toml override-dependencies leads torch to",
    ),
    Attack("address, uv.toml", {"uv.toml": OVERRIDE}, {}, PLAIN, says="uv.toml override-dependencies"),
    Attack("address, torch alone", {"uv.toml": OVERRIDE}, {}, ("torch",), says="uv.toml override-dependencies"),
    Attack("address, sources", {"pyproject.toml": f'[project]\nname = "x"\nversion = "1"\n{SOURCE}'}, {}, PLAIN),
    Attack(
        "address, sources of an override",
        {"pyproject.toml": f'[tool.uv]\noverride-dependencies = ["torch"]\n{SOURCE}'}, {}, PLAIN,
    ),
    Attack("address behind the dashes", LIMIT, words=(*PLAIN, "--", "-c", "c.txt"), says="after `--`"),
    Attack("address, abbreviated", LIMIT, words=(*PLAIN, "--", "--constr=c.txt"), says="after `--`"),
    Attack("address, override", LIMIT, words=(*PLAIN, "--", "--overrides", "c.txt"), says="after `--`"),
    Attack("address as a word", words=(*PLAIN, "--", BAD), says="name it before `--`"),
    Attack("address without a name", words=("numpy", "--", "BADWHEEL"), says="name it before `--`"),
    Attack(
        "another version, override", {"c.txt": "torch==2.15.0\n"}, words=(*PLAIN, "--", "--override=c.txt"),
        says="after `--`",
    ),
    Attack("another version, uv.toml", {"uv.toml": OTHER}, {}, PLAIN),
)  # fmt: skip

SETTINGS = {"x.toml": f'extra-index-url = ["{WHEELS}"]\n'}
ABBREVIATED = (
    Attack("an index, abbreviated", words=(*PLAIN, "--", "--extra-index", WHEELS)),
    Attack("an index, abbreviated in one word", words=(*PLAIN, "--", f"--ext={WHEELS}")),
    Attack("several in one word", words=(*PLAIN, "--", f"-Ui{WHEELS}")),
    Attack("several in one word, torch alone", words=("torch", "--", f"-qi{WHEELS}")),
    Attack("the default index of uv's", words=(*PLAIN, "--", "--default-index", WHEELS)),
    Attack("a file, abbreviated", {"x.txt": f"numpy\n--ext {WHEELS}\n"}, words=("torch", "--", "--req", "x.txt"), says="after `--`"),  # noqa: E501 # one attack a line
    Attack("a backend of uv's", words=(*PLAIN, "--", "--torch-backend", "cu130"), says="`--backend NAME`"),
    Attack("a settings file of uv's", SETTINGS, words=("torch", "--", "--config-file", "x.toml"), says="UV_CONFIG"),
    Attack("a settings file in one word", SETTINGS, words=("torch", "--", "--config-file=x.toml"), says="UV_CONFIG"),
    Attack("another project's settings", {"a/uv.toml": SETTINGS["x.toml"]}, words=("torch", "--", "--project", "a"), says="in that folder"),  # noqa: E501 # one attack a line
    Attack("build tag, abbreviated", words=(*PLAIN, "--", "--extra-in", "EVIL")),
    Attack("build tag, links abbreviated", words=(*PLAIN, "--", "--find", "EVILtorch/")),
    Attack("build tag, several in one word", words=(*PLAIN, "--", "-qfEVILtorch/")),
    Attack("build tag, the index", words=(*PLAIN, "--", "-i", "EVIL")),
    Attack("build tag, pip's old name", words=(*PLAIN, "--", "--pypi-url", "EVIL")),
    Attack("build tag, a file of theirs", {"x.txt": "--extra-index-url EVIL\n"}, words=(*PLAIN, "--", "-rx.txt"), says="after `--`"),  # noqa: E501 # one attack a line
    Attack("build tag, constraints of theirs", {"x.txt": "--ext EVIL\n"}, words=(*PLAIN, "--", "-c", "x.txt"), says="after `--`"),  # noqa: E501 # one attack a line
)  # fmt: skip

# Settings where one does not look for them: in another folder, section or spelling, behind a megabyte of comments.
LISTED = SETTINGS["x.toml"]
PROJECT = '[project]\nname = "x"\nversion = "1"\n'
FAR = "# x\n" * 300_000
ELSEWHERE = (
    Attack("UV_PROJECT", {"a/uv.toml": LISTED}, {"UV_PROJECT": "a"}, PLAIN),
    Attack("UV_PROJECT, torch alone", {"a/uv.toml": LISTED}, {"UV_PROJECT": "a"}, ("torch",)),
    Attack("UV_WORKING_DIR", {"a/uv.toml": LISTED}, {"UV_WORKING_DIR": "a"}, PLAIN),
    Attack("UV_WORKING_DIR, override", {"a/uv.toml": OVERRIDE}, {"UV_WORKING_DIR": "a"}, PLAIN, says="leads torch to"),
    Attack(
        "the workspace of a member",
        {
            "pyproject.toml": f'{PROJECT}[tool.uv]\n{LISTED}[tool.uv.workspace]\nmembers = ["m"]\n',
            "m/pyproject.toml": '[project]\nname = "m"\nversion = "1"\n[tool.uv]\npackage = false\n',
        },
        words=("torch",), folder="m",
    ),
    Attack(
        "the project, not the uv.toml below it", {"pyproject.toml": f"{PROJECT}[tool.uv]\n{LISTED}", "m/uv.toml": "\n"},
        words=("torch",), folder="m",
    ),
    Attack("UV_CONFIG_FILE beside UV_NO_CONFIG", SETTINGS, {"UV_NO_CONFIG": "1", "UV_CONFIG_FILE": "x.toml"}, PLAIN),
    Attack(
        "a relative XDG_CONFIG_HOME", {"HOME/.config/uv/uv.toml": LISTED, "x/uv/uv.toml": "\n"},
        {"XDG_CONFIG_HOME": "x"}, ("torch",),
    ),
    Attack("far down in uv.toml", {"uv.toml": f"{FAR}{LISTED}"}, {}, PLAIN, says="larger than 1 MiB"),
    Attack("far down in pip.conf", {"HOME/.pip/pip.conf": f"{FAR}[global]\nextra-index-url = {WHEELS}\n"}, {}, PLAIN, says="larger than 1 MiB"),  # noqa: E501 # one attack a line
    Attack("pip.conf, its section for variables", {"HOME/.pip/pip.conf": f"[:env:]\nextra-index-url = {WHEELS}\n"}, {}, PLAIN),  # noqa: E501 # one attack a line
    Attack("PIP_constraint", {"c.txt": f"--extra-index-url {WHEELS}\n"}, {"PIP_constraint": "c.txt"}, PLAIN),
    Attack("PIP_requirement", {"c.txt": f"numpy\n--extra-index-url {WHEELS}\n"}, {"PIP_requirement": "c.txt"}, PLAIN),
    Attack("UV_EXCLUDE with an index", {"c.txt": f"six\n--extra-index-url {WHEELS}\n"}, {"UV_EXCLUDE": "c.txt"}, PLAIN),
    Attack("a file that is named like a lock", {"pylock.txt": f"numpy\n--ext {WHEELS}\n"}, words=("torch", "-r", "pylock.txt")),  # noqa: E501 # one attack a line
)  # fmt: skip

# What leaves torch out, puts it elsewhere, or brings another beside the pick.
BACKEND = """import os, zipfile
def build_wheel(folder, settings=None, metadata=None):
    about = "proj-1.dist-info"
    with zipfile.ZipFile(os.path.join(folder, "proj-1-py3-none-any.whl"), "w") as file:
        file.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\\nName: proj\\nVersion: 1\\nRequires-Dist: torch @ BADWHEEL\\n")  # noqa: E501 # one attack a line
        file.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        file.writestr(f"{about}/RECORD", "")
    return "proj-1-py3-none-any.whl"
build_editable = build_wheel
"""  # noqa: E501 # a file of its own
PROJ = {
    "proj/pyproject.toml": f'[project]\nname = "proj"\nversion = "1"\ndependencies = ["{BAD}"]\n'
    '[build-system]\nrequires = []\nbuild-backend = "b"\nbackend-path = ["."]\n',
    "proj/b.py": BACKEND,
}
SCRIPT = {"s.py": f"# /// script\n# dependencies = ['{BAD}']\n# ///\n"}
LOCK = {"pylock.toml": f'lock-version = "1.0"\ncreated-by = "x"\n# {WHEELS}\n'}
EXCLUDE = {"uv.toml": 'exclude-dependencies = ["torch"]\n'}
AROUND = (
    Attack("a project's own address", PROJ, words=("./proj",), says="did not finish"),
    Attack("an editable project's own address", PROJ, words=("torch", "-e", "./proj"), says="did not finish"),
    Attack("a project behind the dashes", PROJ, words=("numpy", "--", "./proj"), says="after `--`"),
    Attack("an editable behind the dashes", PROJ, words=("numpy", "--", "-e", "./proj"), says="after `--`"),
    Attack("a script's requirements", SCRIPT, words=("numpy", "-r", "s.py"), says="is a script"),
    Attack("a lock", LOCK, words=("-r", "pylock.toml"), says="is a lock"),
    Attack("another Python", words=("torch", "--", "--python", "python3"), says="`--python`"),
    Attack("exclude-dependencies", EXCLUDE, {}, PLAIN),
    Attack("exclude-dependencies, a companion", EXCLUDE, {}, ("torchvision",)),
    Attack("UV_EXCLUDE", {"c.txt": "torch\n"}, {"UV_EXCLUDE": "c.txt"}, PLAIN),
    Attack("uv.toml, target", {"uv.toml": '[pip]\ntarget = "t"\n'}, {}, PLAIN),
    *(
        Attack(f"PIP_{name}", {}, {f"PIP_{name}": value}, PLAIN)
        for name, value in {"TARGET": "t", "PYTHON": "python3", "DRY_RUN": "1", "ONLY_DEPS": "1"}.items()
    ),
    Attack("PIP_REQUIREMENT of torch", LIMIT, {"PIP_REQUIREMENT": "c.txt"}, PLAIN),
    Attack("PIP_REQUIREMENT of another index", {"c.txt": "torch\n--extra-index-url EVIL\n"}, {"PIP_REQUIREMENT": "c.txt"}, PLAIN),  # noqa: E501 # one attack a line
    Attack("a constraint beside an index", {"pyproject.toml": f'[tool.uv]\n{LISTED}constraint-dependencies = ["numpy==1.5"]\n'}, {}, PLAIN),  # noqa: E501 # one attack a line
    *(
        Attack(f"{name}={value}", {}, {name: value}, ("torch", "--no-deps"))
        for name, value in {
            "PIP_NO_INDEX": "1", "UV_NO_INDEX": "1", "PIP_ONLY_BINARY": "torch", "UV_NO_BINARY": "1",
            "PIP_NO_BINARY": "torch", "UV_EXCLUDE_NEWER": "2020-01-01", "PIP_UPLOADED_PRIOR_TO": "2020-01-01",
            "UV_NO_BUILD": "1", "UV_NO_BINARY_PACKAGE": "torch", "UV_INDEX_STRATEGY": "unsafe-best-match",
            "UV_RESOLUTION": "lowest", "UV_PRERELEASE": "allow",
        }.items()
    ),
)  # fmt: skip

ALL = (
    *IN_FILES, *IN_SETTINGS, *BEHIND_THE_DASHES, *OTHER_SUPPLIERS, *BY_ADDRESS, *ABBREVIATED, *ELSEWHERE, *AROUND,
)  # fmt: skip
