"""Ways in which a second index gets beside the pick, each as files, variables and words.

`EVIL` is an index that has builds of the family with a higher build tag. How an option is spelled is a matter of the
readers' own tests: here is one of each place and of each form that another program reads otherwise.
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


PLAIN = ("torch", "numpy")
IN_FILES = (
    _lines("the wheel host's index", f"--extra-index-url {WHEELS}"),
    _lines("quoted option", '"--extra-index-url" EVIL', says="r.txt line 3"),
    _lines("unclosed quote", "--extra-index-url 'EVIL", says="r.txt line 3"),
    _lines("continued in the option", "--extra-\\\nindex-url EVIL"),
    _lines("line separator", "# harmless\u2028--extra-index-url EVIL"),
    _lines("carriage return", "numpy\r--extra-index-url EVIL\r"),
    _lines("on a requirement's line", "filelock --extra-index-url EVIL"),
    _lines("behind an editable", "-e . --extra-index-url EVIL", says="r.txt"),
    _lines("in doubt", "--con c.txt", says="r.txt line 3"),
    Attack("variable with the option", {"r.txt": "torch\nnumpy\n--pre ${MORE}\n"}, {"MORE": "--extra-index-url EVIL"}),
    Attack("nested constraints", {"r.txt": "torch\nnumpy\n-c more.txt\n", "more.txt": "--extra-index-url EVIL\n"}),
    Attack("nested, abbreviated", {"r.txt": "torch\nnumpy\n--requirem more.txt\n", "more.txt": "--ext EVIL\n"}, says="r.txt line 3"),  # noqa: E501 # one attack a line
    Attack(
        "in a folder below",
        {"r.txt": "torch\n-r sub/more.txt\n", "sub/more.txt": "numpy\n-r x.txt\n", "sub/x.txt": "-i EVIL\n-r ../r.txt"},
    ),
    Attack("a constraint that is named", {"c.txt": "--extra-index-url EVIL\n"}, words=(*PLAIN, "-c", "c.txt")),
    Attack("remote file", {"r.txt": "torch\n-r REMOTE/wheels.txt\n"}),
    Attack("remote file that is not there", words=("torch", "-r", "REMOTE/none.txt"), says="none.txt"),
    Attack("UTF-7", {"r.txt": "# coding: utf-7\ntorch\nnumpy\n+AC0ALQ-extra-index-url EVIL\n"}, says="r.txt"),
)  # fmt: skip

IN_SETTINGS = (
    Attack("PIP_CONSTRAINT, remote", {}, {"PIP_CONSTRAINT": "REMOTE/limits.txt"}, PLAIN),
    Attack("PIP_REQUIREMENT", {"c.txt": "numpy\n--extra-index EVIL\n"}, {"PIP_REQUIREMENT": "c.txt"}, PLAIN),
    Attack("UV_OVERRIDE", {"c.txt": "--extra-index-url EVIL\nnumpy\n"}, {"UV_OVERRIDE": "c.txt"}, PLAIN),
    Attack("UV_OVERRIDE of torch", {"c.txt": "torch==2.15.0\n"}, {"UV_OVERRIDE": "c.txt"}, PLAIN),
    Attack("UV_BUILD_CONSTRAINT", {"c.txt": "-i EVIL\n"}, {"UV_BUILD_CONSTRAINT": "c.txt"}, PLAIN),
    Attack("UV_TORCH_BACKEND", environ={"UV_TORCH_BACKEND": "cu130"}, words=PLAIN),
    Attack(
        "pip.conf",
        {"HOME/.config/pip/pip.conf": "[install]\nconstraint = HERE/c.txt\n", "c.txt": "--extra-index-url EVIL\n"},
        {},
        PLAIN,
    ),
    Attack("escaped table name", {"pyproject.toml": '["tool"."\\u0075v"]\nindex-url = "EVIL"\n'}, {}, PLAIN),
    Attack("inline array", {"pyproject.toml": '[tool.uv]\nindex = [{ url = "EVIL", default = true }]\n'}, {}, PLAIN),
    Attack("uv.toml", {"uv.toml": 'find-links = ["EVILtorch/"]\n'}, {}, PLAIN),
    Attack("the user's uv.toml", {"HOME/.config/uv/uv.toml": '[[index]]\nurl = "EVIL"\n'}, {}, PLAIN),
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

SETTINGS = {"x.toml": 'extra-index-url = ["EVIL"]\n'}
ABBREVIATED = (
    Attack("a file, abbreviated", {"x.txt": "numpy\n--ext EVIL\n"}, words=("torch", "--", "--req", "x.txt"), says="after `--`"),  # noqa: E501 # one attack a line
    Attack("a backend of uv's", words=(*PLAIN, "--", "--torch-backend", "cu130"), says="after `--`"),
    Attack("a settings file of uv's", SETTINGS, words=("torch", "--", "--config-file=x.toml"), says="after `--`"),
    Attack("another project's settings", {"a/uv.toml": SETTINGS["x.toml"]}, words=("torch", "--", "--project", "a"), says="after `--`"),  # noqa: E501 # one attack a line
    Attack("build tag, links abbreviated", words=(*PLAIN, "--", "--find", "EVILtorch/")),
    Attack("build tag, several in one word", words=(*PLAIN, "--", "-qfEVILtorch/")),
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
    Attack("UV_WORKING_DIR, override", {"a/uv.toml": OVERRIDE}, {"UV_WORKING_DIR": "a"}, PLAIN, says="leads torch to"),
    Attack(
        "the workspace of a member",
        {
            "pyproject.toml": f'{PROJECT}[tool.uv]\n{LISTED}[tool.uv.workspace]\nmembers = ["m"]\n',
            "m/pyproject.toml": '[project]\nname = "m"\nversion = "1"\n[tool.uv]\npackage = false\n',
        },
        words=("torch",), folder="m",
    ),
    Attack("far down in uv.toml", {"uv.toml": f"{FAR}{LISTED}"}, {}, PLAIN, says="larger than 1 MiB"),
    Attack("far down in pip.conf", {"HOME/.pip/pip.conf": f"{FAR}[global]\nindex-url = EVIL\n"}, {}, PLAIN, says="larger than 1 MiB"),  # noqa: E501 # one attack a line
    Attack("PIP_requirement", {"c.txt": "numpy\n--extra-index-url EVIL\n"}, {"PIP_requirement": "c.txt"}, PLAIN),
    Attack("UV_EXCLUDE with an index", {"c.txt": "six\n--extra-index-url EVIL\n"}, {"UV_EXCLUDE": "c.txt"}, PLAIN),
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
    *IN_FILES, *IN_SETTINGS, *OTHER_SUPPLIERS, *BY_ADDRESS, *ABBREVIATED, *ELSEWHERE, *AROUND,
)  # fmt: skip
